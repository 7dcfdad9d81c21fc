// The lanes of a warp, one fiber each, that run by turns in one thread. Where a GPU's lanes meet, a lane hands over to the
// next one; when all have come, each goes on, in another order than before.
//
// Between two meetings a lane runs as far as it can before another one begins: code that counts on lanes to go in step
// goes wrong here at once.

#include <stdint.h>

#include "fiber.hpp"

namespace {

constexpr uint32_t LANES = 32;

// What a lane waits for; one at its end has ENDED.
enum class Meeting : uint32_t { SYNC, VOTE, SUM, READ, ENDED };

struct Warp {
    emulator::Fiber host, lanes[LANES];
    Meeting met[LANES];
    // In this meeting and in the one before: a lane may come to the next one while others read.
    uint32_t said[2][LANES];
    uint32_t lane;    // the one that runs
    uint32_t number;  // of the warp in its launch
    uint32_t meetings;
    uint32_t votes, sum;  // of what was said last
    uint32_t random;
    void (*entry)(void*);
    void* given;
};

Warp warp;

void hand_over() {
    emulator::tracecore_switch_fiber(&warp.lanes[warp.lane], &warp.host);
}

void meet(Meeting kind, uint32_t mine) {
    warp.met[warp.lane] = kind;
    warp.said[warp.meetings % 2][warp.lane] = mine;
    hand_over();
}

// A lane from its beginning to its end.
void live() {
    warp.entry(warp.given);
    warp.met[warp.lane] = Meeting::ENDED;
    hand_over();
    __builtin_trap();
}

// Marsaglia: Xorshift RNGs, 2003.
uint32_t next_random() {
    warp.random ^= warp.random << 13;
    warp.random ^= warp.random >> 17;
    return warp.random ^= warp.random << 5;
}

// Has each lane go on to its next meeting: an odd step comes to all of them, whatever the first one is.
void let_all_go_on() {
    const uint32_t first = next_random(), step = next_random() | 1;
    for (uint32_t k = 0; k < LANES; ++k) {
        warp.lane = (first + k * step) % LANES;
        emulator::tracecore_switch_fiber(&warp.host, &warp.lanes[warp.lane]);
    }
}

bool have_met() {
    for (Meeting kind : warp.met) {
        if (kind != warp.met[0]) return false;
    }
    return true;
}

void add_up() {
    warp.votes = warp.sum = 0;
    for (uint32_t k = 0; k < LANES; ++k) {
        const uint32_t said = warp.said[warp.meetings % 2][k];
        warp.votes |= (said & 1) << k;
        warp.sum += said;
    }
}

}  // namespace

extern "C" {

uint32_t lanes_warp() {
    return warp.number;
}

uint32_t lanes_own() {
    return warp.lane;
}

void lanes_meet(uint32_t) {
    meet(Meeting::SYNC, 0);
}

uint32_t lanes_vote(uint32_t, bool answer) {
    meet(Meeting::VOTE, answer);
    return warp.votes;
}

uint32_t lanes_sum(uint32_t mine, uint32_t) {
    meet(Meeting::SUM, mine);
    return warp.sum;
}

uint32_t lanes_read(uint32_t, uint32_t mine, uint32_t lane, uint32_t) {
    meet(Meeting::READ, mine);
    return warp.said[(warp.meetings - 1) % 2][lane % LANES];
}

// Has a warp run `entry(given)`, each lane on its part of the stacks. Returns whether all lanes came to each meeting.
bool lanes_run(uint32_t number, void (*entry)(void*), void* given, char* stacks, uint64_t stack_bytes) {
    warp.number = number;
    warp.entry = entry;
    warp.given = given;
    warp.meetings = 0;
    warp.random = number + 1;
    for (uint32_t k = 0; k < LANES; ++k) {
        warp.lanes[k] = emulator::make_fiber(stacks + k * stack_bytes, stack_bytes, live);
    }
    do {
        let_all_go_on();
        if (!have_met()) return false;
        add_up();
        ++warp.meetings;
    } while (warp.met[0] != Meeting::ENDED);
    return true;
}
}
