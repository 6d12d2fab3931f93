/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* All that a membership consists of is within reach here: where its board and its rings are. */
#include "hostile_ring.h"

#include "internal.h"

static void store_at(struct shm *shm, size_t at, uint64_t value)
{
    *(volatile uint64_t *)(void *)(shm->segment + at / 8 * 8) = value;
}

void ring_break(struct shm *shm, struct shm_peer *other, uint64_t (*dice)(uint64_t sides))
{
    struct peer *peer = peer_of(other);
    uint64_t any = dice(2) == 0 ? dice(UINT64_MAX) : UINT64_MAX - dice(4096);
    unsigned channel = (unsigned)dice(2);
    size_t ring = shm->at.rings + ((size_t)peer->to.slot * SHM_CHANNELS + channel) * RING_BYTES;
    uint64_t position = peer->out[channel].tail + dice(100);
    size_t slot = ring + (position & RING_MASK) * SHM_LINE;

    switch (dice(6)) {
    case 0:
        store_at(shm, slot,
                 record_word(position, dice(65536), (uint32_t)dice(65536), (uint32_t)dice(256),
                             (uint32_t)dice(3)));
        break;
    case 1:
        store_at(shm,
                 shm->at.indices + peer->to.slot * sizeof(struct consumer_indices) + channel * 8,
                 tagged(peer->to.generation, any));
        break;
    case 2:
        store_at(shm, shm->at.starts + peer->to.slot * sizeof(struct ring_starts) + channel * 8,
                 tagged(peer->to.generation, any));
        break;
    case 3:
        store_at(shm, dice(shm->at.extra), any);
        break;
    default:
        store_at(shm, slot,
                 record_word(position, dice(65536), (uint32_t)dice(4300), (uint32_t)dice(16), 0));
        break;
    }
}

void ring_pretend_to_poll(struct shm *shm)
{
    atomic_store(&shm->head->sleep_flag, shm->sleep_flag & ~SLEEP_FLAG_ASLEEP);
    atomic_store(&shm->head->last_poll, shm_ticks() + shm->stale_ticks / 2);
}
