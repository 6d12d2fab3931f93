/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Everything that goes over the wire between two providers, version 2. Little-endian, natural
 * alignment, no bytes left uninitialised; addresses only where the NIC needs them.
 *
 * Connection messages travel as datagrams: one byte that says whether there is a message
 * (GNIP_DGRAM_), then one of the structs below. Everything else is an SMSG message whose tag is its
 * kind.
 */
#ifndef GNIP_PROTO_H
#define GNIP_PROTO_H

#include <gni_pub.h>
#include <stddef.h>
#include <stdint.h>

#define GNIP_WIRE_VERSION 2

/* ---- connection messages --------------------------------------------------------------------- */

enum gnip_dgram_tag {
    /* the datagram of a wildcard: it carries no message, it only accepts one */
    GNIP_DGRAM_EMPTY = 99,
    GNIP_DGRAM_MESSAGE = 100
};

#define GNIP_CM_BYTES (GNI_DATAGRAM_MAXSIZE - 1)

enum gnip_cm_type {
    GNIP_CONN_REQ = 1,
    GNIP_CONN_RESP = 2,
    GNIP_CONN_NAK = 3,
    GNIP_CONN_CLOSE = 4, /* closes a connection that has no mailbox any more */
    GNIP_CONN_CLOSE_ACK = 5,
    /* of MSG endpoints */
    GNIP_CM_CONNREQ = 16,
    GNIP_CM_DATA = 17,
    GNIP_CM_ACCEPT = 18,
    GNIP_CM_REJECT = 19,
    GNIP_CM_SHUTDOWN = 20,
    GNIP_CM_ACK = 21
};

enum gnip_conn_flag {
    GNIP_CONN_AUTO = 1 /* the sender wants doorbells: its data progress is automatic */
};

enum gnip_nak_reason {
    GNIP_NAK_UNKNOWN = 1, /* no such endpoint */
    GNIP_NAK_CLOSING = 2,
    GNIP_NAK_INCOMPATIBLE = 3,
    GNIP_NAK_NO_RESOURCES = 4 /* try again later */
};

/* Why a VC_CLOSE was sent: field a of its header. */
enum gnip_close_reason {
    GNIP_CLOSE_END = 0, /* the sender answers nothing any more */
    GNIP_CLOSE_QUIESCE = 1 /* operations in flight end first; later the connection is made again */
};

/* The least that mailboxes must hold: messages, and bytes of one. */
#define GNIP_CREDITS_LEAST 2u
#define GNIP_SMSG_LEAST (4096u + sizeof(struct gnip_eager))

/* A mailbox as its owner describes it, with all that the peer must know to use it. */
struct gnip_conn_mailbox {
    uint64_t buffer; /* the only address on the wire: gni_smsg_attr_t.msg_buffer */
    gni_mem_handle_t handle;
    uint32_t bytes;
    uint32_t offset;
    uint16_t credits;
    uint16_t rx_credits; /* the first credits that the peer gets */
    uint32_t message_bytes;
    gni_mem_handle_t doorbell;
};

/* CONN_REQ and CONN_RESP. */
struct gnip_conn {
    uint8_t type, version;
    uint8_t name_type;
    uint8_t rx_ctx_cnt;
    uint32_t target_cdm; /* the receiving EP */
    uint32_t source_cdm; /* the sending EP */
    uint32_t source_vc; /* id and generation, 24 bits */
    uint32_t incarnation; /* of the sender's process, never 0 */
    uint16_t key_offset;
    uint16_t flags; /* GNIP_CONN_ */
    uint64_t caps; /* of the endpoint */
    struct gnip_conn_mailbox mailbox;
    uint32_t target_vc; /* CONN_RESP: the VC that is answered; CONN_REQ: 0 */
    uint32_t zero;
};
_Static_assert(sizeof(struct gnip_conn_mailbox) == 56 &&
                   offsetof(struct gnip_conn_mailbox, doorbell) == 40,
               "a mailbox on the wire");
_Static_assert(sizeof(struct gnip_conn) == 96 && offsetof(struct gnip_conn, mailbox) == 32 &&
                   offsetof(struct gnip_conn, target_vc) == 88 &&
                   sizeof(struct gnip_conn) <= GNIP_CM_BYTES,
               "a request on the wire");

/* CONN_NAK, CONN_CLOSE, CONN_CLOSE_ACK. */
struct gnip_conn_short {
    uint8_t type, version;
    uint16_t reason; /* GNIP_NAK_ */
    uint32_t target_cdm;
    uint32_t target_vc; /* 0: unknown */
    uint32_t source_vc; /* 0: none */
    uint32_t incarnation; /* of the peer that gets the answer */
    uint32_t source_cdm;
    uint32_t retry_ms; /* NAK_NO_RESOURCES */
    /* CONN_CLOSE: credits that the messages used which this side has taken, modulo 2^32 */
    uint32_t taken;
};
_Static_assert(sizeof(struct gnip_conn_short) == 32 &&
                   sizeof(struct gnip_conn_short) <= sizeof(struct gnip_conn),
               "a refusal on the wire; it is read after the size of a request was checked");

enum gnip_cm_reason {
    GNIP_CM_NORMAL,
    GNIP_CM_FAILED, /* SHUTDOWN: the connection broke */
    GNIP_CM_UNKNOWN /* SHUTDOWN: there is no such connection */
};

/*
 * Connection management of MSG endpoints: this header, then fragment_bytes bytes. Fragment 0 is the
 * message itself: a struct gnip_cm_connect for CONNREQ and ACCEPT, else nothing. The application's
 * data follows in CM_DATA fragments 1 ... fragments - 1.
 */
struct gnip_cm_message {
    uint8_t type, version;
    uint16_t reason; /* GNIP_CM_; CM_DATA, CM_ACK: the type of the message that it belongs to */
    uint32_t target_cdm;
    uint32_t source_cdm;
    uint32_t connection; /* the active side's number for it */
    uint32_t incarnation;
    uint8_t fragment, fragments, fragment_bytes;
    uint8_t active; /* 1: sent by the active side */
    uint32_t total; /* bytes of the application's data */
};
_Static_assert(sizeof(struct gnip_cm_message) == 28, "");
#define GNIP_CM_FRAGMENT (GNIP_CM_BYTES - sizeof(struct gnip_cm_message))

/* One side of a connection; fields as in struct gnip_conn. */
struct gnip_cm_connect {
    uint64_t caps;
    struct gnip_conn_mailbox mailbox;
    uint32_t source_vc;
    uint16_t key_offset;
    uint16_t flags;
    uint32_t message_max;
    uint32_t zero;
};
_Static_assert(sizeof(struct gnip_cm_connect) == 80 &&
                   sizeof(struct gnip_cm_connect) <= GNIP_CM_FRAGMENT,
               "");

/* ---- SMSG ------------------------------------------------------------------------------------ */

enum gnip_kind {
    GNIP_EAGER = 10,
    GNIP_EAGER_ACK = 11,
    GNIP_RNDZV_RTS = 19,
    GNIP_RNDZV_FIN = 20,
    GNIP_RMA_DATA = 21,
    GNIP_AMO_CNTR = 22,
    GNIP_RNDZV_IOV_RTS = 23,
    GNIP_VC_CLOSE = 25,
    GNIP_VC_CLOSE_ACK = 26,
    GNIP_KINDS = 27
};

enum gnip_wire_flag {
    GNIP_W_CQ_DATA = 1,
    GNIP_W_DELIVERY = 2, /* the sender wants an ACK when the receive has completed */
    GNIP_W_TAGGED = 4,
    GNIP_W_EVENT_WRITE = 8,
    GNIP_W_EVENT_READ = 16
};

struct gnip_header {
    uint8_t kind, version;
    uint16_t flags; /* GNIP_W_ */
    uint32_t credits; /* that the receiver of this message may use in all, modulo 2^32 */
    uint64_t a; /* remote CQ data; EAGER_ACK, FIN: request id; CLOSE: reason */
};

struct gnip_eager { /* the payload follows */
    struct gnip_header h;
    uint64_t tag;
    uint32_t bytes;
    uint32_t request; /* 0 unless GNIP_W_DELIVERY */
};

struct gnip_segment {
    uint64_t address, bytes;
    gni_mem_handle_t handle;
    uint8_t head[4], tail[4]; /* bytes before the first and behind the last 4-byte boundary */
};

struct gnip_rts {
    struct gnip_header h;
    uint64_t tag;
    uint32_t request, zero;
    struct gnip_segment segment;
};

struct gnip_iov_rts { /* the segments follow */
    struct gnip_header h;
    uint64_t tag;
    uint32_t request, segments;
    uint64_t bytes, zero;
};

struct gnip_fin {
    struct gnip_header h;
    int32_t status; /* 0 or a positive errno */
    uint32_t zero;
};

struct gnip_remote_event { /* RMA_DATA */
    struct gnip_header h;
    uint64_t flags; /* flags of the completion: FI_RMA|FI_REMOTE_CQ_DATA|... */
};

_Static_assert(sizeof(struct gnip_header) == 16 && sizeof(struct gnip_eager) == 32, "");
_Static_assert(sizeof(struct gnip_segment) == 40 && sizeof(struct gnip_rts) == 72, "");
_Static_assert(sizeof(struct gnip_iov_rts) == 48 && sizeof(struct gnip_fin) == 24, "");
_Static_assert(sizeof(struct gnip_remote_event) == 24 && offsetof(struct gnip_header, a) == 8 &&
                   offsetof(struct gnip_segment, handle) == 16,
               "");
_Static_assert(GNIP_KINDS <= GNI_SMSG_ANY_TAG, "a kind is a tag of SMSG");

/* ---- flow control ---------------------------------------------------------------------------- */

#define GNIP_CREDIT_BYTES 256 /* bytes of the unexpected store for each credit */

static inline uint32_t gnip_eager_cost(uint64_t bytes)
{
    return (uint32_t)((sizeof(struct gnip_eager) + bytes + GNIP_CREDIT_BYTES - 1) /
                      GNIP_CREDIT_BYTES);
}
/* RNDZV_RTS has one segment in the message; RNDZV_IOV_RTS is followed by several. */
static inline uint32_t gnip_iov_rts_cost(uint32_t segments)
{
    return 1 + (segments + 5) / 6;
}
#define GNIP_RTS_COST 1

#endif
