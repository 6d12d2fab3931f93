/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Vectors of memory that grow, shrink and are joined. */
#include "lib/errno.h"
#include "lib/memory.h"
#include "lib/vec.h"

/* Room for more segments than there are; 0 or -ENOMEM. */
static int grow(struct m0_bufvec *bufvec, uint32_t segments)
{
    struct m0_bufvec larger;
    int rc = m0_bufvec_empty_alloc(&larger, bufvec->ov_vec.v_nr + segments);

    if (rc != 0)
        return rc;
    memcpy(larger.ov_vec.v_count, bufvec->ov_vec.v_count,
           bufvec->ov_vec.v_nr * sizeof(bufvec->ov_vec.v_count[0]));
    memcpy(larger.ov_buf, bufvec->ov_buf, bufvec->ov_vec.v_nr * sizeof(bufvec->ov_buf[0]));
    larger.ov_vec.v_nr = bufvec->ov_vec.v_nr;
    m0_bufvec_free2(bufvec);
    *bufvec = larger;
    return 0;
}

static void append(struct m0_bufvec *bufvec, void *memory, m0_bcount_t bytes)
{
    bufvec->ov_buf[bufvec->ov_vec.v_nr] = memory;
    bufvec->ov_vec.v_count[bufvec->ov_vec.v_nr++] = bytes;
}

int m0_bufvec_extend(struct m0_bufvec *bufvec, uint32_t segments)
{
    struct m0_bufvec more;
    int rc;

    M0_PRE(segments > 0 && bufvec->ov_buf != NULL && bufvec->ov_vec.v_nr > 0);
    rc = m0_bufvec_alloc(&more, segments, bufvec->ov_vec.v_count[0]);
    if (rc != 0)
        return rc;
    rc = m0_bufvec_merge(bufvec, &more);
    if (rc == 0)
        m0_bufvec_free2(&more);
    else
        m0_bufvec_free(&more);
    return rc;
}

int m0_bufvec_merge(struct m0_bufvec *bufvec, struct m0_bufvec *other)
{
    uint32_t i;
    int rc;

    M0_PRE(bufvec->ov_buf != NULL && other->ov_buf != NULL && bufvec != other);
    rc = grow(bufvec, other->ov_vec.v_nr);
    for (i = 0; rc == 0 && i < other->ov_vec.v_nr; i++)
        append(bufvec, other->ov_buf[i], other->ov_vec.v_count[i]);
    return rc;
}

uint32_t m0_bufvec_pack(struct m0_bufvec *bufvec)
{
    uint32_t count = bufvec->ov_vec.v_nr, i;
    m0_bcount_t *bytes = bufvec->ov_vec.v_count;

    for (i = bufvec->ov_vec.v_nr = 0; i < count; i++) {
        uint32_t last = bufvec->ov_vec.v_nr - 1;

        if (i > 0 && (char *)bufvec->ov_buf[last] + bytes[last] == bufvec->ov_buf[i])
            bytes[last] += bytes[i];
        else
            append(bufvec, bufvec->ov_buf[i], bytes[i]);
    }
    return count - bufvec->ov_vec.v_nr;
}

int m0_bufvec_splice(const struct m0_bufvec *bufvec, m0_bcount_t bytes, struct m0_buf *copy)
{
    m0_bcount_t all = m0_vec_count(&bufvec->ov_vec);
    struct m0_bufvec_cursor cursor;
    int rc;

    M0_PRE(bytes <= all);
    if (bytes == 0)
        bytes = all;
    m0_buf_init(copy, NULL, 0);
    if (bytes == 0)
        return 0;
    rc = m0_buf_alloc(copy, bytes);
    if (rc != 0)
        return rc;
    m0_bufvec_cursor_init(&cursor, bufvec);
    m0_bufvec_cursor_copyfrom(&cursor, copy->b_addr, bytes);
    return 0;
}
