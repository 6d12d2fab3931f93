/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Vectors of segments, and positions in them. Callers bring their own lock. */
#ifndef M0_LIB_VEC_H
#define M0_LIB_VEC_H

#include "lib/buf.h"
#include "lib/types.h"

struct m0_vec {
    uint32_t v_nr;
    m0_bcount_t *v_count; /* of v_nr segments */
};
m0_bcount_t m0_vec_count(const struct m0_vec *vec); /* of all segments */
bool m0_vec_is_empty(const struct m0_vec *vec);

/* A position in a vector; it never rests at the end of a segment or in an empty one, unless at the
 * end of all. */
struct m0_vec_cursor {
    const struct m0_vec *vc_vec;
    uint32_t vc_seg;
    m0_bcount_t vc_offset; /* in the segment */
};
void m0_vec_cursor_init(struct m0_vec_cursor *cursor, const struct m0_vec *vec);
/* Goes on; true: the end is reached, and a longer way would lead beyond it. */
bool m0_vec_cursor_move(struct m0_vec_cursor *cursor, m0_bcount_t count);
/* How many bytes follow in the segment. pre: not at the end */
m0_bcount_t m0_vec_cursor_step(const struct m0_vec_cursor *cursor);
m0_bcount_t m0_vec_cursor_end(const struct m0_vec_cursor *cursor); /* and in all others */

/* Memory in segments. */
struct m0_bufvec {
    struct m0_vec ov_vec;
    void **ov_buf; /* of each segment */
};
#define M0_BUFVEC_INIT_BUF(address, bytes)                             \
    (struct m0_bufvec)                                                 \
    {                                                                  \
        .ov_vec = {.v_nr = 1, .v_count = (bytes)}, .ov_buf = (address) \
    }

enum {
#if defined(__aarch64__)
    M0_SEG_SHIFT = 16,
#else
    M0_SEG_SHIFT = 12,
#endif
    M0_SEG_SIZE = 1 << M0_SEG_SHIFT,
};

/* `segments` zeroed segments of `size` bytes; 0 or -ENOMEM. pre: both > 0 */
int m0_bufvec_alloc(struct m0_bufvec *bufvec, uint32_t segments, m0_bcount_t size);
int m0_bufvec_empty_alloc(struct m0_bufvec *bufvec, uint32_t segments); /* without their memory */
void m0_bufvec_free(
    struct m0_bufvec *bufvec); /* no effect on NULL, or one that is freed or zeroed */
void m0_bufvec_free2(struct m0_bufvec *bufvec); /* keeps the memory of the segments */
/* As many more segments, as long as the first one. -ENOMEM: nothing has changed. */
int m0_bufvec_extend(struct m0_bufvec *bufvec, uint32_t segments);
/* Appends another one's segments, whose memory is then both's; frees nothing. 0 or -ENOMEM. */
int m0_bufvec_merge(struct m0_bufvec *bufvec, struct m0_bufvec *other);
/* Joins segments that follow each other in memory; how many fewer there are. */
uint32_t m0_bufvec_pack(struct m0_bufvec *bufvec);
/* A copy of the first bytes (0: of all) that m0_buf_free() frees. pre: there are as many */
int m0_bufvec_splice(const struct m0_bufvec *bufvec, m0_bcount_t bytes, struct m0_buf *copy);
/* Every segment begins at a multiple of 1 << shift. */
int m0_bufvec_alloc_aligned(struct m0_bufvec *bufvec, uint32_t segments, m0_bcount_t size,
                            unsigned shift);
void m0_bufvec_free_aligned(struct m0_bufvec *bufvec, unsigned shift);
/* The segments follow each other in one allocation, whose begin is aligned. */
int m0_bufvec_alloc_aligned_packed(struct m0_bufvec *bufvec, uint32_t segments, m0_bcount_t size,
                                   unsigned shift);
void m0_bufvec_free_aligned_packed(struct m0_bufvec *bufvec, unsigned shift);

struct m0_bufvec_cursor {
    struct m0_vec_cursor bc_vc;
};
void m0_bufvec_cursor_init(struct m0_bufvec_cursor *cursor, const struct m0_bufvec *bufvec);
bool m0_bufvec_cursor_move(struct m0_bufvec_cursor *cursor, m0_bcount_t count); /* true: the end */
m0_bcount_t m0_bufvec_cursor_step(const struct m0_bufvec_cursor *cursor);
void *m0_bufvec_cursor_addr(struct m0_bufvec_cursor *cursor); /* pre: not at the end */
/* Goes to the next address that is a multiple of `alignment`, a power of two; true: the end. */
bool m0_bufvec_cursor_align(struct m0_bufvec_cursor *cursor, uint64_t alignment);
/* Copy up to `bytes`, move both and return how many were copied: fewer at the end of a vector. */
m0_bcount_t m0_bufvec_cursor_copy(struct m0_bufvec_cursor *to, struct m0_bufvec_cursor *from,
                                  m0_bcount_t bytes);
m0_bcount_t m0_bufvec_copy(struct m0_bufvec *to, struct m0_bufvec *from, m0_bcount_t bytes);
m0_bcount_t m0_bufvec_cursor_copyto(struct m0_bufvec_cursor *to, void *from, m0_bcount_t bytes);
m0_bcount_t m0_bufvec_cursor_copyfrom(struct m0_bufvec_cursor *from, void *to, m0_bcount_t bytes);
/* As those two; 0, or -EFAULT if the vector ended before. pre of the second: bytes > 0 */
int m0_data_to_bufvec_copy(struct m0_bufvec_cursor *to, void *from, size_t bytes);
int m0_bufvec_to_data_copy(struct m0_bufvec_cursor *from, void *to, size_t bytes);
/* Of what follows both, which the cursors may then have passed: as memcmp(3), the shorter one
 * comes first; and how many bytes are equal before the first that differ. */
int m0_bufvec_cursor_cmp(struct m0_bufvec_cursor *a, struct m0_bufvec_cursor *b);
m0_bcount_t m0_bufvec_cursor_prefix(struct m0_bufvec_cursor *a, struct m0_bufvec_cursor *b);

/* Extents of an object. */

struct m0_indexvec {
    struct m0_vec iv_vec;
    m0_bindex_t *iv_index; /* where each begins */
};
int m0_indexvec_alloc(struct m0_indexvec *vec, uint32_t extents); /* 0 or -ENOMEM. pre: > 0 */
void m0_indexvec_free(struct m0_indexvec *vec); /* no effect on one that is freed or zeroed */
/* Joins extents that overlap the next one or end where it begins; how many fewer there are. */
uint32_t m0_indexvec_pack(struct m0_indexvec *vec);

struct m0_ivec_cursor {
    struct m0_vec_cursor ic_cur;
};
void m0_ivec_cursor_init(struct m0_ivec_cursor *cursor, const struct m0_indexvec *vec);
bool m0_ivec_cursor_move(struct m0_ivec_cursor *cursor, m0_bcount_t count); /* true: the end */
/* Up to this index, which does not come before. True: the end came first. */
bool m0_ivec_cursor_move_to(struct m0_ivec_cursor *cursor, m0_bindex_t index);
m0_bcount_t m0_ivec_cursor_step(const struct m0_ivec_cursor *cursor);
m0_bindex_t m0_ivec_cursor_index(const struct m0_ivec_cursor *cursor); /* pre: not at the end */
/* The end of what is here without a gap, but not beyond `index`. pre: index is not before it */
m0_bindex_t m0_ivec_cursor_conti(const struct m0_ivec_cursor *cursor, m0_bindex_t index);

/* Memory of others in pages, and the place of each in an object. */
enum {
    M0_0VEC_SHIFT = M0_SEG_SHIFT,
    M0_0VEC_ALIGN = 1 << M0_0VEC_SHIFT,
    M0_0VEC_MASK = M0_0VEC_ALIGN - 1,
};
struct m0_0vec {
    struct m0_bufvec z_bvec;
    m0_bindex_t *z_index;
    m0_bindex_t z_last_buf_idx; /* how many segments m0_0vec_cbuf_add() has filled */
    m0_bcount_t z_count; /* bytes of these */
};
int m0_0vec_init(struct m0_0vec *vec, uint32_t segments); /* all empty; 0 or -ENOMEM. pre: > 0 */
void m0_0vec_fini(struct m0_0vec *vec); /* keeps the memory of the segments */
/* Fill the first segments, which are empty, with memory of theirs. pre: there are as many */
void m0_0vec_bvec_init(struct m0_0vec *vec, const struct m0_bufvec *bufvec,
                       const m0_bindex_t *indices);
void m0_0vec_bufs_init(struct m0_0vec *vec, void **memory, const m0_bindex_t *indices,
                       const m0_bcount_t *counts, uint32_t segments);
/* Fills the next segment: 0, or -EMSGSIZE if there is none. */
int m0_0vec_cbuf_add(struct m0_0vec *vec, const struct m0_buf *buf, const m0_bindex_t *index);

#endif
