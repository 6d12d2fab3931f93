/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The bytes of socklnd on a TCP connection: acceptor request, HELLO (versions 1 to 3) and the
 * header in front of each message. Acceptor request, HELLO v2/v3 and message header have the byte
 * order of the sender, which the receiver sees from the magic number; HELLO v1 is little-endian.
 * Source: socklnd and the acceptor of Lustre 2.12.
 *
 * Everything that is parsed comes from another machine: each field is checked before it is used.
 * Errors: -EPROTO (not this protocol), -EPROTONOSUPPORT (a version that is not known).
 */
#ifndef JACQUARD_LNET_TCP_WIRE_H
#define JACQUARD_LNET_TCP_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#define LNET_SOCK_REQUEST_MAGIC 0xacce7100u
#define LNET_SOCK_REQUEST_VERSION 1u
#define LNET_SOCK_HELLO_MAGIC 0x45726963u
#define LNET_SOCK_HELLO_MAGIC_V1 0xeebc0dedu

#define LNET_SOCK_REQUEST_BYTES 16u
#define LNET_SOCK_HELLO_FIRST_BYTES 8u /* magic and version: they say how long the rest is */
#define LNET_SOCK_HELLO_BYTES 56u /* version 2 and 3 */
#define LNET_SOCK_HELLO_V1_BYTES 72u
#define LNET_SOCK_IPS_MAX 16u
#define LNET_SOCK_HELLO_BYTES_MAX (LNET_SOCK_HELLO_V1_BYTES + 4 * LNET_SOCK_IPS_MAX)
#define LNET_SOCK_HEADER_BYTES 24u

enum lnet_sock_type { /* of a connection, as its initiator sees it */
                      LNET_SOCK_ANY = 0,
                      LNET_SOCK_CONTROL = 1,
                      LNET_SOCK_BULK_IN = 2,
                      LNET_SOCK_BULK_OUT = 3,
                      LNET_SOCK_NONE = -1, /* in an answer: refused */
};
#define LNET_SOCK_TYPES 4

enum lnet_sock_message { LNET_SOCK_NOOP = 0xc0, LNET_SOCK_LNET = 0xc1 };
/* The second cookie of a NOOP that only shows that the sender is alive. */
#define LNET_SOCK_KEEPALIVE_COOKIE 1u

/* ---- acceptor request -------------------------------------------------------------------------
 */

void lnet_sock_request_pack(uint8_t wire[LNET_SOCK_REQUEST_BYTES], uint64_t nid, bool swapped);
int lnet_sock_request_parse(const uint8_t wire[LNET_SOCK_REQUEST_BYTES], uint64_t *nid);

/* ---- HELLO --------------------------------------------------------------------------------------
 */

struct lnet_sock_hello {
    uint32_t version; /* 1, 2, 3 */
    bool swapped; /* its fields are not in the byte order of this machine */
    uint64_t source_nid, target_nid; /* version 1 does not name the target: 0 */
    uint32_t source_pid, target_pid;
    uint64_t source_incarnation, target_incarnation;
    int type; /* enum lnet_sock_type */
    uint32_t ip_count, ips[LNET_SOCK_IPS_MAX];
};

/* Returns the number of bytes. */
uint32_t lnet_sock_hello_pack(uint8_t wire[LNET_SOCK_HELLO_BYTES_MAX],
                              const struct lnet_sock_hello *hello);
/* The first 8 bytes: sets version and swapped. -EPROTONOSUPPORT: a HELLO of an unknown version. */
int lnet_sock_hello_parse_first(const uint8_t wire[LNET_SOCK_HELLO_FIRST_BYTES],
                                struct lnet_sock_hello *hello);
/* Bytes of the fixed part behind the first 8. */
uint32_t lnet_sock_hello_fixed_bytes(const struct lnet_sock_hello *hello);
/* That part; afterwards 4 * ip_count bytes follow, ip_count <= LNET_SOCK_IPS_MAX. */
int lnet_sock_hello_parse_fixed(const uint8_t *wire, struct lnet_sock_hello *hello);
void lnet_sock_hello_parse_ips(const uint8_t *wire, struct lnet_sock_hello *hello);

/* The type of a connection as the other end sees it: its bulk out is the bulk in of this end. */
int lnet_sock_type_invert(int type);
const char *lnet_sock_type_name(int type);

/* ---- message header ---------------------------------------------------------------------------
 */

struct lnet_sock_header {
    uint32_t type; /* enum lnet_sock_message */
    uint32_t checksum; /* 0: none */
    uint64_t cookies[2]; /* zero-copy: request, acknowledgement */
};

void lnet_sock_header_pack(uint8_t wire[LNET_SOCK_HEADER_BYTES],
                           const struct lnet_sock_header *header, bool swapped);
/* -EPROTO: an unknown type. */
int lnet_sock_header_parse(const uint8_t wire[LNET_SOCK_HEADER_BYTES], bool swapped,
                           struct lnet_sock_header *header);

#endif
