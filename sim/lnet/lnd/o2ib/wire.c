/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* A cursor over a packed message. */
struct place {
    const uint8_t *in;
    uint8_t *out;
    uint32_t left;
    bool swap, short_of; /* a read went beyond the end */
};

static void put(struct place *place, const void *value, uint32_t bytes)
{
    assert(place->left >= bytes);
    memcpy(place->out, value, bytes);
    place->out += bytes;
    place->left -= bytes;
}

/* The size is a constant in each call, so that reading a number is one load. */
static inline __attribute__((always_inline)) uint64_t get(struct place *place, uint32_t bytes)
{
    uint64_t value = 0;

    if (sim_unlikely(place->left < bytes)) {
        place->short_of = true;
        return 0;
    }
    memcpy(&value, place->in, bytes); /* little-endian hosts only (cmake/platform.cmake) */
    place->in += bytes;
    place->left -= bytes;
    return sim_unlikely(place->swap) ? __builtin_bswap64(value) >> (64 - 8 * bytes) : value;
}

static void put_u64(struct place *place, uint64_t value)
{
    put(place, &value, 8);
}

static void put_u32(struct place *place, uint32_t value)
{
    put(place, &value, 4);
}

static void put_u16(struct place *place, uint16_t value)
{
    put(place, &value, 2);
}

static void put_u8(struct place *place, uint8_t value)
{
    put(place, &value, 1);
}

/* ---- the memory of an RDMA write ------------------------------------------------------------- */

static void put_memory(struct place *place, const struct lnet_ib_memory *memory)
{
    uint32_t i;

    put_u32(place, memory->key);
    put_u32(place, memory->count);
    for (i = 0; i < memory->count; i++) {
        put_u32(place, memory->fragment[i].bytes);
        put_u64(place, memory->fragment[i].address);
    }
}

static void get_memory(struct place *place, struct lnet_ib_memory *memory)
{
    uint32_t i;

    memory->key = (uint32_t)get(place, 4);
    memory->count = (uint32_t)get(place, 4);
    if (memory->count > LNET_IB_FRAGMENTS_MAX) {
        place->short_of = true;
        memory->count = 0;
    }
    for (i = 0; i < memory->count; i++) {
        memory->fragment[i].bytes = (uint32_t)get(place, 4);
        memory->fragment[i].address = get(place, 8);
    }
}

static void put_header(struct place *place, const struct lnet_hdr *header)
{
    uint8_t wire[LNET_WIRE_HEADER_BYTES];

    lnet_header_to_wire(header, wire);
    put(place, wire, sizeof(wire));
}

static void get_header(struct place *place, struct lnet_hdr *header)
{
    if (place->left < LNET_WIRE_HEADER_BYTES) {
        place->short_of = true;
        return;
    }
    lnet_header_from_wire(header, place->in);
    place->in += LNET_WIRE_HEADER_BYTES;
    place->left -= LNET_WIRE_HEADER_BYTES;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void put_body(struct place *place, const struct lnet_ib_message *message)
{
    switch ((enum lnet_ib_type)message->type) {
    case LNET_IB_CONNREQ:
    case LNET_IB_CONNACK:
        put_u16(place, message->queue_depth);
        put_u16(place, message->fragments_max);
        put_u32(place, message->message_max);
        break;
    case LNET_IB_NOOP:
        break;
    case LNET_IB_IMMEDIATE:
        put_header(place, &message->header);
        break;
    case LNET_IB_PUT_REQ:
        put_header(place, &message->header);
        put_u64(place, message->cookie);
        break;
    case LNET_IB_PUT_ACK:
        put_u64(place, message->cookie);
        put_u64(place, message->sink_cookie);
        put_memory(place, message->memory);
        break;
    case LNET_IB_GET_REQ:
        put_header(place, &message->header);
        put_u64(place, message->cookie);
        put_memory(place, message->memory);
        break;
    case LNET_IB_PUT_NAK:
    case LNET_IB_PUT_DONE:
    case LNET_IB_GET_DONE:
        put_u64(place, message->cookie);
        put_u32(place, (uint32_t)message->status);
        break;
    }
}

static void get_body(struct place *place, struct lnet_ib_message *message)
{
    switch ((enum lnet_ib_type)message->type) {
    case LNET_IB_CONNREQ:
    case LNET_IB_CONNACK:
        message->queue_depth = (uint16_t)get(place, 2);
        message->fragments_max = (uint16_t)get(place, 2);
        message->message_max = (uint32_t)get(place, 4);
        break;
    case LNET_IB_NOOP:
        break;
    case LNET_IB_IMMEDIATE:
        get_header(place, &message->header);
        message->payload = place->in;
        message->payload_bytes = place->left;
        break;
    case LNET_IB_PUT_REQ:
        get_header(place, &message->header);
        message->cookie = get(place, 8);
        break;
    case LNET_IB_PUT_ACK:
        message->cookie = get(place, 8);
        message->sink_cookie = get(place, 8);
        get_memory(place, message->memory);
        break;
    case LNET_IB_GET_REQ:
        get_header(place, &message->header);
        message->cookie = get(place, 8);
        get_memory(place, message->memory);
        break;
    case LNET_IB_PUT_NAK:
    case LNET_IB_PUT_DONE:
    case LNET_IB_GET_DONE:
        message->cookie = get(place, 8);
        message->status = (int32_t)get(place, 4);
        break;
    default:
        place->short_of = true;
    }
}

#define BYTES_AT 8u /* offsets in the header */
#define CREDITS_AT 7u
#define TARGET_STAMP_AT 40u

uint32_t lnet_ib_pack(const struct lnet_ib_message *message, uint8_t *room)
{
    struct place place = {.out = room, .left = LNET_IB_MESSAGE_BYTES};
    uint32_t bytes;

    put_u32(&place, LNET_IB_MAGIC);
    put_u16(&place, message->version);
    put_u8(&place, message->type);
    put_u8(&place, message->credits);
    put_u32(&place, 0); /* the length, below */
    put_u32(&place, 0); /* no checksum */
    put_u64(&place, message->source);
    put_u64(&place, message->source_stamp);
    put_u64(&place, message->target);
    put_u64(&place, message->target_stamp);
    put_body(&place, message);
    bytes = LNET_IB_MESSAGE_BYTES - place.left;
    if (message->type == LNET_IB_IMMEDIATE)
        bytes += message->payload_bytes;
    assert(bytes <= LNET_IB_MESSAGE_BYTES);
    memcpy(room + BYTES_AT, &bytes, 4);
    return bytes;
}

void lnet_ib_set_credits(uint8_t *packed, uint8_t credits)
{
    packed[CREDITS_AT] = credits;
}

void lnet_ib_set_target_stamp(uint8_t *packed, uint64_t stamp)
{
    memcpy(packed + TARGET_STAMP_AT, &stamp, 8);
}

int lnet_ib_unpack(struct lnet_ib_message *message, const uint8_t *packed, uint32_t bytes)
{
    struct place place = {.in = packed, .left = bytes};
    uint32_t magic = (uint32_t)get(&place, 4);

    if (magic == __builtin_bswap32(LNET_IB_MAGIC))
        place.swap = true;
    else if (magic != LNET_IB_MAGIC)
        return -EPROTO;
    message->version = (uint16_t)get(&place, 2);
    message->type = (uint8_t)get(&place, 1);
    message->credits = (uint8_t)get(&place, 1);
    message->bytes = (uint32_t)get(&place, 4);
    get(&place, 4); /* the checksum: 0, none */
    message->source = get(&place, 8);
    message->source_stamp = get(&place, 8);
    message->target = get(&place, 8);
    message->target_stamp = get(&place, 8);
    if (place.short_of || message->version != LNET_IB_VERSION || message->bytes != bytes)
        return -EPROTO;
    get_body(&place, message);
    if (place.short_of || (message->type == LNET_IB_IMMEDIATE &&
                           message->header.payload_length > message->payload_bytes))
        return -EPROTO;
    return 0;
}

/* ---- rejections ------------------------------------------------------------------------------ */

void lnet_ib_pack_reject(enum lnet_ib_reject why, uint64_t incarnation, uint16_t queue_depth,
                         uint8_t room[LNET_IB_REJECT_BYTES])
{
    struct place place = {.out = room, .left = LNET_IB_REJECT_BYTES};

    put_u32(&place, LNET_IB_MAGIC);
    put_u16(&place, LNET_IB_VERSION);
    put_u8(&place, (uint8_t)why);
    put_u8(&place, 0);
    put_u64(&place, incarnation);
    put_u16(&place, queue_depth);
    put_u16(&place, LNET_IB_FRAGMENTS_MAX);
    put_u32(&place, LNET_IB_MESSAGE_BYTES);
}

int lnet_ib_unpack_reject(const uint8_t *packed, uint32_t bytes, enum lnet_ib_reject *why,
                          uint64_t *incarnation, uint16_t *queue_depth)
{
    struct place place = {.in = packed, .left = bytes};
    uint32_t magic = (uint32_t)get(&place, 4);

    if (magic == __builtin_bswap32(LNET_IB_MAGIC))
        place.swap = true;
    else if (magic != LNET_IB_MAGIC)
        return -EPROTO;
    get(&place, 2);
    *why = (enum lnet_ib_reject)get(&place, 1);
    get(&place, 1);
    *incarnation = get(&place, 8);
    *queue_depth = (uint16_t)get(&place, 2);
    return place.short_of ? -EPROTO : 0;
}
