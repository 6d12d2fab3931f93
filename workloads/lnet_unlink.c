/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program gives up a PUT whose attempts fail: it unlinks the descriptor while LNet waits to send
 * the message again. LNet makes no attempt more than the one that is due. The last event says that
 * the PUT failed, and that the descriptor is unlinked.
 */
#include "run/workload.h"

#include <errno.h>
#include <lnet/api.h>

enum { BYTES = 4096 };

#define BITS UINT64_C(0x756e6c696e6b0000)

static const struct workload_arg args[] = {
    {"puts", ARG_COUNT, "5", "1", "1000", NULL, "one after the other"},
    {"after", ARG_TIME, "10ms", "0", "100s", NULL, "from the PUT to its end by the program"},
    {"within", ARG_TIME, "10s", "0", "1000s", NULL, "from then to the last event"},
    {"portal", ARG_COUNT, "40", "1", "63", NULL, "of the target"},
    {NULL},
};

static uint8_t data[BYTES];

/* Events until the descriptor is unlinked; the status of the last one, or what LNetEQWait returned.
 */
static int last_status(struct lnet_handle_eq events)
{
    struct lnet_event event = {.unlinked = 0};

    while (event.unlinked == 0) {
        int rc = LNetEQWait(events, &event);

        if (rc != 1)
            return rc < 0 ? rc : -EIO;
    }
    return event.status;
}

static int put(struct rank *rank, struct lnet_handle_eq events, lnet_nid_t to)
{
    struct lnet_process_id target = {to, LNET_PID_LUSTRE};
    struct lnet_md md = {.start = data, .length = BYTES, .threshold = 2, .eq_handle = events};
    struct lnet_handle_md handle;
    uint64_t given_up;
    int rc = LNetMDBind(md, LNET_UNLINK, &handle), status;

    if (rc == 0)
        rc = LNetPut(LNET_NID_ANY, handle, LNET_ACK_REQ, target,
                     (unsigned)rank_arg_count(rank, "portal"), BITS, 0, 0);
    if (rc != 0)
        return rank_fail(rank, "LNetPut: %d", rc);
    rank_compute(rank_arg_ps(rank, "after"));
    rc = LNetMDUnlink(handle);
    if (rc != 0)
        return rank_fail(rank, "LNetMDUnlink: %d: the PUT has ended", rc);
    given_up = rank_now();
    status = last_status(events);
    if (status == 0)
        return rank_fail(rank, "a PUT that was given up succeeds");
    rank_record_latency(rank, "end", rank_now() - given_up);
    if (rank_now() - given_up > rank_arg_ps(rank, "within"))
        return rank_fail(rank, "the last event of a descriptor that was unlinked comes late");
    rank_progress(rank);
    rank_count(rank, "given_up", 1);
    return 0;
}

static int give_up(struct rank *rank, const lnet_nid_t *nids)
{
    uint64_t puts = rank_arg_count(rank, "puts");
    struct lnet_handle_eq events;
    int rc = LNetEQAlloc(16, LNET_EQ_HANDLER_NONE, &events);

    if (rc != 0)
        return rank_fail(rank, "LNetEQAlloc: %d", rc);
    for (; rc == 0 && puts > 0 && rank_id(rank) == 0; puts--)
        rc = put(rank, events, nids[1]);
    rank_barrier(rank);
    LNetEQFree(events);
    return rc;
}

static int run(struct rank *rank)
{
    struct lnet_process_id id = {0};
    lnet_nid_t nids[2];
    int rc = LNetNIInit(LNET_PID_LUSTRE);

    if (rc < 0)
        return rank_fail(rank, "LNetNIInit: %d", rc);
    rc = LNetGetId(1, &id); /* 0 is 0@lo */
    if (rc != 0)
        return rank_fail(rank, "LNetGetId: %d", rc);
    rank_allgather(rank, &id.nid, nids, sizeof(id.nid));
    rc = give_up(rank, nids);
    LNetNIFini();
    return rc == 0 ? 0 : 1;
}

static const struct workload lnet_unlink = {
    .name = "lnet_unlink",
    .meaning = "rank 0 unlinks the descriptors of its PUTs to rank 1 before these have ended",
    .metrics = "given_up (count), end (ps, from the unlinking to the last event)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(lnet_unlink)
