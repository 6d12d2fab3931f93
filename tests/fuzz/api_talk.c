/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <fcntl.h>
#include <string.h>
#include "api.h"

/* ---- datagrams ------------------------------------------------------------------------------- */

static uint64_t id_of(uint8_t selector)
{
    return selector == 0xff ? UINT64_MAX : selector % 4;
}

static uint32_t ms_of(uint8_t selector)
{
    static const uint32_t ms[] = {1, 3, 0, 20};

    return ms[selector % 4];
}

void call_post_data(struct call *call)
{
    static const uint16_t lengths[] = {16, 128, 0, 1, 129, UINT16_MAX, 64, 127};
    static const uint16_t sizes[] = {128, 128, 16, 0, 64, 1, 127, 192};
    gni_ep_handle_t ep = pick(call, EP, call->b[2]);
    uint8_t *out = call->process->arena + DATAGRAM_PAGE * PAGE + call->b[3] % 16 * 200;
    uint8_t *in = call->b[5] == 0xff ? NULL : call->process->arena;
    uint16_t length = lengths[call->b[5] % 8], size = sizes[call->b[6] % 8];
    const uint32_t codes = RC(SIZE_ERROR) | RC(ERROR_RESOURCE) | RC(ERROR_NOMEM) | RC(NO_MATCH);
    gni_return_t rc;

    if (call->b[6] == 0xff)
        out = NULL;
    if (call->b[4] & 0x80)
        rc = CHECKED(call, GNI_EpPostData, (ep, in, length, out, size), codes);
    else
        rc =
            CHECKED(call, GNI_EpPostDataWId, (ep, in, length, out, size, id_of(call->b[4])), codes);
    if (rc == GNI_RC_SUCCESS && out != NULL)
        model_stores(call->process->id, out, size);
}

struct answer {
    uint64_t before;
    gni_post_state_t state;
    uint32_t between, address, after_address, id;
    uint64_t after;
};

static const struct answer unanswered = {GUARD, (gni_post_state_t)99, 0xabcdef, 0, 0xfedcba, 0,
                                         GUARD};

static void check_answer(const struct answer *answer, gni_return_t rc)
{
    if (answer->before != GUARD || answer->between != 0xabcdef ||
        answer->after_address != 0xfedcba || answer->after != GUARD)
        die("bytes beside an answer were written");
    if (rc == GNI_RC_SUCCESS && answer->state > GNI_POST_REMOTE_DATA)
        die("state %d of a datagram", (int)answer->state);
    note(answer->state);
}

void call_data_test(struct call *call)
{
    gni_ep_handle_t ep = pick(call, EP, call->b[2]);
    const uint32_t codes = RC(NO_MATCH) | RC(SIZE_ERROR) | RC(ERROR_NOMEM);
    struct answer answer = unanswered;
    gni_return_t rc;

    if (call->b[3] & 0x80)
        rc = CHECKED(call, GNI_EpPostDataTest, (ep, &answer.state, &answer.address, &answer.id),
                     codes);
    else
        rc = CHECKED(call, GNI_EpPostDataTestById,
                     (ep, id_of(call->b[3]), &answer.state, &answer.address, &answer.id), codes);
    check_answer(&answer, rc);
}

void call_data_wait(struct call *call)
{
    gni_ep_handle_t ep = pick(call, EP, call->b[2]);
    const uint32_t codes = RC(NO_MATCH) | RC(SIZE_ERROR) | RC(ERROR_NOMEM) | RC(TIMEOUT);
    struct answer answer = unanswered;
    gni_return_t rc;

    if (call->b[3] & 0x80)
        rc = CHECKED(call, GNI_EpPostDataWait,
                     (ep, ms_of(call->b[4]), &answer.state, &answer.address, &answer.id), codes);
    else
        rc = CHECKED(
            call, GNI_EpPostDataWaitById,
            (ep, id_of(call->b[3]), ms_of(call->b[4]), &answer.state, &answer.address, &answer.id),
            codes);
    check_answer(&answer, rc);
}

void call_data_probe(struct call *call)
{
    gni_nic_handle_t nic = pick(call, NIC, call->b[2]);
    OUT_VALUE(uint32_t, address);
    OUT_VALUE(uint32_t, peer);
    OUT_VALUE(uint64_t, id);

    CHECKED(call, GNI_PostDataProbe, (nic, &address.value, &peer.value), RC(NO_MATCH));
    CHECKED(call, GNI_PostDataProbeById, (nic, &id.value), RC(NO_MATCH));
    OUT_CHECK(address);
    OUT_CHECK(peer);
    OUT_CHECK(id);
    note(peer.value + id.value);
}

void call_data_probe_wait(struct call *call)
{
    OUT_VALUE(uint64_t, id);

    CHECKED(call, GNI_PostdataProbeWaitById,
            (pick(call, NIC, call->b[2]), ms_of(call->b[3]), &id.value),
            RC(TIMEOUT) | RC(NO_MATCH));
    OUT_CHECK(id);
    note(id.value);
}

void call_data_cancel(struct call *call)
{
    gni_ep_handle_t ep = pick(call, EP, call->b[2]);

    if (call->b[3] & 0x80)
        CHECKED(call, GNI_EpPostDataCancel, (ep), RC(NO_MATCH));
    else
        CHECKED(call, GNI_EpPostDataCancelById, (ep, id_of(call->b[3])), RC(NO_MATCH));
}

/* ---- short messages -------------------------------------------------------------------------- */

static gni_smsg_attr_t mailbox_of(const struct process *owner, uint32_t peer, uint8_t selector)
{
    return (gni_smsg_attr_t){
        .msg_type = selector & 1 ? GNI_SMSG_TYPE_MBOX : GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT,
        .msg_buffer = owner->arena + MAILBOX_PAGE * PAGE,
        .buff_size = MAILBOX_BYTES,
        .mem_hndl = owner->memory[3],
        .mbox_offset = peer * MAILBOX_BYTES,
        .mbox_maxcredit = selector & 2 ? 1 : 4,
        .msg_maxsize = selector & 4 ? 130 : 64,
    };
}

/* Attributes that a peer could have sent by mistake. */
static void spoil(gni_smsg_attr_t *attr, uint8_t how)
{
    switch (how % 8) {
    case 1:
        attr->mem_hndl = world.process[0].memory[how / 8 % SLOTS];
        break;
    case 2:
        attr->mbox_offset += how / 8;
        break;
    case 3:
        attr->msg_type = GNI_SMSG_TYPE_INVALID;
        break;
    case 4:
        attr->buff_size = how;
        break;
    case 5:
        attr->mbox_maxcredit = how / 8;
        break;
    case 6:
        attr->mbox_offset = 0x10000 + how / 8;
        break;
    case 7:
        attr->buff_size = 0x100000;
        break;
    default:
        break;
    }
}

void call_smsg_init(struct call *call)
{
    struct process *process = call->process;
    uint32_t peer = call->b[2] % world.processes;
    gni_ep_handle_t ep = pick(call, EP, call->b[4] < 0xf0 ? peer : call->b[4]);
    gni_smsg_attr_t local = mailbox_of(process, peer, call->b[3]);
    gni_smsg_attr_t remote = mailbox_of(&world.process[peer], process->id, call->b[3]);

    if (call->b[5] >= 0xc0)
        spoil(&remote, call->b[6]);
    if (CHECKED(call, GNI_SmsgInit, (ep, &local, &remote), RC(INVALID_STATE) | RC(ERROR_NOMEM)) !=
        GNI_RC_SUCCESS)
        return;
    /* A second user of a mailbox finds the bytes of the first one. */
    if (process->mailbox[peer].msg_buffer != NULL || call->b[5] >= 0xc0 ||
        model_peer(ep) != world.process[peer].node)
        world.trampled = true;
    process->mailbox[peer] = local;
    model_stores(process->id, process->arena + MAILBOX_PAGE * PAGE + peer * MAILBOX_BYTES,
                 MAILBOX_BYTES);
    model_writes(model_peer(ep), model_ptag(model_domain(EP, ep)), &remote.mem_hndl,
                 (uintptr_t)remote.msg_buffer + remote.mbox_offset, remote.buff_size, true);
}

void call_smsg_send(struct call *call)
{
    gni_ep_handle_t ep = pick(call, EP, call->b[2]);
    uint32_t header = call->b[3] % 40, data = call->b[4] % 128;
    uint8_t *from = call->process->arena + b16(call, 5) % PAGE;
    const uint32_t codes = RC(NOT_DONE) | RC(ERROR_RESOURCE) | RC(INVALID_STATE);

    if (call->b[7] & 1)
        CHECKED(call, GNI_SmsgSend, (ep, from, header, from + header, data, call->b[5]), codes);
    else
        CHECKED(call, GNI_SmsgSendWTag,
                (ep, header != 0 ? from : NULL, header, data != 0 ? from : NULL, data, call->b[5],
                 call->b[7] / 2),
                codes);
}

void call_smsg_next(struct call *call)
{
    gni_ep_handle_t ep = pick(call, EP, call->b[2]);
    const uint32_t codes = RC(NOT_DONE) | RC(INVALID_STATE);
    uint64_t page = (uintptr_t)call->process->arena + MAILBOX_PAGE * PAGE;
    OUT_VALUE(void *, message);
    OUT_VALUE(uint8_t, tag);
    gni_return_t rc;

    tag.value = call->b[4] & 1 ? GNI_SMSG_ANY_TAG : call->b[4] / 2;
    if (call->b[3] & 1)
        rc = CHECKED(call, GNI_SmsgGetNext, (ep, &message.value), codes);
    else
        rc = CHECKED(call, GNI_SmsgGetNextWTag, (ep, &message.value, &tag.value),
                     codes | RC(NO_MATCH));
    OUT_CHECK(message);
    OUT_CHECK(tag);
    if (rc != GNI_RC_SUCCESS)
        return;
    if ((uintptr_t)message.value < page || (uintptr_t)message.value >= page + PAGE ||
        (uintptr_t)message.value % 8 != 0)
        die("a message is not in a mailbox");
    note(*(const uint8_t *)message.value);
    if (call->b[3] & 2)
        CHECKED(call, GNI_SmsgRelease, (ep), RC(NOT_DONE));
}

void call_smsg_release(struct call *call)
{
    CHECKED(call, GNI_SmsgRelease, (pick(call, EP, call->b[2])), RC(NOT_DONE));
}

void call_smsg_misc(struct call *call)
{
    static const uint16_t modes[] = {GNI_DLVMODE_PERFORMANCE, GNI_DLVMODE_IN_ORDER,
                                     GNI_DLVMODE_NMIN_HASH, UINT16_MAX};
    gni_nic_handle_t nic = pick(call, NIC, call->b[2]);
    gni_smsg_attr_t attr = mailbox_of(call->process, 0, call->b[5]);
    OUT_VALUE(unsigned int, size);

    CHECKED(call, GNI_SmsgSetDeliveryMode, (nic, modes[call->b[3] % 4]), 0);
    CHECKED(call, GNI_SmsgSetMaxRetrans, (nic, call->b[4] % 5), 0);
    attr.msg_maxsize = b16(call, 6) * 3;
    CHECKED(call, GNI_SmsgBufferSizeNeeded, (&attr, &size.value), 0);
    OUT_CHECK(size);
}

/* ---- shared message queues ------------------------------------------------------------------- */

static int receive(uint32_t snd_id, uint32_t snd_pe, void *msg, uint8_t msg_tag, void *cb_data)
{
    struct process *process = cb_data;

    process->handled += snd_id + msg_tag;
    note(*(const uint8_t *)msg);
    return msg_tag & 1;
}

void call_msgq_make(struct call *call)
{
    struct process *process = call->process;
    unsigned slot = call->b[4] % (SLOTS - 1);
    gni_nic_handle_t nic = pick(call, NIC, call->b[2]);
    gni_msgq_handle_t msgq = pick(call, MSGQ, call->b[4]);
    gni_msgq_attr_t attr = {
        .max_msg_sz = call->b[5] & 0x80 ? 200 : 64,
        .smsg_q_sz = call->b[5] & 0x40 ? 3 : 4,
        .rcv_pool_sz = 1 + call->b[5] % 8,
        .num_msgq_eps = call->b[6] % 4,
        .nloc_insts = 1 + (call->b[6] >> 6),
        .modes = call->b[6] & 0x10 ? GNI_MSGQ_MODE_BLOCKING : 0,
        .rcv_cq_sz = call->b[7] % 64,
    };
    OUT_VALUE(gni_msgq_handle_t, made);
    OUT_VALUE(uint32_t, size);

    switch (call->b[3] % 4) {
    case 0:
        if (CHECKED(call, GNI_MsgqInit,
                    (nic, receive, process, pick(call, CQ, call->b[2] >> 3), &attr, &made.value),
                    RC(INVALID_STATE) | RC(PERMISSION_ERROR) | RC(ERROR_NOMEM) |
                        RC(ERROR_RESOURCE)) == GNI_RC_SUCCESS) {
            model_made(MSGQ, made.value, process->id, model_domain(NIC, nic));
            process->slot[MSGQ][slot] = made.value;
        }
        break;
    case 1:
        if (CHECKED(call, GNI_MsgqRelease, (msgq), RC(NOT_DONE)) == GNI_RC_SUCCESS)
            model_gone(MSGQ, msgq);
        break;
    case 2:
        CHECKED(call, GNI_MsgqIdle, (msgq), RC(NOT_DONE));
        break;
    default:
        CHECKED(call, GNI_MsgqSize, (&attr, &size.value), 0);
    }
    OUT_CHECK(made);
    OUT_CHECK(size);
}

void call_msgq_connect(struct call *call)
{
    struct process *process = call->process;
    const struct process *peer = &world.process[call->b[3] % RANKS];
    gni_msgq_handle_t msgq = pick(call, MSGQ, call->b[2]);
    uint32_t address = aries_nic_address(world.fabric, peer->node);
    gni_msgq_ep_attr_t theirs = peer->msgq[process->id];
    OUT_VALUE(gni_msgq_ep_attr_t, mine);
    OUT_VALUE(uint32_t, size);

    if (call->b[5] == 0xff)
        address = 0x3ffff;
    switch (call->b[4] % 3) {
    case 0:
        if (CHECKED(call, GNI_MsgqGetConnAttrs, (msgq, address, &mine.value, &size.value),
                    RC(INVALID_STATE) | RC(ERROR_RESOURCE) | RC(PERMISSION_ERROR)) ==
            GNI_RC_SUCCESS)
            process->msgq[call->b[3] % RANKS] = mine.value;
        break;
    case 1:
        CHECKED(call, GNI_MsgqConnect, (msgq, address, &theirs),
                RC(NO_MATCH) | RC(INVALID_STATE) | RC(PERMISSION_ERROR));
        break;
    default:
        CHECKED(call, GNI_MsgqConnRelease, (msgq, address), RC(NO_MATCH) | RC(NOT_DONE));
    }
    OUT_CHECK(mine);
    OUT_CHECK(size);
}

void call_msgq_send(struct call *call)
{
    uint32_t header = call->b[4] % 32, data = call->b[5] % 80;
    uint8_t *from = call->process->arena + call->b[7] * 8;

    CHECKED(call, GNI_MsgqSend,
            (pick(call, MSGQ, call->b[2]), pick(call, EP, call->b[3]), from, header, from + header,
             data, call->b[6], call->b[7]),
            RC(NO_MATCH) | RC(NOT_DONE) | RC(SIZE_ERROR) | RC(INVALID_STATE));
}

void call_msgq_progress(struct call *call)
{
    CHECKED(call, GNI_MsgqProgress, (pick(call, MSGQ, call->b[2]), call->b[3] % 3),
            RC(NOT_DONE) | RC(ERROR_RESOURCE) | RC(INVALID_STATE) | RC(ERROR_NOMEM));
}

/* ---- collective engine ----------------------------------------------------------------------- */

void call_ce_make(struct call *call)
{
    gni_nic_handle_t nic = pick(call, NIC, call->b[2]);
    gni_ce_handle_t ce = pick(call, CE, call->b[4]);
    OUT_VALUE(gni_ce_handle_t, made);
    OUT_VALUE(uint32_t, id);

    switch (call->b[3] % 4) {
    case 0:
        if (CHECKED(call, GNI_CeCreate, (nic, &made.value),
                    RC(ERROR_RESOURCE) | RC(ERROR_NOMEM) | RC(ILLEGAL_OP)) == GNI_RC_SUCCESS) {
            model_made(CE, made.value, call->process->id, model_domain(NIC, nic));
            call->process->slot[CE][call->b[4] % (SLOTS - 1)] = made.value;
        }
        break;
    case 1:
        if (CHECKED(call, GNI_CeDestroy, (ce), RC(ILLEGAL_OP)) == GNI_RC_SUCCESS)
            model_gone(CE, ce);
        break;
    case 2:
        CHECKED(call, GNI_CeGetId, (ce, &id.value), RC(ILLEGAL_OP));
        break;
    default:
        CHECKED(call, GNI_EpSetCeAttr,
                (pick(call, EP, call->b[5]), call->b[6] % 5, call->b[7] % 40,
                 (gni_ce_child_t)(call->b[7] >> 6)),
                RC(ILLEGAL_OP));
    }
    OUT_CHECK(made);
    OUT_CHECK(id);
}

void call_ce_configure(struct call *call)
{
    static const uint32_t modes[] = {GNI_CE_MODE_ROUND_NEAR | GNI_CE_MODE_CQE_ONCOMP, 0,
                                     GNI_CE_MODE_CQE_ONERR | GNI_CE_MODE_RC_MIN_HASH, UINT32_MAX};
    uint32_t count = call->b[3] % 4, i;
    gni_ep_handle_t children[4], parent = pick(call, EP, call->b[5]);

    for (i = 0; i < count; i++) {
        children[i] = pick(call, EP, call->b[4] + i);
        if (call->b[7] &
            4) /* a tree that may work: its children are processes, or the peers' first engines */
            CHECKED(call, GNI_EpSetCeAttr,
                    (children[i], call->b[5] >> 3 & 3, i,
                     call->b[7] >> i & 8 ? GNI_CE_CHILD_VCE : GNI_CE_CHILD_PE),
                    RC(ILLEGAL_OP));
    }
    if (call->b[7] & 4)
        CHECKED(call, GNI_EpSetCeAttr,
                (parent, call->b[5] >> 5 & 3, call->b[6] >> 4 & 3, GNI_CE_CHILD_VCE),
                RC(ILLEGAL_OP));
    CHECKED(call, GNI_CeConfigure,
            (pick(call, CE, call->b[2]), children, count, call->b[7] & 0x80 ? NULL : parent,
             pick(call, CQ, call->b[6]), modes[call->b[7] % 4]),
            RC(ILLEGAL_OP));
}

/* ---- completion channels --------------------------------------------------------------------- */

void call_channel(struct call *call)
{
    gni_nic_handle_t nic = pick(call, NIC, call->b[2]);
    gni_comp_chan_handle_t channel = pick(call, CHANNEL, call->b[4]);
    OUT_VALUE(gni_comp_chan_handle_t, made);
    OUT_VALUE(int, fd);

    switch (call->b[3] % 3) {
    case 0:
        if (CHECKED(call, GNI_CompChanCreate, (nic, &made.value),
                    RC(ERROR_NOMEM) | RC(ERROR_RESOURCE)) == GNI_RC_SUCCESS) {
            model_made(CHANNEL, made.value, call->process->id, model_domain(NIC, nic));
            call->process->slot[CHANNEL][call->b[4] % (SLOTS - 1)] = made.value;
            if (CHECKED(call, GNI_CompChanFd, (made.value, &fd.value), 0) != GNI_RC_SUCCESS ||
                fcntl(fd.value, F_SETFL, O_NONBLOCK) != 0)
                die("a channel without descriptor");
        }
        break;
    case 1:
        if (CHECKED(call, GNI_CompChanDestroy, (channel), 0) == GNI_RC_SUCCESS)
            model_gone(CHANNEL, channel);
        break;
    default:
        CHECKED(call, GNI_CqAttachCompChan, (pick(call, CQ, call->b[5]), channel), 0);
    }
    OUT_CHECK(made);
    OUT_CHECK(fd);
}

void call_channel_event(struct call *call)
{
    gni_cq_handle_t queues[3];
    uint32_t count = call->b[3] % 4, i;
    OUT_VALUE(gni_cq_handle_t, cq);

    for (i = 0; i < count; i++)
        queues[i] = pick(call, CQ, call->b[4 + i]);
    if (call->b[7] & 1)
        CHECKED(call, GNI_CqArmCompChan, (queues, count), RC(ERROR_NOMEM));
    else if (CHECKED(call, GNI_CompChanGetEvent, (pick(call, CHANNEL, call->b[2]), &cq.value),
                     RC(NOT_DONE)) == GNI_RC_SUCCESS &&
             model_domain(CQ, cq.value) == 0)
        die("a channel tells of a queue that is not alive");
    OUT_CHECK(cq);
}

/* ---- error events ---------------------------------------------------------------------------- */

void call_errors(struct call *call)
{
    gni_nic_handle_t nic = pick(call, NIC, call->b[2]);
    gni_err_handle_t errors = pick(call, ERRORS, call->b[4]);
    OUT_VALUE(gni_err_handle_t, made);
    OUT_VALUE(gni_error_mask_t, mask);

    switch (call->b[3] % 4) {
    case 0:
        if (CHECKED(call, GNI_SubscribeErrors,
                    (nic, call->b[5] % 2, call->b[6], call->b[7] % 8, &made.value),
                    RC(NO_MATCH) | RC(ERROR_RESOURCE) | RC(ERROR_NOMEM)) == GNI_RC_SUCCESS) {
            model_made(ERRORS, made.value, call->process->id,
                       nic != NULL ? model_domain(NIC, nic) : UINT32_MAX); /* of the process */
            call->process->slot[ERRORS][call->b[4] % (SLOTS - 1)] = made.value;
        }
        break;
    case 1:
        if (CHECKED(call, GNI_ReleaseErrors, (errors), RC(NOT_DONE)) == GNI_RC_SUCCESS)
            model_gone(ERRORS, errors);
        break;
    case 2:
        CHECKED(call, GNI_GetErrorMask, (errors, &mask.value), 0);
        break;
    default:
        CHECKED(call, GNI_SetErrorMask, (errors, call->b[6], &mask.value), 0);
        CHECKED(call, GNI_SetErrorPtag, (errors, call->b[7]), RC(PERMISSION_ERROR));
    }
    OUT_CHECK(made);
    OUT_CHECK(mask);
}

/* The call waits without limit, so it is made only with handles that it refuses. */
void call_error_events(struct call *call)
{
    gni_err_handle_t errors = pick(call, ERRORS, call->b[2]);
    OUT_VALUE(gni_error_event_t, event);
    OUT_VALUE(uint32_t, count);

    CHECKED(call, GNI_GetErrorEvent, (errors, &event.value), RC(NOT_DONE));
    if (model_domain(ERRORS, errors) == 0)
        CHECKED(call, GNI_WaitErrorEvents, (errors, &event.value, 1, 1, &count.value),
                RC(TIMEOUT) | RC(NOT_DONE) | RC(PERMISSION_ERROR));
    OUT_CHECK(event);
    OUT_CHECK(count);
}

/* ---- jobs, injection ------------------------------------------------------------------------- */

void call_job(struct call *call)
{
    static const uint8_t ptags[] = {17, 18, 40, 255};
    gni_job_limits_t limits;
    gni_ntt_entry_t table[2] = {{1, 2, 1}, {3, 4, 1}};
    gni_ntt_descriptor_t ntt = {.group_size = call->b[6] % 3, .granularity = call->b[6] % 5};
    uint8_t ptag = ptags[call->b[3] % 4];
    uint32_t cookie = GNI_JOB_CREATE_COOKIE(call->b[4] & 1 ? 0x1234 : 0x4321, 0);
    uint64_t job = call->b[4] & 2 ? 42 : call->b[4] & 4 ? 0 : 43;
    const uint32_t codes = RC(PERMISSION_ERROR) | RC(NO_MATCH) | RC(INVALID_STATE) |
                           RC(ILLEGAL_OP) | RC(ERROR_RESOURCE) | RC(ERROR_NOMEM);
    OUT_VALUE(uint32_t, base);

    memset(&limits, call->b[5] & 1 ? 0xff : 3, sizeof(limits));
    ntt.u.table_v2 = call->b[6] & 0x80 ? NULL : table;
    base.value = call->b[6] & 0x40 ? UINT32_MAX : 0;
    switch (call->b[2] % 7) {
    case 0:
        CHECKED(call, GNI_ConfigureJob, (0, job, ptag, cookie, &limits), codes);
        break;
    case 1:
        CHECKED(call, GNI_SuspendJob, (0, job, ptag, cookie, 1),
                RC(TIMEOUT) | RC(PERMISSION_ERROR) | RC(NOT_DONE) | RC(INVALID_STATE) |
                    RC(ERROR_RESOURCE));
        break;
    case 2:
        CHECKED(call, GNI_ResumeJob, (0, job, ptag, cookie),
                RC(PERMISSION_ERROR) | RC(INVALID_STATE));
        break;
    case 3:
        CHECKED(call, GNI_ConfigureNTT, (0, &ntt, &base.value), codes);
        break;
    case 4:
        CHECKED(call, GNI_ConfigureNTTandJob, (0, job, ptag, cookie, &limits, &ntt, &base.value),
                codes);
        break;
    case 5:
        CHECKED(call, GNI_SetJobResInfo, (0, ptag, (gni_job_res_t)(call->b[7] % 16), call->b[5]),
                RC(PERMISSION_ERROR) | RC(NOT_DONE) | RC(ILLEGAL_OP) | RC(ERROR_RESOURCE));
        break;
    default:
        CHECKED(call, GNI_GetNttGran, (call->b[3] % 2, &base.value), RC(NO_MATCH));
    }
    OUT_CHECK(base);
}

void call_injection(struct call *call)
{
    OUT_VALUE(gni_bi_desc_t, settings);

    switch (call->b[2] % 3) {
    case 0:
        CHECKED(call, GNI_SetBIConfig, (call->b[3] % 2, call->b[4], call->b[5], call->b[6] % 16),
                RC(PERMISSION_ERROR));
        break;
    case 1:
        CHECKED(call, GNI_GetBIConfig, (call->b[3] % 2, &settings.value), 0);
        break;
    default:
        CHECKED(call, GNI_BISyncWait, (call->b[3] % 2, 1), RC(TIMEOUT));
    }
    OUT_CHECK(settings);
}
