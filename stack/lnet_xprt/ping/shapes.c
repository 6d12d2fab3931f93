/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages and bulk transfers between memory of many shapes: the first segment begins anywhere in a
 * page, the last one ends anywhere, and the pages lie in the wrong order. The memory around the
 * segments, and what follows the data in them, has to stay as it was.
 */
#include <stdio.h>
#include <string.h>

#include "edges_pvt.h"
#include "lib/arith.h"
#include "lib/memory.h"
#include "lib/misc.h"

enum {
    PAGE = 4096,
    PAGES_MAX = 256,
    ARENA = (PAGES_MAX + 2) * PAGE, /* a page before and one behind */
    LENGTH_MAX = 1 << 20,
    GUARD = 0xa5,
    KEYS = 1000,
};

enum shape_transfer { MESSAGE, WRITE, READ, TRANSFERS };

/* One side: its memory, and what the memory should be. */
struct shape {
    struct edges_buffer buffer;
    char *arena, *image;
    size_t extent; /* bytes of both that are used */
    void *segment[PAGES_MAX];
    m0_bcount_t count[PAGES_MAX];
    unsigned offset;
};

struct shapes {
    struct edges *edges;
    struct shape from, to;
    struct m0_net_end_point *ep; /* of machine 0, for machine 1 */
    char *content; /* random bytes: each key begins elsewhere */
    unsigned key;
};

/* ---- memory ---------------------------------------------------------------------------------- */

/* Segments with room for `bytes`, all guards. The last page lies first. A single segment may cross
 * the border of a page. */
static void make(struct shape *shape, unsigned offset, m0_bcount_t bytes, bool single)
{
    uint32_t pages = single ? 2 : (uint32_t)m0_round_up(offset + bytes, PAGE) / PAGE, i;
    struct m0_vec *vec = &shape->buffer.nb.nb_buffer.ov_vec;

    shape->offset = offset;
    shape->extent = (size_t)(pages + 2) * PAGE;
    vec->v_nr = single ? 1 : pages;
    for (i = 0; i < vec->v_nr; i++) {
        unsigned begin = i == 0 ? offset : 0;

        shape->segment[i] = shape->arena + (size_t)(single ? 1 : pages - i) * PAGE + begin;
        shape->count[i] = single ? bytes : min64u(PAGE - begin, bytes);
        bytes -= shape->count[i];
    }
    vec->v_count = shape->count;
    shape->buffer.nb.nb_buffer.ov_buf = shape->segment;
    memset(shape->arena, GUARD, shape->extent);
    memset(shape->image, GUARD, shape->extent);
}

/* Writes the content into the segments, in the memory or (image) in what it should be. */
static void fill(const struct shape *shape, bool image, const char *content, m0_bcount_t bytes)
{
    uint32_t i;

    for (i = 0; bytes > 0; i++) {
        m0_bcount_t length = min64u(bytes, shape->count[i]);
        size_t at = (size_t)((char *)shape->segment[i] - shape->arena);

        memcpy((image ? shape->image : shape->arena) + at, content, length);
        content += length;
        bytes -= length;
    }
}

static bool is_right(const struct shape *shape)
{
    return memcmp(shape->arena, shape->image, shape->extent) == 0;
}

/* ---- transfers ------------------------------------------------------------------------------- */

static int failed(struct shapes *shapes, enum shape_transfer transfer, m0_bcount_t bytes,
                  const char *what)
{
    static const char *const names[] = {"a message", "a write", "a read"};

    return m0_edges__wrong(
        shapes->edges, "%s of %u bytes from offset %u in %u segments to %u in %u: %s",
        names[transfer], (unsigned)bytes, shapes->from.offset,
        (unsigned)shapes->from.buffer.nb.nb_buffer.ov_vec.v_nr, shapes->to.offset,
        (unsigned)shapes->to.buffer.nb.nb_buffer.ov_vec.v_nr, what);
}

/* The buffer of machine 1, which acts on the descriptor of the other one. */
static int act(struct edges_buffer *active, struct edges_buffer *passive,
               enum m0_net_queue_type qtype)
{
    int rc = m0_net_desc_copy(&passive->nb.nb_desc, &active->nb.nb_desc);

    if (rc == 0)
        rc = m0_edges__add(active, 1, qtype, 0, 0, 0);
    if (rc == 0)
        rc = m0_edges__expect_end(active, 0);
    if (rc == 0)
        rc = m0_edges__expect_end(passive, 0);
    m0_net_desc_free(&active->nb.nb_desc);
    m0_net_desc_free(&passive->nb.nb_desc);
    return rc;
}

static int move(struct shapes *shapes, enum shape_transfer transfer, m0_bcount_t bytes)
{
    struct edges_buffer *from = &shapes->from.buffer, *to = &shapes->to.buffer;
    int rc;

    from->nb.nb_length = bytes;
    switch (transfer) {
    case MESSAGE:
        from->nb.nb_ep = shapes->ep;
        rc = m0_edges__add(to, 0, M0_NET_QT_MSG_RECV, 0, bytes, 1);
        if (rc == 0)
            rc = m0_edges__add(from, 1, M0_NET_QT_MSG_SEND, 0, 0, 0);
        if (rc == 0)
            rc = m0_edges__expect_end(from, 0);
        return rc == 0 ? m0_edges__expect_end(to, 0) : rc;
    case WRITE:
        rc = m0_edges__add(to, 0, M0_NET_QT_PASSIVE_BULK_RECV, 0, 0, 0);
        return rc == 0 ? act(from, to, M0_NET_QT_ACTIVE_BULK_SEND) : rc;
    default:
        rc = m0_edges__add(from, 0, M0_NET_QT_PASSIVE_BULK_SEND, 0, 0, 0);
        return rc == 0 ? act(to, from, M0_NET_QT_ACTIVE_BULK_RECV) : rc;
    }
}

static int transfer_one(struct shapes *shapes, enum shape_transfer transfer, m0_bcount_t bytes)
{
    struct m0_net_domain *dom = &shapes->edges->dom;
    struct shape *from = &shapes->from, *to = &shapes->to;
    const char *content = shapes->content + ++shapes->key % KEYS * 8;
    int rc;

    fill(from, false, content, bytes);
    fill(from, true, content, bytes);
    fill(to, true, content, bytes);
    if (m0_net_buffer_register(&from->buffer.nb, dom) != 0 ||
        m0_net_buffer_register(&to->buffer.nb, dom) != 0)
        return failed(shapes, transfer, bytes, "a buffer was refused");
    rc = move(shapes, transfer, bytes);
    if (rc != 0)
        return rc;
    if (to->buffer.event[0].nbe_length != bytes || to->buffer.event[0].nbe_offset != 0)
        return failed(shapes, transfer, bytes, "its event has another length or offset");
    m0_net_buffer_deregister(&from->buffer.nb, dom);
    m0_net_buffer_deregister(&to->buffer.nb, dom);
    if (!is_right(from))
        return failed(shapes, transfer, bytes, "the sender's memory has changed");
    return is_right(to) ? 0 : failed(shapes, transfer, bytes, "the receiver's memory is wrong");
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Whether the transport takes a buffer of so many bytes in such segments. */
static bool fits(const struct shapes *shapes, unsigned offset, m0_bcount_t room)
{
    struct m0_net_domain *dom = &shapes->edges->dom;

    return room <= m0_net_domain_get_max_buffer_size(dom) &&
           m0_round_up(offset + room, PAGE) / PAGE <=
               (uint64_t)m0_net_domain_get_max_buffer_segments(dom);
}

static int all_lengths(struct shapes *shapes, unsigned from, unsigned to,
                       enum shape_transfer transfer)
{
    static const m0_bcount_t lengths[] = {1,    2,    100,   PAGE - 1,          PAGE,      PAGE + 1,
                                          8191, 8193, 65537, LENGTH_MAX - PAGE, LENGTH_MAX};
    static const m0_bcount_t more[] = {0, 1, PAGE}; /* room of the receiver behind the data */
    size_t i, k;
    int rc = 0;

    for (i = 0; i < ARRAY_SIZE(lengths); i++)
        for (k = 0; k < ARRAY_SIZE(more) && rc == 0; k++) {
            if (!fits(shapes, from, lengths[i]) || !fits(shapes, to, lengths[i] + more[k]))
                continue;
            make(&shapes->from, from, lengths[i], false);
            make(&shapes->to, to, lengths[i] + more[k], false);
            rc = transfer_one(shapes, transfer, lengths[i]);
            if (rc != 0 || lengths[i] > PAGE || more[k] != 0)
                continue;
            make(&shapes->from, from, lengths[i], true);
            make(&shapes->to, to, lengths[i], true);
            rc = transfer_one(shapes, transfer, lengths[i]);
        }
    return rc;
}

static int all(struct shapes *shapes)
{
    static const unsigned offsets[][2] = {
        {0, 0}, {1, 0}, {0, PAGE - 1}, {PAGE - 1, 1}, {511, 2048}};
    enum shape_transfer transfer;
    size_t i;

    for (i = 0; i < ARRAY_SIZE(offsets); i++)
        for (transfer = MESSAGE; transfer < TRANSFERS; transfer++)
            if (all_lengths(shapes, offsets[i][0], offsets[i][1], transfer) != 0)
                return -1;
    return 0;
}

static bool shape_make(struct shape *shape, struct edges *edges)
{
    shape->buffer.edges = edges;
    shape->buffer.nb.nb_callbacks = &m0_edges__callbacks;
    shape->arena = m0_alloc_aligned(ARENA, 12);
    shape->image = m0_alloc(ARENA);
    return shape->arena != NULL && shape->image != NULL;
}

static void shape_free(struct shape *shape)
{
    if (shape->arena != NULL)
        m0_free_aligned(shape->arena, ARENA, 12);
    m0_free(shape->image);
}

/* After a mistake buffers may be queued: nothing is freed then. */
int m0_edges__shapes(struct edges *edges)
{
    struct shapes *shapes;
    uint64_t random = 1;
    size_t i;
    int rc = -1;

    if (M0_ALLOC_PTR(shapes) == NULL)
        return m0_edges__wrong(edges, "no memory");
    shapes->edges = edges;
    shapes->content = m0_alloc(LENGTH_MAX + KEYS * 8);
    if (!shape_make(&shapes->from, edges) || !shape_make(&shapes->to, edges) ||
        shapes->content == NULL)
        return m0_edges__wrong(edges, "no memory");
    for (i = 0; i < LENGTH_MAX + KEYS * 8; i++)
        shapes->content[i] = (char)(m0_rnd64(&random) >> 56);
    if (m0_net_end_point_create(&shapes->ep, &edges->tm[1], edges->tm[0].ntm_ep->nep_addr) != 0)
        return m0_edges__wrong(edges, "an end point");
    rc = all(shapes);
    m0_net_end_point_put(shapes->ep);
    if (rc != 0)
        return rc;
    shape_free(&shapes->from);
    shape_free(&shapes->to);
    m0_free(shapes->content);
    m0_free(shapes);
    return 0;
}
