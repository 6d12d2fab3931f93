/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Posting transactions and collecting their completions. Each call checks in the order of the
 * driver, so that a post with several faults gives the return code that hardware gives.
 *
 * A descriptor belongs to the caller. It is read during the call. Later only GNI_GetCompleted
 * writes it: `status` and `cq_mode_complete`. All other state is in the request object.
 */
#include "api/post.h"

#include <assert.h>

#include "nic/amo.h"
#include "api/ce.h"
#include "nic/cq_entry.h"
#include "nic/findings.h"
#include "nic/mem_handle.h"

#define RDMA_LENGTH_MAX UINT32_MAX
#define FLAGGED_GET_MAX 60u
#define LINE_BYTES 64u

/* ---- completion ------------------------------------------------------------------------------ */

static void push_event(struct aries_request *request, uint8_t status, uint8_t info,
                       bool remote_overrun)
{
    bool bte = request->unit == ARIES_UNIT_BTE && status == 0;
    gni_cq_entry_t entry = aries_cq_entry_post(bte ? ARIES_CQ_SOURCE_BTE : ARIES_CQ_SOURCE_SSID,
                                               bte ? ARIES_CQ_BTE_TX_DONE : info, status,
                                               request->tid, request->inst_id);

    assert(request->pushed < 2); /* at most a LOCAL and a GLOBAL event */
    request->pushed++;
    aries_cq_push(aries_request_cq(request), entry | (remote_overrun ? ARIES_CQ_REM_OVERRUN : 0));
}

static sim_noinline void push_local(struct aries_request *request, uint8_t status, uint8_t info)
{
    request->local_pushed = true;
    push_event(request, status, info, false);
}

/*
 * Prefetches for the process that is woken: it reads the request and posts again with its
 * descriptor and endpoint.
 */
static void fetch_for(const struct aries_request *request, struct sim_fiber *fiber)
{
    sim_fiber_prefetch_add(fiber, request, sizeof(*request));
    sim_fiber_prefetch_add(fiber, request->descr, sizeof(*request->descr) + 2 * SIM_LINE);
    if (request->ep != NULL)
        sim_fiber_prefetch_add(fiber, request->ep, sizeof(*request->ep));
}

static void local_done(void *context)
{
    push_local(context, 0, 0);
}

/* Pushes each requested event, also if the transaction failed. */
static void request_done(void *context, uint8_t status, uint8_t info, bool remote_overrun)
{
    struct aries_request *request = context;
    struct gni_cq *cq = aries_request_cq(request);
    uint8_t pushed_before = request->pushed;

    if (cq->nic != NULL && cq->nic->process->first != NULL)
        fetch_for(request, cq->nic->process->first);
    if ((request->expected & GNI_CQMODE_LOCAL_EVENT) && !request->local_pushed)
        push_local(request, status, info);
    if (request->expected & GNI_CQMODE_GLOBAL_EVENT)
        push_event(request, status, info, remote_overrun);
    if (status != 0 && cq->nic != NULL)
        aries_transaction_failed(cq->nic, status, request->pushed == pushed_before);
    aries_request_landed(cq, request);
    aries_cq_unref(cq);
}

static void silent_done(void *context, uint8_t status, uint8_t info, bool remote_overrun)
{
    struct gni_nic *nic = context;

    if (status != 0)
        aries_transaction_failed(nic, status, true);
    aries_nic_unref(nic);
}

static sim_cold void descriptor_reused(const struct gni_cq *cq, const struct aries_request *request,
                                       const char *how)
{
    const struct gni_ep *ep = request->ep;
    char peer[ARIES_PEER_NAME];

    aries_peer_name(ep != NULL ? ep->remote : NULL, cq->nic->ptag,
                    ep != NULL ? ep->remote_id : request->inst_id, peer);
    sim_finding_record(
        &aries_rules[ARIES_RULE_DESCRIPTOR_REUSED], cq->nic->hw->node, cq->nic->process->name,
        "the descriptor of a post to %s was %s before its completion was collected", peer, how);
}

/*
 * The library has set the descriptor's status to NOT_DONE at the post: it is so until it is
 * collected, or somebody else has written it.
 */
static void check_descriptor(const struct gni_cq *cq, const struct aries_request *request,
                             uint16_t event)
{
    const gni_post_descriptor_t *descr = request->descr;

    if (cq->fabric->checks && ((descr->cq_mode_complete & event) ||
                               (descr->cq_mode_complete == 0 && descr->status != GNI_RC_NOT_DONE)))
        descriptor_reused(cq, request, "changed");
}

/* Whether another post of the queue still uses the descriptor. */
static void check_reuse(const struct gni_cq *cq, const gni_post_descriptor_t *descr)
{
    uint32_t i;

    for (i = 0; i < cq->requests_count && !cq->lost_events; i++) {
        const struct aries_request *request =
            &cq->requests[i >> ARIES_REQUESTS_SHIFT]->request[i & (ARIES_REQUESTS_CHUNK - 1)];

        if (request->busy && request->descr == descr) {
            descriptor_reused(cq, request, "posted again");
            return;
        }
    }
}

gni_return_t GNI_GetCompleted(gni_cq_handle_t cq_hndl, gni_cq_entry_t event_data,
                              gni_post_descriptor_t **post_descr)
{
    bool failed = aries_cq_entry_status(event_data) != 0;
    struct aries_request *request;
    uint16_t event;

    if (!aries_handle_ok(cq_hndl, ARIES_MAGIC_CQ) || post_descr == NULL ||
        aries_cq_entry_source(event_data) == ARIES_CQ_SOURCE_NONE ||
        aries_cq_entry_source(event_data) == ARIES_CQ_SOURCE_RMT)
        return GNI_RC_INVALID_PARAM;
    if (aries_cq_entry_type(event_data) != GNI_CQ_EVENT_TYPE_POST) {
        *post_descr = NULL;
        return GNI_RC_DESCRIPTOR_ERROR;
    }
    request = aries_request_of(cq_hndl, aries_cq_entry_tid(event_data));
    if (request == NULL || request->pushed == 0 || request->descr == NULL)
        return GNI_RC_INVALID_PARAM;
    event = request->expected & GNI_CQMODE_LOCAL_EVENT ? GNI_CQMODE_LOCAL_EVENT
                                                       : GNI_CQMODE_GLOBAL_EVENT;
    assert(request->expected & event);
    *post_descr = request->descr;
    check_descriptor(cq_hndl, request, event);
    request->descr->status = failed ? GNI_RC_TRANSACTION_ERROR : GNI_RC_SUCCESS;
    request->descr->cq_mode_complete |= event;
    request->pushed--;
    request->expected &= (uint16_t)~event;
    if (request->expected == 0)
        aries_request_retire(cq_hndl, request);
    sim_spend(aries_timing_of(cq_hndl->nic)->cpu_getcomp);
    sim_idle_break();
    return failed ? GNI_RC_TRANSACTION_ERROR : GNI_RC_SUCCESS;
}

/* ---- launching ------------------------------------------------------------------------------- */

void aries_work_fill(struct aries_work *work, const struct gni_ep *ep,
                     const gni_post_descriptor_t *descr)
{
    work->route = aries_delivery_route(descr->dlvr_mode);
    work->ordered_tail = (descr->dlvr_mode & GNI_DLVMODE_ORDERED_TAIL) != 0;
    work->ptag = ep->nic->ptag;
    work->remote_wanted = (descr->cq_mode & GNI_CQMODE_REMOTE_EVENT) != 0;
    work->remote_event = ep->remote_event;
}

/*
 * Whether a virtual address is beyond the translation group. This is found before the NIC gets the
 * request.
 */
static bool outside(const struct aries_work *works, uint32_t count)
{
    uint32_t i;

    for (i = 0; i < count; i++)
        if (works[i].target == NULL)
            return true;
    return false;
}

gni_return_t aries_post_launch(const struct aries_post *post, struct aries_work *works,
                               uint32_t count)
{
    struct gni_nic *nic = post->ep->nic;
    struct aries_nic *hw = nic->hw;
    struct aries_request *request = NULL;
    uint64_t bytes = 0;
    sim_time_t began, cpu = 0;
    uint32_t i;

    assert(count > 0 && (post->expected == 0 || post->cq != NULL));
    if (sim_unlikely(nic->ntt != NULL) && outside(works, count))
        return GNI_RC_NO_MATCH;
    sim_settle();
    sim_idle_break();
    began = sim_trace_begin();
    if (post->expected != 0) {
        if (sim_unlikely(post->descr->status == GNI_RC_NOT_DONE) && post->cq->fabric->checks)
            check_reuse(post->cq, post->descr);
        request = aries_request_new(post->cq, post->ep, post->descr, post->expected);
        if (request == NULL)
            return GNI_RC_ERROR_RESOURCE;
        sim_fiber_prefetch_add(NULL, post->cq, 2 * SIM_LINE);
        sim_fiber_prefetch_add(NULL, post->cq->ring, ARIES_RING_FIRST * sizeof(*post->cq->ring));
        request->in_flight = true;
        request->unit = (uint8_t)works[0].unit;
        aries_cq_ref(post->cq);
    } else {
        aries_nic_ref(nic);
    }
    sim_fiber_prefetch_add(NULL, nic, 3 * SIM_LINE);
    sim_fiber_prefetch_add(NULL, hw, SIM_LINE);
    sim_fiber_prefetch_add(NULL, nic->process, SIM_LINE);
    for (i = 0; i < count; i++) {
        works[i].own = post->cq;
        works[i].process = nic->process;
        works[i].fiber = nic->process->first;
        works[i].done = request != NULL ? request_done : silent_done;
        works[i].local_done = local_done;
        works[i].context = request != NULL ? (void *)request : nic;
        bytes += works[i].length;
        cpu += works[i].cpu;
    }
    post->descr->status = GNI_RC_NOT_DONE;
    post->descr->cq_mode_complete = 0;
    if (count == 1)
        hw->ops->submit(nic, works);
    else
        hw->ops->submit_chain(nic, works, count);
    sim_trace(SIM_TRACE_SLICE, SIM_TRACK_RANK, hw->node, nic->process->trace_index, post->call,
              began, sim_trace_taken(began, cpu), 0, bytes);
    return GNI_RC_SUCCESS;
}

/* Refuses a post. This takes time, too, so that a loop that repeats the post makes progress. */
static sim_cold gni_return_t refuse(sim_time_t cpu)
{
    sim_spend(cpu);
    sim_idle_break();
    return GNI_RC_ERROR_RESOURCE;
}

static bool ep_ok(const struct gni_ep *ep)
{
    return aries_handle_ok(ep, ARIES_MAGIC_EP);
}

/* ---- RDMA ------------------------------------------------------------------------------------ */

/* Chooses the queue of the events and checks that it may be used. */
static gni_return_t rdma_check_events(struct aries_post *post)
{
    const uint16_t both = GNI_CQMODE_LOCAL_EVENT | GNI_CQMODE_GLOBAL_EVENT;
    gni_post_descriptor_t *descr = post->descr;
    struct gni_nic *nic = post->ep->nic;
    struct gni_cq *cq;

    if ((descr->cq_mode & both) == both && !nic->dual_events)
        return GNI_RC_INVALID_PARAM;
    if (descr->cq_mode == GNI_CQMODE_SILENT)
        return GNI_RC_SUCCESS;
    cq = descr->src_cq_hndl != NULL ? descr->src_cq_hndl : post->ep->cq;
    if (!aries_handle_ok(cq, ARIES_MAGIC_CQ) || cq->has_mr || cq->nic != nic)
        return GNI_RC_INVALID_PARAM;
    post->cq = cq;
    post->expected = descr->cq_mode & both;
    if (post->expected != 0 && aries_requests_exhausted(cq))
        return refuse(aries_timing_of(nic)->cpu_rdma);
    return GNI_RC_SUCCESS;
}

static gni_return_t rdma_check_memory(const gni_post_descriptor_t *descr)
{
    bool get = descr->type == GNI_POST_RDMA_GET;
    const gni_mem_handle_t *written = get ? &descr->local_mem_hndl : &descr->remote_mem_hndl;

    if (aries_mem_handle_flags(written) & ARIES_MEM_READONLY)
        return GNI_RC_PERMISSION_ERROR;
    if (get && (descr->remote_addr % 4 != 0 || descr->length % 4 != 0))
        return GNI_RC_ALIGNMENT_ERROR;
    return GNI_RC_SUCCESS;
}

static gni_return_t rdma_check(struct aries_post *post)
{
    const gni_post_descriptor_t *descr = post->descr;
    gni_return_t result = rdma_check_events(post);

    if (result != GNI_RC_SUCCESS)
        return result;
    if (!aries_mem_handle_check(&descr->local_mem_hndl) ||
        !aries_mem_handle_check(&descr->remote_mem_hndl) || descr->length == 0 ||
        descr->length > RDMA_LENGTH_MAX || !aries_ep_bound(post->ep))
        return GNI_RC_INVALID_PARAM;
    result = rdma_check_memory(descr);
    if (result != GNI_RC_SUCCESS)
        return result;
    if (!aries_delivery_valid(descr->dlvr_mode) || (descr->rdma_mode & GNI_RDMAMODE_PHYS_ADDR) ||
        ((descr->rdma_mode & GNI_RDMAMODE_FENCE) &&
         !(post->ep->nic->cdm->modes & GNI_CDM_MODE_BTE_SINGLE_CHANNEL)))
        return GNI_RC_INVALID_PARAM;
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_PostRdma(gni_ep_handle_t ep_hndl, gni_post_descriptor_t *post_descr)
{
    struct aries_post post = {.ep = ep_hndl, .descr = post_descr, .call = "GNI_PostRdma"};
    struct aries_work work = {.unit = ARIES_UNIT_BTE};
    struct aries_fabric *fabric;
    gni_return_t result;

    if (!ep_ok(ep_hndl) || post_descr == NULL ||
        (post_descr->type != GNI_POST_RDMA_PUT && post_descr->type != GNI_POST_RDMA_GET))
        return GNI_RC_INVALID_PARAM;
    result = rdma_check(&post);
    if (result != GNI_RC_SUCCESS)
        return result;
    fabric = ep_hndl->nic->hw->fabric;
    aries_work_fill(&work, ep_hndl, post_descr);
    work.op = post_descr->type == GNI_POST_RDMA_PUT ? ARIES_PUT : ARIES_GET;
    work.book = work.op == ARIES_PUT ? &fabric->book_put : &fabric->book_get;
    work.fence = (post_descr->rdma_mode & GNI_RDMAMODE_FENCE) != 0;
    work.target = ep_hndl->remote;
    work.local_addr = aries_mem_handle_offset(&post_descr->local_mem_hndl, post_descr->local_addr);
    work.remote_addr =
        aries_mem_handle_offset(&post_descr->remote_mem_hndl, post_descr->remote_addr);
    work.length = post_descr->length;
    work.local_handle = post_descr->local_mem_hndl;
    work.remote_handle = post_descr->remote_mem_hndl;
    work.cpu = fabric->timing.cpu_rdma;
    /* The data of a GET arrives with its end: both of its events are due then. */
    work.local_wanted = work.op == ARIES_PUT && (post.expected & GNI_CQMODE_LOCAL_EVENT);
    post_descr->next_descr = NULL;
    if (post.cq != NULL) {
        post_descr->src_cq_hndl = post.cq;
        post.cq->has_source = true;
    }
    return aries_post_launch(&post, &work, 1);
}

/* ---- FMA ------------------------------------------------------------------------------------- */

/*
 * FMA posts do not check the checksums of memory handles (ugni 5.5 rule 4): programs post handles
 * that they build from keys without a checksum. A handle that names no registration ends in a
 * completion error.
 */

static bool is_get(gni_post_type_t type)
{
    return type == GNI_POST_FMA_GET || type == GNI_POST_FMA_GET_W_FLAG;
}

static bool is_amo(gni_post_type_t type)
{
    return type == GNI_POST_AMO || type == GNI_POST_AMO_W_FLAG;
}

/* The flag follows the data and must lie in the same cache line. */
static bool crosses_line(const struct aries_post_element *element)
{
    return element->local_addr % LINE_BYTES + element->length + GNI_FMA_FLAGGED_RESPONSE_SIZE >
           LINE_BYTES;
}

gni_return_t aries_fma_check_element(gni_post_type_t type, const struct aries_post_element *element)
{
    uint64_t unit = is_amo(type) ? aries_amo_width(element->amo_cmd) : 4;
    bool flagged = type == GNI_POST_FMA_GET_W_FLAG || type == GNI_POST_AMO_W_FLAG;
    bool fetched = is_amo(type) && aries_amo_fetches(element->amo_cmd);

    if (!is_get(type) && !is_amo(type))
        return GNI_RC_SUCCESS;
    if (element->length == 0 ||
        (type == GNI_POST_FMA_GET_W_FLAG && element->length > FLAGGED_GET_MAX))
        return GNI_RC_INVALID_PARAM;
    if (element->remote_addr % unit != 0 || element->length % unit != 0)
        return GNI_RC_ALIGNMENT_ERROR;
    if ((fetched || type == GNI_POST_FMA_GET_W_FLAG) && element->local_addr % unit != 0)
        return GNI_RC_ALIGNMENT_ERROR;
    if (flagged && crosses_line(element))
        return GNI_RC_ALIGNMENT_ERROR;
    return GNI_RC_SUCCESS;
}

gni_return_t aries_fma_check_command(const struct gni_nic *nic, gni_post_type_t type,
                                     uint32_t command)
{
    if (!is_amo(type))
        return GNI_RC_SUCCESS;
    if (!aries_amo_valid(command) || (type == GNI_POST_AMO_W_FLAG && !aries_amo_fetches(command)))
        return GNI_RC_INVALID_PARAM;
    if (aries_amo_cached(command) && !(nic->cdm->modes & GNI_CDM_MODE_CACHED_AMO_ENABLED))
        return GNI_RC_INVALID_PARAM;
    return GNI_RC_SUCCESS;
}

gni_return_t aries_fma_check_events(struct aries_post *post)
{
    if (post->descr->cq_mode == GNI_CQMODE_SILENT)
        return GNI_RC_SUCCESS;
    if (post->ep->cq == NULL)
        return GNI_RC_INVALID_PARAM;
    post->cq = post->ep->cq;
    post->expected = post->descr->cq_mode & GNI_CQMODE_GLOBAL_EVENT;
    if (post->expected != 0 && aries_requests_exhausted(post->cq))
        return refuse(aries_timing_of(post->ep->nic)->cpu_fma);
    return GNI_RC_SUCCESS;
}

void aries_fma_fill(struct aries_work *work, const struct gni_ep *ep, gni_post_type_t type,
                    const struct aries_post_element *element)
{
    struct gni_nic *nic = ep->nic;
    struct aries_fabric *fabric = nic->hw->fabric;
    const struct aries_timing *timing = &fabric->timing;

    work->unit = ARIES_UNIT_FMA;
    work->target = ep->remote;
    work->local_addr = element->local_addr;
    work->remote_addr = aries_mem_handle_offset(element->remote_handle, element->remote_addr);
    work->length = element->length;
    work->remote_handle = *element->remote_handle;
    work->cpu = timing->cpu_fma + (nic->fma_shared ? timing->cpu_fma_shared : 0);
    if (is_amo(type)) {
        work->op = ARIES_AMO;
        work->book = &fabric->book_amo;
        work->amo_cmd = element->amo_cmd;
        work->operand[0] = element->first_operand;
        work->operand[1] = element->second_operand;
    } else if (is_get(type)) {
        work->op = ARIES_GET;
        work->book = &fabric->book_get;
    } else {
        work->op = ARIES_PUT;
        work->book = &fabric->book_put;
        work->local_is_va = true;
        work->cpu += aries_store_time(timing, element->length);
    }
    if (element->local_handle != NULL) { /* a PUT has none: the CPU reads its source */
        work->local_handle = *element->local_handle;
        work->local_addr = aries_mem_handle_offset(element->local_handle, element->local_addr);
    }
    nic->statistics[GNI_STAT_FMA_LAUNCH_COUNT]++;
}

/* The local handle of an operation that writes local memory. Other operations need none. */
static const gni_mem_handle_t *local_handle_of(const gni_post_descriptor_t *descr)
{
    bool writes = is_get(descr->type) || (is_amo(descr->type) && aries_amo_fetches(descr->amo_cmd));

    return writes ? &descr->local_mem_hndl : NULL;
}

static struct aries_post_element element_of(const gni_post_descriptor_t *descr)
{
    struct aries_post_element element = {
        .local_addr = descr->local_addr,
        .remote_addr = descr->remote_addr,
        .length = descr->length,
        .remote_handle = &descr->remote_mem_hndl,
    };

    if (is_amo(descr->type)) {
        element.length = aries_amo_length(descr->amo_cmd, descr->length);
        element.amo_cmd = descr->amo_cmd;
        element.first_operand = descr->first_operand;
        element.second_operand = descr->second_operand;
    }
    element.local_handle = local_handle_of(descr);
    return element;
}

static bool fma_type_ok(gni_post_type_t type)
{
    return type == GNI_POST_FMA_PUT || type == GNI_POST_FMA_PUT_W_SYNCFLAG || is_get(type) ||
           is_amo(type);
}

static gni_return_t fma_check(struct aries_post *post, const struct aries_post_element *element)
{
    const gni_post_descriptor_t *descr = post->descr;
    bool sync = descr->type == GNI_POST_FMA_PUT_W_SYNCFLAG;
    gni_return_t result;

    if (descr->cq_mode & GNI_CQMODE_LOCAL_EVENT)
        return GNI_RC_INVALID_PARAM;
    result = aries_fma_check_element(descr->type, element);
    if (result != GNI_RC_SUCCESS)
        return result;
    if (sync && descr->sync_flag_addr % 8 != 0)
        return GNI_RC_ALIGNMENT_ERROR;
    if (!fma_type_ok(descr->type))
        return GNI_RC_INVALID_PARAM;
    result = aries_fma_check_events(post);
    if (result == GNI_RC_SUCCESS)
        result = aries_fma_check_command(post->ep->nic, descr->type, element->amo_cmd);
    if (result != GNI_RC_SUCCESS)
        return result;
    if (!aries_ep_bound(post->ep) || !aries_delivery_valid(descr->dlvr_mode))
        return GNI_RC_INVALID_PARAM;
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_PostFma(gni_ep_handle_t ep_hndl, gni_post_descriptor_t *post_descr)
{
    struct aries_post post = {.ep = ep_hndl, .descr = post_descr, .call = "GNI_PostFma"};
    struct aries_work work = {0};
    struct aries_post_element element;
    gni_return_t result;

    if (!ep_ok(ep_hndl) || post_descr == NULL)
        return GNI_RC_INVALID_PARAM;
    if (sim_unlikely(post_descr->type == GNI_POST_CE))
        return aries_ce_post(&post);
    element = element_of(post_descr);
    result = fma_check(&post, &element);
    if (result != GNI_RC_SUCCESS)
        return result;
    aries_work_fill(&work, ep_hndl, post_descr);
    aries_fma_fill(&work, ep_hndl, post_descr->type, &element);
    work.sync_flag = post_descr->type == GNI_POST_FMA_PUT_W_SYNCFLAG;
    work.flag_response =
        post_descr->type == GNI_POST_FMA_GET_W_FLAG || post_descr->type == GNI_POST_AMO_W_FLAG;
    if (work.sync_flag)
        work.sync_flag_addr =
            aries_mem_handle_offset(&post_descr->remote_mem_hndl, post_descr->sync_flag_addr);
    if (work.sync_flag || work.flag_response)
        work.sync_flag_value = post_descr->sync_flag_value;
    post_descr->next_descr = NULL;
    return aries_post_launch(&post, &work, 1);
}

/* ---- CQ writes ------------------------------------------------------------------------------- */

void aries_cqwrite_fill(struct aries_work *work, const struct gni_ep *ep,
                        const gni_mem_handle_t *handle, uint64_t value)
{
    struct aries_fabric *fabric = ep->nic->hw->fabric;

    work->op = ARIES_CQWRITE;
    work->unit = ARIES_UNIT_FMA;
    work->target = ep->remote;
    work->remote_handle = *handle;
    work->cqwrite_value = value & ARIES_CQ_DATA_MASK;
    work->remote_wanted = false; /* the value itself is the event */
    work->book = &fabric->book_cqwrite;
    work->cpu = fabric->timing.cpu_fma;
}

gni_return_t GNI_PostCqWrite(gni_ep_handle_t ep_hndl, gni_post_descriptor_t *post_descr)
{
    struct aries_post post = {.ep = ep_hndl, .descr = post_descr, .call = "GNI_PostCqWrite"};
    struct aries_work work = {0};
    gni_return_t result;

    if (!ep_ok(ep_hndl) || post_descr == NULL || post_descr->type != GNI_POST_CQWRITE ||
        (post_descr->cq_mode & GNI_CQMODE_LOCAL_EVENT))
        return GNI_RC_INVALID_PARAM;
    result = aries_fma_check_events(&post);
    if (result != GNI_RC_SUCCESS)
        return result;
    if (!aries_ep_bound(ep_hndl) || !aries_delivery_valid(post_descr->dlvr_mode))
        return GNI_RC_INVALID_PARAM;
    aries_work_fill(&work, ep_hndl, post_descr);
    aries_cqwrite_fill(&work, ep_hndl, &post_descr->remote_mem_hndl, post_descr->cqwrite_value);
    post_descr->next_descr = NULL;
    return aries_post_launch(&post, &work, 1);
}
