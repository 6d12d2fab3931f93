/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The two wire formats between a PMI client and its server, without I/O: PMI-1 lines
 * (`cmd=put kvsname=1.0 key=k value=v\n`, and `mcmd=spawn\n…endcmd\n`) and PMI-2 frames (six bytes
 * of length, then `cmd=kvs-put;key=k;value=v;`). Both may occur on one connection: a message that
 * begins with `cmd=` or `mcmd=` is in lines, any other one is a frame. Used by the server and by
 * the client libraries.
 *
 * Nothing here blocks, prints or keeps global state. One object, one thread at a time.
 * Source: the PMI v2 wire protocol draft, and what MPICH's and Slurm's programs really send
 * (docs/internals/pmi2.md).
 */
#ifndef JACQUARD_PMI2_WIRE_H
#define JACQUARD_PMI2_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PMI2_LENGTH_SIZE 6 /* of a frame */
#define PMI2_FRAME_MAX 65536 /* payload of any frame but a spawn */
#define PMI2_SPAWN_FRAME_MAX 999999
#define PMI2_LINE_MAX 8192 /* with the newline */
#define PMI2_MCMD_MAX                                                                       \
    (1 << 20) /* one block; the caller that collects the blocks of a spawn limits their sum \
               */
#define PMI2_KEY_MAX 64
#define PMI2_VALUE_MAX 1024
#define PMI2_JOBID_MAX 255

/* Bytes that the slice does not own; not terminated. */
struct pmi2_slice {
    const char *at;
    size_t length;
};
bool pmi2_slice_is(struct pmi2_slice slice, const char *text);
/* The whole slice is a decimal integer, optionally with a sign, in range. */
bool pmi2_slice_int(struct pmi2_slice slice, int64_t minimum, int64_t maximum, int64_t *value);
/* TRUE or FALSE in any case. */
bool pmi2_slice_bool(struct pmi2_slice slice, bool *value);

enum pmi2_format {
    PMI2_FORMAT_LINE, /* PMI-1 */
    PMI2_FORMAT_MCMD, /* PMI-1, one block, up to its endcmd */
    PMI2_FORMAT_FRAME /* PMI-2 */
};

struct pmi2_pair {
    struct pmi2_slice key, value; /* values unescaped */
};

/* What was decoded; valid until the decoder is used again. */
struct pmi2_message {
    enum pmi2_format format;
    struct pmi2_slice command; /* without `cmd=`, `mcmd=` */
    const struct pmi2_pair *pairs; /* in the order of the wire, without the command */
    uint32_t count;
    bool unterminated; /* frame: its last value has no `;` (that pair is not among `pairs`) */
    uint32_t wire_bytes; /* that it took */
};
/* The first pair of that key (duplicates: the first counts). NULL: there is none. */
const struct pmi2_pair *pmi2_message_find(const struct pmi2_message *message, const char *key);
/* The value of it, or an empty slice with at == NULL. */
struct pmi2_slice pmi2_message_value(const struct pmi2_message *message, const char *key);

enum pmi2_decoded {
    PMI2_DECODED_NONE, /* more bytes are needed */
    PMI2_DECODED_MESSAGE,
    PMI2_DECODED_BROKEN, /* no way to find the next message: the connection must be closed */
    PMI2_DECODED_TOO_LONG, /* a frame beyond its limit; it was skipped (later bytes of it will be),
                              `command` is known */
    PMI2_DECODED_NO_MEMORY,
};

/*
 * The bytes of one connection, one direction. Memory grows as bytes arrive, never to an announced
 * length, and stays below the limits above.
 */
struct pmi2_decoder {
    char *bytes; /* what has not been taken yet: [start, end) */
    size_t start, end, capacity;
    size_t scanned; /* of those: known not to hold the end of the first message */
    size_t skip; /* bytes of a refused frame still to come */
    struct pmi2_pair *pairs;
    uint32_t pairs_capacity;
    const char *reason; /* after BROKEN: why, static text */
};
void pmi2_decoder_init(struct pmi2_decoder *decoder);
void pmi2_decoder_fini(struct pmi2_decoder *decoder);
/* Takes all of it. False: no memory. */
bool pmi2_decoder_feed(struct pmi2_decoder *decoder, const void *bytes, size_t length);
/*
 * The same without a copy: room to receive into, and how much was received. NULL: no memory. It
 * grows when it was filled.
 */
char *pmi2_decoder_room(struct pmi2_decoder *decoder, size_t *length);
void pmi2_decoder_received(struct pmi2_decoder *decoder, size_t length);
enum pmi2_decoded pmi2_decoder_next(struct pmi2_decoder *decoder, struct pmi2_message *message);
size_t pmi2_decoder_pending(const struct pmi2_decoder *decoder); /* bytes not taken yet */

/*
 * Decodes one message by itself: the payload of a frame, a line without its newline, a block
 * without the newline behind its endcmd. Of the decoder, only the room for pairs is used. The bytes
 * are changed (values are unescaped in place).
 */
enum pmi2_decoded pmi2_decode_frame(struct pmi2_decoder *decoder, char *payload, size_t length,
                                    struct pmi2_message *message);
enum pmi2_decoded pmi2_decode_line(struct pmi2_decoder *decoder, char *line, size_t length,
                                   struct pmi2_message *message);
enum pmi2_decoded pmi2_decode_mcmd(struct pmi2_decoder *decoder, char *block, size_t length,
                                   struct pmi2_message *message);

/* Growing bytes to send. A failure to allocate sticks: `failed`, and nothing more is added. */
struct pmi2_buffer {
    char *bytes;
    size_t length, capacity;
    size_t begun; /* where the message under construction begins */
    bool broken; /* the message under construction has a newline where none may be */
    bool failed;
};
void pmi2_buffer_fini(struct pmi2_buffer *buffer);
void pmi2_buffer_clear(struct pmi2_buffer *buffer); /* keeps the memory */

/* A frame: begin, any number of pairs, end. The length is right-aligned; `;` in values doubled. */
void pmi2_frame_begin(struct pmi2_buffer *buffer, const char *command);
void pmi2_frame_text(struct pmi2_buffer *buffer, const char *key, const char *value);
void pmi2_frame_slice(struct pmi2_buffer *buffer, const char *key, struct pmi2_slice value);
void pmi2_frame_int(struct pmi2_buffer *buffer, const char *key, int64_t value);
void pmi2_frame_bool(struct pmi2_buffer *buffer, const char *key, bool value);
/* Pairs that were written to another buffer without begin and end. */
void pmi2_frame_pairs(struct pmi2_buffer *buffer, const struct pmi2_buffer *pairs);
bool pmi2_frame_end(struct pmi2_buffer *buffer); /* false: too long, or failed; taken back */

/* A PMI-1 line, the same way. Values must not contain newlines; only the last may contain spaces.
 */
void pmi2_line_begin(struct pmi2_buffer *buffer, const char *command);
void pmi2_line_text(struct pmi2_buffer *buffer, const char *key, const char *value);
void pmi2_line_slice(struct pmi2_buffer *buffer, const char *key, struct pmi2_slice value);
void pmi2_line_int(struct pmi2_buffer *buffer, const char *key, int64_t value);
bool pmi2_line_end(struct pmi2_buffer *buffer); /* false also for a newline in a value */

/* A block of a PMI-1 spawn, the same way: values may contain spaces, but no newline. */
void pmi2_mcmd_begin(struct pmi2_buffer *buffer, const char *command);
void pmi2_mcmd_text(struct pmi2_buffer *buffer, const char *key, const char *value);
void pmi2_mcmd_int(struct pmi2_buffer *buffer, const char *key, int64_t value);
bool pmi2_mcmd_end(struct pmi2_buffer *buffer);

/* No space, `=`, `;`, control byte or NUL, 1 to PMI2_KEY_MAX bytes: 0, or PMI2_ERR_INVALID_KEY,
 * PMI2_ERR_INVALID_KEY_LENGTH. */
int pmi2_key_check(struct pmi2_slice key);
/* At most PMI2_VALUE_MAX bytes, no NUL: 0 or PMI2_ERR_INVALID_VAL, PMI2_ERR_INVALID_VAL_LENGTH. */
int pmi2_value_check(struct pmi2_slice value);
bool pmi2_utf8_valid(struct pmi2_slice text);
/* The longest prefix of at most `limit` bytes that does not end inside of a character. */
size_t pmi2_utf8_cut(struct pmi2_slice text, size_t limit);

#endif
