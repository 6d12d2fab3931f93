/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "top.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "shm/seqlock.h"

#define SEQLOCK_RETRIES 100 /* while the process is writing its figures */

/* Copies the figures that a process publishes. The process is not trusted, so counts are bounded
 * here. */
static void read_figures(const struct shm_peer *peer, struct aries_watch *to)
{
    const struct aries_watch *segment;
    uint32_t seen;
    int i;

    to->magic = 0;
    if (peer->segment == NULL || peer->segment_bytes < ARIES_WATCH_AT + sizeof(*to))
        return;
    segment = (const struct aries_watch *)((const char *)peer->segment + ARIES_WATCH_AT);
    for (i = 0; i < SEQLOCK_RETRIES; i++) {
        bool whole = shm_seq_read_begin(&segment->sequence, &seen);

        memcpy(
            to, segment,
            sizeof(*to)); /* figures of a process that was killed while it wrote are shown, too */
        if (whole && shm_seq_read_end(&segment->sequence, seen))
            break;
    }
    if (to->magic != ARIES_WATCH_MAGIC)
        to->magic = 0;
    to->cqs = to->cqs < ARIES_WATCH_CQS ? to->cqs : ARIES_WATCH_CQS;
    for (i = 0; i < (int)ARIES_WATCH_VCS; i++)
        to->vc[i].state[ARIES_WATCH_STATE_BYTES - 1] = '\0';
    to->eps = to->eps < ARIES_WATCH_EPS ? to->eps : ARIES_WATCH_EPS;
}

static void read_command(int32_t pid, char *command, size_t size)
{
    char path[64];
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/comm", pid);
    file = fopen(path, "re");
    if (file == NULL || fgets(command, (int)size, file) == NULL)
        snprintf(command, size, "?");
    command[strcspn(command, "\n")] = '\0';
    if (file != NULL)
        fclose(file);
}

static void take(struct shm *shm, struct sample *sample, const struct shm_member *member)
{
    struct shm_peer *peer = shm_peer(shm, member->slot, member->generation, NULL);
    bool same = sample->is.generation == member->generation && sample->watch.magic != 0;
    struct aries_watch before = sample->watch;

    sample->taken_ns = 0;
    if (same) {
        sample->transactions = before.transactions;
        sample->bytes = before.bytes;
        sample->taken_ns = before.taken_ns;
    }
    sample->is = *member;
    sample->watch.magic = 0;
    if (peer != NULL)
        read_figures(peer, &sample->watch);
    read_command(member->pid, sample->command, sizeof(sample->command));
}

uint32_t top_samples_take(struct shm *shm, struct sample *samples)
{
    const struct shm_facts *facts = shm_facts(shm);
    uint32_t slot, count = 0;
    struct shm_member member;

    shm_poll_daemon(shm);
    for (slot = 0; slot < facts->processes_max; slot++) {
        if (!shm_member(shm, slot, &member) || slot == shm_self(shm)->slot) {
            samples[slot].is.generation = 0;
            continue;
        }
        take(shm, &samples[slot], &member);
        count++;
    }
    assert(count < facts->processes_max); /* this process has a slot, too */
    return count;
}
