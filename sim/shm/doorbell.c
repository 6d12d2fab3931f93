/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "internal.h"

live_cold void live_ring_bell(const struct peer *peer)
{
    const uint64_t one = 1;
    int before = errno;

    /* Full (EAGAIN) means rung. By the system call itself: no thread is to be cancelled here. */
    syscall(SYS_write, peer->doorbell >= 0 ? peer->doorbell : peer->live->doorbell, &one,
            sizeof(one));
    errno = before;
}

bool live_looks(const struct live_peer *to)
{
    const struct peer *peer = peer_of(to);
    uint64_t stale = peer->live->stale_ticks;
    uint64_t looked = atomic_load_explicit(&peer->head->looked, memory_order_relaxed);

    return !to->gone && live_ticks() - looked + stale <= 2 * stale &&
           !(atomic_load_explicit(&peer->head->doze, memory_order_relaxed) & DOZE_ASLEEP);
}

/* Rings once if the peer has not looked for a while. */
void live_check_stamp(struct peer *peer, uint64_t now)
{
    uint64_t stale = peer->live->ring_ticks;

    peer->seen_looked = atomic_load_explicit(&peer->head->looked, memory_order_relaxed);
    if (now - peer->seen_looked + stale > 2 * stale && peer->rung_looked != peer->seen_looked) {
        peer->rung_looked = peer->seen_looked;
        peer->rung_at = now;
        live_ring_bell(peer);
    }
}

/*
 * It has not executed what it was sent. What it says of its sleep may be wrong: so it is rung again
 * now and then. And if it has looked at its rings in thousands of different milliseconds since it
 * last executed something of ours, or said that it cannot yet, then it never will: an honest one
 * looks at all rings. A process that is stopped does not look.
 */
static void wait_for(struct live *live, struct peer *peer, uint64_t now)
{
    uint64_t executed = peer->out[LIVE_REQUEST].told + peer->out[LIVE_REPLY].told;
    uint32_t aside = atomic_load_explicit(&peer->heads->aside, memory_order_relaxed);

    if (now - peer->rung_at > live->rering_ticks) {
        peer->rung_at = now;
        live_ring_bell(peer);
    }
    if (executed != peer->overdue.executed || aside != peer->overdue.aside) {
        peer->overdue.executed = executed;
        peer->overdue.aside = aside;
        peer->overdue.looks = 0;
    } else if (peer->seen_looked != peer->overdue.looked &&
               now - peer->overdue.counted >= live->look_ticks) {
        peer->overdue.looked = peer->seen_looked;
        peer->overdue.counted = now;
        if (++peer->overdue.looks > LIVE_OVERDUE && !peer->to.self)
            live_break_with(peer);
    }
}

/*
 * Where more processes poll than there are processors, a peer that has not looked for a while
 * stands in line for one, as this process does: a bell would only put its helper in that line, too.
 */
static void count_switches(struct live *live, uint64_t now)
{
    uint64_t elapsed = now - live->counted;
    struct rusage usage;
    bool crowded;

    if (elapsed < live->look_ticks || getrusage(RUSAGE_SELF, &usage) != 0)
        return;
    crowded =
        (uint64_t)(usage.ru_nivcsw - live->switches) * live->look_ticks >= LIVE_CROWDED * elapsed;
    atomic_store_explicit(&live->crowded, crowded, memory_order_relaxed);
    live->ring_ticks = live->stale_ticks * (crowded ? LIVE_STALE_CROWDED_US / LIVE_STALE_US : 1);
    live->switches = usage.ru_nivcsw;
    live->counted = now;
}

/*
 * A peer that looked just before a record was published and then went computing was not rung for.
 * Who published looks after it while it makes progress itself; if it does not either, the peer's
 * helper comes after a millisecond.
 */
live_noinline void live_tick(struct live *live, uint64_t now)
{
    struct peer *peer;
    unsigned channel;
    bool waits;

    count_switches(live, now);
    for (peer = live->peers; peer != NULL; peer = peer->next) {
        waits = false;
        for (channel = 0; channel < LIVE_CHANNELS && !peer->to.gone; channel++) {
            if (peer->out[channel].told == peer->out[channel].tail)
                continue;
            live_hear(peer, channel);
            waits = waits || peer->out[channel].told != peer->out[channel].tail;
        }
        if (waits) {
            live_check_stamp(peer, now);
            wait_for(live, peer, now);
        } else {
            peer->rung_at = now;
            peer->overdue.looks = 0;
        }
    }
}

/* Some peer has executed something since we looked at that. */
bool live_hear_all(struct live *live)
{
    const struct peer *peer;
    unsigned channel;
    bool moved = false;

    for (peer = live->peers; peer != NULL; peer = peer->next)
        for (channel = 0; channel < LIVE_CHANNELS && !peer->to.gone; channel++)
            if (peer->out[channel].told != peer->out[channel].tail && live_hear(peer, channel))
                moved = true;
    return moved;
}

/* Somebody has something of ours that it has not executed. */
bool live_outstanding(const struct live *live)
{
    const struct peer *peer;

    for (peer = live->peers; peer != NULL; peer = peer->next)
        if (!peer->to.gone && (peer->out[LIVE_REQUEST].told != peer->out[LIVE_REQUEST].tail ||
                               peer->out[LIVE_REPLY].told != peer->out[LIVE_REPLY].tail))
            return true;
    return false;
}
