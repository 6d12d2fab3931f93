/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls in the trace: numbers as they are, what a call wrote if it succeeded, and names for peers,
 * posts, events and errors. An address of the program is never in a trace.
 */
#include "nic/gni.h"

#include <stdio.h>
#include <string.h>

#include "engine/sim.h"
#include "engine/trace.h"
#include "nic/attachment.h"
#include "nic/cq_entry.h"
#include "nic/endpoint.h"
#include "nic/event_queue.h"
#include "nic/findings.h"
#include "nic/status.h"
#include "sim/call_trace.h"

#define ARGUMENTS_MAX 12

static const char *post_name(const gni_post_descriptor_t *post)
{
    static const char *const names[] = {
        [GNI_POST_RDMA_PUT] = "RDMA_PUT",
        [GNI_POST_RDMA_GET] = "RDMA_GET",
        [GNI_POST_FMA_PUT] = "FMA_PUT",
        [GNI_POST_FMA_PUT_W_SYNCFLAG] = "FMA_PUT_W_SYNCFLAG",
        [GNI_POST_FMA_GET] = "FMA_GET",
        [GNI_POST_AMO] = "AMO",
        [GNI_POST_CQWRITE] = "CQWRITE",
        [GNI_POST_CE] = "CE",
        [GNI_POST_FMA_GET_W_FLAG] = "FMA_GET_W_FLAG",
        [GNI_POST_AMO_W_FLAG] = "AMO_W_FLAG",
    };
    unsigned type = post->type;

    return type < sizeof names / sizeof *names && names[type] != NULL ? names[type] : "unknown";
}

static const char *event_name(gni_cq_entry_t event)
{
    static const char *const names[] = {"POST", "SMSG", "DMAPP", "MSGQ"};
    uint64_t type = GNI_CQ_GET_TYPE(event);

    return type < 4 ? names[type] : "unknown";
}

static const char *state_name(gni_post_state_t state)
{
    static const char *const names[] = {
        [GNI_POST_PENDING] = "PENDING",       [GNI_POST_COMPLETED] = "COMPLETED",
        [GNI_POST_ERROR] = "ERROR",           [GNI_POST_TIMEOUT] = "TIMEOUT",
        [GNI_POST_TERMINATED] = "TERMINATED", [GNI_POST_REMOTE_DATA] = "REMOTE_DATA",
    };

    return (unsigned)state < sizeof names / sizeof *names ? names[state] : "unknown";
}

/* A call of which a trace is written. */
struct traced_call {
    const char *name;
    gni_return_t status;
    char peer[ARIES_PEER_NAME]; /* the arguments point to it until they are written */
};

/* Whether an argument of this name is an event, which is a uint64_t. */
static bool is_event(const char *name)
{
    return strcmp(name, "event_data") == 0;
}

static bool has_event(gni_return_t status)
{
    return status == GNI_RC_SUCCESS || status == GNI_RC_TRANSACTION_ERROR;
}

static size_t describe_event(struct sim_trace_argument *at, gni_cq_entry_t event)
{
    unsigned status = aries_cq_entry_status(event);

    at[0].text = event_name(event);
    if (status == 0)
        return 1;
    at[1] = (struct sim_trace_argument){
        .name = "status",
        .text = status < ARIES_STATUS_COUNT ? aries_status_name(status) : "unknown"};
    return 2;
}

/* Handles of the objects that the call destroyed are no more. */
static size_t describe_object(struct sim_trace_argument *at, struct traced_call *call,
                              const struct aries_call_value *value)
{
    const struct gni_ep *ep = value->pointer;
    const struct gni_cq *cq = value->pointer;

    if (strstr(call->name, "Destroy") != NULL)
        return 0;
    if (value->kind == ARIES_CALL_QUEUE) {
        at->name = "queue";
        at->number = aries_handle_ok(cq, ARIES_MAGIC_CQ) ? cq->index : 0;
        return aries_handle_ok(cq, ARIES_MAGIC_CQ);
    }
    if (!aries_handle_ok(ep, ARIES_MAGIC_EP) || !aries_ep_bound(ep))
        return 0;
    aries_peer_name(ep->remote, ep->nic->ptag, ep->remote_id, call->peer);
    at->name = "peer";
    at->text = call->peer;
    return 1;
}

static bool is_shown(const char *name, const struct aries_call_value *value, gni_return_t status)
{
    if (value->kind == ARIES_CALL_NUMBER) /* of one registration; no VMDH was asked for */
        return strcmp(name, "address") != 0 &&
               (strcmp(name, "vmdh_index") != 0 || value->number != UINT32_MAX);
    if (value->kind == ARIES_CALL_HIDDEN || value->pointer == NULL)
        return false;
    return value->kind == ARIES_CALL_ENDPOINT || value->kind == ARIES_CALL_QUEUE ||
           value->kind == ARIES_CALL_POST || status == GNI_RC_SUCCESS ||
           (is_event(name) && has_event(status));
}

/* Writes up to two arguments. */
static size_t describe(struct sim_trace_argument *at, struct traced_call *call, const char *name,
                       const struct aries_call_value *value)
{
    *at = (struct sim_trace_argument){.name = name};
    if (!is_shown(name, value, call->status))
        return 0;
    if (value->kind == ARIES_CALL_NUMBER && is_event(name))
        return describe_event(at, value->number);
    if (value->kind == ARIES_CALL_NUMBER) {
        at->number = value->number;
        return 1;
    }
    if (value->kind == ARIES_CALL_ENDPOINT || value->kind == ARIES_CALL_QUEUE)
        return describe_object(at, call, value);
    if (value->kind == ARIES_CALL_POST) {
        at->name = "type";
        at->text = post_name(value->pointer);
        return 1;
    }
    if (value->kind == ARIES_CALL_OUT_64 && is_event(name))
        return describe_event(at, *(const gni_cq_entry_t *)value->pointer);
    if (value->kind == ARIES_CALL_OUT_32 && strcmp(name, "post_state") == 0)
        at->text = state_name(*(const gni_post_state_t *)value->pointer);
    else if (value->kind == ARIES_CALL_OUT_8)
        at->number = *(const uint8_t *)value->pointer;
    else if (value->kind == ARIES_CALL_OUT_32)
        at->number = *(const uint32_t *)value->pointer;
    else
        at->number = *(const uint64_t *)value->pointer;
    return 1;
}

/* `names`: "(ep_hndl, post_descr)". */
void aries_call_traced(uintptr_t outer, const char *call_name, gni_return_t status,
                       const char *names, const struct aries_call_value *values, size_t count)
{
    struct traced_call call = {.name = call_name, .status = status};
    struct sim_trace_argument arguments[2 * ARGUMENTS_MAX];
    char copy[256], *rest = copy, *name;
    size_t used = 0, i;

    snprintf(copy, sizeof copy, "%s", names + 1);
    for (i = 0; i < count && i < ARGUMENTS_MAX - 1; i++) {
        name = strsep(&rest, ",)");
        if (name == NULL)
            break;
        name += *name == ' ';
        used += describe(&arguments[used], &call, name, &values[i]);
    }
    arguments[used++] = (struct sim_trace_argument){
        .name = "result", .text = status <= GNI_RC_ERROR_NOMEM ? gni_err_str[status] : "unknown"};
    sim_call_end_arguments(outer, arguments, used);
}
