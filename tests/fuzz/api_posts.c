/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <string.h>
#include "api.h"

/* ---- descriptors ----------------------------------------------------------------------------- */

/* Returns a free descriptor; NULL: all are in use. */
static struct posted *unused(struct process *process, unsigned selector)
{
    unsigned i;

    for (i = 0; i < POSTS; i++) {
        struct posted *posted = &process->post[(selector + i) % POSTS];

        if (!posted->busy)
            return posted;
    }
    return NULL;
}

/* While the library owns a descriptor it writes only these members. */
static void check_untouched(const struct posted *posted)
{
    gni_post_descriptor_t now = posted->descr;

    now.next_descr = posted->copy.next_descr;
    now.prev_descr = posted->copy.prev_descr;
    now.status = posted->copy.status;
    now.cq_mode_complete = posted->copy.cq_mode_complete;
    now.src_cq_hndl = posted->copy.src_cq_hndl;
    if (memcmp(&now, &posted->copy, sizeof(now)) != 0)
        die("the library changed a descriptor");
}

void post_forget(struct process *process, uint32_t domain)
{
    unsigned i;

    for (i = 0; i < POSTS; i++) {
        struct posted *posted = &process->post[i];

        if (!posted->busy || posted->domain != domain)
            continue;
        check_untouched(posted);
        posted->busy = false;
        memset(&posted->descr, 0xdb,
               sizeof(posted->descr)); /* the program reuses the memory of the descriptor */
    }
}

static void begin_post(const struct call *call, struct posted *posted)
{
    /* Members that a type does not use have random values. */
    memset(&posted->descr, call->b[7] | 0x80, sizeof(posted->descr));
    posted->descr.next_descr = NULL;
    posted->descr.src_cq_hndl = NULL;
    posted->descr.post_id = b16(call, 5);
}

/* After the call. */
static bool end_post(const struct call *call, struct posted *posted, gni_ep_handle_t ep,
                     gni_return_t rc)
{
    if (rc != GNI_RC_SUCCESS)
        return false;
    posted->copy = posted->descr;
    posted->events = posted->descr.cq_mode & GNI_CQMODE_DUAL_EVENTS;
    posted->busy = posted->events != 0;
    posted->domain = model_domain(EP, ep);
    if (posted->domain == 0)
        die("a post on an endpoint that is not alive was accepted");
    return true;
}

/* ---- arguments ------------------------------------------------------------------------------- */

static uint16_t modes_of(uint8_t selector)
{
    static const uint16_t modes[] = {
        GNI_CQMODE_GLOBAL_EVENT,
        GNI_CQMODE_GLOBAL_EVENT,
        GNI_CQMODE_GLOBAL_EVENT | GNI_CQMODE_REMOTE_EVENT,
        GNI_CQMODE_SILENT,
        GNI_CQMODE_LOCAL_EVENT,
        GNI_CQMODE_DUAL_EVENTS,
        GNI_CQMODE_REMOTE_EVENT,
        GNI_CQMODE_DUAL_EVENTS | GNI_CQMODE_REMOTE_EVENT,
    };

    return modes[selector % 8];
}

static uint16_t delivery_of(uint8_t selector)
{
    static const uint16_t modes[] = {
        GNI_DLVMODE_PERFORMANCE, GNI_DLVMODE_IN_ORDER,
        GNI_DLVMODE_NMIN_HASH,   GNI_DLVMODE_MIN_HASH,
        GNI_DLVMODE_ADAPTIVE3,   GNI_DLVMODE_ORDERED_TAIL,
        GNI_DLVMODE_ADAPTIVE1,   UINT16_MAX,
    };

    return modes[selector % 8];
}

/* An address in a registration, at its ends, or beyond them. */
static uint64_t around(const struct process *owner, unsigned slot, uint8_t selector)
{
    uint64_t base = owner->memory_address[slot % SLOTS], bytes = owner->memory_bytes[slot % SLOTS];

    switch (selector % 16) {
    case 8:
        return base + bytes - 8;
    case 9:
        return base + bytes - 4;
    case 10:
        return base + bytes;
    case 11:
        return base - 8;
    case 12:
        return base + bytes - 100;
    case 13:
        return base + PAGE - 64;
    case 14:
        return base + 60;
    case 15:
        return base + 1;
    default:
        return base + selector % 8 * 64;
    }
}

/* A handle of some process; seldom one that does not exist. */
static gni_mem_handle_t handle_of(const struct process *owner, unsigned slot, uint8_t selector)
{
    gni_mem_handle_t handle = owner->memory[slot % SLOTS];

    if (selector == 0xff)
        handle.qword2 ^= 1;
    if (selector == 0xfe)
        handle = (gni_mem_handle_t){0, 0};
    return handle;
}

static const struct process *owner_of(uint8_t selector)
{
    return &world.process[selector % RANKS];
}

/* An address that the CPU can read. */
static void fit(const struct process *process, uint64_t *address, uint64_t *length)
{
    uint64_t first = (uintptr_t)process->arena, last = first + FLAKY_PAGE * PAGE;

    if (*address < first || *address >= last)
        *address = first + *address % PAGE;
    if (*length > last - *address)
        *length = last - *address;
}

static void fill(const struct call *call, gni_post_descriptor_t *descr, gni_post_type_t type)
{
    const struct process *owner = owner_of(call->b[3]);
    uint8_t local = call->b[4] >> 4, remote = call->b[4] & 15;

    descr->type = type;
    descr->cq_mode = modes_of(call->b[6]);
    descr->dlvr_mode = delivery_of(call->b[6] >> 3 & (call->b[6] & 0x80 ? 7 : 0));
    descr->length = length_of(call->b[5]);
    descr->remote_addr = around(owner, call->b[3] >> 2, remote);
    descr->remote_mem_hndl = handle_of(owner, call->b[3] >> 2, call->b[7]);
    descr->local_addr = around(call->process, call->b[2] >> 3, local);
    descr->local_mem_hndl = handle_of(call->process, call->b[2] >> 3, 0);
    descr->rdma_mode = call->b[7] == 0xfd ? GNI_RDMAMODE_FENCE : 0;
    descr->sync_flag_value = 0x0123456789abcdefull;
    descr->sync_flag_addr = around(owner, call->b[3] >> 2, remote + 1);
}

static uint8_t ptag_of(gni_ep_handle_t ep)
{
    return model_ptag(model_domain(EP, ep));
}

/* Records the memory that a transaction may write, at the peer and here. */
static void note_writes(const struct call *call, gni_ep_handle_t ep,
                        const gni_post_descriptor_t *descr)
{
    uint8_t ptag = ptag_of(ep);

    switch (descr->type) {
    case GNI_POST_FMA_PUT_W_SYNCFLAG:
        model_writes(model_peer(ep), ptag, &descr->remote_mem_hndl, descr->sync_flag_addr, 8,
                     false);
        __attribute__((fallthrough));
    case GNI_POST_RDMA_PUT:
    case GNI_POST_FMA_PUT:
        model_writes(model_peer(ep), ptag, &descr->remote_mem_hndl, descr->remote_addr,
                     descr->length, false);
        break;
    case GNI_POST_AMO:
    case GNI_POST_AMO_W_FLAG:
        model_writes(model_peer(ep), ptag, &descr->remote_mem_hndl, descr->remote_addr,
                     descr->length, false);
        __attribute__((fallthrough));
    case GNI_POST_RDMA_GET:
    case GNI_POST_FMA_GET:
    case GNI_POST_FMA_GET_W_FLAG:
        model_writes(call->process->node, ptag, &descr->local_mem_hndl, descr->local_addr,
                     descr->length + (descr->type == GNI_POST_AMO_W_FLAG ||
                                              descr->type == GNI_POST_FMA_GET_W_FLAG
                                          ? GNI_FMA_FLAGGED_RESPONSE_SIZE
                                          : 0),
                     false);
        break;
    case GNI_POST_CE: /* when the others have joined, so at any time */
        model_writes(call->process->node, ptag, &descr->local_mem_hndl, descr->local_addr,
                     sizeof(gni_ce_result_t), false);
        break;
    default:
        break;
    }
}

/* ---- transactions ---------------------------------------------------------------------------- */

#define POST_CODES                                                                    \
    (RC(ALIGNMENT_ERROR) | RC(PERMISSION_ERROR) | RC(ERROR_RESOURCE) | RC(NO_MATCH) | \
     RC(ERROR_NOMEM))

void call_rdma(struct call *call)
{
    struct posted *posted = unused(call->process, call->b[0]);
    gni_ep_handle_t ep = pick(call, EP, call->b[2]);

    if (posted == NULL)
        return;
    begin_post(call, posted);
    fill(call, &posted->descr, call->b[7] & 1 ? GNI_POST_RDMA_GET : GNI_POST_RDMA_PUT);
    if (call->b[7] & 2)
        posted->descr.src_cq_hndl = pick(call, CQ, call->b[7] >> 2);
    if (end_post(call, posted, ep, CHECKED(call, GNI_PostRdma, (ep, &posted->descr), POST_CODES)))
        note_writes(call, ep, &posted->copy);
}

static void post_fma(struct call *call, struct posted *posted, gni_ep_handle_t ep)
{
    if (end_post(call, posted, ep,
                 CHECKED(call, GNI_PostFma, (ep, &posted->descr), POST_CODES | RC(ILLEGAL_OP))))
        note_writes(call, ep, &posted->copy);
}

void call_put(struct call *call)
{
    struct posted *posted = unused(call->process, call->b[0]);

    if (posted == NULL)
        return;
    begin_post(call, posted);
    fill(call, &posted->descr, call->b[7] & 1 ? GNI_POST_FMA_PUT_W_SYNCFLAG : GNI_POST_FMA_PUT);
    fit(call->process, &posted->descr.local_addr, &posted->descr.length);
    post_fma(call, posted, pick(call, EP, call->b[2]));
}

void call_get(struct call *call)
{
    struct posted *posted = unused(call->process, call->b[0]);

    if (posted == NULL)
        return;
    begin_post(call, posted);
    fill(call, &posted->descr, call->b[7] & 1 ? GNI_POST_FMA_GET_W_FLAG : GNI_POST_FMA_GET);
    post_fma(call, posted, pick(call, EP, call->b[2]));
}

static gni_fma_cmd_type_t command_of(uint8_t selector)
{
    static const unsigned commands[] = {
        GNI_FMA_ATOMIC_FADD,
        GNI_FMA_ATOMIC_ADD,
        GNI_FMA_ATOMIC_CSWAP,
        GNI_FMA_ATOMIC2_FAND_S,
        GNI_FMA_ATOMIC2_IMAX_S,
        GNI_FMA_ATOMIC2_FFPADD,
        GNI_FMA_ATOMIC2_FSWAP,
        GNI_FMA_ATOMIC2_AX_SC,
        GNI_FMA_ATOMIC_FADD_C,
        GNI_FMA_ATOMIC2_FCSWAP,
        GNI_FMA_ATOMIC2_FPMIN,
        GNI_FMA_ATOMIC_XOR,
        GNI_FMA_ATOMIC2_FIMIN,
        0x3ff,
        0,
        GNI_FMA_ATOMIC2_SWAP_S,
    };

    return (gni_fma_cmd_type_t)commands[selector % 16];
}

void call_amo(struct call *call)
{
    struct posted *posted = unused(call->process, call->b[0]);

    if (posted == NULL)
        return;
    begin_post(call, posted);
    fill(call, &posted->descr, call->b[7] & 1 ? GNI_POST_AMO_W_FLAG : GNI_POST_AMO);
    posted->descr.amo_cmd = command_of(call->b[7] >> 1);
    posted->descr.first_operand = 3 + call->b[5];
    posted->descr.second_operand = call->b[6];
    if (call->b[7] & 0x20)
        posted->descr.length = posted->descr.amo_cmd & 0x200 ? 4 : 8;
    if (call->b[7] & 0x40)
        posted->descr.type =
            GNI_POST_CE; /* by the call for this type, without a collective engine */
    post_fma(call, posted, pick(call, EP, call->b[2]));
}

/* Joins a reduction, or asks for a result. */
void call_ce_post(struct call *call)
{
    static const unsigned commands[] = {
        GNI_FMA_CE_AND,        GNI_FMA_CE_IADD_S,    GNI_FMA_CE_FPADD,        GNI_FMA_CE_FPADD_S,
        GNI_FMA_CE_FPMAX_GIDX, GNI_FMA_CE_IMIN_LIDX, GNI_FMA_CE_FPMIN_LIDX_S, 0x3f};
    struct posted *posted = unused(call->process, call->b[0]);
    gni_ep_handle_t ep = pick(call, EP, call->b[2]);

    if (posted == NULL || call->b[7] % 4 == 0) {
        CHECKED(
            call, GNI_CeCheckResult,
            ((gni_ce_result_t *)(void *)(call->process->arena + call->b[3] % 16 * 32), call->b[4]),
            RC(NOT_DONE) | RC(TRANSACTION_ERROR) | RC(ILLEGAL_OP));
        return;
    }
    if (call->b[7] & 4)
        CHECKED(call, GNI_EpSetCeAttr, (ep, call->b[4] & 3, call->b[4] >> 2 & 3, GNI_CE_CHILD_PE),
                RC(ILLEGAL_OP));
    begin_post(call, posted);
    fill(call, &posted->descr, GNI_POST_CE);
    posted->descr.ce_cmd = (gni_ce_cmd_type_t)commands[call->b[5] >> 5];
    posted->descr.ce_mode = call->b[3] >> 3;
    posted->descr.ce_red_id = call->b[7] >> 4;
    posted->descr.first_operand = 0x3ff0000000000000u + call->b[5];
    posted->descr.second_operand = call->b[6];
    post_fma(call, posted, ep);
}

/* Elements of the head's type, to other peers and addresses. */
void call_chain(struct call *call)
{
    struct posted *posted = unused(call->process, call->b[0]);
    gni_ep_handle_t ep = pick(call, EP, call->b[2]), eps[3];
    uint32_t count = call->b[7] % 4, i;
    void **link;

    if (posted == NULL)
        return;
    begin_post(call, posted);
    fill(call, &posted->descr,
         (gni_post_type_t[]){GNI_POST_FMA_PUT, GNI_POST_FMA_GET, GNI_POST_AMO,
                             GNI_POST_RDMA_PUT}[call->b[7] >> 2 & 3]);
    posted->descr.amo_cmd = command_of(call->b[7] >> 4);
    if (posted->descr.type == GNI_POST_AMO)
        posted->descr.length = posted->descr.amo_cmd & 0x200 ? 4 : 8;
    if (posted->descr.type == GNI_POST_FMA_PUT)
        fit(call->process, &posted->descr.local_addr, &posted->descr.length);
    link = &posted->descr.next_descr;
    for (i = 0; i < count; i++) {
        gni_ct_amo_post_descriptor_t *amo = &posted->chain[i].u.amo;
        const struct process *owner = owner_of((uint8_t)(call->b[3] + i + 1));

        eps[i] = pick(call, EP, call->b[2] + i + 1);
        *amo = (gni_ct_amo_post_descriptor_t){
            .ep_hndl = eps[i],
            .length = posted->descr.length,
            .remote_addr = around(owner, call->b[3] >> 2, call->b[4] + i),
            .remote_mem_hndl = handle_of(owner, call->b[3] >> 2, 0),
            .local_addr = posted->descr.local_addr,
            .local_mem_hndl = posted->descr.local_mem_hndl,
            .amo_cmd = posted->descr.amo_cmd,
            .first_operand = i,
        };
        *link = amo;
        link = &amo->next_descr;
    }
    *link = NULL;
    if (!end_post(call, posted, ep,
                  CHECKED(call, GNI_CtPostFma, (ep, &posted->descr), POST_CODES | RC(SIZE_ERROR))))
        return;
    note_writes(call, ep, &posted->copy);
    for (i = 0; i < count; i++) {
        gni_post_descriptor_t element = posted->copy;

        element.remote_addr = posted->chain[i].u.amo.remote_addr;
        element.remote_mem_hndl = posted->chain[i].u.amo.remote_mem_hndl;
        note_writes(call, eps[i], &element);
    }
}

void call_cqwrite(struct call *call)
{
    struct posted *posted = unused(call->process, call->b[0]);
    gni_ep_handle_t ep = pick(call, EP, call->b[2]);

    if (posted == NULL)
        return;
    begin_post(call, posted);
    fill(call, &posted->descr, call->b[4] == 0xff ? GNI_POST_FMA_PUT : GNI_POST_CQWRITE);
    posted->descr.cqwrite_value = (uint64_t)b16(call, 4) << 36 | b16(call, 5);
    end_post(call, posted, ep,
             CHECKED(call, GNI_PostCqWrite, (ep, &posted->descr), RC(ERROR_RESOURCE)));
}

void call_cqwrite_chain(struct call *call)
{
    struct posted *posted = unused(call->process, call->b[0]);
    gni_ep_handle_t ep = pick(call, EP, call->b[2]);
    uint32_t count = call->b[7] % 4, i;
    void **link;

    if (posted == NULL)
        return;
    begin_post(call, posted);
    fill(call, &posted->descr, GNI_POST_CQWRITE);
    link = &posted->descr.next_descr;
    for (i = 0; i < count; i++) {
        gni_ct_cqw_post_descriptor_t *cqw = &posted->chain[i].u.cqw;

        *cqw = (gni_ct_cqw_post_descriptor_t){
            .ep_hndl = pick(call, EP, call->b[2] + i),
            .remote_mem_hndl = handle_of(owner_of((uint8_t)(call->b[3] + i)), call->b[3] >> 2, 0),
            .cqwrite_value = i,
        };
        *link = cqw;
        link = &cqw->next_descr;
    }
    *link = NULL;
    end_post(call, posted, ep,
             CHECKED(call, GNI_CtPostCqWrite, (ep, &posted->descr), RC(ERROR_RESOURCE)));
}

/* ---- completions ----------------------------------------------------------------------------- */

static void completed(struct call *call, gni_cq_handle_t cq, gni_cq_entry_t event)
{
    OUT_VALUE(gni_post_descriptor_t *, descr);
    struct posted *posted = call->process->post;
    uint16_t before;
    gni_return_t rc = CHECKED(call, GNI_GetCompleted, (cq, event, &descr.value),
                              RC(TRANSACTION_ERROR) | RC(DESCRIPTOR_ERROR));

    OUT_CHECK(descr);
    if (rc == GNI_RC_DESCRIPTOR_ERROR && descr.value != NULL)
        die("an event without descriptor has one");
    if (rc != GNI_RC_SUCCESS && rc != GNI_RC_TRANSACTION_ERROR)
        return;
    while (posted < call->process->post + POSTS && &posted->descr != descr.value)
        posted++;
    if (posted == call->process->post + POSTS || !posted->busy)
        die("a descriptor that is not posted was completed");
    check_untouched(posted);
    if (posted->descr.status != rc)
        die("the descriptor says %d", (int)posted->descr.status);
    before = posted->copy.cq_mode_complete;
    posted->copy.cq_mode_complete = posted->descr.cq_mode_complete;
    if ((before & posted->descr.cq_mode_complete) != before ||
        posted->descr.cq_mode_complete & ~posted->events)
        die("events 0x%x are complete", posted->descr.cq_mode_complete);
    note(posted->descr.post_id);
    if (posted->descr.cq_mode_complete == posted->events)
        posted->busy = false;
}

void call_completed(struct call *call)
{
    gni_cq_entry_t event = call->process->event[call->b[3] % SLOTS];

    if (call->b[4] & 1)
        event ^= (uint64_t)b16(call, 5) << call->b[4] % 49;
    completed(call, pick(call, CQ, call->b[2]), event);
}

/* Reads a queue and collects the descriptors of its events, as programs do. */
void call_collect(struct call *call)
{
    unsigned count = 1 + call->b[3] % 8;

    while (count-- > 0) {
        OUT_VALUE(gni_cq_entry_t, event);
        gni_cq_handle_t cq = pick(call, CQ, call->b[2]);
        gni_return_t rc = CHECKED(call, GNI_CqGetEvent, (cq, &event.value),
                                  RC(NOT_DONE) | RC(TRANSACTION_ERROR) | RC(ERROR_RESOURCE));

        OUT_CHECK(event);
        take_event(call, call->b[2], rc, event.value);
        if (rc == GNI_RC_INVALID_PARAM || rc == GNI_RC_NOT_DONE)
            return;
        if (GNI_CQ_GET_TYPE(event.value) == GNI_CQ_EVENT_TYPE_POST)
            completed(call, cq, event.value);
    }
}
