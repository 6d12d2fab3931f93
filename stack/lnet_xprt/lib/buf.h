/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A block of memory with its length, and sequences of them. */
#ifndef M0_LIB_BUF_H
#define M0_LIB_BUF_H

#include "lib/types.h"
#include "xcode/xcode_attr.h"

struct m0_buf {
    m0_bcount_t b_nob; /* bytes */
    void *b_addr;
} M0_XCA_SEQUENCE M0_XCA_DOMAIN(conf | rpc);

struct m0_bufs {
    uint32_t ab_count;
    struct m0_buf *ab_elems;
} M0_XCA_SEQUENCE M0_XCA_DOMAIN(conf | rpc);

/* Buffers as values; they refer to the memory and do not copy it. */
#define M0_BUF_INIT(size, data) ((struct m0_buf){.b_nob = (size), .b_addr = (data)})
#define M0_BUF_INIT_CONST(size, data) \
    ((const struct m0_buf){.b_nob = (size), .b_addr = (void *)(data)})
#define M0_BUF_INIT_PTR(pointer) M0_BUF_INIT(sizeof(*(pointer)), pointer)
#define M0_BUF_INIT_PTR_CONST(pointer) M0_BUF_INIT_CONST(sizeof(*(pointer)), pointer)
#define M0_BUF_INITS(text) M0_BUF_INIT(strlen(text), text) /* needs lib/misc.h */
#define M0_BUF_INIT0 M0_BUF_INIT(0, NULL)

/* A format for printf(3) and its arguments. */
#define BUF_F "[%p,%llu]"
#define BUF_P(buf) (buf)->b_addr, (unsigned long long)(buf)->b_nob

void m0_buf_init(struct m0_buf *buf, void *data, uint32_t nob);
int m0_buf_alloc(struct m0_buf *buf, size_t size); /* zeroed memory; 0 or -ENOMEM */
void m0_buf_free(struct m0_buf *buf); /* frees the memory and zeroes the structure */
/*
 * 0: equal, lengths included. Otherwise the difference of the first bytes that differ, which are
 * unsigned; if there are none, -1 or 1: the first or the second buffer is longer by some bytes.
 */
int m0_buf_cmp(const struct m0_buf *x, const struct m0_buf *y);
bool m0_buf_eq(const struct m0_buf *x, const struct m0_buf *y);
bool m0_buf_is_set(const struct m0_buf *buf); /* it has memory, of at least one byte */
/* Copies into the memory of `dst`. pre: the lengths are equal */
void m0_buf_memcpy(struct m0_buf *dst, struct m0_buf *src);
/* A copy in memory of its own, which m0_buf_free() frees; 0 or -ENOMEM. pre: `dest` is zeroed */
int m0_buf_copy(struct m0_buf *dest, const struct m0_buf *src);
/* The same at a multiple of 1 << shift; m0_free_aligned() frees its memory. */
int m0_buf_copy_aligned(struct m0_buf *dst, struct m0_buf *src, unsigned shift);
/* Whether the bytes up to the first '\0' or the end are the text. pre: both are set */
bool m0_buf_streq(const struct m0_buf *buf, const char *str);
/* Those bytes as a text that m0_free() frees; NULL: no memory. pre: the buffer is set */
char *m0_buf_strdup(const struct m0_buf *buf);

/* Copies of texts, without their '\0', from an array that NULL ends; 0 or -ENOMEM. */
int m0_bufs_from_strings(struct m0_bufs *dest, const char **src);
/* The opposite; m0_strings_free() (lib/string.h) frees the array. 0 or -ENOMEM. */
int m0_bufs_to_strings(const char ***dest, const struct m0_bufs *src);
bool m0_bufs_streq(const struct m0_bufs *bufs, const char **strs); /* same texts, same number */
void m0_bufs_free(struct m0_bufs *bufs);

#endif
