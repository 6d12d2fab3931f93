/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "top.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* "12.3M": four characters and a unit. */
static const char *amount(double value, char *text, size_t size)
{
    static const char units[] = " kMGTPE";
    size_t unit = 0;

    while (value >= 9999.5 && unit + 2 < sizeof(units)) {
        value /= 1000;
        unit++;
    }
    if (unit == 0)
        snprintf(text, size, "%.0f", value);
    else
        snprintf(text, size, "%.*f%c", value < 99.95 ? 1 : 0, value, units[unit]);
    return text;
}

static const char *rate(const struct sample *sample, uint64_t now, uint64_t before, char *text,
                        size_t size)
{
    uint64_t time = sample->watch.taken_ns - sample->taken_ns;

    if (sample->taken_ns == 0) {
        snprintf(text, size, "-");
        return text;
    }
    return amount(time != 0 ? (double)(now - before) * 1e9 / (double)time : 0, text, size);
}

double top_seconds_ago(uint64_t ns)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9 - (double)ns * 1e-9;
}

/* The fullest queue, and the connection with the fewest credits. */
static void extremes(const struct aries_watch *watch, char *fill, char *credits, size_t size)
{
    const struct aries_watch_cq *cq = NULL;
    const struct aries_watch_ep *ep = NULL;
    uint32_t i;

    for (i = 0; i < watch->cqs; i++)
        if (cq == NULL || (uint64_t)watch->cq[i].count * cq->capacity >
                              (uint64_t)cq->count * watch->cq[i].capacity)
            cq = &watch->cq[i];
    for (i = 0; i < watch->eps; i++)
        if (ep == NULL || watch->ep[i].free < ep->free)
            ep = &watch->ep[i];
    snprintf(fill, size, "-");
    snprintf(credits, size, "-");
    if (cq != NULL)
        snprintf(fill, size, "%u/%u%s", cq->count, cq->capacity, cq->overrun ? "!" : "");
    if (ep != NULL)
        snprintf(credits, size, "%u/%u", ep->free, ep->credits);
}

static void details(FILE *to, const struct aries_watch *watch)
{
    uint32_t i;

    for (i = 0; i < watch->cqs; i++)
        fprintf(to, "      CQ %-4u %u of %u entries%s\n", watch->cq[i].index, watch->cq[i].count,
                watch->cq[i].capacity, watch->cq[i].overrun ? ", overrun" : "");
    for (i = 0; i < watch->eps; i++)
        fprintf(to, "      SMSG to nid%05u instance %u: %u of %u credits, sent %u, received %u%s\n",
                watch->ep[i].node, watch->ep[i].instance, watch->ep[i].free, watch->ep[i].credits,
                watch->ep[i].sent, watch->ep[i].received, watch->ep[i].broken ? ", broken" : "");
}

static uint32_t listed(const struct aries_watch *watch)
{
    return watch->vcs < ARIES_WATCH_VCS ? watch->vcs : ARIES_WATCH_VCS;
}

static void connections(FILE *to, const struct aries_watch *watch)
{
    char node[16];
    uint32_t i;

    for (i = 0; i < listed(watch); i++) {
        const struct aries_watch_vc *vc = &watch->vc[i];

        if (vc->node == UINT32_MAX)
            snprintf(node, sizeof(node), "nowhere");
        else
            snprintf(node, sizeof(node), "nid%05u", vc->node);
        fprintf(to, "      VC to %s instance %u: %s for %.1f s\n", node, vc->instance, vc->state,
                top_seconds_ago(vc->since_ns));
    }
    if (watch->vcs > ARIES_WATCH_VCS)
        fprintf(to, "      and %u VCs that changed before those\n", watch->vcs - ARIES_WATCH_VCS);
}

/* "3 connected", "1 connecting+2": the state that was entered last with its number of VCs, and the
 * number of VCs in other states. */
static const char *states(const struct aries_watch *watch, char *text, size_t size)
{
    uint32_t i, same = 0;

    for (i = 0; i < listed(watch); i++)
        same += strcmp(watch->vc[i].state, watch->vc[0].state) == 0;
    if (same == 0)
        snprintf(text, size, "-");
    else if (same == watch->vcs)
        snprintf(text, size, "%u %s", same, watch->vc[0].state);
    else
        snprintf(text, size, "%u %s+%u", same, watch->vc[0].state, watch->vcs - same);
    return text;
}

static void row(FILE *to, const struct sample *sample)
{
    const struct aries_watch *watch = &sample->watch;
    char moved[16], per_s[16], bytes_per_s[16], fill[32], credits[32], vcs[48];
    char rank[16] = "-";

    if (sample->rank >= 0)
        snprintf(rank, sizeof(rank), "%d", sample->rank);
    fprintf(to, "%-9.9s %5s nid%05u %7d ", sample->command, rank, sample->is.node, sample->is.pid);
    if (watch->magic == 0) {
        fputs("no figures\n", to);
        return;
    }
    assert(watch->cqs <= ARIES_WATCH_CQS && watch->eps <= ARIES_WATCH_EPS); /* read_figures() */
    extremes(watch, fill, credits, sizeof(fill));
    fprintf(to, "%4u %6u %8s %8s %8s %6" PRIu64 " %11s %8s %6" PRIu64 " %7.1fs  %s\n", watch->nics,
            watch->regions, amount((double)watch->bytes, moved, sizeof(moved)),
            rate(sample, watch->transactions, sample->transactions, per_s, sizeof(per_s)),
            rate(sample, watch->bytes, sample->bytes, bytes_per_s, sizeof(bytes_per_s)),
            top_unread(watch), fill, credits, watch->errors, top_seconds_ago(watch->progress_ns),
            states(watch, vcs, sizeof(vcs)));
}

void top_screen_print(FILE *to, const struct shm_facts *facts, const struct sample *samples,
                      const struct screen_options *options)
{
    const struct sample **order = calloc(facts->processes_max, sizeof(const struct sample *));
    uint32_t observers, processes, i;

    if (order == NULL)
        abort();
    processes = top_samples_sort(facts, samples, order, &observers);
    fprintf(to, "fabric %s: %u nodes, %u processes, ",
            facts->name[0] != '\0' ? facts->name : facts->path, facts->nodes, processes);
    if (observers != 0)
        fprintf(to, "%u more watching, ", observers);
    fprintf(to, "up %.0f s\n", top_seconds_ago(facts->began_ns));
    fputs("process    rank     node     pid NICs   MDDs    bytes    ops/s  bytes/s unread  fullest "
          "CQ "
          " credits errors progress  VCs\n",
          to);
    for (i = 0; i < processes; i++) {
        row(to, order[i]);
        if (options->all && order[i]->watch.magic != 0)
            details(to, &order[i]->watch), connections(to, &order[i]->watch);
    }
    free(order);
}
