/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Regions of each kind, and transfers at their limits. */
#include "edges.h"

const uint32_t wl_edges_bytes[WL_PLACES] = {2 * WL_PAGE, WL_PAGE,     WL_PAGE,    WL_LONG,
                                            WL_PAGE,     3 * WL_PAGE, 3 * WL_PAGE};

uint32_t wl_edges_offset(enum wl_place place)
{
    uint32_t offset = 0, i;

    for (i = 0; i < place; i++)
        offset += wl_edges_bytes[i] + WL_PAGE;
    return offset;
}

void wl_edges_refill(struct wl_edges *test)
{
    wl_pattern_fill(test->local, WL_LONG + WL_PAGE, test->domain.id);
}

/* ---- one transfer ---------------------------------------------------------------------------- */

void wl_edges_prepare(struct wl_edges *test, gni_post_descriptor_t *desc, gni_post_type_t type,
                      enum wl_place place, uint64_t offset, uint64_t length)
{
    const struct wl_region *region = &test->all[test->next * WL_PLACES + place];

    memset(desc, 0, sizeof(*desc));
    desc->type = type;
    desc->cq_mode = GNI_CQMODE_GLOBAL_EVENT;
    desc->dlvr_mode = GNI_DLVMODE_IN_ORDER;
    desc->local_addr = test->own.address;
    desc->local_mem_hndl = test->own.handle;
    desc->remote_addr = region->address + offset;
    desc->remote_mem_hndl = region->handle;
    desc->length = length;
}

gni_return_t wl_edges_post(struct wl_edges *test, gni_post_descriptor_t *desc)
{
    gni_ep_handle_t ep = wl_domain_ep(&test->domain, test->next);

    if (desc->type == GNI_POST_RDMA_PUT || desc->type == GNI_POST_RDMA_GET)
        return GNI_PostRdma(ep, desc);
    return desc->type == GNI_POST_CQWRITE ? GNI_PostCqWrite(ep, desc) : GNI_PostFma(ep, desc);
}

/* Waits for an event of the descriptor; `said`: its status. Returns what GNI_GetCompleted returns.
 */
gni_return_t wl_edges_collect(struct wl_edges *test, gni_post_descriptor_t **desc,
                              gni_cq_entry_t *event, char said[64])
{
    gni_return_t rc;

    do
        rc = GNI_CqGetEvent(test->domain.tx, event);
    while (rc == GNI_RC_NOT_DONE);
    memcpy(said, "OKAY", sizeof("OKAY"));
    if (!GNI_CQ_STATUS_OK(*event))
        GNI_CqErrorStr(*event, said, 64);
    return GNI_GetCompleted(test->domain.tx, *event, desc);
}

/* Posts it, and compares all that is said about it. */
int wl_edges_run(struct wl_edges *test, gni_post_descriptor_t *desc, const char *what,
                 const char *status)
{
    const uint16_t both = GNI_CQMODE_GLOBAL_EVENT | GNI_CQMODE_LOCAL_EVENT;
    gni_return_t rc = wl_edges_post(test, desc), wanted;
    unsigned events = (desc->cq_mode & both) == both ? 2 : 1;
    gni_post_descriptor_t *ended;
    gni_cq_entry_t event;
    char said[64];

    wanted = strcmp(status, "OKAY") == 0 ? GNI_RC_SUCCESS : GNI_RC_TRANSACTION_ERROR;
    if (rc != GNI_RC_SUCCESS)
        return strcmp(wl_rc_name(rc), status) == 0
                   ? 0
                   : rank_fail(test->domain.rank, "%s: the post says %s, not %s", what,
                               wl_rc_name(rc), status);
    while (events-- > 0) {
        rc = wl_edges_collect(test, &ended, &event, said);
        if (ended != desc || rc != wanted || strstr(said, status) == NULL)
            return rank_fail(test->domain.rank, "%s: ends with %s (%s), not %s", what, said,
                             wl_rc_name(rc), status);
    }
    if ((desc->cq_mode_complete & both) != (desc->cq_mode & both) || desc->status != wanted)
        return rank_fail(test->domain.rank,
                         "%s: the descriptor has the events %x and the status %s", what,
                         desc->cq_mode_complete, wl_rc_name(desc->status));
    rank_progress(test->domain.rank);
    return 0;
}

/* ---- regions -------------------------------------------------------------------------------- */

/* The second half of the pages comes first in the region. */
static gni_return_t register_segments(struct wl_edges *test)
{
    uint64_t at = test->mine[WL_SEGMENTS].address;
    gni_mem_segment_t segments[3] = {
        {at + 2 * WL_PAGE, WL_PAGE}, {at, WL_PAGE}, {at + WL_PAGE, WL_PAGE}};

    test->mine[WL_SEGMENTS].address = 0; /* remote addresses are offsets */
    return GNI_MemRegisterSegments(test->domain.nic, segments, 3, NULL, GNI_MEM_READWRITE,
                                   UINT32_MAX, &test->mine[WL_SEGMENTS].handle);
}

/* All pages are reserved; the first and the last one are accessible. */
static gni_return_t register_reserved(struct wl_edges *test)
{
    uint64_t at = test->mine[WL_RESERVED].address;
    gni_return_t rc =
        GNI_MemRegister(test->domain.nic, at, 3 * WL_PAGE, NULL, GNI_MEM_RESERVE_REGION, UINT32_MAX,
                        &test->mine[WL_RESERVED].handle);

    if (rc == GNI_RC_SUCCESS)
        rc = GNI_MemRegister(test->domain.nic, at, WL_PAGE, NULL, GNI_MEM_UPDATE_REGION, UINT32_MAX,
                             &test->mine[WL_RESERVED].handle);
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_MemRegister(test->domain.nic, at + 2 * WL_PAGE, WL_PAGE, NULL,
                             GNI_MEM_UPDATE_REGION, UINT32_MAX, &test->mine[WL_RESERVED].handle);
    return rc;
}

int wl_edges_open(struct wl_edges *test, struct rank *rank)
{
    uint32_t place, flags;
    gni_cq_handle_t cq;
    gni_return_t rc;
    int status = wl_domain_open(&test->domain, rank, 1024,
                                GNI_CDM_MODE_DUAL_EVENTS | GNI_CDM_MODE_BTE_SINGLE_CHANNEL);

    if (status != 0)
        return status;
    test->next = (test->domain.id + 1) % test->domain.size;
    test->memory = aligned_alloc(WL_PAGE, wl_edges_offset(WL_PLACES));
    test->local = wl_region_alloc(&test->domain, WL_LONG + WL_PAGE, 0, &test->own);
    rc = GNI_CqCreate(test->domain.nic, WL_NARROW, 0, GNI_CQ_NOBLOCK, NULL, NULL, &test->narrow);
    if (test->memory == NULL || test->local == NULL || rc != GNI_RC_SUCCESS)
        return rank_fail(test->domain.rank, "no memory, or no queue: %s", wl_rc_name(rc));
    memset(test->memory, 0, wl_edges_offset(WL_PLACES));
    wl_edges_refill(test);
    for (place = 0; place < WL_PLACES; place++) {
        test->mine[place].address = (uintptr_t)test->memory + wl_edges_offset(place);
        flags = place == WL_READ_ONLY ? GNI_MEM_READ_ONLY : GNI_MEM_READWRITE;
        cq = place == WL_WRITABLE ? test->domain.rx : place == WL_NARROWED ? test->narrow : NULL;
        if (place == WL_SEGMENTS)
            rc = register_segments(test);
        else if (place == WL_RESERVED)
            rc = register_reserved(test);
        else
            rc = GNI_MemRegister(test->domain.nic, test->mine[place].address, wl_edges_bytes[place],
                                 cq, flags, UINT32_MAX, &test->mine[place].handle);
        if (rc != GNI_RC_SUCCESS)
            return rank_fail(test->domain.rank, "cannot register: %s", wl_rc_name(rc));
    }
    test->all = rank_exchange(test->domain.rank, test->mine, sizeof(test->mine));
    if (test->all == NULL)
        return -1;
    rc = GNI_MemDeregister(test->domain.nic, &test->mine[WL_GONE].handle);
    rank_barrier(test->domain.rank);
    return rc == GNI_RC_SUCCESS
               ? 0
               : rank_fail(test->domain.rank, "cannot deregister: %s", wl_rc_name(rc));
}

void wl_edges_close(struct wl_edges *test)
{
    uint32_t place;

    for (place = 0; place < WL_PLACES; place++)
        if (place != WL_GONE)
            GNI_MemDeregister(test->domain.nic, &test->mine[place].handle);
    wl_region_free(&test->domain, test->local, &test->own);
    if (test->narrow != NULL)
        GNI_CqDestroy(test->narrow);
    wl_domain_close(&test->domain);
    free(test->memory);
}

int wl_edges_main(struct rank *rank, int (*const tests[])(struct wl_edges *test), size_t count,
                  int (*check)(struct wl_edges *test))
{
    uint64_t rounds = rank_arg_count(rank, "rounds"), round;
    struct wl_edges test = {.memory = NULL};
    int status = wl_edges_open(&test, rank);
    size_t i;

    for (round = 0; round < rounds && status == 0; round++)
        for (i = 0; i < count && status == 0; i++) {
            wl_edges_refill(&test);
            status = tests[i](&test);
            rank_barrier(rank);
        }
    rank_barrier(rank);
    if (status == 0)
        status = check(&test);
    rank_barrier(rank);
    wl_edges_close(&test);
    return status != 0;
}
