/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Vectors of segments. */
#include "lib/vec.h"
#include "lib/arith.h"
#include "lib/errno.h"
#include "lib/finject.h"
#include "lib/memory.h"

m0_bcount_t m0_vec_count(const struct m0_vec *vec)
{
    m0_bcount_t sum = 0;
    uint32_t i;

    for (i = 0; i < vec->v_nr; i++) {
        M0_ASSERT(!m0_addu64_will_overflow(sum, vec->v_count[i]));
        sum += vec->v_count[i];
    }
    return sum;
}

bool m0_vec_is_empty(const struct m0_vec *vec)
{
    return m0_vec_count(vec) == 0;
}

/* Leaves segments that end here. */
static void normalise(struct m0_vec_cursor *cursor)
{
    const struct m0_vec *vec = cursor->vc_vec;

    while (cursor->vc_seg < vec->v_nr && cursor->vc_offset == vec->v_count[cursor->vc_seg]) {
        cursor->vc_seg++;
        cursor->vc_offset = 0;
    }
}

void m0_vec_cursor_init(struct m0_vec_cursor *cursor, const struct m0_vec *vec)
{
    *cursor = (struct m0_vec_cursor){.vc_vec = vec};
    normalise(cursor);
}

static bool at_end(const struct m0_vec_cursor *cursor)
{
    return cursor->vc_seg == cursor->vc_vec->v_nr;
}

m0_bcount_t m0_vec_cursor_step(const struct m0_vec_cursor *cursor)
{
    M0_PRE(!at_end(cursor));
    M0_ASSERT(cursor->vc_vec->v_count[cursor->vc_seg] > cursor->vc_offset);
    return cursor->vc_vec->v_count[cursor->vc_seg] - cursor->vc_offset;
}

m0_bcount_t m0_vec_cursor_end(const struct m0_vec_cursor *cursor)
{
    m0_bcount_t sum = m0_vec_cursor_step(cursor);
    uint32_t i;

    for (i = cursor->vc_seg + 1; i < cursor->vc_vec->v_nr; i++)
        sum += cursor->vc_vec->v_count[i];
    return sum;
}

bool m0_vec_cursor_move(struct m0_vec_cursor *cursor, m0_bcount_t count)
{
    m0_bcount_t step;

    while (count > 0 && !at_end(cursor)) {
        step = min_check(count, m0_vec_cursor_step(cursor));
        cursor->vc_offset += step;
        count -= step;
        normalise(cursor);
    }
    return at_end(cursor);
}

/* ---- memory in segments ---------------------------------------------------------------------- */

int m0_bufvec_empty_alloc(struct m0_bufvec *bufvec, uint32_t segments)
{
    M0_PRE(segments > 0);
    bufvec->ov_vec.v_nr = segments;
    M0_ALLOC_ARR(bufvec->ov_vec.v_count, segments);
    M0_ALLOC_ARR(bufvec->ov_buf, segments);
    if (bufvec->ov_vec.v_count != NULL && bufvec->ov_buf != NULL)
        return 0;
    m0_bufvec_free2(bufvec);
    return -ENOMEM;
}

void m0_bufvec_free2(struct m0_bufvec *bufvec)
{
    m0_free(bufvec->ov_vec.v_count);
    m0_free(bufvec->ov_buf);
    *bufvec = (struct m0_bufvec){.ov_buf = NULL};
}

void m0_bufvec_free(struct m0_bufvec *bufvec)
{
    uint32_t i;

    if (bufvec == NULL)
        return;
    for (i = 0; bufvec->ov_buf != NULL && i < bufvec->ov_vec.v_nr; i++)
        m0_free(bufvec->ov_buf[i]);
    m0_bufvec_free2(bufvec);
}

void m0_bufvec_free_aligned(struct m0_bufvec *bufvec, unsigned shift)
{
    uint32_t i;

    if (bufvec == NULL)
        return;
    for (i = 0; bufvec->ov_buf != NULL && i < bufvec->ov_vec.v_nr; i++)
        m0_free_aligned(bufvec->ov_buf[i], bufvec->ov_vec.v_count[i], shift);
    m0_bufvec_free2(bufvec);
}

void m0_bufvec_free_aligned_packed(struct m0_bufvec *bufvec, unsigned shift)
{
    if (bufvec->ov_buf != NULL)
        m0_free_aligned(bufvec->ov_buf[0], m0_vec_count(&bufvec->ov_vec), shift);
    m0_bufvec_free2(bufvec);
}

/* shift 0: with m0_alloc(). */
static int alloc_each(struct m0_bufvec *bufvec, uint32_t segments, m0_bcount_t size, unsigned shift)
{
    uint32_t i;

    M0_PRE(size > 0);
    if (m0_bufvec_empty_alloc(bufvec, segments) != 0)
        return -ENOMEM;
    for (i = 0; i < segments; i++) {
        bufvec->ov_buf[i] = shift == 0 ? m0_alloc(size) : m0_alloc_aligned(size, shift);
        if (bufvec->ov_buf[i] == NULL) {
            shift == 0 ? m0_bufvec_free(bufvec) : m0_bufvec_free_aligned(bufvec, shift);
            return -ENOMEM;
        }
        bufvec->ov_vec.v_count[i] = size;
    }
    return 0;
}

int m0_bufvec_alloc(struct m0_bufvec *bufvec, uint32_t segments, m0_bcount_t size)
{
    return alloc_each(bufvec, segments, size, 0);
}

int m0_bufvec_alloc_aligned(struct m0_bufvec *bufvec, uint32_t segments, m0_bcount_t size,
                            unsigned shift)
{
    if (M0_FI_ENABLED("oom"))
        return -ENOMEM;
    return alloc_each(bufvec, segments, size, shift);
}

int m0_bufvec_alloc_aligned_packed(struct m0_bufvec *bufvec, uint32_t segments, m0_bcount_t size,
                                   unsigned shift)
{
    char *memory;
    size_t bytes;
    uint32_t i;

    M0_PRE(size > 0);
    if (__builtin_mul_overflow(size, segments, &bytes) ||
        m0_bufvec_empty_alloc(bufvec, segments) != 0)
        return -ENOMEM;
    memory = m0_alloc_aligned(bytes, shift);
    if (memory == NULL) {
        m0_bufvec_free2(bufvec);
        return -ENOMEM;
    }
    for (i = 0; i < segments; i++) {
        bufvec->ov_buf[i] = memory + i * size;
        bufvec->ov_vec.v_count[i] = size;
    }
    return 0;
}

/* ---- positions in it ------------------------------------------------------------------------- */

static const struct m0_bufvec *bufvec_of(const struct m0_bufvec_cursor *cursor)
{
    return container_of(cursor->bc_vc.vc_vec, struct m0_bufvec, ov_vec);
}

void m0_bufvec_cursor_init(struct m0_bufvec_cursor *cursor, const struct m0_bufvec *bufvec)
{
    m0_vec_cursor_init(&cursor->bc_vc, &bufvec->ov_vec);
}

bool m0_bufvec_cursor_move(struct m0_bufvec_cursor *cursor, m0_bcount_t count)
{
    return m0_vec_cursor_move(&cursor->bc_vc, count);
}

m0_bcount_t m0_bufvec_cursor_step(const struct m0_bufvec_cursor *cursor)
{
    return m0_vec_cursor_step(&cursor->bc_vc);
}

void *m0_bufvec_cursor_addr(struct m0_bufvec_cursor *cursor)
{
    M0_PRE(!at_end(&cursor->bc_vc));
    return (char *)bufvec_of(cursor)->ov_buf[cursor->bc_vc.vc_seg] + cursor->bc_vc.vc_offset;
}

bool m0_bufvec_cursor_align(struct m0_bufvec_cursor *cursor, uint64_t alignment)
{
    uint64_t address;

    if (at_end(&cursor->bc_vc))
        return true;
    address = (uint64_t)(uintptr_t)m0_bufvec_cursor_addr(cursor);
    return m0_bufvec_cursor_move(cursor, m0_align(address, alignment) - address);
}

/* ---- copies ---------------------------------------------------------------------------------- */

m0_bcount_t m0_bufvec_cursor_copy(struct m0_bufvec_cursor *to, struct m0_bufvec_cursor *from,
                                  m0_bcount_t bytes)
{
    m0_bcount_t left = bytes, step;

    while (left > 0 && !at_end(&to->bc_vc) && !at_end(&from->bc_vc)) {
        step = min3(left, m0_bufvec_cursor_step(to), m0_bufvec_cursor_step(from));
        memmove(m0_bufvec_cursor_addr(to), m0_bufvec_cursor_addr(from), step);
        m0_bufvec_cursor_move(to, step);
        m0_bufvec_cursor_move(from, step);
        left -= step;
    }
    return bytes - left;
}

m0_bcount_t m0_bufvec_copy(struct m0_bufvec *to, struct m0_bufvec *from, m0_bcount_t bytes)
{
    struct m0_bufvec_cursor target, source;

    m0_bufvec_cursor_init(&target, to);
    m0_bufvec_cursor_init(&source, from);
    return m0_bufvec_cursor_copy(&target, &source, bytes);
}

/* Where the cursor is, so many bytes of its segment; 0: at its end. The cursor is behind them then.
 */
static m0_bcount_t take(struct m0_bufvec_cursor *cursor, m0_bcount_t bytes, char **place)
{
    m0_bcount_t step;

    if (bytes == 0 || at_end(&cursor->bc_vc))
        return 0;
    step = min_check(bytes, m0_bufvec_cursor_step(cursor));
    *place = m0_bufvec_cursor_addr(cursor);
    m0_bufvec_cursor_move(cursor, step);
    return step;
}

m0_bcount_t m0_bufvec_cursor_copyto(struct m0_bufvec_cursor *to, void *from, m0_bcount_t bytes)
{
    m0_bcount_t done = 0, step;
    char *place;

    for (; (step = take(to, bytes - done, &place)) > 0; done += step)
        memmove(place, (char *)from + done, step);
    return done;
}

m0_bcount_t m0_bufvec_cursor_copyfrom(struct m0_bufvec_cursor *from, void *to, m0_bcount_t bytes)
{
    m0_bcount_t done = 0, step;
    char *place;

    for (; (step = take(from, bytes - done, &place)) > 0; done += step)
        memmove((char *)to + done, place, step);
    return done;
}
