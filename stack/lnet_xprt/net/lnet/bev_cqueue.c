/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The consumer's side of the ring of event slots, part of lnet_main.c. The slots form a circle in
 * both address spaces:
 *
 *     consumer -> oldest event -> ... -> newest event -> producer -> free -> ... -> consumer
 *
 * The slot at `consumer` was taken last and is free for the producer only after the next get. New
 * slots go behind it, and the last of them becomes the consumer's.
 */
static struct nlx_core_buffer_event *bev_at(nlx_core_opaque_ptr_t address)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): the consumer's own pointer, as a number */
    return (struct nlx_core_buffer_event *)(uintptr_t)address;
}

static bool bev_cqueue_is_empty(const struct nlx_core_bev_cqueue *q)
{
    return m0_atomic64_get(&q->cbcq_count) == 0;
}

static size_t bev_cqueue_size(const struct nlx_core_bev_cqueue *q)
{
    return q->cbcq_nr;
}

/* What the consumer may look at at any time; the location of the producer changes meanwhile. */
static bool bev_cqueue_invariant(const struct nlx_core_bev_cqueue *q)
{
    int64_t count = m0_atomic64_get(&q->cbcq_count);

    return q->cbcq_nr >= M0_NET_LNET_BEVQ_MIN_SIZE && q->cbcq_consumer != 0 && count >= 0 &&
           (size_t)count < q->cbcq_nr;
}

static void bev_cqueue_init(struct nlx_core_bev_cqueue *q, struct nlx_core_buffer_event *first,
                            struct nlx_core_buffer_event *second)
{
    struct nlx_core_bev_link *a = &first->cbe_tm_link, *b = &second->cbe_tm_link;

    a->cbl_c_self = (nlx_core_opaque_ptr_t)(uintptr_t)first;
    b->cbl_c_self = (nlx_core_opaque_ptr_t)(uintptr_t)second;
    a->cbl_c_next = b->cbl_c_self;
    b->cbl_c_next = a->cbl_c_self;
    a->cbl_p_next_loc = b->cbl_p_self_loc;
    b->cbl_p_next_loc = a->cbl_p_self_loc;
    q->cbcq_consumer = b->cbl_c_self;
    q->cbcq_producer_loc = a->cbl_p_self_loc;
    q->cbcq_nr = M0_NET_LNET_BEVQ_MIN_SIZE;
    m0_atomic64_set(&q->cbcq_count, 0);
    M0_POST(bev_cqueue_invariant(q) && nlx_core_kmem_loc_invariant(&q->cbcq_producer_loc));
}

static void bev_cqueue_fini(struct nlx_core_bev_cqueue *q)
{
    q->cbcq_nr = 0;
    q->cbcq_consumer = 0;
    m0_atomic64_set(&q->cbcq_count, 0);
    memset(&q->cbcq_producer_loc, 0, sizeof(q->cbcq_producer_loc));
}

static void bev_cqueue_add(struct nlx_core_bev_cqueue *q, struct nlx_core_buffer_event *slot)
{
    struct nlx_core_bev_link *consumer = &bev_at(q->cbcq_consumer)->cbe_tm_link;
    struct nlx_core_bev_link *link = &slot->cbe_tm_link;

    M0_PRE(bev_cqueue_invariant(q));
    M0_PRE(!nlx_core_kmem_loc_is_empty(&link->cbl_p_self_loc));
    link->cbl_c_self = (nlx_core_opaque_ptr_t)(uintptr_t)slot;
    link->cbl_c_next = consumer->cbl_c_next;
    link->cbl_p_next_loc = consumer->cbl_p_next_loc;
    consumer->cbl_c_next = link->cbl_c_self;
    consumer->cbl_p_next_loc = link->cbl_p_self_loc;
    q->cbcq_consumer = link->cbl_c_self;
    q->cbcq_nr++;
}

static struct nlx_core_buffer_event *bev_cqueue_get(struct nlx_core_bev_cqueue *q)
{
    struct nlx_core_buffer_event *slot;

    M0_PRE_EX(bev_cqueue_invariant(q));
    if (bev_cqueue_is_empty(q))
        return NULL;
    slot = bev_at(bev_at(q->cbcq_consumer)->cbe_tm_link.cbl_c_next);
    q->cbcq_consumer = slot->cbe_tm_link.cbl_c_self;
    m0_atomic64_dec(&q->cbcq_count);
    return slot;
}
