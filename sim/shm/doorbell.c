/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "internal.h"

shm_cold void shm_ring_doorbell(const struct peer *peer)
{
    const uint64_t one = 1;
    int before = errno;

    /* Full (EAGAIN) means rung. By the system call itself: no thread is to be cancelled here. */
    syscall(SYS_write, peer->doorbell >= 0 ? peer->doorbell : peer->shm->doorbell, &one,
            sizeof(one));
    errno = before;
}

bool shm_peer_is_polling(const struct shm_peer *to)
{
    const struct peer *peer = peer_of(to);
    uint64_t stale = peer->shm->stale_ticks;
    uint64_t last_poll = atomic_load_explicit(&peer->head->last_poll, memory_order_relaxed);

    return !to->gone && shm_ticks() - last_poll + stale <= 2 * stale &&
           !(atomic_load_explicit(&peer->head->sleep_flag, memory_order_relaxed) &
             SLEEP_FLAG_ASLEEP);
}

/* Rings once if the peer has not looked for a while. */
void shm_check_stamp(struct peer *peer, uint64_t now)
{
    uint64_t stale = peer->shm->ring_ticks;

    peer->seen_last_poll = atomic_load_explicit(&peer->head->last_poll, memory_order_relaxed);
    if (now - peer->seen_last_poll + stale > 2 * stale &&
        peer->rung_last_poll != peer->seen_last_poll) {
        peer->rung_last_poll = peer->seen_last_poll;
        peer->rung_at = now;
        shm_ring_doorbell(peer);
    }
}

/*
 * It has not executed what it was sent. What it says of its sleep may be wrong: so it is rung again
 * now and then. And if it has looked at its rings in thousands of different milliseconds since it
 * last executed something of ours, or said that it cannot yet, then it never will: an honest one
 * looks at all rings. A process that is stopped does not look.
 */
static void check_overdue(struct shm *shm, struct peer *peer, uint64_t now)
{
    uint64_t executed = peer->out[SHM_REQUEST].acked + peer->out[SHM_REPLY].acked;
    uint32_t aside = atomic_load_explicit(&peer->indices->aside, memory_order_relaxed);

    if (now - peer->rung_at > shm->rering_ticks) {
        peer->rung_at = now;
        shm_ring_doorbell(peer);
    }
    if (executed != peer->overdue.executed || aside != peer->overdue.aside) {
        peer->overdue.executed = executed;
        peer->overdue.aside = aside;
        peer->overdue.empty_polls = 0;
    } else if (peer->seen_last_poll != peer->overdue.last_poll &&
               now - peer->overdue.counted >= shm->poll_ticks) {
        peer->overdue.last_poll = peer->seen_last_poll;
        peer->overdue.counted = now;
        if (++peer->overdue.empty_polls > SHM_OVERDUE && !peer->to.self)
            shm_peer_break(peer);
    }
}

/*
 * Where more processes poll than there are processors, a peer that has not looked for a while
 * stands in line for one, as this process does: a bell would only put its helper in that line, too.
 */
static void count_switches(struct shm *shm, uint64_t now)
{
    uint64_t elapsed = now - shm->counted;
    struct rusage usage;
    bool crowded;

    if (elapsed < shm->poll_ticks || getrusage(RUSAGE_SELF, &usage) != 0)
        return;
    crowded =
        (uint64_t)(usage.ru_nivcsw - shm->switches) * shm->poll_ticks >= SHM_CROWDED * elapsed;
    atomic_store_explicit(&shm->crowded, crowded, memory_order_relaxed);
    shm->ring_ticks = shm->stale_ticks * (crowded ? SHM_STALE_CROWDED_US / SHM_STALE_US : 1);
    shm->switches = usage.ru_nivcsw;
    shm->counted = now;
}

/*
 * A peer that looked just before a record was published and then went computing was not rung for.
 * Who published looks after it while it makes progress itself; if it does not either, the peer's
 * helper comes after a millisecond.
 */
shm_noinline void shm_tick(struct shm *shm, uint64_t now)
{
    struct peer *peer;
    unsigned channel;
    bool waits;

    count_switches(shm, now);
    for (peer = shm->peers; peer != NULL; peer = peer->next) {
        waits = false;
        for (channel = 0; channel < SHM_CHANNELS && !peer->to.gone; channel++) {
            if (peer->out[channel].acked == peer->out[channel].tail)
                continue;
            shm_read_executed(peer, channel);
            waits = waits || peer->out[channel].acked != peer->out[channel].tail;
        }
        if (waits) {
            shm_check_stamp(peer, now);
            check_overdue(shm, peer, now);
        } else {
            peer->rung_at = now;
            peer->overdue.empty_polls = 0;
        }
    }
}

/* Some peer has executed something since we looked at that. */
bool shm_read_executed_all(struct shm *shm)
{
    const struct peer *peer;
    unsigned channel;
    bool moved = false;

    for (peer = shm->peers; peer != NULL; peer = peer->next)
        for (channel = 0; channel < SHM_CHANNELS && !peer->to.gone; channel++)
            if (peer->out[channel].acked != peer->out[channel].tail &&
                shm_read_executed(peer, channel))
                moved = true;
    return moved;
}

/* Somebody has something of ours that it has not executed. */
bool shm_outstanding(const struct shm *shm)
{
    const struct peer *peer;

    for (peer = shm->peers; peer != NULL; peer = peer->next)
        if (!peer->to.gone && (peer->out[SHM_REQUEST].acked != peer->out[SHM_REQUEST].tail ||
                               peer->out[SHM_REPLY].acked != peer->out[SHM_REPLY].tail))
            return true;
    return false;
}
