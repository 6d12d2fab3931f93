/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Vectors of extents, of memory with a place in an object, and comparisons of memory in segments.
 */
#include "lib/arith.h"
#include "lib/errno.h"
#include "lib/memory.h"
#include "lib/vec.h"

/* ---- data and memory in segments ------------------------------------------------------------- */

static bool at_end(const struct m0_bufvec_cursor *cursor)
{
    return cursor->bc_vc.vc_seg == cursor->bc_vc.vc_vec->v_nr;
}

int m0_data_to_bufvec_copy(struct m0_bufvec_cursor *to, void *from, size_t bytes)
{
    return m0_bufvec_cursor_copyto(to, from, bytes) == bytes ? 0 : -EFAULT;
}

int m0_bufvec_to_data_copy(struct m0_bufvec_cursor *from, void *to, size_t bytes)
{
    M0_PRE(bytes > 0);
    return m0_bufvec_cursor_copyfrom(from, to, bytes) == bytes ? 0 : -EFAULT;
}

/* What both have in one piece here; 0: one of them is at its end. */
static m0_bcount_t both(const struct m0_bufvec_cursor *a, const struct m0_bufvec_cursor *b)
{
    if (at_end(a) || at_end(b))
        return 0;
    return min_check(m0_bufvec_cursor_step(a), m0_bufvec_cursor_step(b));
}

int m0_bufvec_cursor_cmp(struct m0_bufvec_cursor *a, struct m0_bufvec_cursor *b)
{
    m0_bcount_t step;
    int order;

    while ((step = both(a, b)) > 0) {
        order = memcmp(m0_bufvec_cursor_addr(a), m0_bufvec_cursor_addr(b), step);
        if (order != 0)
            return order;
        m0_bufvec_cursor_move(a, step);
        m0_bufvec_cursor_move(b, step);
    }
    return !at_end(a) - !at_end(b);
}

m0_bcount_t m0_bufvec_cursor_prefix(struct m0_bufvec_cursor *a, struct m0_bufvec_cursor *b)
{
    m0_bcount_t equal = 0, step, i;

    while ((step = both(a, b)) > 0) {
        const char *x = m0_bufvec_cursor_addr(a), *y = m0_bufvec_cursor_addr(b);

        for (i = 0; i < step; i++, equal++)
            if (x[i] != y[i])
                return equal;
        m0_bufvec_cursor_move(a, step);
        m0_bufvec_cursor_move(b, step);
    }
    return equal;
}

/* ---- extents --------------------------------------------------------------------------------- */

int m0_indexvec_alloc(struct m0_indexvec *vec, uint32_t extents)
{
    M0_PRE(extents > 0);
    vec->iv_vec.v_nr = extents;
    M0_ALLOC_ARR(vec->iv_vec.v_count, extents);
    M0_ALLOC_ARR(vec->iv_index, extents);
    if (vec->iv_vec.v_count != NULL && vec->iv_index != NULL)
        return 0;
    m0_indexvec_free(vec);
    return -ENOMEM;
}

void m0_indexvec_free(struct m0_indexvec *vec)
{
    m0_free(vec->iv_vec.v_count);
    m0_free(vec->iv_index);
    *vec = (struct m0_indexvec){.iv_index = NULL};
}

uint32_t m0_indexvec_pack(struct m0_indexvec *vec)
{
    m0_bcount_t *counts = vec->iv_vec.v_count;
    uint32_t i, last = 0, before = vec->iv_vec.v_nr;

    M0_PRE(before > 0);
    for (i = 1; i < before; i++) {
        m0_bindex_t end = vec->iv_index[last] + counts[last];

        if (vec->iv_index[i] >= vec->iv_index[last] && vec->iv_index[i] <= end) {
            end = max_check(end, vec->iv_index[i] + counts[i]);
            counts[last] = end - vec->iv_index[last];
        } else {
            last++;
            vec->iv_index[last] = vec->iv_index[i];
            counts[last] = counts[i];
        }
    }
    vec->iv_vec.v_nr = last + 1;
    return before - vec->iv_vec.v_nr;
}

static const struct m0_indexvec *indexvec_of(const struct m0_ivec_cursor *cursor)
{
    return container_of(cursor->ic_cur.vc_vec, struct m0_indexvec, iv_vec);
}

void m0_ivec_cursor_init(struct m0_ivec_cursor *cursor, const struct m0_indexvec *vec)
{
    m0_vec_cursor_init(&cursor->ic_cur, &vec->iv_vec);
}

bool m0_ivec_cursor_move(struct m0_ivec_cursor *cursor, m0_bcount_t count)
{
    return m0_vec_cursor_move(&cursor->ic_cur, count);
}

m0_bcount_t m0_ivec_cursor_step(const struct m0_ivec_cursor *cursor)
{
    return m0_vec_cursor_step(&cursor->ic_cur);
}

m0_bindex_t m0_ivec_cursor_index(const struct m0_ivec_cursor *cursor)
{
    M0_PRE(cursor->ic_cur.vc_seg < cursor->ic_cur.vc_vec->v_nr);
    return indexvec_of(cursor)->iv_index[cursor->ic_cur.vc_seg] + cursor->ic_cur.vc_offset;
}

bool m0_ivec_cursor_move_to(struct m0_ivec_cursor *cursor, m0_bindex_t index)
{
    bool ended = m0_ivec_cursor_move(cursor, 0);

    M0_PRE(ended || index >= m0_ivec_cursor_index(cursor));
    while (!ended && m0_ivec_cursor_index(cursor) < index)
        ended = m0_ivec_cursor_move(
            cursor, min_check(m0_ivec_cursor_step(cursor), index - m0_ivec_cursor_index(cursor)));
    return ended;
}

m0_bindex_t m0_ivec_cursor_conti(const struct m0_ivec_cursor *cursor, m0_bindex_t index)
{
    struct m0_ivec_cursor at = *cursor;
    m0_bindex_t end = m0_ivec_cursor_index(cursor);

    M0_PRE(index >= end);
    while (end < index && m0_ivec_cursor_index(&at) == end) {
        m0_bcount_t step = m0_ivec_cursor_step(&at);

        end += step;
        if (m0_ivec_cursor_move(&at, step))
            break;
    }
    return min_check(end, index);
}

/* ---- memory with a place in an object -------------------------------------------------------- */

/* Pages, but for the end of the last one. */
static bool zero_invariant(const struct m0_0vec *vec)
{
    const struct m0_bufvec *bufvec = &vec->z_bvec;
    uint32_t i;

    for (i = 0; i < bufvec->ov_vec.v_nr; i++)
        if (((uintptr_t)bufvec->ov_buf[i] & M0_0VEC_MASK) != 0 ||
            (i + 1 < bufvec->ov_vec.v_nr && bufvec->ov_buf[i + 1] != NULL &&
             (bufvec->ov_vec.v_count[i] & M0_0VEC_MASK) != 0))
            return false;
    return true;
}

int m0_0vec_init(struct m0_0vec *vec, uint32_t segments)
{
    int rc;

    *vec = (struct m0_0vec){.z_count = 0};
    rc = m0_bufvec_empty_alloc(&vec->z_bvec, segments);
    if (rc != 0)
        return rc;
    M0_ALLOC_ARR(vec->z_index, segments);
    if (vec->z_index != NULL)
        return 0;
    m0_bufvec_free2(&vec->z_bvec);
    return -ENOMEM;
}

void m0_0vec_fini(struct m0_0vec *vec)
{
    m0_bufvec_free2(&vec->z_bvec);
    m0_free(vec->z_index);
    vec->z_index = NULL;
}

void m0_0vec_bufs_init(struct m0_0vec *vec, void **memory, const m0_bindex_t *indices,
                       const m0_bcount_t *counts, uint32_t segments)
{
    uint32_t i;

    M0_PRE(segments > 0 && segments <= vec->z_bvec.ov_vec.v_nr);
    for (i = 0; i < segments; i++) {
        M0_ASSERT(vec->z_bvec.ov_buf[i] == NULL);
        vec->z_bvec.ov_buf[i] = memory[i];
        vec->z_bvec.ov_vec.v_count[i] = counts[i];
        vec->z_index[i] = indices[i];
    }
    M0_POST_EX(zero_invariant(vec));
}

void m0_0vec_bvec_init(struct m0_0vec *vec, const struct m0_bufvec *bufvec,
                       const m0_bindex_t *indices)
{
    m0_0vec_bufs_init(vec, bufvec->ov_buf, indices, bufvec->ov_vec.v_count, bufvec->ov_vec.v_nr);
}

int m0_0vec_cbuf_add(struct m0_0vec *vec, const struct m0_buf *buf, const m0_bindex_t *index)
{
    m0_bindex_t next = vec->z_last_buf_idx;

    if (next == vec->z_bvec.ov_vec.v_nr)
        return -EMSGSIZE;
    M0_ASSERT(vec->z_bvec.ov_buf[next] == NULL);
    vec->z_bvec.ov_buf[next] = buf->b_addr;
    vec->z_bvec.ov_vec.v_count[next] = buf->b_nob;
    vec->z_index[next] = *index;
    vec->z_last_buf_idx++;
    vec->z_count += buf->b_nob;
    M0_POST_EX(zero_invariant(vec));
    return 0;
}
