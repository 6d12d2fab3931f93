/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages of o2iblnd (Lustre 2.12, protocol 2) as they are on the wire. Numbers are in the byte
 * order of their sender; a receiver sees by the magic number whether it has to swap. The LNet
 * header is little-endian always.
 */
#ifndef JACQUARD_LNET_O2IB_WIRE_H
#define JACQUARD_LNET_O2IB_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/lnd.h"

#define LNET_IB_MAGIC 0x0be91b91u
#define LNET_IB_VERSION 0x12u
#define LNET_IB_MESSAGE_BYTES 4096u /* of a receive buffer */
#define LNET_IB_HEADER_BYTES 48u
#define LNET_IB_IMMEDIATE_MAX \
    (LNET_IB_MESSAGE_BYTES - LNET_IB_HEADER_BYTES - LNET_WIRE_HEADER_BYTES)
#define LNET_IB_FRAGMENTS_MAX 256u

enum lnet_ib_type {
    LNET_IB_CONNREQ = 0xc0,
    LNET_IB_CONNACK = 0xc1,
    LNET_IB_NOOP = 0xd0,
    LNET_IB_IMMEDIATE = 0xd1,
    LNET_IB_PUT_REQ = 0xd2,
    LNET_IB_PUT_NAK = 0xd3,
    LNET_IB_PUT_ACK = 0xd4,
    LNET_IB_PUT_DONE = 0xd5,
    LNET_IB_GET_REQ = 0xd6,
    LNET_IB_GET_DONE = 0xd7,
};

/* Types as indices from 0. */
#define LNET_IB_TYPE_COUNT 10u
static inline uint32_t lnet_ib_type_index(enum lnet_ib_type type)
{
    return type < LNET_IB_NOOP ? (uint32_t)type - LNET_IB_CONNREQ
                               : (uint32_t)type - LNET_IB_NOOP + 2;
}

/* Memory for RDMA writes: a key, and how the bytes are cut. */
struct lnet_ib_memory {
    uint32_t key, count;
    struct {
        uint32_t bytes;
        uint64_t address;
    } fragment[LNET_IB_FRAGMENTS_MAX];
};

/* A message, unpacked; which fields have a meaning depends on its type. */
struct lnet_ib_message {
    uint8_t type; /* enum lnet_ib_type */
    uint8_t credits; /* receive buffers that the sender has freed */
    uint16_t version;
    uint32_t bytes; /* in all */
    lnet_nid_t source, target;
    uint64_t source_stamp, target_stamp; /* incarnations of the nodes */
    struct lnet_hdr header; /* IMMEDIATE, PUT_REQ, GET_REQ */
    uint64_t cookie; /* of the request; PUT_ACK: the one of PUT_REQ */
    uint64_t sink_cookie; /* PUT_ACK: the one that PUT_DONE returns */
    int32_t status; /* PUT_NAK, PUT_DONE, GET_DONE (>= 0: bytes) */
    uint16_t queue_depth, fragments_max; /* CONNREQ, CONNACK */
    uint32_t message_max;
    struct lnet_ib_memory *memory; /* PUT_ACK, GET_REQ: storage of the caller */
    const void *payload; /* IMMEDIATE: inside of the packed message */
    uint32_t payload_bytes;
};

/* Why a connection was rejected. */
enum lnet_ib_reject {
    LNET_IB_REJECT_RACE = 1,
    LNET_IB_REJECT_NO_RESOURCES = 2,
    LNET_IB_REJECT_FATAL = 3,
    LNET_IB_REJECT_INCOMPATIBLE = 4,
    LNET_IB_REJECT_STALE = 5,
    LNET_IB_REJECT_FRAGMENTS = 6,
    LNET_IB_REJECT_QUEUE_DEPTH = 7,
    LNET_IB_REJECT_SERVICE = 8,
};
#define LNET_IB_REJECT_BYTES 24u

/*
 * Packs the message; `bytes` and the payload are computed from its fields: an IMMEDIATE has
 * payload_bytes after its header, which the caller copies to the result's end. Returns the
 * message's length; `room` is at least LNET_IB_MESSAGE_BYTES.
 */
uint32_t lnet_ib_pack(const struct lnet_ib_message *message, uint8_t *room);
/* Writes the number of credits into a packed message. */
void lnet_ib_set_credits(uint8_t *packed, uint8_t credits);
void lnet_ib_set_target_stamp(uint8_t *packed, uint64_t stamp);
/* Unpacks and checks; message->memory must point to storage. 0, or -EPROTO: magic number, version,
 * type, length, number of fragments or a field that no sender writes. */
int lnet_ib_unpack(struct lnet_ib_message *message, const uint8_t *packed, uint32_t bytes);

void lnet_ib_pack_reject(enum lnet_ib_reject why, uint64_t incarnation, uint16_t queue_depth,
                         uint8_t room[LNET_IB_REJECT_BYTES]);
int lnet_ib_unpack_reject(const uint8_t *packed, uint32_t bytes, enum lnet_ib_reject *why,
                          uint64_t *incarnation, uint16_t *queue_depth);

#endif
