// Entry point of resident dispatch (entry_points.cuh includes it): one launch serves the host for as long as it likes.
//
// CPU threads write rays into slots of pinned memory and ring the slot's bell. A scout warp hears the bells and posts the
// orders. All other warps draw tickets for 32 rays of an order, read them from the host's memory and write the hits straight
// back. Who stores an order's last hit raises the slot's flag. Persistent threads: Aila, Laine: Understanding the Efficiency
// of Ray Traversal on GPUs, 2009; a queue of tasks that they poll: Tzeng, Patney, Owens: Task Management for
// Irregular-Parallel Workloads on the GPU, 2010.
#pragma once

typedef unsigned long long Word;

// Something to trace, in device memory. number is 0 while the place is free.
struct Order {
    unsigned number;
    unsigned slot;
    unsigned count;
    unsigned any_hit;
    unsigned left;       // rays of the slot without a hit yet; those beyond count go to whoever draws their ticket
    unsigned complaint;  // how many rays were invalid, and faults from FAULT_SHIFT on
};
static_assert(sizeof(Order) == ORDER_BYTES, "Order differs from the ORDER of ring.py");

// State of one launch, in device memory, all zero before it.
struct Desk {
    unsigned posted;    // orders
    unsigned tickets;   // drawn
    unsigned finished;  // orders
    unsigned closed;    // nothing will be posted any more
};
static_assert(sizeof(Desk) == DESK_BYTES, "Desk differs from the DESK of ring.py");

// bells and flags: one a slot, the order's number in the high half. In the low half a bell has the number of rays, and
// ANY_HIT_BIT; a flag has the complaint.
struct Ring {
    const float4* rays;  // host: two a ray, SLOT_RAYS rays a slot
    float4* hits;        // host
    const Word* bells;   // host
    Word* flags;         // host
    const unsigned* stop;  // host
    Word* busy;          // host: nanoseconds with an order at hand
    Desk* desk;
    Order* orders;       // ORDERS of them
    unsigned* heard;     // one a slot: number of its last order
    unsigned slots;
};
static_assert(sizeof(Ring) == RING_BYTES, "Ring differs from the RING of ring.py");

constexpr unsigned TICKETS_PER_ORDER = SLOT_RAYS / WARP_LANES;
constexpr unsigned NO_TICKET = 0xffffffffu;
constexpr unsigned ANY_HIT_BIT = 0x80000000u;
constexpr unsigned FAULT_SHIFT = 24;
constexpr unsigned LEAST_PAUSE = 64;  // nanoseconds
constexpr unsigned LONGEST_PAUSE = 1024;

// What others change meanwhile.
template <class T>
__device__ inline T current(const T& value) {
    return *const_cast<const volatile T*>(&value);
}

template <class T>
__device__ inline void publish(T& variable, T value) {
    *const_cast<volatile T*>(&variable) = value;
}

__device__ inline unsigned number_of(Word word) {
    return static_cast<unsigned>(word >> 32);
}

// ------------------------------------------------------------------------------------------------------------- the scout

__device__ inline void post(const Ring& ring, unsigned place, unsigned slot, Word bell) {
    Order& order = ring.orders[place % ORDERS];
    while (current(order.number) != 0) __nanosleep(100);  // a slow order of the last time around
    order.slot = slot;
    order.count = static_cast<unsigned>(bell) & ~ANY_HIT_BIT;
    order.any_hit = (static_cast<unsigned>(bell) & ANY_HIT_BIT) != 0;
    order.left = SLOT_RAYS;
    order.complaint = 0;
    __threadfence();
    publish(order.number, number_of(bell));
}

// Posts what has been rung since the last time. All lanes together. Returns how many orders are posted.
__device__ inline unsigned hear(const Ring& ring, unsigned posted) {
    for (unsigned first = 0; first < ring.slots; first += WARP_LANES) {
        const unsigned slot = first + lane_index();
        const Word bell = slot < ring.slots ? current(ring.bells[slot]) : 0;
        const bool fresh = slot < ring.slots && number_of(bell) != ring.heard[slot];
        const unsigned rung = __ballot_sync(WHOLE_WARP, fresh);
        if (fresh) {
            ring.heard[slot] = number_of(bell);
            post(ring, posted + __popc(rung & lanes_below(lane_index())), slot, bell);
        }
        posted += __popc(rung);
    }
    return posted;
}

// Until the host says stop and everything is done.
__device__ inline void scout(const Ring& ring) {
    unsigned posted = 0;
    Word busy = 0;
    Word before = nanoseconds();
    while (true) {
        const bool stop = current(*ring.stop) != 0;
        const unsigned posted_before = posted;
        posted = hear(ring, posted);
        __threadfence();
        __syncwarp(WHOLE_WARP);
        const unsigned finished = current(ring.desk->finished);
        const Word now = nanoseconds();
        if (posted_before != finished) busy += now - before;
        before = now;
        if (lane_index() == 0) {
            publish(ring.desk->posted, posted);
            publish(*ring.busy, busy);
        }
        if (__all_sync(WHOLE_WARP, stop && posted == posted_before && posted == finished)) break;
        if (posted == posted_before) __nanosleep(LEAST_PAUSE);
    }
    __threadfence_system();
    if (lane_index() == 0) publish(ring.desk->closed, 1u);
}

// ----------------------------------------------------------------------------------------------------------- the workers

// The rays of the ticket that each warp has taken last. They are fetched side by side, since every piece of the host's memory
// that is read costs its share of the bus again.
__shared__ float4 fetched[BLOCK_SIZE / WARP_LANES][2 * WARP_LANES];

__device__ inline void fetch(const float4* rays, unsigned count) {
    __syncwarp(WHOLE_WARP);  // all have read what this overwrites
    for (unsigned i = lane_index(); i < 2 * count; i += WARP_LANES) fetched[warp_index()][i] = __ldcv(rays + i);
    __syncwarp(WHOLE_WARP);
}

__device__ inline Ray fetched_ray(unsigned index) {
    const float4 a = fetched[warp_index()][2 * (index % WARP_LANES)];
    const float4 b = fetched[warp_index()][2 * (index % WARP_LANES) + 1];
    return {{a.x, a.y, a.z}, a.w, {b.x, b.y, b.z}, b.w};
}

// A warp's place in the line. Lane 0 holds the ticket.
class Turn {
   public:
    __device__ explicit Turn(const Ring& ring) : ring(ring), ticket(NO_TICKET) {}

    // Waits for an order. All lanes together. Returns false when there will be none.
    __device__ bool wait(bool& any_hit) {
        unsigned state = 0;  // 1: there is one, 2: and any hit will do
        if (lane_index() == 0) {
            if (ticket == NO_TICKET) ticket = atomicAdd(&ring.desk->tickets, 1u);
            for (unsigned pause = LEAST_PAUSE; !is_posted() && !current(ring.desk->closed); pause = min(2 * pause, LONGEST_PAUSE)) {
                __nanosleep(pause);
            }
            if (is_posted()) state = 1 + current(order().any_hit);
        }
        state = __shfl_sync(WHOLE_WARP, state, 0);
        any_hit = state == 2;
        return state != 0;
    }

    // The rays of the next ticket, if there are any of this query at once. All lanes together. place: of their order.
    template <bool ANY_HIT>
    __device__ bool take(Share& share, unsigned& place) {
        unsigned got = NO_TICKET;
        if (lane_index() == 0) {
            if (ticket == NO_TICKET && is_ahead(current(ring.desk->tickets))) ticket = atomicAdd(&ring.desk->tickets, 1u);
            if (ticket != NO_TICKET && is_posted() && current(order().any_hit) == ANY_HIT) {
                got = ticket;
                ticket = NO_TICKET;
            }
            __threadfence();
        }
        got = __shfl_sync(WHOLE_WARP, got, 0);
        if (got == NO_TICKET) return false;
        place = got / TICKETS_PER_ORDER % ORDERS;
        const unsigned slot = current(ring.orders[place].slot);
        const unsigned count = current(ring.orders[place].count);
        const unsigned first = got % TICKETS_PER_ORDER * WARP_LANES;
        share.next = slot * SLOT_RAYS + first;
        share.end = share.next + min(count - min(count, first), WARP_LANES);
        fetch(ring.rays + 2 * share.next, share.end - share.next);
        return true;
    }

   private:
    const Ring& ring;
    unsigned ticket;

    // Whether a ticket's order is posted. The numbers wrap.
    __device__ bool is_ahead(unsigned number) const {
        return static_cast<int>(current(ring.desk->posted) * TICKETS_PER_ORDER - number) > 0;
    }

    __device__ bool is_posted() const {
        return is_ahead(ticket);
    }

    // Of the ticket in hand, which is posted.
    __device__ const Order& order() const {
        return ring.orders[ticket / TICKETS_PER_ORDER % ORDERS];
    }
};

// Rays of whatever orders have the same query.
template <bool ANY_HIT>
class RingRays {
   public:
    __device__ RingRays(const Ring& ring, Turn& turn, unsigned& faults)
        : ring(ring), turn(turn), faults(faults), share{0, 0}, taken(0), place(0), owes(false), is_dry(false) {}

    __device__ bool refill(unsigned& index) {
        settle();
        is_dry = false;
        while (true) {
            const bool was_idle = index == NO_RAY;
            const unsigned idle = share.deal(index);
            if (was_idle && index != NO_RAY) {
                place = taken;
                ray = fetched_ray(index);
            }
            if (idle == 0) return true;
            if (is_dry || !take()) return idle != WHOLE_WARP;
        }
    }

    __device__ bool are_left() const {
        return !is_dry;
    }

    // Right after `refill`.
    __device__ Ray load(unsigned index) const {
        if (index == NO_RAY) return no_ray();
        if (is_valid(ray)) return ray;
        if (is_first_lane()) atomicAdd(&ring.orders[place].complaint, 1u);
        return no_ray();
    }

    __device__ void store(unsigned index, const Hit& hit) {
        if (index == NO_RAY || !is_first_lane()) return;
        store_hit(ring.hits, index, answer_of<ANY_HIT>(hit));
        owes = true;
    }

   private:
    const Ring& ring;
    Turn& turn;
    unsigned& faults;
    Share share;
    unsigned taken;  // place of the share's order
    unsigned place;  // place of the order of this lane's ray
    Ray ray;         // of this lane, as it has been fetched
    bool owes;       // this lane has stored a hit that its order does not know of
    bool is_dry;     // there were no more tickets the last time

    __device__ bool take() {
        is_dry = !turn.take<ANY_HIT>(share, taken);
        const unsigned absent = WARP_LANES - (share.end - share.next);
        if (!is_dry && absent != 0 && lane_index() == 0) finish(taken, absent);
        return !is_dry;
    }

    // Tells the orders of the hits that have been stored. All lanes together.
    __device__ void settle() {
        if (owes) {
            if (faults != 0) atomicOr(&ring.orders[place].complaint, faults << FAULT_SHIFT);
            __threadfence_system();
        }
        for (unsigned owing = __ballot_sync(WHOLE_WARP, owes); owing != 0;) {
            const unsigned first = __ffs(owing) - 1;
            const unsigned its_place = __shfl_sync(WHOLE_WARP, place, first);
            const unsigned same = __ballot_sync(WHOLE_WARP, owes && place == its_place);
            if (lane_index() == first) finish(place, __popc(same));
            owing &= ~same;
        }
        owes = false;
        faults = 0;
    }

    // So many more rays of an order are done.
    __device__ void finish(unsigned its_place, unsigned count) {
        Order& order = ring.orders[its_place];
        if (atomicSub(&order.left, count) != count) return;
        __threadfence();
        const Word number = current(order.number);
        const Word complaint = current(order.complaint);
        Word& flag = ring.flags[current(order.slot)];
        publish(order.number, 0u);
        __threadfence_system();
        publish(flag, number << 32 | complaint);
        atomicAdd(&ring.desk->finished, 1u);
    }
};

// Apart, so that the one query takes no registers from the other.
template <bool ANY_HIT>
__device__ __noinline__ void serve(const Scene& scene, const Ring& ring, Turn& turn) {
    unsigned faults = 0;
    RingRays<ANY_HIT> rays(ring, turn, faults);
    traverse<ANY_HIT>(scene, rays, faults);
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, LEAST_BLOCKS / 2) resident(const __grid_constant__ Scene scene, const __grid_constant__ Ring ring) {
    if (blockIdx.x == 0 && warp_index() == 0) return scout(ring);
    Turn turn(ring);
    bool any_hit = false;
    while (turn.wait(any_hit)) {
        if (any_hit) {
            serve<true>(scene, ring, turn);
        } else {
            serve<false>(scene, ring, turn);
        }
    }
}
