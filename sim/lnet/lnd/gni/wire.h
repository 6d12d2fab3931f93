/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages and connection requests of gnilnd (Lustre 2.12, message version 8) as they are in
 * mailboxes and datagrams, in the byte order of the sender; all nodes of a Cray system have the
 * same one. */
#ifndef JACQUARD_LNET_GNI_WIRE_H
#define JACQUARD_LNET_GNI_WIRE_H

#include <gni_pub.h>
#include "core/lnd.h"

#define LNET_GNI_MAGIC 0xb00fbabeu
#define LNET_GNI_MESSAGE_VERSION 8u
#define LNET_GNI_REQUEST_VERSION 2u

enum lnet_gni_type {
    LNET_GNI_NONE,
    LNET_GNI_NOOP,
    LNET_GNI_IMMEDIATE,
    LNET_GNI_PUT_REQ,
    LNET_GNI_PUT_NAK,
    LNET_GNI_PUT_ACK,
    LNET_GNI_PUT_DONE,
    LNET_GNI_GET_REQ,
    LNET_GNI_GET_NAK,
    LNET_GNI_GET_DONE,
    LNET_GNI_CLOSE,
    LNET_GNI_TYPES, /* the reverse transfers follow; this driver sends forward ones */
};

/* Registered memory of the sender. */
struct lnet_gni_memory {
    gni_mem_handle_t handle;
    uint64_t address;
    uint32_t bytes;
} __attribute__((packed));

struct lnet_gni_message {
    uint32_t magic;
    uint16_t version, type;
    uint64_t source_nid, connection_stamp;
    uint32_t sequence;
    uint16_t checksum, payload_checksum; /* 0: none */
    uint32_t payload_length;
    union {
        uint8_t header[LNET_WIRE_HEADER_BYTES]; /* IMMEDIATE */
        struct {
            uint8_t header[LNET_WIRE_HEADER_BYTES];
            uint64_t cookie;
        } __attribute__((packed)) put_request;
        struct {
            uint64_t source_cookie, target_cookie;
            uint16_t payload_checksum;
            struct lnet_gni_memory memory;
        } __attribute__((packed)) put_ack;
        struct {
            uint8_t header[LNET_WIRE_HEADER_BYTES];
            uint64_t cookie;
            uint16_t payload_checksum;
            struct lnet_gni_memory memory;
        } __attribute__((packed)) get_request;
        struct {
            int32_t status;
            uint64_t cookie;
        } __attribute__((packed)) completion;
    };
} __attribute__((packed));

struct lnet_gni_request {
    uint32_t magic, checksum;
    uint16_t type, version;
    uint32_t timeout_s;
    uint64_t source_nid, target_nid, peer_stamp, connection_stamp;
    uint32_t host, queue; /* queue: what events of the connection are to carry */
    gni_smsg_attr_t mailbox;
} __attribute__((packed));

_Static_assert(offsetof(struct lnet_gni_message, header) == 36, "the header's place is fixed");
_Static_assert(sizeof(struct lnet_gni_request) <= GNI_DATAGRAM_MAXSIZE,
               "a request is one datagram");

#endif
