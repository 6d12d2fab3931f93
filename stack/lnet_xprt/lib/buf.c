/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Blocks of memory with their lengths. */
#include "lib/buf.h"
#include "lib/arith.h"
#include "lib/assert.h"
#include "lib/errno.h"
#include "lib/memory.h"
#include "lib/misc.h"
#include "lib/string.h"

void m0_buf_init(struct m0_buf *buf, void *data, uint32_t nob)
{
    *buf = M0_BUF_INIT(nob, data);
}

int m0_buf_alloc(struct m0_buf *buf, size_t size)
{
    void *memory = m0_alloc(size);

    if (memory == NULL)
        return -ENOMEM;
    *buf = M0_BUF_INIT(size, memory);
    return 0;
}

void m0_buf_free(struct m0_buf *buf)
{
    m0_free(buf->b_addr);
    *buf = M0_BUF_INIT0;
}

int m0_buf_cmp(const struct m0_buf *x, const struct m0_buf *y)
{
    const uint8_t *a = x->b_addr, *b = y->b_addr;
    m0_bcount_t common = min64u(x->b_nob, y->b_nob), i;

    for (i = 0; i < common; i++)
        if (a[i] != b[i])
            return a[i] - b[i];
    return M0_3WAY(x->b_nob, y->b_nob);
}

bool m0_buf_eq(const struct m0_buf *x, const struct m0_buf *y)
{
    return x->b_nob == y->b_nob && (x->b_nob == 0 || memeq(x->b_addr, y->b_addr, x->b_nob));
}

bool m0_buf_is_set(const struct m0_buf *buf)
{
    return buf->b_nob > 0 && buf->b_addr != NULL;
}

void m0_buf_memcpy(struct m0_buf *dst, struct m0_buf *src)
{
    M0_PRE(dst->b_nob == src->b_nob);
    if (src->b_nob > 0)
        memcpy(dst->b_addr, src->b_addr, src->b_nob);
}

int m0_buf_copy(struct m0_buf *dest, const struct m0_buf *src)
{
    int rc;

    M0_PRE(dest->b_nob == 0 && dest->b_addr == NULL);
    if (src->b_nob == 0)
        return 0;
    rc = m0_buf_alloc(dest, src->b_nob);
    if (rc == 0)
        memcpy(dest->b_addr, src->b_addr, src->b_nob);
    return rc;
}

int m0_buf_copy_aligned(struct m0_buf *dst, struct m0_buf *src, unsigned shift)
{
    void *memory;

    M0_PRE(dst->b_nob == 0 && dst->b_addr == NULL);
    memory = m0_alloc_aligned(src->b_nob, shift);
    if (memory == NULL)
        return -ENOMEM;
    *dst = M0_BUF_INIT(src->b_nob, memory);
    m0_buf_memcpy(dst, src);
    return 0;
}

bool m0_buf_streq(const struct m0_buf *buf, const char *str)
{
    size_t length = strlen(str);

    M0_PRE(m0_buf_is_set(buf));
    return strnlen(buf->b_addr, buf->b_nob) == length && memeq(buf->b_addr, str, length);
}

char *m0_buf_strdup(const struct m0_buf *buf)
{
    size_t length;
    char *text;

    M0_PRE(m0_buf_is_set(buf));
    length = strnlen(buf->b_addr, buf->b_nob);
    text = m0_alloc(length + 1);
    if (text != NULL)
        memcpy(text, buf->b_addr, length);
    return text;
}

/* ---- sequences ------------------------------------------------------------------------------- */

int m0_bufs_from_strings(struct m0_bufs *dest, const char **src)
{
    uint32_t count = 0, i;
    int rc = 0;

    while (src[count] != NULL)
        count++;
    *dest = (struct m0_bufs){.ab_count = count};
    if (count == 0)
        return 0;
    if (M0_ALLOC_ARR(dest->ab_elems, count) == NULL)
        return -ENOMEM;
    for (i = 0; i < count && rc == 0; i++)
        rc = m0_buf_copy(&dest->ab_elems[i], &M0_BUF_INIT_CONST(strlen(src[i]), src[i]));
    if (rc != 0)
        m0_bufs_free(dest);
    return rc;
}

int m0_bufs_to_strings(const char ***dest, const struct m0_bufs *src)
{
    const char **texts;
    uint32_t i;

    if (M0_ALLOC_ARR(texts, src->ab_count + 1ul) == NULL)
        return -ENOMEM;
    for (i = 0; i < src->ab_count; i++) {
        const struct m0_buf *buf = &src->ab_elems[i];

        texts[i] = m0_buf_is_set(buf) ? m0_buf_strdup(buf) : m0_strdup("");
        if (texts[i] == NULL) {
            m0_strings_free(texts);
            return -ENOMEM;
        }
    }
    *dest = texts;
    return 0;
}

bool m0_bufs_streq(const struct m0_bufs *bufs, const char **strs)
{
    uint32_t i;

    for (i = 0; i < bufs->ab_count; i++) {
        const struct m0_buf *buf = &bufs->ab_elems[i];

        if (strs[i] == NULL ||
            !(m0_buf_is_set(buf) ? m0_buf_streq(buf, strs[i]) : strs[i][0] == '\0'))
            return false;
    }
    return strs[i] == NULL;
}

void m0_bufs_free(struct m0_bufs *bufs)
{
    uint32_t i;

    for (i = 0; i < bufs->ab_count && bufs->ab_elems != NULL; i++)
        m0_buf_free(&bufs->ab_elems[i]);
    m0_free(bufs->ab_elems);
    *bufs = (struct m0_bufs){.ab_count = 0};
}
