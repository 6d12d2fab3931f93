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

    /* EAGAIN means that the doorbell is rung already. This uses the system call itself, because
     * write() is a cancellation point and no thread may be cancelled here. */
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

/* Rings the doorbell if the peer has not polled for a while, once for each value of its time stamp.
 */
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
 * The peer has not executed what this process sent to it. Its sleep flag may be wrong, so the
 * doorbell is rung again from time to time. An honest process polls all of its rings. So if the
 * peer has polled in SHM_OVERDUE different milliseconds since it last executed one of our records,
 * or last said that it cannot execute one yet, it never will: it is treated as dead. A process that
 * is stopped does not poll.
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

/* Where more processes poll than there are processors, a peer that has not polled for a while only
 * waits for a processor, as this process does. Ringing its doorbell would make its helper wait for
 * a processor, too. */
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

/* A peer that polled just before a record was published, and computes since then, was not rung. The
 * producer checks its consumers here while it makes progress itself. If it makes none, the peer's
 * helper finds the record within a millisecond. */
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

/* Whether a peer has executed something since the last check. */
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

/* Whether a peer still has to execute something of ours. */
bool shm_outstanding(const struct shm *shm)
{
    const struct peer *peer;

    for (peer = shm->peers; peer != NULL; peer = peer->next)
        if (!peer->to.gone && (peer->out[SHM_REQUEST].acked != peer->out[SHM_REQUEST].tail ||
                               peer->out[SHM_REPLY].acked != peer->out[SHM_REPLY].tail))
            return true;
    return false;
}
