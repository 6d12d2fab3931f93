/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls of MPICH's device (ch4:ofi with the set "gni") to libfabric. */
#include "consumer_frame.h"

#define AM_BUFFERS 4
#define AM_BUFFER_BYTES (1u << 20)
#define AM_ROUNDS 8
#define AM_NUMBERS (AM_ROUNDS * 17 * 3) /* 17 powers of two */
#define AM_LEAST (65536u + 256u) /* below it a buffer is given back */

struct am_header {
    uint32_t source, length;
    uint64_t number;
};

struct am { /* active messages, over untagged ones */
    struct rank *rank;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_cntr *cntr;
    struct fid_ep *ep;
    fi_addr_t peers[RANKS];
    struct am_buffer {
        struct fi_context2 context;
        uint8_t *bytes;
    } buffers[AM_BUFFERS];
    struct fi_context2 sending;
    bool sent;
    bool seen[RANKS][AM_NUMBERS];
    uint64_t received, recycled;
};

static int am_post(struct am *a, struct am_buffer *buffer)
{
    struct iovec iov = {buffer->bytes, AM_BUFFER_BYTES};
    struct fi_msg message = {
        .msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = &buffer->context};
    struct rank *rank = a->rank;

    EXPECT_IS(fi_recvmsg(a->ep, &message, FI_MULTI_RECV | FI_COMPLETION), 0);
    return 0;
}

static int am_arrived(struct am *a, const struct fi_cq_tagged_entry *entry)
{
    struct rank *rank = a->rank;
    struct am_header header;

    memcpy(&header, entry->buf, sizeof(header));
    EXPECT(header.source < rank_size(rank) && entry->len == sizeof(header) + header.length);
    /* Completions need not come in the order of messages: each has its number, once. */
    EXPECT(header.number < AM_NUMBERS && !a->seen[header.source][header.number]);
    a->seen[header.source][header.number] = true;
    EXPECT(gni_filled((uint8_t *)entry->buf + sizeof(header), header.length,
                      header.number + header.source));
    a->received++;
    return 0;
}

static int am_progress(struct am *a)
{
    struct fi_cq_tagged_entry entries[16];
    struct rank *rank = a->rank;
    ssize_t count = fi_cq_read(a->cq, entries, 16), i;

    if (count == -FI_EAGAIN)
        return 0;
    EXPECT(count > 0);
    for (i = 0; i < count; i++) {
        if (entries[i].op_context == &a->sending) {
            a->sent = true;
            continue;
        }
        if ((entries[i].flags & FI_RECV) != 0)
            TRY(am_arrived(a, &entries[i]));
        if ((entries[i].flags & FI_MULTI_RECV) != 0) {
            a->recycled++;
            TRY(am_post(a, entries[i].op_context));
        }
    }
    return 0;
}
#define progress(cq) am_progress(a)

static int am_getinfo(struct am *a)
{
    struct fi_info *hints = fi_allocinfo(), *list, *info;
    struct rank *rank = a->rank;
    bool seen = false;

    EXPECT_IS(fi_getinfo(FI_VERSION(1, 5), NULL, NULL, 0, NULL, &list), 0);
    for (info = list; info != NULL; info = info->next)
        seen |= strstr(info->fabric_attr->prov_name, "gni") != NULL;
    EXPECT(seen);
    fi_freeinfo(list);
    hints->mode = FI_CONTEXT | FI_ASYNC_IOV | FI_RX_CQ_DATA | FI_CONTEXT2;
    hints->caps = FI_RMA | FI_WRITE | FI_READ | FI_REMOTE_WRITE | FI_REMOTE_READ | FI_ATOMICS |
                  FI_MSG | FI_MULTI_RECV | FI_DIRECTED_RECV;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mode = FI_RESTRICTED_COMP;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->control_progress = hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->domain_attr->av_type = FI_AV_TABLE;
    hints->domain_attr->mr_mode = BASIC;
    hints->tx_attr->op_flags = FI_COMPLETION;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
    hints->tx_attr->comp_order = FI_ORDER_NONE;
    hints->rx_attr->op_flags = FI_COMPLETION;
    hints->fabric_attr->prov_name = strdup("gni");
    EXPECT_IS(fi_getinfo(FI_VERSION(1, 5), NULL, NULL, 0, hints, &a->info), 0);
    EXPECT_IS(a->info->domain_attr->threading, FI_THREAD_DOMAIN);
    EXPECT(a->info->tx_attr->inject_size > 0 && a->info->ep_attr->max_msg_size >= 65536 + 64);
    EXPECT(a->info->ep_attr->max_order_raw_size > 0 ||
           (a->info->tx_attr->msg_order & FI_ORDER_RAW) == 0);
    EXPECT(a->info->ep_attr->mem_tag_format != 0);
    fi_freeinfo(hints);
    return 0;
}

static int am_open(struct am *a, struct rank *rank)
{
    struct fi_av_attr shared = {.type = FI_AV_TABLE, .name = "FI_NAMED_AV_0", .flags = FI_READ};
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_TAGGED};
    struct fi_av_attr av = {.type = FI_AV_TABLE};
    struct fi_cntr_attr cntr = {.events = FI_CNTR_EVENTS_COMP};
    size_t least = AM_LEAST;
    char names[RANKS][64];
    uint32_t i;

    a->rank = rank;
    TRY(am_getinfo(a));
    EXPECT_IS(fi_fabric(a->info->fabric_attr, &a->fabric, NULL), 0);
    EXPECT_IS(fi_domain(a->fabric, a->info, &a->domain, NULL), 0);
    EXPECT(fi_av_open(a->domain, &shared, &a->av, NULL) <
           0); /* there is none: then one of its own */
    EXPECT_IS(fi_av_open(a->domain, &av, &a->av, NULL), 0);
    EXPECT_IS(fi_endpoint(a->domain, a->info, &a->ep, NULL), 0);
    EXPECT_IS(fi_cntr_open(a->domain, &cntr, &a->cntr, NULL), 0);
    EXPECT_IS(fi_ep_bind(a->ep, &a->cntr->fid, FI_READ | FI_WRITE), 0);
    EXPECT_IS(fi_cq_open(a->domain, &cq, &a->cq, NULL), 0);
    EXPECT_IS(fi_ep_bind(a->ep, &a->cq->fid, FI_SEND | FI_RECV | FI_SELECTIVE_COMPLETION), 0);
    EXPECT_IS(fi_ep_bind(a->ep, &a->av->fid, 0), 0);
    EXPECT_IS(fi_enable(a->ep), 0);
    TRY(exchange_names(rank, a->ep, names));
    for (i = 0; i < rank_size(rank); i++)
        EXPECT_IS(fi_av_insert(a->av, names[i], 1, &a->peers[i], 0, NULL), 1);
    EXPECT_IS(fi_setopt(&a->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof(least)),
              0);
    for (i = 0; i < AM_BUFFERS; i++) {
        a->buffers[i].bytes = malloc(AM_BUFFER_BYTES);
        TRY(am_post(a, &a->buffers[i]));
    }
    return 0;
}

/* Short ones are injected; others wait until they were sent. */
static int am_send(struct am *a, uint32_t to, uint32_t length, uint64_t number, uint8_t *room)
{
    struct rank *rank = a->rank;
    struct am_header header = {rank_id(rank), length, number};
    size_t bytes = sizeof(header) + length;
    struct iovec iov = {room, bytes};
    struct fi_msg message = {
        .msg_iov = &iov, .iov_count = 1, .addr = a->peers[to], .context = &a->sending};

    memcpy(room, &header, sizeof(header));
    gni_fill(room + sizeof(header), length, number + header.source);
    if (bytes <= a->info->tx_attr->inject_size) {
        RETRY(a->cq, fi_inject(a->ep, room, bytes, a->peers[to]));
        return 0;
    }
    a->sent = false;
    RETRY(a->cq, fi_sendmsg(a->ep, &message,
                            FI_COMPLETION | (number % 4 == 3 ? FI_DELIVERY_COMPLETE : 0)));
    while (!a->sent)
        TRY(am_progress(a));
    return 0;
}

/* Each length around the powers of two up to 64 KiB, to all others. */
static int am_messages(struct am *a)
{
    uint32_t me = rank_id(a->rank), size = rank_size(a->rank), peer, length, step;
    uint8_t *room = malloc(65536 + 64);
    uint64_t number = 0, round;

    for (round = 0; round < AM_ROUNDS; round++) {
        for (length = 1; length <= 65536; length *= 2) {
            for (step = 0; step < 3; step++) {
                uint32_t bytes = length + step - 1 < 65536 ? length + step - 1 : 65536;

                for (peer = 1; peer < size; peer++)
                    TRY(am_send(a, (me + peer) % size, bytes, number, room));
                number++;
            }
        }
    }
    while (a->received < number * (size - 1))
        TRY(am_progress(a));
    free(room);
    return 0;
}

/* MPI_Put, MPI_Get and MPI_Fetch_and_op: counted, not queued. */
static int am_windows(struct am *a)
{
    uint32_t me = rank_id(a->rank), peer = (me + 1) % rank_size(a->rank);
    uint64_t *window = aligned_alloc(4096, 16384), value = me + 1, result = 0;
    struct gni_place mine, all[RANKS];
    struct rank *rank = a->rank;
    struct fid_mr *mr;
    struct fi_ioc operand = {&value, 1}, fetched = {&result, 1};
    struct fi_rma_ioc target = {.count = 1};
    struct fi_msg_atomic message = {.msg_iov = &operand,
                                    .iov_count = 1,
                                    .rma_iov = &target,
                                    .rma_iov_count = 1,
                                    .datatype = FI_UINT64,
                                    .op = FI_SUM};
    uint64_t before = fi_cntr_read(a->cntr);

    memset(window, 0, 16384);
    EXPECT_IS(
        fi_mr_reg(a->domain, window, 16384, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0, 0, &mr, NULL),
        0);
    mine = (struct gni_place){(uintptr_t)window, fi_mr_key(mr)};
    rank_allgather(rank, &mine, all, sizeof(mine));
    RETRY(a->cq,
          fi_write(a->ep, &value, 8, NULL, a->peers[peer], all[peer].address, all[peer].key, NULL));
    while (fi_cntr_read(a->cntr) < before + 1)
        TRY(am_progress(a));
    message.addr = a->peers[peer];
    target.addr = all[peer].address;
    target.key = all[peer].key;
    RETRY(a->cq, fi_fetch_atomicmsg(a->ep, &message, &fetched, NULL, 1, 0));
    while (fi_cntr_read(a->cntr) < before + 2)
        TRY(am_progress(a));
    EXPECT_IS(result, value);
    RETRY(a->cq,
          fi_read(a->ep, &result, 8, NULL, a->peers[peer], all[peer].address, all[peer].key, NULL));
    while (fi_cntr_read(a->cntr) < before + 3)
        TRY(am_progress(a));
    EXPECT_IS(result, 2 * value);
    rank_barrier(rank);
    EXPECT_IS(fi_close(&mr->fid), 0);
    free(window);
    return 0;
}

static int am_close(struct am *a)
{
    struct rank *rank = a->rank;
    int i;

    rank_barrier(rank);
    for (i = 0; i < AM_BUFFERS; i++)
        EXPECT_IS(fi_cancel(&a->ep->fid, &a->buffers[i].context), 0);
    EXPECT_IS(fi_close(&a->ep->fid), 0);
    EXPECT_IS(fi_close(&a->cntr->fid), 0);
    EXPECT_IS(fi_close(&a->av->fid), 0);
    EXPECT_IS(fi_close(&a->cq->fid), 0);
    EXPECT_IS(fi_close(&a->domain->fid), 0);
    EXPECT_IS(fi_close(&a->fabric->fid), 0);
    fi_freeinfo(a->info);
    for (i = 0; i < AM_BUFFERS; i++)
        free(a->buffers[i].bytes);
    return 0;
}

static int am_body(struct rank *rank)
{
    struct am *a = calloc(1, sizeof(*a));

    TRY(am_open(a, rank));
    rank_barrier(rank);
    TRY(am_messages(a));
    EXPECT(a->recycled >= AM_BUFFERS);
    TRY(am_windows(a));
    TRY(am_close(a));
    free(a);
    return 0;
}

/* MPICH cancels its multi-receive buffers before it closes the endpoint, and never reads these
 * completions. */
static void gni_159_mpich(void **state)
{
    (void)state;
    gni_run(
        &(struct gni_machine){.ranks = RANKS, .yaml = GNI_BREAKS("libfabric.completion-unread")},
        am_body);
    gni_run(&(struct gni_machine){.ranks = RANKS,
                                  .per_node = 2,
                                  .yaml = GNI_BREAKS("libfabric.completion-unread")},
            am_body);
}

/* The programs above take their buffers from malloc: where these lie must not come from the host.
 */
static void same_run_whatever_the_host_allocated(void **state)
{
    const struct gni_machine machine = {.ranks = RANKS,
                                        .yaml = GNI_BREAKS("libfabric.completion-unread")};
    uint64_t first = gni_digest(&machine, am_body);
    void *shift;

    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip();
#endif
    shift = malloc(1000);
    assert_int_equal(gni_digest(&machine, am_body), first);
    free(shift);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_159_mpich),
        cmocka_unit_test(same_run_whatever_the_host_allocated),
    };

    return cmocka_run_group_tests_name("consumers", tests, NULL, NULL);
}
