/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A peer of the provider that is made by hand, of uGNI and the messages of proto.h: it says what a
 * provider would not say, at times when it would not say it, and dies without a word.
 */
#ifndef GNI_WIRE_PEER_H
#define GNI_WIRE_PEER_H

#include <gni_pub.h>
#include "fixture.h"
#include "domain.h"
#include "gnip.h"
#include "name.h"
#include "proto.h"

#define WIRE_CREDITS 16u
#define WIRE_MESSAGE 8192u
#define WIRE_WINDOW 200u
#define WIRE_WAIT 20000u /* ms */

struct wire {
    struct rank *rank;
    uint32_t cdm_id, address, incarnation, vc;
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;
    gni_cq_handle_t tx_cq, rx_cq;
    gni_ep_handle_t any, ep; /* a wildcard; SMSG */
    uint8_t out[GNI_DATAGRAM_MAXSIZE], in; /* of the wildcard */
    uint8_t *mailbox;
    uint32_t mailbox_bytes;
    gni_mem_handle_t handle;
    uint32_t used, given; /* slots */
    uint32_t taken; /* what CONN_CLOSE says */
};

#define GNI(call)                                                                               \
    do {                                                                                        \
        gni_return_t rc_ = (call);                                                              \
        if (rc_ != GNI_RC_SUCCESS)                                                              \
            return rank_fail(rank, "%s:%d: rank %u: %s: %s", __FILE__, __LINE__, rank_id(rank), \
                             #call, gni_err_str[rc_]);                                          \
    } while (0)

static inline int wire_memory(struct wire *wire)
{
    gni_smsg_attr_t attr = {.msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT,
                            .mbox_maxcredit = WIRE_CREDITS,
                            .msg_maxsize = WIRE_MESSAGE};
    struct rank *rank = wire->rank;

    GNI(GNI_SmsgBufferSizeNeeded(&attr, &wire->mailbox_bytes));
    wire->mailbox_bytes = (wire->mailbox_bytes + 4095) & ~4095u;
    wire->mailbox = aligned_alloc(4096, wire->mailbox_bytes);
    memset(wire->mailbox, 0, wire->mailbox_bytes);
    GNI(GNI_MemRegister(wire->nic, (uintptr_t)wire->mailbox, wire->mailbox_bytes, wire->rx_cq,
                        GNI_MEM_READWRITE, UINT32_MAX, &wire->handle));
    return 0;
}

/* One instance of the process: the next one has the same address when cdm_id is the same. */
static inline int wire_open(struct wire *wire, struct rank *rank, uint32_t cdm_id,
                            uint32_t incarnation)
{
    memset(wire, 0, sizeof(*wire));
    wire->rank = rank;
    wire->cdm_id = cdm_id;
    wire->incarnation = wire->vc = incarnation;
    wire->given = WIRE_WINDOW;
    GNI(GNI_CdmCreate(cdm_id, rank_ptag(rank), rank_cookie(rank), GNI_CDM_MODE_ERR_NO_KILL,
                      &wire->cdm));
    GNI(GNI_CdmAttach(wire->cdm, 0, &wire->address, &wire->nic));
    GNI(GNI_CqCreate(wire->nic, 128, 0, GNI_CQ_NOBLOCK, NULL, NULL, &wire->tx_cq));
    GNI(GNI_CqCreate(wire->nic, 128, 0, GNI_CQ_NOBLOCK, NULL, NULL, &wire->rx_cq));
    GNI(GNI_EpCreate(wire->nic, NULL, &wire->any));
    return wire_memory(wire);
}

/* The peer dies: the network reports that to each sender. */
static inline int wire_die(struct wire *wire)
{
    struct rank *rank = wire->rank;

    GNI(GNI_CdmDestroy(wire->cdm));
    free(wire->mailbox);
    return 0;
}

static inline struct gnip_name wire_name(const struct wire *wire)
{
    return (struct gnip_name){.device_addr = wire->address,
                              .cdm_id = wire->cdm_id,
                              .name_type = GNIP_BOUND,
                              .cm_nic_cdm_id = wire->cdm_id & 0xffffff,
                              .cookie = rank_cookie(wire->rank)};
}

/* What it says of itself. */
static inline struct gnip_conn wire_conn(const struct wire *wire, uint8_t type, uint32_t target_cdm)
{
    return (struct gnip_conn){
        .type = type,
        .version = GNIP_WIRE_VERSION,
        .name_type = GNIP_BOUND,
        .target_cdm = target_cdm,
        .source_cdm = wire->cdm_id,
        .source_vc = wire->vc,
        .incarnation = wire->incarnation,
        .caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC,
        .mailbox = {.buffer = (uintptr_t)wire->mailbox,
                    .handle = wire->handle,
                    .bytes = wire->mailbox_bytes,
                    .credits = WIRE_CREDITS,
                    .rx_credits = WIRE_WINDOW,
                    .message_bytes = WIRE_MESSAGE},
    };
}

/* ---- datagrams ------------------------------------------------------------------------------- */

/*
 * Sends a message and waits until it has been exchanged: for one of the other side if *crossed,
 * which is copied to *theirs. NULL: that cannot be.
 */
static inline int wire_send(struct wire *wire, const struct gnip_name *to, const void *message,
                            uint32_t bytes, struct gnip_conn *theirs, bool *simultaneous)
{
    uint8_t in[GNI_DATAGRAM_MAXSIZE] = {GNIP_DGRAM_MESSAGE}, out[GNI_DATAGRAM_MAXSIZE] = {0};
    struct rank *rank = wire->rank;
    uint32_t address, id;
    gni_post_state_t state;
    gni_ep_handle_t ep;
    gni_return_t rc;

    memcpy(&in[1], message, bytes);
    GNI(GNI_EpCreate(wire->nic, NULL, &ep));
    GNI(GNI_EpBind(ep, to->device_addr, to->cm_nic_cdm_id));
    while ((rc = GNI_EpPostDataWId(ep, in, (uint16_t)(bytes + 1), out, sizeof(out), 5)) ==
           GNI_RC_ERROR_RESOURCE)
        gni_pause(rank, 1000000);
    GNI(rc);
    GNI(GNI_EpPostDataWaitById(ep, 5, WIRE_WAIT, &state, &address, &id));
    EXPECT_IS(state, GNI_POST_COMPLETED);
    GNI(GNI_EpDestroy(ep));
    if (simultaneous != NULL)
        *simultaneous = out[0] == GNIP_DGRAM_MESSAGE;
    else
        EXPECT_IS(out[0], GNIP_DGRAM_EMPTY);
    if (theirs != NULL)
        memcpy(theirs, &out[1], sizeof(*theirs));
    return 0;
}

/* The message in the exchange is for a peer that has died. */
static inline int wire_request(struct wire *wire, const struct gnip_name *to)
{
    struct gnip_conn conn = wire_conn(wire, GNIP_CONN_REQ, to->cdm_id), theirs;
    struct rank *rank = wire->rank;
    bool simultaneous;

    TRY(wire_send(wire, to, &conn, sizeof(conn), &theirs, &simultaneous));
    EXPECT(!simultaneous || (theirs.type == GNIP_CONN_RESP && theirs.target_vc != wire->vc));
    return 0;
}

static inline int wire_respond(struct wire *wire, const struct gnip_name *to,
                               const struct gnip_conn *theirs)
{
    struct gnip_conn conn = wire_conn(wire, GNIP_CONN_RESP, theirs->source_cdm);

    conn.target_vc = theirs->source_vc;
    return wire_send(wire, to, &conn, sizeof(conn), NULL, NULL);
}

/* A message without a mailbox: NAK, CLOSE. */
static inline int wire_send_header(struct wire *wire, const struct gnip_name *to,
                                   const struct gnip_conn *theirs, uint8_t type, uint16_t reason)
{
    struct gnip_conn_short brief = {
        .type = type,
        .version = GNIP_WIRE_VERSION,
        .reason = reason,
        .target_cdm = theirs->source_cdm,
        .target_vc = theirs->source_vc,
        .source_vc = wire->vc,
        .incarnation = theirs->incarnation,
        .source_cdm = wire->cdm_id,
        .retry_ms = 5,
        .taken = wire->taken,
    };
    uint8_t whole[sizeof(struct gnip_conn)] = {0};

    memcpy(whole, &brief, sizeof(brief));
    return wire_send(wire, to, whole, sizeof(whole), NULL, NULL);
}

/* From now on, one message of any sender. */
static inline int wire_accept(struct wire *wire)
{
    struct rank *rank = wire->rank;

    wire->in = GNIP_DGRAM_EMPTY;
    GNI(GNI_EpPostDataWId(wire->any, &wire->in, 1, wire->out, sizeof(wire->out), 9));
    return 0;
}

/* What came there. */
static inline int wire_accepted(struct wire *wire, struct gnip_conn *theirs)
{
    struct rank *rank = wire->rank;
    gni_post_state_t state;
    uint32_t address, id;

    GNI(GNI_EpPostDataWaitById(wire->any, 9, WIRE_WAIT, &state, &address, &id));
    EXPECT_IS(state, GNI_POST_COMPLETED);
    EXPECT_IS(wire->out[0], GNIP_DGRAM_MESSAGE);
    memcpy(theirs, &wire->out[1], sizeof(*theirs));
    return 0;
}

/* The next message of this type; others are for a peer that has died. */
static inline int wire_expect(struct wire *wire, uint8_t type, struct gnip_conn *theirs)
{
    do {
        TRY(wire_accept(wire));
        TRY(wire_accepted(wire, theirs));
    } while (theirs->type != type || (type == GNIP_CONN_RESP && theirs->target_vc != wire->vc));
    return 0;
}

/* ---- messages -------------------------------------------------------------------------------- */

static inline int wire_connect(struct wire *wire, const struct gnip_name *to,
                               const struct gnip_conn *theirs)
{
    gni_smsg_attr_t local = {.msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT,
                             .msg_buffer = wire->mailbox,
                             .buff_size = wire->mailbox_bytes,
                             .mem_hndl = wire->handle,
                             .mbox_maxcredit = WIRE_CREDITS,
                             .msg_maxsize = WIRE_MESSAGE};
    gni_smsg_attr_t remote = local;
    struct rank *rank = wire->rank;

    remote.msg_buffer = (void *)(uintptr_t)theirs->mailbox.buffer;
    remote.buff_size = theirs->mailbox.bytes;
    remote.mem_hndl = theirs->mailbox.handle;
    remote.mbox_offset = theirs->mailbox.offset;
    GNI(GNI_EpCreate(wire->nic, wire->tx_cq, &wire->ep));
    GNI(GNI_EpBind(wire->ep, to->device_addr, theirs->source_cdm));
    GNI(GNI_SmsgInit(wire->ep, &local, &remote));
    GNI(GNI_EpSetEventData(wire->ep, wire->vc, theirs->source_vc));
    return 0;
}

static inline int wire_smsg(struct wire *wire, void *header, uint32_t header_bytes,
                            const void *data, uint32_t bytes)
{
    struct gnip_header *h = header;
    struct rank *rank = wire->rank;
    gni_cq_entry_t entry;
    gni_return_t rc;

    h->version = GNIP_WIRE_VERSION;
    h->credits = wire->given;
    while ((rc = GNI_SmsgSendWTag(wire->ep, header, header_bytes, (void *)(uintptr_t)data, bytes, 1,
                                  h->kind)) == GNI_RC_NOT_DONE)
        ;
    GNI(rc);
    while ((rc = GNI_CqGetEvent(wire->tx_cq, &entry)) == GNI_RC_NOT_DONE)
        ;
    GNI(rc);
    return 0;
}

/* An eager message without a tag. */
static inline int wire_say(struct wire *wire, uint64_t word)
{
    struct gnip_eager eager = {.h.kind = GNIP_EAGER, .bytes = sizeof(word)};

    wire->used += gnip_eager_cost(sizeof(word));
    return wire_smsg(wire, &eager, sizeof(eager), &word, sizeof(word));
}

/* The next message of this kind; others are passed over. */
static inline int wire_receive(struct wire *wire, uint8_t kind, void *header, uint32_t bytes)
{
    uint8_t tag = GNI_SMSG_ANY_TAG;
    struct rank *rank = wire->rank;
    gni_return_t rc;
    void *message;

    for (;;) {
        while ((rc = GNI_SmsgGetNextWTag(wire->ep, &message, &tag)) == GNI_RC_NOT_DONE)
            ;
        GNI(rc);
        if (tag == kind)
            memcpy(header, message, bytes);
        GNI(GNI_SmsgRelease(wire->ep));
        if (tag == kind)
            return 0;
        tag = GNI_SMSG_ANY_TAG;
    }
}

/* An eager message with this word. */
static inline int wire_receive_word(struct wire *wire, uint64_t expected)
{
    struct rank *rank = wire->rank;
    struct {
        struct gnip_eager eager;
        uint64_t word;
    } message;

    TRY(wire_receive(wire, GNIP_EAGER, &message, sizeof(message)));
    EXPECT_IS(message.eager.bytes, sizeof(message.word));
    EXPECT_IS(message.word, expected);
    return 0;
}

/* It answers the end of the connection. */
static inline int wire_bye(struct wire *wire)
{
    struct gnip_header header;

    TRY(wire_receive(wire, GNIP_VC_CLOSE, &header, sizeof(header)));
    header = (struct gnip_header){.kind = GNIP_VC_CLOSE_ACK};
    return wire_smsg(wire, &header, sizeof(header), NULL, 0);
}

#endif
