/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

/* As in Lustre; the structures are only used to name offsets. */
struct wire_hello {
    uint32_t magic, version;
    uint64_t source_nid, target_nid;
    uint32_t source_pid, target_pid;
    uint64_t source_incarnation, target_incarnation;
    uint32_t type, ip_count;
} __attribute__((packed));

struct wire_hello_v1 {
    uint32_t magic;
    uint16_t major, minor;
    uint64_t source_nid;
    uint32_t target_pid, source_pid;
    uint32_t message, payload_bytes;
    uint64_t incarnation;
    uint32_t type;
    uint8_t unused[28];
} __attribute__((packed));

struct wire_header {
    uint32_t type, checksum;
    uint64_t cookies[2];
} __attribute__((packed));

struct wire_request {
    uint32_t magic, version;
    uint64_t nid;
} __attribute__((packed));

_Static_assert(sizeof(struct wire_request) == LNET_SOCK_REQUEST_BYTES, "acceptor request");
_Static_assert(sizeof(struct wire_hello) == LNET_SOCK_HELLO_BYTES, "HELLO");
_Static_assert(sizeof(struct wire_hello_v1) == LNET_SOCK_HELLO_V1_BYTES, "HELLO v1");
_Static_assert(offsetof(struct wire_hello_v1, incarnation) == 32, "HELLO v1");
_Static_assert(sizeof(struct wire_header) == LNET_SOCK_HEADER_BYTES, "message header");

#define MESSAGE_HELLO 4u /* LNET_MSG_HELLO */

static uint32_t swap32(uint32_t value, bool swapped)
{
    return swapped ? __builtin_bswap32(value) : value;
}

static uint64_t swap64(uint64_t value, bool swapped)
{
    return swapped ? __builtin_bswap64(value) : value;
}

/* ---- acceptor request -------------------------------------------------------------------------
 */

void lnet_sock_request_pack(uint8_t wire[LNET_SOCK_REQUEST_BYTES], uint64_t nid, bool swapped)
{
    struct wire_request request = {
        .magic = swap32(LNET_SOCK_REQUEST_MAGIC, swapped),
        .version = swap32(LNET_SOCK_REQUEST_VERSION, swapped),
        .nid = swap64(nid, swapped),
    };

    memcpy(wire, &request, sizeof(request));
}

int lnet_sock_request_parse(const uint8_t wire[LNET_SOCK_REQUEST_BYTES], uint64_t *nid)
{
    struct wire_request request;
    bool swapped;

    memcpy(&request, wire, sizeof(request));
    swapped = request.magic == __builtin_bswap32(LNET_SOCK_REQUEST_MAGIC);
    if (!swapped && request.magic != LNET_SOCK_REQUEST_MAGIC)
        return -EPROTO;
    if (swap32(request.version, swapped) != LNET_SOCK_REQUEST_VERSION)
        return -EPROTONOSUPPORT;
    *nid = swap64(request.nid, swapped);
    return 0;
}

/* ---- HELLO ------------------------------------------------------------------------------------
 */

static uint32_t pack_v1(uint8_t *wire, const struct lnet_sock_hello *hello)
{
    struct wire_hello_v1 v1 = {
        .magic = htole32(LNET_SOCK_HELLO_MAGIC_V1),
        .major = htole16(1),
        .source_nid = htole64(hello->source_nid),
        .target_pid = htole32(hello->target_pid),
        .source_pid = htole32(hello->source_pid),
        .message = htole32(MESSAGE_HELLO),
        .payload_bytes = htole32(4 * hello->ip_count),
        .incarnation = htole64(hello->source_incarnation),
        .type = htole32((uint32_t)hello->type),
    };
    uint32_t i;

    memcpy(wire, &v1, sizeof(v1));
    for (i = 0; i < hello->ip_count; i++) {
        uint32_t ip = htole32(hello->ips[i]);

        memcpy(wire + sizeof(v1) + 4 * i, &ip, 4);
    }
    return (uint32_t)sizeof(v1) + 4 * hello->ip_count;
}

uint32_t lnet_sock_hello_pack(uint8_t wire[LNET_SOCK_HELLO_BYTES_MAX],
                              const struct lnet_sock_hello *hello)
{
    bool swapped = hello->swapped;
    struct wire_hello packed;
    uint32_t i;

    assert(hello->version >= 1 && hello->version <= 3);
    assert(hello->ip_count <= LNET_SOCK_IPS_MAX);
    if (hello->version == 1)
        return pack_v1(wire, hello);
    packed = (struct wire_hello){
        .magic = swap32(LNET_SOCK_HELLO_MAGIC, swapped),
        .version = swap32(hello->version, swapped),
        .source_nid = swap64(hello->source_nid, swapped),
        .target_nid = swap64(hello->target_nid, swapped),
        .source_pid = swap32(hello->source_pid, swapped),
        .target_pid = swap32(hello->target_pid, swapped),
        .source_incarnation = swap64(hello->source_incarnation, swapped),
        .target_incarnation = swap64(hello->target_incarnation, swapped),
        .type = swap32((uint32_t)hello->type, swapped),
        .ip_count = swap32(hello->ip_count, swapped),
    };
    memcpy(wire, &packed, sizeof(packed));
    for (i = 0; i < hello->ip_count; i++) {
        uint32_t ip = swap32(hello->ips[i], swapped);

        memcpy(wire + sizeof(packed) + 4 * i, &ip, 4);
    }
    return (uint32_t)sizeof(packed) + 4 * hello->ip_count;
}

int lnet_sock_hello_parse_first(const uint8_t wire[LNET_SOCK_HELLO_FIRST_BYTES],
                                struct lnet_sock_hello *hello)
{
    uint32_t magic, version;

    memcpy(&magic, wire, 4);
    memcpy(&version, wire + 4, 4);
    *hello = (struct lnet_sock_hello){.type = LNET_SOCK_NONE};
    if (le32toh(magic) == LNET_SOCK_HELLO_MAGIC_V1) {
        hello->version = 1;
        hello->swapped = htole32(1) != 1;
        /* Lower half: major number. The minor number is free. */
        return (le32toh(version) & 0xffff) == 1 ? 0 : -EPROTONOSUPPORT;
    }
    hello->swapped = magic == __builtin_bswap32(LNET_SOCK_HELLO_MAGIC);
    if (!hello->swapped && magic != LNET_SOCK_HELLO_MAGIC)
        return -EPROTO;
    hello->version = swap32(version, hello->swapped);
    return hello->version == 2 || hello->version == 3 ? 0 : -EPROTONOSUPPORT;
}

uint32_t lnet_sock_hello_fixed_bytes(const struct lnet_sock_hello *hello)
{
    return (hello->version == 1 ? LNET_SOCK_HELLO_V1_BYTES : LNET_SOCK_HELLO_BYTES) -
           LNET_SOCK_HELLO_FIRST_BYTES;
}

static int parse_fixed_v1(const uint8_t *wire, struct lnet_sock_hello *hello)
{
    struct wire_hello_v1 v1;
    uint32_t bytes;

    memcpy((uint8_t *)&v1 + LNET_SOCK_HELLO_FIRST_BYTES, wire,
           sizeof(v1) - LNET_SOCK_HELLO_FIRST_BYTES);
    bytes = le32toh(v1.payload_bytes);
    if (le32toh(v1.message) != MESSAGE_HELLO || bytes % 4 != 0 || bytes / 4 > LNET_SOCK_IPS_MAX)
        return -EPROTO;
    hello->source_nid = le64toh(v1.source_nid);
    hello->source_pid = le32toh(v1.source_pid);
    hello->target_pid = le32toh(v1.target_pid);
    hello->source_incarnation = le64toh(v1.incarnation);
    hello->type = (int)le32toh(v1.type);
    hello->ip_count = bytes / 4;
    return 0;
}

static int parse_fixed(const uint8_t *wire, struct lnet_sock_hello *hello)
{
    bool swapped = hello->swapped;
    struct wire_hello packed;

    memcpy((uint8_t *)&packed + LNET_SOCK_HELLO_FIRST_BYTES, wire,
           sizeof(packed) - LNET_SOCK_HELLO_FIRST_BYTES);
    hello->source_nid = swap64(packed.source_nid, swapped);
    hello->target_nid = swap64(packed.target_nid, swapped);
    hello->source_pid = swap32(packed.source_pid, swapped);
    hello->target_pid = swap32(packed.target_pid, swapped);
    hello->source_incarnation = swap64(packed.source_incarnation, swapped);
    hello->target_incarnation = swap64(packed.target_incarnation, swapped);
    hello->type = (int)swap32(packed.type, swapped);
    hello->ip_count = swap32(packed.ip_count, swapped);
    return hello->ip_count <= LNET_SOCK_IPS_MAX ? 0 : -EPROTO;
}

int lnet_sock_hello_parse_fixed(const uint8_t *wire, struct lnet_sock_hello *hello)
{
    int error = hello->version == 1 ? parse_fixed_v1(wire, hello) : parse_fixed(wire, hello);

    if (error == 0 && (hello->type < LNET_SOCK_NONE || hello->type > LNET_SOCK_BULK_OUT))
        error = -EPROTO;
    return error;
}

void lnet_sock_hello_parse_ips(const uint8_t *wire, struct lnet_sock_hello *hello)
{
    uint32_t i;

    assert(hello->ip_count <= LNET_SOCK_IPS_MAX);
    for (i = 0; i < hello->ip_count; i++) {
        memcpy(&hello->ips[i], wire + 4 * i, 4);
        hello->ips[i] = swap32(hello->ips[i], hello->swapped);
    }
}

int lnet_sock_type_invert(int type)
{
    switch (type) {
    case LNET_SOCK_BULK_IN:
        return LNET_SOCK_BULK_OUT;
    case LNET_SOCK_BULK_OUT:
        return LNET_SOCK_BULK_IN;
    case LNET_SOCK_ANY:
    case LNET_SOCK_CONTROL:
        return type;
    default:
        return LNET_SOCK_NONE;
    }
}

const char *lnet_sock_type_name(int type)
{
    static const char *const names[LNET_SOCK_TYPES] = {"any", "control", "bulk in", "bulk out"};

    return type >= 0 && type < LNET_SOCK_TYPES ? names[type] : "none";
}

/* ---- message header ---------------------------------------------------------------------------
 */

void lnet_sock_header_pack(uint8_t wire[LNET_SOCK_HEADER_BYTES],
                           const struct lnet_sock_header *header, bool swapped)
{
    struct wire_header packed = {
        .type = swap32(header->type, swapped),
        .checksum = swap32(header->checksum, swapped),
        .cookies = {swap64(header->cookies[0], swapped), swap64(header->cookies[1], swapped)},
    };

    memcpy(wire, &packed, sizeof(packed));
}

int lnet_sock_header_parse(const uint8_t wire[LNET_SOCK_HEADER_BYTES], bool swapped,
                           struct lnet_sock_header *header)
{
    struct wire_header packed;

    memcpy(&packed, wire, sizeof(packed));
    *header = (struct lnet_sock_header){
        .type = swap32(packed.type, swapped),
        .checksum = swap32(packed.checksum, swapped),
        .cookies = {swap64(packed.cookies[0], swapped), swap64(packed.cookies[1], swapped)},
    };
    return header->type == LNET_SOCK_NOOP || header->type == LNET_SOCK_LNET ? 0 : -EPROTO;
}
