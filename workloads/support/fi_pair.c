/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fi_pair.h"

int wl_pair_fail(struct wl_pair *pair, const char *what)
{
    return rank_fail(pair->fi.rank, "%s: flags %#llx, %zu bytes, error %d, %zu bytes too long",
                     what, (unsigned long long)pair->event.entry.flags, pair->event.entry.len,
                     pair->event.error, pair->event.excess);
}

int wl_pair_meet(struct wl_pair *pair)
{
    uint64_t here = 1;

    return wl_fi_exchange(&pair->fi, &here, sizeof(here)) != NULL ? 0 : -1;
}

int wl_pair_next(struct wl_pair *pair, const void *context, const char *what)
{
    if (!wl_fi_wait(&pair->fi, &pair->event))
        return rank_fail(pair->fi.rank, "%s: no completion", what);
    rank_progress(pair->fi.rank);
    return pair->event.entry.op_context == context ? 0 : wl_pair_fail(pair, what);
}

uint64_t wl_pair_seed(const struct wl_pair *pair, bool ours, uint64_t number)
{
    return ours ? wl_fi_seed(pair->fi.id, pair->peer, number)
                : wl_fi_seed(pair->peer, pair->fi.id, number);
}

static void close_all(struct wl_pair *pair)
{
    if (pair->written != NULL) {
        if (pair->fi.ep != NULL)
            fi_close(&pair->fi.ep->fid);
        pair->fi.ep = NULL;
        fi_close(&pair->written->fid);
    }
    wl_fi_close(&pair->fi);
    free(pair->in);
    free(pair->out);
}

int wl_pair_run(struct rank *rank, int (*open)(struct wl_pair *, struct rank *),
                wl_pair_test *const tests[], size_t count)
{
    uint64_t rounds = rank_arg_count(rank, "rounds"), round;
    struct wl_pair pair = {.peer = UINT32_MAX};
    int status = open(&pair, rank);
    size_t i;

    pair.in = wl_fi_buffer(WL_PAIR_LONG + 2 * WL_PAIR_PAGE);
    pair.out = wl_fi_buffer(WL_PAIR_LONG + 2 * WL_PAIR_PAGE);
    if (status == 0)
        pair.peer = wl_fi_partner(&pair.fi);
    if (status == 0 && (pair.peer == UINT32_MAX || pair.in == NULL || pair.out == NULL))
        status = rank_fail(rank, "needs an even number of ranks, and memory");
    if (status == 0)
        pair.to = wl_fi_address(&pair.fi, pair.peer);
    for (round = 0; round < rounds && status == 0; round++)
        for (i = 0; i < count && status == 0; i++) {
            status = tests[i](&pair);
            if (status == 0)
                status = wl_pair_meet(&pair);
        }
    if (status == 0)
        status = wl_fi_finish(&pair.fi, 0);
    close_all(&pair);
    return status != 0;
}
