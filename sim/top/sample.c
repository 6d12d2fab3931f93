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

/* What the launcher has put into the environment with which the process began. */
static int32_t read_rank(int32_t pid)
{
    static const char *const names[] = {"PMI_RANK=", "OMPI_COMM_WORLD_RANK=", "SLURM_PROCID="};
    char path[64], *line = NULL, *end;
    size_t size = 0, i;
    long rank = -1;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/environ", pid);
    file = fopen(path, "re");
    if (file == NULL)
        return -1;
    while (rank < 0 && getdelim(&line, &size, '\0', file) > 0) {
        for (i = 0; i < sizeof(names) / sizeof(names[0]) && rank < 0; i++) {
            if (strncmp(line, names[i], strlen(names[i])) != 0)
                continue;
            rank = strtol(line + strlen(names[i]), &end, 10);
            if (*end != '\0' || rank > INT32_MAX)
                rank = -1;
        }
    }
    free(line);
    fclose(file);
    return rank >= 0 ? (int32_t)rank : -1;
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
    sample->observer =
        peer != NULL && peer->segment_bytes < ARIES_WATCH_AT + sizeof(struct aries_watch);
    if (peer != NULL)
        read_figures(peer, &sample->watch);
    read_command(member->pid, sample->command, sizeof(sample->command));
    sample->rank = read_rank(member->pid);
}

void top_samples_take(struct shm *shm, struct sample *samples)
{
    const struct shm_facts *facts = shm_facts(shm);
    uint32_t slot;
    struct shm_member member;

    shm_poll_daemon(shm);
    for (slot = 0; slot < facts->processes_max; slot++) {
        if (!shm_member(shm, slot, &member) || slot == shm_self(shm)->slot) {
            samples[slot].is.generation = 0;
            continue;
        }
        take(shm, &samples[slot], &member);
    }
}

static int compare(const void *a, const void *b)
{
    const struct sample *left = *(const struct sample *const *)a,
                        *right = *(const struct sample *const *)b;

    if (left->rank != right->rank) /* -1 is the largest without sign */
        return (uint32_t)left->rank < (uint32_t)right->rank ? -1 : 1;
    if (left->is.node != right->is.node)
        return left->is.node < right->is.node ? -1 : 1;
    return left->is.pid < right->is.pid ? -1 : left->is.pid > right->is.pid;
}

uint32_t top_samples_sort(const struct shm_facts *facts, const struct sample *samples,
                          const struct sample **order, uint32_t *observers)
{
    uint32_t slot, count = 0;

    *observers = 0;
    for (slot = 0; slot < facts->processes_max; slot++) {
        if (samples[slot].is.generation == 0)
            continue;
        if (samples[slot].observer)
            ++*observers;
        else
            order[count++] = &samples[slot];
    }
    assert(count + *observers < facts->processes_max); /* this process has a slot, too */
    qsort(order, count, sizeof(*order), compare);
    return count;
}

uint64_t top_unread(const struct aries_watch *watch)
{
    uint64_t unread = 0;
    uint32_t i;

    for (i = 0; i < watch->cqs; i++) /* read_figures() has bounded it */
        unread += watch->cq[i].count;
    return unread;
}
