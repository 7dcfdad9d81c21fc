// Entry point of resident dispatch (entry_points.cuh includes it): one launch serves the host for as long as it likes.
//
// CPU threads write rays into slots of pinned memory and ring the slot's doorbell. A scout warp polls the doorbells and
// queues the requests. All other warps draw tickets for 32 rays of a request and read them from the host's memory. A ray's
// hit is staged in the device's memory until its ticket is done, so that whole lines go to the host. The warp that is done
// with a request's last ticket raises the slot's completion flag. Persistent threads: Aila, Laine: Understanding the
// Efficiency of Ray Traversal on GPUs, 2009; a queue of tasks that they poll: Tzeng, Patney, Owens: Task Management for
// Irregular-Parallel Workloads on the GPU, 2010.
//
// Who hands what over, by which release and acquire (hand_over.cuh):
//
//     from           to              what                         by
//     host           scout's lanes   rays, before their doorbell  ring_bell of ring.py, acquire_from_host in
//                                                                 `poll_doorbells`
//     host           scout's lanes   doorbells, before `stop`     say of ring.py, acquire_from_host in `scout`
//     scout's lanes  its lane 0      the same, requests, entries  __syncwarp in `scout`
//     scout          workers         the same                     release and acquire of RingState::queued
//     lane 0         its warp        the same                     __syncwarp in `fetch`
//     lanes          their warp      fetched rays                 the other __syncwarp in `fetch`
//     lanes          their warp      staged hits                  __syncwarp in `deliver_finished`
//     lanes          their lane 0    hits, errors                 __syncwarp in `deliver`
//     workers        the last one    the same                     count_down of Request::left
//     the last one   host            the same                     release_to_host in `finish`, flag_is_up of ring.py
//     the last one   scout           that Request::left is 0      count_up and acquire of RingState::finished
//
// The scout alone waits for others without a bound of its own: workers wait for the scout, which says `closed` when it
// ends. It ends when the host says so, or gives up when no request has been finished for as long as the host said.
#pragma once

typedef unsigned long long Word;

// What a slot's doorbell asks for, in device memory.
struct Request {
    Word claim;       // which entry of the launch it is, in the high half; the doorbell's low half
    unsigned number;  // of the doorbell; 0 before the first one
    unsigned left;    // tickets that are not done
    unsigned error;   // how many rays were invalid, and faults from FAULT_SHIFT on
};
static_assert(sizeof(Request) == REQUEST_BYTES, "Request differs from the REQUEST of ring_records.py");

// State of one launch, in device memory, all zero before it.
struct RingState {
    Word queued;    // requests
    Word tickets;   // drawn
    Word finished;  // requests
    Word closed;    // nothing will be queued any more
};
static_assert(sizeof(RingState) == RING_STATE_BYTES, "RingState differs from the RING_STATE of ring_records.py");

// Each slot has a doorbell and a completion flag, with the request's number in the high half. In the low half a doorbell has
// what is asked, a flag has the error. A column has a word of each ray of a slot.
struct Ring {
    const float* rays;      // host: 8 columns a slot
    float* hits;            // host: 4 columns a slot
    const Word* doorbells;  // host
    Word* flags;            // host
    const Word* stop;       // host
    Word* busy;             // host: nanoseconds with a request at hand
    Word patience;  // nanoseconds in which no request is finished, though there are some, until the scout gives up
    RingState* state;
    Request* requests;  // one a slot
    unsigned* entries;  // slots of the last requests, at the number of the entry modulo `entry_count`
    float4* staged;     // one a ray
    unsigned slots;
    unsigned entry_count;  // a power of two
    unsigned slot_bits;

    __device__ unsigned slot_rays() const {
        return 1u << slot_bits;
    }

    __device__ size_t column() const {
        return slot_rays() + COLUMN_PAD;
    }
};
static_assert(sizeof(Ring) == RING_BYTES, "Ring differs from the RING of ring_records.py");

constexpr unsigned TICKET_BITS = 5;  // 32 rays
constexpr Word NO_TICKET = ~0ull;
constexpr unsigned LEAST_PAUSE = 64;  // nanoseconds
constexpr unsigned LONGEST_PAUSE = 1024;

__device__ inline unsigned high_half(Word word) {
    return static_cast<unsigned>(word >> 32);
}

__device__ inline unsigned low_half(Word word) {
    return static_cast<unsigned>(word);
}

// ----------------------------------------------------------------------------------------------------------- the scout

// Whether nobody needs an entry's memory any more: the request that was queued there the last time around is done.
__device__ inline bool is_clear(const Ring& ring, unsigned entry) {
    const Request& earlier = ring.requests[current(ring.entries[entry & (ring.entry_count - 1)])];
    return high_half(current(earlier.claim)) != entry - ring.entry_count || acquire(earlier.left) == 0;
}

__device__ inline void add_entry(const Ring& ring, unsigned entry, unsigned slot, Word doorbell) {
    Request& request = ring.requests[slot];
    publish(request.number, high_half(doorbell));
    publish(request.left, ((low_half(doorbell) & COUNT_MASK) + WARP_LANES - 1) >> TICKET_BITS);
    publish(request.error, 0u);
    publish(request.claim, static_cast<Word>(entry) << 32 | low_half(doorbell));
    publish(ring.entries[entry & (ring.entry_count - 1)], slot);
}

// Queues what has been rung since the last time, as far as entries are free; the next time tries the rest. All lanes
// together. Returns how many requests are queued.
__device__ inline Word poll_doorbells(const Ring& ring, Word queued) {
    for (unsigned first = 0; first < ring.slots; first += WARP_LANES) {
        const unsigned slot = first + lane_index();
        const Word doorbell = slot < ring.slots ? acquire_from_host(ring.doorbells[slot]) : 0;
        const bool is_rung = slot < ring.slots && high_half(doorbell) != current(ring.requests[slot].number);
        const unsigned rung = __ballot_sync(WHOLE_WARP, is_rung);
        const unsigned entry = low_half(queued) + __popc(rung & lanes_below(lane_index()));
        const unsigned held_up = __ballot_sync(WHOLE_WARP, is_rung && !is_clear(ring, entry));
        const unsigned clear = rung & (held_up - 1) & ~held_up;  // before the first that is held up
        if (clear >> lane_index() & 1) add_entry(ring, entry, slot, doorbell);
        queued += __popc(clear);
        if (held_up != 0) break;
    }
    return queued;
}

// Raises the flags of all requests that are not done, to say that they are overdue. From now on workers find none.
__device__ inline void give_up(const Ring& ring) {
    for (unsigned slot = lane_index(); slot < ring.slots; slot += WARP_LANES) {
        const unsigned number = high_half(current(ring.doorbells[slot]));
        if (number == high_half(current(ring.flags[slot]))) continue;
        release_to_host(ring.flags[slot], static_cast<Word>(number) << 32 | OVERDUE << FAULT_SHIFT);
    }
    if (lane_index() == 0) publish(ring.state->queued, Word(0));
}

// Polls until the host says stop and everything is done; if it says ONCE, until that is done which has been rung by now.
__device__ inline void scout(const Ring& ring) {
    Word queued = 0;
    Word finished = 0;
    Word busy = current(*ring.busy);
    Word before = nanoseconds();
    Word progress = before;  // when a request was finished, or there was none
    for (bool is_first = true;; is_first = false) {
        const Word queued_before = queued;
        const Word finished_before = finished;
        const Word stop = acquire_from_host(*ring.stop);
        // Before the doorbells: if everything is done, no entry holds `poll_doorbells` up.
        finished = acquire(ring.state->finished);
        if (is_first || stop != ONCE) queued = poll_doorbells(ring, queued);
        __syncwarp(WHOLE_WARP);  // lane 0 takes over what all lanes have heard and written
        const bool is_idle = queued_before == finished;
        const Word now = nanoseconds();
        if (!is_idle) busy += now - before;
        if (is_idle || finished != finished_before) progress = now;
        before = now;
        if (lane_index() == 0) {
            if (queued != queued_before) release(ring.state->queued, queued);
            publish(*ring.busy, busy);
        }
        if (__all_sync(WHOLE_WARP, stop != 0 && is_idle && queued == queued_before)) break;
        if (__any_sync(WHOLE_WARP, now - progress > ring.patience)) {
            give_up(ring);
            break;
        }
        if (queued == queued_before) __nanosleep(LEAST_PAUSE);
    }
    if (lane_index() == 0) publish(ring.state->closed, Word(1));
}

// --------------------------------------------------------------------------------------------------------- the workers

// The rays of the ticket that each warp has taken last. They are fetched side by side, since every piece of the host's
// memory that is read costs its share of the bus again.
__shared__ float fetched[BLOCK_SIZE / WARP_LANES][sizeof(Ray) / sizeof(float)][WARP_LANES];

constexpr unsigned T_MIN_ROW = 3;
constexpr unsigned T_MAX_ROW = 7;

// first: index of the first ray, from which all lanes count on. All loads are on their way before the first is needed.
__device__ inline void fetch(const Ring& ring, unsigned first, bool endless) {
    const unsigned slot = first >> ring.slot_bits;
    const float* ray = ring.rays + slot * 8 * ring.column() + (first & (ring.slot_rays() - 1)) + lane_index();
    float words[8];
    __syncwarp(WHOLE_WARP);  // takes over what lane 0 has acquired; and all have read what is overwritten below
#pragma unroll
    for (unsigned row = 0; row < 8; ++row) {
        if (row == T_MIN_ROW || row == T_MAX_ROW) continue;
        words[row] = __ldcv(ray + row * ring.column());
    }
    words[T_MIN_ROW] = endless ? 0.0f : __ldcv(ray + T_MIN_ROW * ring.column());
    words[T_MAX_ROW] = endless ? infinity() : __ldcv(ray + T_MAX_ROW * ring.column());
#pragma unroll
    for (unsigned row = 0; row < 8; ++row) publish(fetched[warp_index()][row][lane_index()], words[row]);
    __syncwarp(WHOLE_WARP);  // all lanes' words are there
}

__device__ inline Ray fetched_ray(unsigned index) {
    const float (*rows)[WARP_LANES] = fetched[warp_index()];
    const unsigned i = index % WARP_LANES;
    float words[8];
#pragma unroll
    for (unsigned row = 0; row < 8; ++row) words[row] = current(rows[row][i]);
    return {{words[0], words[1], words[2]}, words[3], {words[4], words[5], words[6]}, words[7]};
}

// A ticket that is for rays. asked: the low half of their doorbell.
struct Task {
    unsigned first;  // index of the first ray: the slot, times its rays, and the index in the slot
    unsigned asked;

    __device__ bool is_any_hit() const {
        return (asked & ANY_HIT_BIT) != 0;
    }
};

// Where a warp stands among the tickets. Lane 0 holds the ticket.
class TicketCursor {
   public:
    __device__ explicit TicketCursor(const Ring& ring) : ring(ring), ticket(NO_TICKET) {}

    // Waits for rays. All lanes together. Returns false when there will be none.
    __device__ bool wait(bool& any_hit) {
        unsigned state = 0;  // 1: there are some, 2: and any hit will do
        if (lane_index() == 0) {
            Task task;
            bool found = find<true>(task);
            for (unsigned pause = LEAST_PAUSE; !found && !current(ring.state->closed); found = find<true>(task)) {
                __nanosleep(pause);
                pause = min(2 * pause, LONGEST_PAUSE);
            }
            if (found) state = task.is_any_hit() ? 2 : 1;
        }
        state = __shfl_sync(WHOLE_WARP, state, 0);
        any_hit = state == 2;
        return state != 0;
    }

    // The rays of the next ticket, if there are any of this query at once. All lanes together.
    template <bool ANY_HIT>
    __device__ bool take(WarpChunk& chunk) {
        Task task;
        if (lane_index() == 0 && find<false>(task) && task.is_any_hit() == ANY_HIT) {
            ticket = NO_TICKET;
        } else {
            task.first = NO_RAY;
        }
        const unsigned first = __shfl_sync(WHOLE_WARP, task.first, 0);
        if (first == NO_RAY) return false;
        const unsigned asked = __shfl_sync(WHOLE_WARP, task.asked, 0);
        const unsigned before = first & (ring.slot_rays() - 1);
        chunk = {first, first + min((asked & COUNT_MASK) - before, WARP_LANES)};
        fetch(ring, first, (asked & ENDLESS_BIT) != 0);
        return true;
    }

   private:
    const Ring& ring;
    Word ticket;

    // Whether the ticket in hand is for rays that are queued. One behind a request's last ray is changed for another.
    // AHEAD: also draws one that is not queued yet. Lane 0.
    template <bool AHEAD>
    __device__ bool find(Task& task) {
        while (true) {
            if (ticket == NO_TICKET) {
                if (!AHEAD && !is_queued(current(ring.state->tickets))) return false;
                ticket = atomicAdd(&ring.state->tickets, Word(1));
            }
            if (!is_queued(ticket)) return false;
            acquire(ring.state->queued);  // once a ticket, not while polling: it empties the multiprocessor's cache
            if (read(task)) return true;
            ticket = NO_TICKET;
        }
    }

    __device__ unsigned ticket_bits() const {
        return ring.slot_bits - TICKET_BITS;
    }

    __device__ bool is_queued(Word number) const {
        return number >> ticket_bits() < current(ring.state->queued);
    }

    // Reads the task of the ticket in hand, which is queued. The slot may have another request by now if the ticket is for
    // no rays.
    __device__ bool read(Task& task) const {
        const unsigned entry = static_cast<unsigned>(ticket >> ticket_bits());
        const unsigned slot = current(ring.entries[entry & (ring.entry_count - 1)]);
        const Word claim = current(ring.requests[slot].claim);
        const unsigned before = low_half(ticket) << TICKET_BITS & (ring.slot_rays() - 1);
        task = {slot << ring.slot_bits | before, low_half(claim)};
        return high_half(claim) == entry && before < (low_half(claim) & COUNT_MASK);
    }
};

// Rays of whatever requests have the same query.
template <bool ANY_HIT>
class RingRays {
   public:
    __device__ RingRays(const Ring& ring, TicketCursor& cursor, unsigned& faults)
        : ring(ring), cursor(cursor), faults(faults), chunk{0, 0}, done(NO_RAY), is_dry(false) {}

    __device__ bool refill(unsigned& index) {
        deliver_finished(index);
        ray = no_ray();  // so that the last one takes no registers from the traversal
        while (true) {
            const bool was_idle = index == NO_RAY;
            const unsigned idle = chunk.assign(index);
            if (was_idle && index != NO_RAY) ray = fetched_ray(index);
            is_dry = idle != 0 && !cursor.take<ANY_HIT>(chunk);
            if (idle == 0 || is_dry) return idle != WHOLE_WARP;
        }
    }

    __device__ bool are_left() const {
        return !is_dry;
    }

    // Right after `refill`.
    __device__ Ray load(unsigned index) const {
        if (is_valid(ray)) return ray;
        if (is_first_lane()) reduce_add(request_of(index).error, 1u);
        return no_ray();
    }

    // Takes the faults of the lane's ray with its hit; a ray that walks on keeps its own.
    __device__ void store(unsigned index, const Hit& hit) {
        const unsigned its_faults = faults;
        faults = 0;
        if (index == NO_RAY) return;
        if (its_faults != 0) reduce_or(request_of(index).error, its_faults << FAULT_SHIFT);
        if (!is_first_lane()) return;
        const Hit answer = answer_of<ANY_HIT>(hit);
        __stcg(ring.staged + index, make_float4(answer.t, answer.u, answer.v, __uint_as_float(answer.prim_id)));
        done = index;
    }

   private:
    const Ring& ring;
    TicketCursor& cursor;
    unsigned& faults;
    WarpChunk chunk;
    Ray ray;        // of this lane, as it has been fetched
    unsigned done;  // index of the ray whose hit this lane has staged since the last time that all met
    bool is_dry;    // there were no more tickets the last time

    __device__ Request& request_of(unsigned index) const {
        return ring.requests[index >> ring.slot_bits];
    }

    // Delivers the hits of tickets whose last rays are done; all rays of a ticket belong to this warp. All lanes together.
    // index: of a ray that is not done.
    __device__ void deliver_finished(unsigned index) {
        __syncwarp(WHOLE_WARP);  // the hits are staged
        for (unsigned owing = __ballot_sync(WHOLE_WARP, done != NO_RAY); owing != 0;) {
            const unsigned ticket = __shfl_sync(WHOLE_WARP, done, __ffs(owing) - 1) >> TICKET_BITS;
            owing &= ~__ballot_sync(WHOLE_WARP, done >> TICKET_BITS == ticket);
            const bool waits = chunk.next != chunk.end && chunk.next >> TICKET_BITS == ticket;
            const bool goes_on = waits || index >> TICKET_BITS == ticket;
            if (!__any_sync(WHOLE_WARP, goes_on)) deliver(ticket << TICKET_BITS);
        }
        done = NO_RAY;
    }

    // Writes a ticket's hits to the host, a line for each of their words. All lanes together. first: index of its first
    // ray.
    __device__ void deliver(unsigned first) {
        Request& request = request_of(first);
        const unsigned asked = low_half(current(request.claim));
        const unsigned row = (first & (ring.slot_rays() - 1)) + lane_index();
        const size_t column = ring.column();
        const float4 hit = __ldcg(ring.staged + first + lane_index());
        if (row < (asked & COUNT_MASK)) {
            float* words = ring.hits + (first >> ring.slot_bits) * 4 * column + row;
            __stcs(words, hit.x);
            __stcs(words + 3 * column, hit.w);
            if ((asked & NO_UV_BIT) == 0) {
                __stcs(words + column, hit.y);
                __stcs(words + 2 * column, hit.z);
            }
        }
        __syncwarp(WHOLE_WARP);  // lane 0 hands in what all lanes have written
        if (lane_index() == 0 && count_down(request.left) == 1) finish(request, ring.flags[first >> ring.slot_bits]);
    }

    __device__ void finish(const Request& request, Word& flag) {
        const Word answer = static_cast<Word>(current(request.number)) << 32 | current(request.error);
        release_to_host(flag, answer);
        count_up(ring.state->finished);
    }
};

// Apart, so that the one query takes no registers from the other.
template <bool ANY_HIT>
__device__ __noinline__ void serve(const Scene& scene, const Ring& ring, TicketCursor& cursor) {
    unsigned faults = 0;
    RingRays<ANY_HIT> rays(ring, cursor, faults);
    traverse<ANY_HIT>(scene, rays, faults);
}

// That a multiprocessor must be able to hold: half as many as in streamed dispatch, which takes fewer registers.
// Without any limit the compiler goes so low that some kernels spill.
constexpr int RESIDENT_BLOCKS = (LEAST_BLOCKS > 0 ? LEAST_BLOCKS : 1024 / BLOCK_SIZE) / 2;

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, RESIDENT_BLOCKS)
    resident(const __grid_constant__ Scene scene, const __grid_constant__ Ring ring) {
    if (blockIdx.x == 0 && warp_index() == 0) return scout(ring);
    TicketCursor cursor(ring);
    bool any_hit = false;
    while (cursor.wait(any_hit)) {
        if (any_hit) {
            serve<true>(scene, ring, cursor);
        } else {
            serve<false>(scene, ring, cursor);
        }
    }
}
