/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "lnet_shape.h"

#include <stdlib.h>
#include <string.h>

#define ARENA ((size_t)LNET_MTU + 5 * SHAPE_PAGE)
#define GUARD 0xa5
#define FEW 5u /* pieces of short memory */
#define GAP 13u

bool wl_shape_alloc(struct shape *shape)
{
    shape->arena = aligned_alloc(SHAPE_PAGE, ARENA);
    shape->image = malloc(ARENA);
    return shape->arena != NULL && shape->image != NULL;
}

void wl_shape_free(struct shape *shape)
{
    free(shape->arena);
    free(shape->image);
}

void wl_shape_make(struct shape *shape, enum shape_kind kind, uint32_t bytes, uint32_t offset)
{
    uint32_t i, length, many = bytes >= SHAPE_PAGE ? LNET_MAX_IOV : FEW;
    uint8_t *at = shape->arena + SHAPE_PAGE + offset;

    shape->kind = kind;
    shape->count = kind == PLAIN    ? 1
                   : kind == VECTOR ? (bytes < many ? bytes : many)
                                    : (bytes + offset + SHAPE_PAGE - 1) / SHAPE_PAGE * (bytes > 0);
    for (i = 0; i < shape->count; i++) {
        if (kind == PAGES) { /* the last page lies first */
            at = shape->arena + (size_t)SHAPE_PAGE * (shape->count - i) + (i == 0 ? offset : 0);
            length = SHAPE_PAGE - (i == 0 ? offset : 0);
            length = length < bytes ? length : bytes;
            shape->page[i] = (lnet_kiov_t){virt_to_page(at), length, i == 0 ? offset : 0};
        } else {
            length = bytes / (shape->count - i);
        }
        shape->piece[i] = (struct kvec){at, length};
        bytes -= length;
        at += length + GAP;
    }
    shape->extent = kind == PAGES ? (size_t)SHAPE_PAGE * (shape->count + 2)
                                  : (size_t)(at - shape->arena) + SHAPE_PAGE / 2;
    memset(shape->arena, GUARD, shape->extent);
    memset(shape->image, GUARD, shape->extent);
}

void wl_shape_fill(const struct shape *shape, uint8_t *into, uint32_t skip, const uint8_t *content)
{
    uint32_t i;

    for (i = 0; i < shape->count; i++) {
        size_t begin = skip < shape->piece[i].iov_len ? skip : shape->piece[i].iov_len;
        size_t length = shape->piece[i].iov_len - begin;

        skip -= begin;
        if (length == 0)
            continue;
        memcpy(into + ((uint8_t *)shape->piece[i].iov_base - shape->arena) + begin, content,
               length);
        content += length;
    }
}

bool wl_shape_is_as_its_image(const struct shape *shape)
{
    return memcmp(shape->arena, shape->image, shape->extent) == 0;
}

struct lnet_md wl_shape_md(struct shape *shape, int threshold, unsigned options,
                           struct lnet_handle_eq queue)
{
    struct lnet_md md = {.threshold = threshold, .options = options, .eq_handle = queue};

    if (shape->kind == PLAIN) {
        md.start = shape->piece[0].iov_base;
        md.length = shape->piece[0].iov_len;
    } else {
        md.start = shape->kind == PAGES ? (void *)shape->page : (void *)shape->piece;
        md.length = shape->count;
        md.options |= shape->kind == PAGES ? LNET_MD_KIOV : LNET_MD_IOVEC;
    }
    md.user_ptr = md.start;
    return md;
}
