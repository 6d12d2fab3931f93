/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The limits of one-sided transfers. Each rank works with the memory of the next one: transfers
 * that end with the last byte of a registration and one byte behind it, writes into read-only
 * memory, handles that are not valid any more, regions of several pieces, events without a queue,
 * and queues that are full. What each call and each completion must say is known.
 *
 * Needs the parameter aries.nic.cq_exact.
 */
#include "support/edges.h"

static const struct workload_arg args[] = {
    {"rounds", ARG_COUNT, "2", "1", "1000000", NULL, "of all tests"},
    {NULL},
};

/* ---- bounds and permissions ------------------------------------------------------------------ */

struct step {
    const char *what;
    gni_post_type_t type;
    enum wl_place place;
    int32_t from_end; /* offset from the end of the registration */
    uint32_t length;
    const char *status; /* of the completion, or what the post says */
    uint16_t mode; /* besides GNI_CQMODE_GLOBAL_EVENT */
};

#define BOUNDS "AT_BOUNDS_ERR"
static const struct step steps[] = {
    {"FMA PUT to the last byte", GNI_POST_FMA_PUT, WL_WRITABLE, -100, 100, "OKAY", 0},
    {"FMA PUT one byte beyond", GNI_POST_FMA_PUT, WL_WRITABLE, -99, 100, BOUNDS, 0},
    {"BTE PUT to the last byte", GNI_POST_RDMA_PUT, WL_WRITABLE, -5000, 5000, "OKAY", 0},
    {"BTE PUT one byte beyond", GNI_POST_RDMA_PUT, WL_WRITABLE, -4999, 5000, BOUNDS, 0},
    {"FMA GET to the last byte", GNI_POST_FMA_GET, WL_WRITABLE, -100, 100, "OKAY", 0},
    {"FMA GET one word beyond", GNI_POST_FMA_GET, WL_WRITABLE, -96, 100, BOUNDS, 0},
    {"BTE GET to the last byte", GNI_POST_RDMA_GET, WL_WRITABLE, -5000, 5000, "OKAY", 0},
    {"BTE GET one word beyond", GNI_POST_RDMA_GET, WL_WRITABLE, -4996, 5000, BOUNDS, 0},
    {"addition to the last word", GNI_POST_AMO, WL_WRITABLE, -8, 8, "OKAY", 0},
    {"addition behind the last word", GNI_POST_AMO, WL_WRITABLE, 0, 8, BOUNDS, 0},
    {"PUT of one byte to the last one", GNI_POST_FMA_PUT, WL_WRITABLE, -1, 1, "OKAY", 0},
    {"PUT of one byte behind the last one", GNI_POST_FMA_PUT, WL_WRITABLE, 0, 1, BOUNDS, 0},
    {"PUT of all bytes", GNI_POST_FMA_PUT, WL_WRITABLE, -8192, 8192, "OKAY", 0},
    {"PUT of all bytes and one more", GNI_POST_FMA_PUT, WL_WRITABLE, -8192, 8193, BOUNDS, 0},
    {"long PUT to the last byte", GNI_POST_RDMA_PUT, WL_QUIET, -200000, 200000, "OKAY", 0},
    {"long PUT one byte beyond", GNI_POST_RDMA_PUT, WL_QUIET, -199999, 200000, BOUNDS, 0},
    {"FMA PUT into read-only memory", GNI_POST_FMA_PUT, WL_READ_ONLY, -64, 64,
     "AT_MDD_WR_PERMISSION_ERR", 0},
    {"addition in read-only memory", GNI_POST_AMO, WL_READ_ONLY, -64, 8, "AT_MDD_WR_PERMISSION_ERR",
     0},
    {"BTE PUT into read-only memory", GNI_POST_RDMA_PUT, WL_READ_ONLY, -64, 64,
     "GNI_RC_PERMISSION_ERROR", 0},
    {"FMA GET from read-only memory", GNI_POST_FMA_GET, WL_READ_ONLY, -64, 64, "OKAY", 0},
    {"FMA PUT with a stale handle", GNI_POST_FMA_PUT, WL_GONE, -64, 64, "AT_MDD_INV", 0},
    {"BTE PUT with a stale handle", GNI_POST_RDMA_PUT, WL_GONE, -64, 64, "AT_MDD_INV", 0},
    {"FMA GET with a stale handle", GNI_POST_FMA_GET, WL_GONE, -64, 64, "AT_MDD_INV", 0},
    {"PUT with an event that has no queue", GNI_POST_FMA_PUT, WL_QUIET, -64, 64, "CQ_ERR",
     GNI_CQMODE_REMOTE_EVENT},
    {"CQ write that has no queue", GNI_POST_CQWRITE, WL_QUIET, 0, 0, "CQ_ERR", 0},
    {"BTE GET that is not aligned", GNI_POST_RDMA_GET, WL_WRITABLE, -63, 60,
     "GNI_RC_ALIGNMENT_ERROR", 0},
    {"FMA GET of six bytes", GNI_POST_FMA_GET, WL_WRITABLE, -64, 6, "GNI_RC_ALIGNMENT_ERROR", 0},
    {"BTE PUT with two events", GNI_POST_RDMA_PUT, WL_WRITABLE, -5000, 5000, "OKAY",
     GNI_CQMODE_LOCAL_EVENT},
};

static int run_steps(struct wl_edges *test)
{
    gni_post_descriptor_t desc;
    int status = 0;
    size_t i;

    for (i = 0; i < sizeof(steps) / sizeof(steps[0]) && status == 0; i++) {
        const struct step *step = &steps[i];

        wl_edges_prepare(test, &desc, step->type, step->place,
                         (uint64_t)((int64_t)wl_edges_bytes[step->place] + step->from_end),
                         step->length);
        desc.cq_mode |= step->mode;
        if (step->type == GNI_POST_AMO) {
            desc.amo_cmd = GNI_FMA_ATOMIC_FADD;
            desc.first_operand = 1;
        }
        status = wl_edges_run(test, &desc, step->what, step->status);
    }
    return status;
}

/* Nobody may have written there. */
static int check_guards(struct wl_edges *test)
{
    uint32_t place, i;

    for (place = 0; place < WL_PLACES; place++)
        for (i = 0; i < WL_PAGE; i++)
            if (test->memory[wl_edges_offset(place) + wl_edges_bytes[place] + i] != 0)
                return rank_fail(test->domain.rank, "byte %u behind region %u was written", i,
                                 place);
    for (i = 0; i < WL_PAGE; i++)
        if (test->memory[wl_edges_offset(WL_READ_ONLY) + i] != 0)
            return rank_fail(test->domain.rank, "read-only memory was written");
    return 0;
}

/* ---- sync flags ------------------------------------------------------------------------------ */

static int run_flags(struct wl_edges *test)
{
    gni_post_descriptor_t desc;
    int status;

    wl_edges_prepare(test, &desc, GNI_POST_FMA_PUT_W_SYNCFLAG, WL_WRITABLE, 0, 100);
    desc.sync_flag_addr =
        test->all[test->next * WL_PLACES + WL_WRITABLE].address + wl_edges_bytes[WL_WRITABLE] - 8;
    desc.sync_flag_value = 1;
    status = wl_edges_run(test, &desc, "PUT with a flag in the last word", "OKAY");
    desc.sync_flag_addr += 8;
    if (status == 0)
        status = wl_edges_run(test, &desc, "PUT with a flag behind the last word", BOUNDS);
    return status;
}

/* The source ends outside of its registration: both events come, and both say so. */
static int run_local_bounds(struct wl_edges *test)
{
    gni_post_descriptor_t desc;

    wl_edges_prepare(test, &desc, GNI_POST_RDMA_PUT, WL_QUIET, 0, WL_LONG);
    desc.local_addr += WL_PAGE + 1;
    desc.cq_mode |= GNI_CQMODE_LOCAL_EVENT;
    return wl_edges_run(test, &desc, "BTE PUT from beyond the source", BOUNDS);
}

/* The program looks at its queue after the transfer has ended: each event is there once. */
static int run_late_events(struct wl_edges *test)
{
    gni_post_descriptor_t desc, *ended = NULL;
    gni_cq_entry_t event;
    unsigned count = 0;

    wl_edges_prepare(test, &desc, GNI_POST_RDMA_PUT, WL_WRITABLE, 0, 5000);
    desc.cq_mode |= GNI_CQMODE_LOCAL_EVENT;
    if (wl_edges_post(test, &desc) != GNI_RC_SUCCESS)
        return rank_fail(test->domain.rank, "cannot post a PUT with two events");
    rank_compute(1000000000);
    for (; GNI_CqGetEvent(test->domain.tx, &event) == GNI_RC_SUCCESS; count++)
        if (GNI_GetCompleted(test->domain.tx, event, &ended) != GNI_RC_SUCCESS || ended != &desc)
            return rank_fail(test->domain.rank, "event %u of a PUT is not its own", count);
    return count == 2 ? 0
                      : rank_fail(test->domain.rank, "a PUT with two events has %u of them", count);
}

/* ---- regions of several pieces -------------------------------------------------------------- */

static int run_pieces(struct wl_edges *test)
{
    const uint8_t *at = test->memory + wl_edges_offset(WL_SEGMENTS);
    gni_post_descriptor_t desc;
    uint8_t seen[3 * WL_PAGE];
    int status;

    wl_edges_prepare(test, &desc, GNI_POST_RDMA_PUT, WL_SEGMENTS, 0, 3 * WL_PAGE);
    status = wl_edges_run(test, &desc, "PUT into three segments", "OKAY");
    wl_edges_prepare(test, &desc, GNI_POST_FMA_PUT, WL_RESERVED, 0, WL_PAGE);
    if (status == 0)
        status = wl_edges_run(test, &desc, "PUT into the first page of a reserved region", "OKAY");
    wl_edges_prepare(test, &desc, GNI_POST_FMA_PUT, WL_RESERVED, WL_PAGE, 8);
    if (status == 0)
        status = wl_edges_run(test, &desc, "PUT into a page that is only reserved", "AT_PF_INV");
    wl_edges_prepare(test, &desc, GNI_POST_FMA_PUT, WL_RESERVED, 2 * WL_PAGE, WL_PAGE);
    if (status == 0)
        status = wl_edges_run(test, &desc, "PUT into the last page of a reserved region", "OKAY");
    rank_barrier(test->domain.rank);
    wl_pattern_fill(seen, 3 * WL_PAGE,
                    (test->domain.id + test->domain.size - 1) % test->domain.size);
    if (status == 0 &&
        (memcmp(at + 2 * WL_PAGE, seen, WL_PAGE) != 0 || memcmp(at, seen + WL_PAGE, WL_PAGE) != 0 ||
         memcmp(at + WL_PAGE, seen + 2 * WL_PAGE, WL_PAGE) != 0))
        status = rank_fail(test->domain.rank, "a PUT into three segments is wrong");
    return status;
}

/* ---- full queues ----------------------------------------------------------------------------- */

/* Two events more than fit, one after the other. */
static int fill_queue(struct wl_edges *test, gni_post_type_t type)
{
    gni_post_descriptor_t desc, *ended;
    gni_cq_entry_t event;
    char said[64];
    unsigned i;

    for (i = 0; i < WL_NARROW + 2; i++) {
        wl_edges_prepare(test, &desc, type, WL_NARROWED, 0, 8);
        desc.cqwrite_value = i;
        if (type != GNI_POST_CQWRITE)
            desc.cq_mode |= GNI_CQMODE_REMOTE_EVENT;
        if (wl_edges_post(test, &desc) != GNI_RC_SUCCESS ||
            wl_edges_collect(test, &ended, &event, said) != GNI_RC_SUCCESS)
            return rank_fail(test->domain.rank, "event %u at a narrow queue failed", i);
        if ((GNI_CQ_REM_OVERRUN(event) != 0) != (i >= WL_NARROW))
            return rank_fail(test->domain.rank, "event %u at a queue of %u: overrun %s", i,
                             WL_NARROW, i >= WL_NARROW ? "not reported" : "reported");
    }
    return 0;
}

static int read_queue(struct wl_edges *test, bool values)
{
    gni_cq_entry_t event;
    gni_return_t rc;
    unsigned i;

    for (i = 0; i <= WL_NARROW; i++) {
        rc = GNI_CqGetEvent(test->narrow, &event);
        if (rc != (i < WL_NARROW - 1 ? GNI_RC_SUCCESS
                   : i < WL_NARROW   ? GNI_RC_ERROR_RESOURCE
                                     : GNI_RC_NOT_DONE))
            return rank_fail(test->domain.rank, "event %u of a queue of %u that overran: %s", i,
                             WL_NARROW, wl_rc_name(rc));
        if (i < WL_NARROW && values && GNI_CQ_GET_DATA(event) != i)
            return rank_fail(test->domain.rank, "CQ write %u has the value %llu", i,
                             (unsigned long long)GNI_CQ_GET_DATA(event));
    }
    return 0;
}

static int run_overruns(struct wl_edges *test)
{
    int status = fill_queue(test, GNI_POST_FMA_PUT);

    rank_barrier(test->domain.rank);
    if (status == 0)
        status = read_queue(test, false);
    rank_barrier(test->domain.rank);
    if (status == 0)
        status = fill_queue(test, GNI_POST_CQWRITE);
    rank_barrier(test->domain.rank);
    if (status == 0)
        status = read_queue(test, true);
    return status;
}

/* ---- order of events ------------------------------------------------------------------------- */

static int write_values(struct wl_edges *test, uint64_t first, uint64_t count)
{
    gni_post_descriptor_t *desc = calloc(count, sizeof(*desc)), *ended;
    gni_cq_entry_t event;
    char said[64];
    uint64_t i;
    int status = desc != NULL ? 0 : -1;

    for (i = 0; i < count && status == 0; i++) {
        wl_edges_prepare(test, &desc[i], GNI_POST_CQWRITE, WL_WRITABLE, 0, 0);
        desc[i].cqwrite_value = first + i;
        if (wl_edges_post(test, &desc[i]) != GNI_RC_SUCCESS)
            status = rank_fail(test->domain.rank, "cannot post a CQ write");
    }
    for (i = 0; i < count && status == 0; i++)
        if (wl_edges_collect(test, &ended, &event, said) != GNI_RC_SUCCESS)
            status = rank_fail(test->domain.rank, "a CQ write ends with %s", said);
    free(desc);
    return status;
}

static int read_values(struct wl_edges *test, uint64_t first, uint64_t count)
{
    gni_cq_entry_t event = 0;
    uint64_t i;

    for (i = 0; i < count; i++)
        if (GNI_CqGetEvent(test->domain.rx, &event) != GNI_RC_SUCCESS ||
            GNI_CQ_GET_DATA(event) != first + i)
            return rank_fail(test->domain.rank, "CQ write %llu came at the place of %llu",
                             (unsigned long long)GNI_CQ_GET_DATA(event),
                             (unsigned long long)first + i);
    return 0;
}

/* A queue keeps the order while it grows, also if its first entries have been read. */
static int run_order(struct wl_edges *test)
{
    static const uint64_t written[] = {6, 5, 60, 200}, read[] = {5, 3, 40, 223};
    uint64_t to = 0, from = 0;
    int status = 0;
    size_t i;

    for (i = 0; i < sizeof(read) / sizeof(read[0]); i++) {
        if (status == 0)
            status = write_values(test, to, written[i]);
        rank_barrier(test->domain.rank);
        if (status == 0)
            status = read_values(test, from, read[i]);
        rank_barrier(test->domain.rank);
        to += written[i];
        from += read[i];
    }
    return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int run(struct rank *rank)
{
    static int (*const tests[])(struct wl_edges *) = {run_steps, run_local_bounds, run_late_events,
                                                      run_flags, run_pieces,       run_overruns,
                                                      run_order};

    return wl_edges_main(rank, tests, sizeof(tests) / sizeof(tests[0]), check_guards);
}

static const struct workload put_get_edges = {
    .name = "put_get_edges",
    .meaning = "transfers at the limits of memory, queues and handles; each error is the right one",
    .metrics = "none",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(put_get_edges)
