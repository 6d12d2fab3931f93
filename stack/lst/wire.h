/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages of lnet_selftest (2.12): 160 bytes, in the byte order of the sender, swapped by the
 * receiver where the magic number shows the other order. A reply has the type of its request plus
 * one.
 */
#ifndef LST_WIRE_H
#define LST_WIRE_H

#include <stdint.h>
#include <lnet/api.h>
#include "lst/lst.h"

#define LST_MAGIC 0xeeb0f00du
#define LST_VERSION 1u
#define LST_PING_MAGIC 0xbabefaceu
#define LST_TEST_PORTAL 50u
#define LST_FRAMEWORK_PORTAL 51u
#define LST_RDMA_PORTAL 52u /* replies and bulk data */
#define LST_FEATURE_BYTES 1u

enum lst_service {
    LST_SERVICE_DEBUG,
    LST_SERVICE_MAKE_SESSION,
    LST_SERVICE_REMOVE_SESSION,
    LST_SERVICE_BATCH,
    LST_SERVICE_TEST,
    LST_SERVICE_STAT,
    LST_SERVICE_JOIN,
    LST_FRAMEWORK_SERVICES,
    LST_SERVICE_BRW = 11,
    LST_SERVICE_PING = 12,
};

enum lst_type {
    LST_TYPE_MAKE_SESSION = 0,
    LST_TYPE_REMOVE_SESSION = 2,
    LST_TYPE_BATCH = 4,
    LST_TYPE_STAT = 6,
    LST_TYPE_TEST = 8,
    LST_TYPE_DEBUG = 10,
    LST_TYPE_BRW = 12,
    LST_TYPE_PING = 14,
    LST_TYPE_JOIN = 16,
};

struct lst_session_id {
    uint64_t nid;
    int64_t stamp;
} __attribute__((packed));

enum { LST_BATCH_RUN = 1, LST_BATCH_STOP = 2, LST_BATCH_QUERY = 3 };
enum { LST_READ = 1, LST_WRITE = 2 };

struct lst_message {
    uint32_t magic, version, type, reserved[2], features;
    union {
        uint64_t reply_bits; /* the first field of each request */
        struct {
            uint64_t reply_bits;
            uint32_t flags;
        } __attribute__((packed)) debug;
        struct {
            uint64_t reply_bits;
            struct lst_session_id session;
            uint32_t force;
            char name[LST_NAME_BYTES];
        } __attribute__((packed)) make_session;
        struct {
            uint64_t reply_bits;
            struct lst_session_id session;
        } __attribute__((packed)) remove_session;
        struct {
            uint64_t reply_bits;
            struct lst_session_id session;
            uint64_t batch;
            uint32_t operation, test, argument;
        } __attribute__((packed)) batch;
        struct {
            uint64_t reply_bits;
            struct lst_session_id session;
            uint32_t type;
        } __attribute__((packed)) stat;
        struct {
            uint64_t reply_bits, bulk_bits;
            struct lst_session_id session;
            uint64_t batch;
            uint32_t service, loop, concurrency;
            uint8_t is_client, stop_on_error;
            uint32_t targets;
            uint32_t operation, bytes, check, offset; /* of brw */
        } __attribute__((packed)) test;
        struct {
            uint64_t reply_bits, bulk_bits;
            uint32_t operation, bytes, check;
        } __attribute__((packed)) brw;
        struct {
            uint64_t reply_bits;
            uint32_t magic, sequence;
            uint64_t seconds, nanoseconds;
        } __attribute__((packed)) ping;
        /* Replies. */
        uint32_t status; /* the first field of each: 0 or a positive errno */
        struct {
            uint32_t status;
            struct lst_session_id session;
            uint32_t value, time; /* of a batch: streams that run */
        } __attribute__((packed)) answer;
        struct {
            uint32_t status;
            struct lst_session_id session;
            uint32_t timeout;
            char name[LST_NAME_BYTES];
        } __attribute__((packed)) session_answer;
        struct {
            uint32_t status, magic, sequence;
        } __attribute__((packed)) ping_answer;
        struct {
            uint32_t status;
            struct lst_session_id session;
            uint32_t running_ms, active_batches, zombie_sessions, brw_errors, ping_errors;
            uint32_t errors, rpcs_sent, rpcs_received, rpcs_dropped, rpcs_expired;
            uint64_t bulk_get, bulk_put;
            struct lnet_counters_common lnet;
        } __attribute__((packed)) stat_answer;
        uint8_t room[136];
    };
} __attribute__((packed));
_Static_assert(sizeof(struct lst_message) == 160, "messages have 160 bytes");

/* Swaps all fields of a message of the other byte order. */
void lst_message_swap(struct lst_message *message);

#endif
