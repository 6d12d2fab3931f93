/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What another process may have written: messages of the socket, and the words of a ring. Any bytes
 * are taken: a message that is accepted is as it may be; records that are found lie in the ring.
 */
#include <stdlib.h>
#include <string.h>
#include "internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void check(bool good)
{
    if (!good)
        abort();
}

static void decode(const uint8_t *bytes, size_t length)
{
    static const int fds[WIRE_FDS_MAX] = {-1, -1, -1};
    struct wire_packet packet;

    if (length == 0 || !shm_wire_decode(bytes + 1, length - 1, fds, bytes[0] % 4, &packet))
        return;
    check(packet.head.kind > 0 && packet.head.kind < WIRE_KINDS);
    check(packet.text_bytes + sizeof(packet.head) == length - 1 &&
          packet.text_bytes <= SHM_TEXT_MAX);
}

/* The bytes are laid over the ring again and again, each time from another place; the ring has
 * nothing around it that could be read by mistake. */
static void read_ring(const uint8_t *bytes, size_t length)
{
    static uint8_t copy[SHM_RECORD_MAX];
    uint8_t *slots = aligned_alloc(SHM_LINE, RING_BYTES);
    struct shm *shm = aligned_alloc(SHM_LINE, (sizeof(*shm) + 63) / 64 * 64);
    struct segment_head head = {.magic = 0};
    struct consumer_indices indices;
    struct ring_out out[SHM_CHANNELS];
    struct peer peer, self;
    struct shm_record record;
    _Atomic uint64_t executed = 0;
    unsigned i, taken;
    size_t at = 0;

    check(slots != NULL && shm != NULL);
    memset(slots, 0, RING_BYTES);
    memset(shm, 0, sizeof(*shm));
    memset(&peer, 0, sizeof(peer));
    memset(&self, 0, sizeof(self));
    memset(out, 0, sizeof(out));
    memset(&indices, 0, sizeof(indices));
    self.to.generation = 1;
    shm->self = &self;
    shm->head = &head;
    shm->ended = calloc(1, sizeof(uint32_t));
    shm->slots = calloc(1, sizeof(struct peer *));
    shm->deferred_end = &shm->deferred;
    shm->socket = shm->doorbell = shm->helper_event = shm->wake_event = -1;
    shm->lost = shm->lost_reported = true; /* no daemon */
    shm->facts.processes_max = 1;
    peer.shm = shm;
    peer.head = &head;
    peer.indices = &indices;
    peer.out = out;
    for (i = 0; i < SHM_CHANNELS; i++) {
        peer.in[i] = (struct ring_in){.slots = slots,
                                      .end = UINT64_MAX,
                                      .peer = &peer,
                                      .executed = &executed,
                                      .channel = (uint8_t)i,
                                      .open = true};
    }
    check(shm_rings_reserve(shm) == 0);
    shm_rings_add(shm, &peer);
    shm->peers = &peer;
    while (at + 10 <= length && !peer.to.gone) {
        uint32_t slot = (bytes[at] | (uint32_t)bytes[at + 1] << 8) % (RING_BYTES / 8);

        memcpy(slots + (size_t)slot * 8, bytes + at + 2, 8);
        at += 10;
        for (taken = 0; taken < 2 * SHM_RING_SLOTS && shm_next(shm, &record); taken++) {
            check((const uint8_t *)record.bytes >= slots &&
                  (const uint8_t *)record.bytes + record.count <= slots + RING_BYTES);
            memcpy(copy, record.bytes, record.count);
            shm_release(shm);
        }
        shm->current = NULL;
    }
    free(shm->ended);
    free(shm->slots);
    free(shm->rings);
    free(shm);
    free(slots);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    if (length > 0 && bytes[0] & 0x80)
        read_ring(bytes + 1, length - 1);
    else
        decode(bytes, length);
    return 0;
}
