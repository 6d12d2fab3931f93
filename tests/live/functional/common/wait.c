/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Driving the provider until something comes. */
#include "internal.h"

#include <sched.h>

#define EAGER_YIELD 32u
#define POLL_AFTER 256u

void drive(struct side *side)
{
    struct fi_eq_cm_entry entry;
    uint32_t event;
    unsigned i;

    if (side->eq != NULL)
        fi_eq_read(side->eq, &event, &entry, sizeof(entry), FI_PEEK);
    for (i = 0; i < side->watched_count; i++) {
        if (side->watched[i]->fclass == FI_CLASS_CQ)
            fi_cq_read((struct fid_cq *)side->watched[i], NULL, 0);
        else
            fi_cntr_read((struct fid_cntr *)side->watched[i]);
    }
    if (++side->idle % EAGER_YIELD == 0)
        sched_yield();
    if (side->idle % POLL_AFTER == 0)
        peer_poll(side);
}

void watch(struct side *side, struct fid *fid)
{
    HOLDS(side->watched_count < WATCHED_MAX);
    side->watched[side->watched_count++] = fid;
}

void unwatch(struct side *side, struct fid *fid)
{
    unsigned i;

    for (i = 0; i < side->watched_count; i++)
        if (side->watched[i] == fid) {
            side->watched[i] = side->watched[--side->watched_count];
            return;
        }
}

struct fi_cq_tagged_entry take_from(struct side *side, struct fid_cq *cq, fi_addr_t *source)
{
    struct fi_cq_tagged_entry entry = {.op_context = NULL};
    ssize_t got;

    while ((got = source != NULL ? fi_cq_readfrom(cq, &entry, 1, source)
                                 : fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
        drive(side);
    if (got == -FI_EAVAIL) {
        struct fi_cq_err_entry error = {.err_data_size = 0};

        CHECK(fi_cq_readerr(cq, &error, 0));
        fail("error entry: %s (%d), flags %#llx, provider: %s", fi_strerror(error.err), error.err,
             (unsigned long long)error.flags,
             fi_cq_strerror(cq, error.prov_errno, error.err_data, NULL, 0));
    }
    expect_at(__FILE__, __LINE__, "fi_cq_read", got, 1);
    return entry;
}

struct fi_cq_tagged_entry take(struct side *side, struct fid_cq *cq)
{
    return take_from(side, cq, NULL);
}

struct fi_cq_tagged_entry take_of(struct side *side, struct fid_cq *cq, const void *context)
{
    struct fi_cq_tagged_entry entry = take(side, cq);

    if (entry.op_context != context)
        fail("an entry of context %p came, expected was %p", entry.op_context, context);
    return entry;
}

struct fi_cq_err_entry take_error(struct side *side, struct fid_cq *cq)
{
    struct fi_cq_err_entry error = {.err_data_size = 0};
    struct fi_cq_tagged_entry entry;
    ssize_t got;

    while ((got = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
        drive(side);
    expect_at(__FILE__, __LINE__, "fi_cq_read", got, -FI_EAVAIL);
    EXPECT(fi_cq_readerr(cq, &error, 0), 1);
    return error;
}

void nothing_comes(struct side *side, struct fid_cq *cq)
{
    struct fi_cq_tagged_entry entry;
    double until = now_seconds() + 0.02;

    do {
        EXPECT(fi_cq_read(cq, &entry, 1), -FI_EAGAIN);
        drive(side);
    } while (now_seconds() < until);
}

void count_to(struct side *side, struct fid_cntr *cntr, uint64_t value)
{
    uint64_t found;

    while ((found = fi_cntr_read(cntr)) < value && fi_cntr_readerr(cntr) == 0)
        drive(side);
    if (found != value || fi_cntr_readerr(cntr) != 0)
        fail("a counter is %llu with %llu errors, expected were %llu", (unsigned long long)found,
             (unsigned long long)fi_cntr_readerr(cntr), (unsigned long long)value);
}
