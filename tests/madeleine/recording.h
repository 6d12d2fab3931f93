/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two sessions in one process, rank 0 the sender and rank 1 the receiver, over a driver that keeps
 * what it is given and writes a line about each call. The sender's whole message is on the wire
 * before the receiver starts.
 */
#ifndef JACQUARD_TESTS_MADELEINE_RECORDING_H
#define JACQUARD_TESTS_MADELEINE_RECORDING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "internal.h"
#include "madeleine.h"
#include "session.h"

#define S mad_send_SAFER
#define L mad_send_LATER
#define C mad_send_CHEAPER
#define E mad_receive_EXPRESS
#define R mad_receive_CHEAPER /* the receive mode CHEAPER: C is the send mode */

enum { LINKS_MAX = 3, BLOCKS_MAX = 32, LOG_MAX = 1 << 16 };

struct link_kind {
    mad_link_mode_t link;
    mad_buffer_mode_t buffer;
    mad_group_mode_t group;
    size_t most; /* bytes of a block that takes this link; SIZE_MAX: the last one */
    size_t room; /* bytes of a static buffer */
};
#define EAGER mad_link_mode_buffer
#define GROUP mad_link_mode_buffer_group
#define DYNAMIC mad_buffer_mode_dynamic
#define STATIC mad_buffer_mode_static
#define AGGREGATE mad_group_mode_aggregate
#define SPLIT mad_group_mode_split

struct recording {
    struct link_kind kinds[LINKS_MAX];
    int links;
    /* Calls of the driver: "SB(0,8)", "SG(0,{4,4})", "GS(0)", "RB(0,8)", "RG(0,t,{4})", "RS(0)",
     * and "/" at the end of each pack or unpack. */
    char sent[LOG_MAX], received[LOG_MAX];
    /* The same in (link, bytes), for comparing both sides: 64-bit sums in order. */
    uint64_t sent_sum, received_sum;
    bool quiet; /* writes no lines */
    bool discard; /* keeps nothing: the driver allocates nothing */
    size_t bytes; /* put on the wire */
    size_t frames; /* on the wire now */
    long obtained, handed, taken, returned; /* static buffers */
    long misplaced; /* returned to another link than the one they came from */
    int fail; /* what send entries return, if not 0 */
    int fail_receiving; /* what receive entries return instead of data, if not 0 */
    int announced; /* calls of new_message */
};
extern struct recording recording;

struct world {
    p_mad_madeleine_t session[2];
    p_mad_channel_t channel[2];
};
extern struct world world;
/* What the boot of rank 1 reads in place of rank 0's value of a key; NULL: its own. */
extern const char *foreign_key, *foreign_value;
extern int world_size; /* ranks of the sessions; two of them exist */
extern int boot_gets; /* reads of values since a test cleared it */
void world_open(const struct link_kind *kinds, int links, int check);
/* The same up to the channel of rank 1, which may fail. */
void world_sessions(const struct link_kind *kinds, int links, int check);
void world_close(void);

/* Reported failures, since failures_clear. */
extern int failure_count, failure_code;
extern mad_failure_t failure_last;
extern char failure_text[MAD_TEXT_MAX];
void failures_clear(void);
/* Exactly one failure was reported, with this code. */
void assert_failure(int code);

struct piece {
    size_t length;
    mad_send_mode_t send;
    mad_receive_mode_t receive;
};
/*
 * Packs the pieces with their own contents, ends the message, unpacks it and compares: EXPRESS
 * pieces when mad_unpack returns, the others at the end. SAFER memory is overwritten after its
 * pack, LATER memory gets its value before the end.
 */
void exchange(const struct piece *pieces, int count);
#define EXCHANGE(...)                             \
    exchange((const struct piece[]){__VA_ARGS__}, \
             sizeof((const struct piece[]){__VA_ARGS__}) / sizeof(struct piece))

/* The connections of an open message. */
p_mad_connection_t begin_packing(void);
p_mad_connection_t begin_unpacking(void);

#endif
