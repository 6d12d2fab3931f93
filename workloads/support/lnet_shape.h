/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory of each kind that a descriptor of LNet can name, with other bytes around it. */
#ifndef JACQUARD_WORKLOADS_LNET_SHAPE_H
#define JACQUARD_WORKLOADS_LNET_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <lnet/api.h>

/* One piece; LNET_MAX_IOV or fewer with gaps between them; pages, of which the last lies first. */
enum shape_kind { PLAIN, VECTOR, PAGES, KINDS };
#define SHAPE_PAGE 4096u

struct shape {
    uint8_t *arena, *image; /* the memory, and what it is to be in the end */
    size_t extent; /* how much of both is used */
    enum shape_kind kind;
    uint32_t count;
    struct kvec piece[LNET_MAX_IOV];
    lnet_kiov_t page[LNET_MAX_IOV];
};

bool wl_shape_alloc(struct shape *shape); /* false: no memory; wl_shape_free in either case */
void wl_shape_free(struct shape *shape);
/* `bytes` that begin `offset` bytes behind the begin of a page, in an arena of equal bytes. */
void wl_shape_make(struct shape *shape, enum shape_kind kind, uint32_t bytes, uint32_t offset);
/* Puts `content` into `into`, the arena or the image, from byte `skip` of the shape to its end. */
void wl_shape_fill(const struct shape *shape, uint8_t *into, uint32_t skip, const uint8_t *content);
bool wl_shape_is_as_its_image(const struct shape *shape);
struct lnet_md wl_shape_md(struct shape *shape, int threshold, unsigned options,
                           struct lnet_handle_eq queue);

#endif
