/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls of Open MPI's transfer layer (btl/ofi) to libfabric. */
#include "consumer_frame.h"

struct btl {
    struct rank *rank;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_ep *ep, *sep;
    struct btl_context { /* one for each thread that posts */
        struct fid_ep *tx;
        struct fid_cq *cq;
    } contexts[1];
    int context_count; /* its address vector has no bits for more */
    fi_addr_t peers[RANKS];
    uint8_t *memory;
    struct fid_mr *mr;
    struct gni_place all[RANKS];
    uint64_t ended;
};

static int btl_progress(struct btl *b, struct btl_context *context)
{
    struct fi_cq_entry entries[64];
    struct rank *rank = b->rank;
    ssize_t count = fi_cq_read(context->cq, entries, 64), i;

    if (count == -FI_EAGAIN)
        return 0;
    EXPECT(count > 0);
    for (i = 0; i < count; i++)
        EXPECT(entries[i].op_context != NULL);
    b->ended += (uint64_t)count;
    return 0;
}
#define progress(context) btl_progress(b, context)

static int btl_ends(struct btl *b, struct btl_context *context, uint64_t count)
{
    while (b->ended < count)
        TRY(btl_progress(b, context));
    b->ended = 0;
    return 0;
}

static int btl_getinfo(struct btl *b)
{
    struct fi_info *hints = fi_allocinfo();
    struct rank *rank = b->rank;

    hints->caps = FI_RMA | FI_ATOMIC;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->control_progress = hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->av_type = FI_AV_MAP;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
    hints->tx_attr->iov_limit = 1;
    hints->fabric_attr->prov_name = strdup("gni");
    EXPECT_IS(fi_getinfo(FI_VERSION(1, 5), NULL, NULL, 0, hints, &b->info), 0);
    fi_freeinfo(hints);
    EXPECT((b->info->caps & (FI_RMA | FI_ATOMIC)) == (FI_RMA | FI_ATOMIC));
    EXPECT(strstr(b->info->fabric_attr->prov_name, "ofi_rxm") == NULL);
    EXPECT((b->info->domain_attr->mr_mode &
            ~(FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR)) == 0);
    return 0;
}

static int btl_context(struct btl *b, int index)
{
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_NONE};
    struct btl_context *context = &b->contexts[index];
    struct rank *rank = b->rank;

    EXPECT_IS(fi_cq_open(b->domain, &attr, &context->cq, NULL), 0);
    if (b->sep == NULL) {
        context->tx = b->ep;
        EXPECT_IS(fi_ep_bind(b->ep, &context->cq->fid, FI_TRANSMIT | FI_RECV), 0);
        return 0;
    }
    EXPECT_IS(fi_tx_context(b->sep, index, NULL, &context->tx, NULL), 0);
    EXPECT_IS(fi_ep_bind(context->tx, &context->cq->fid, FI_TRANSMIT), 0);
    EXPECT_IS(fi_enable(context->tx), 0);
    return 0;
}

static int btl_open(struct btl *b, struct rank *rank, bool scalable)
{
    struct fi_av_attr av = {.type = FI_AV_MAP};
    char names[RANKS][64];
    uint32_t i;

    *b = (struct btl){.rank = rank, .context_count = 1};
    TRY(btl_getinfo(b));
    EXPECT_IS(fi_fabric(b->info->fabric_attr, &b->fabric, NULL), 0);
    EXPECT_IS(fi_domain(b->fabric, b->info, &b->domain, NULL), 0);
    EXPECT_IS(fi_av_open(b->domain, &av, &b->av, NULL), 0);
    if (scalable) {
        EXPECT(b->info->domain_attr->max_ep_tx_ctx > 1);
        b->info->ep_attr->tx_ctx_cnt = b->info->ep_attr->rx_ctx_cnt = (size_t)b->context_count;
        EXPECT_IS(fi_scalable_ep(b->domain, b->info, &b->sep, NULL), 0);
        EXPECT_IS(fi_scalable_ep_bind(b->sep, &b->av->fid, 0), 0);
    } else {
        EXPECT_IS(fi_endpoint(b->domain, b->info, &b->ep, NULL), 0);
        EXPECT_IS(fi_ep_bind(b->ep, &b->av->fid, 0), 0);
    }
    for (i = 0; i < (uint32_t)b->context_count; i++)
        TRY(btl_context(b, (int)i));
    EXPECT_IS(fi_enable(scalable ? b->sep : b->ep), 0);
    TRY(exchange_names(rank, scalable ? b->sep : b->ep, names));
    for (i = 0; i < rank_size(rank); i++)
        EXPECT_IS(fi_av_insert(b->av, names[i], 1, &b->peers[i], 0, NULL), 1);
    return 0;
}

#define BTL_BYTES 100000u

static int btl_register(struct btl *b)
{
    struct rank *rank = b->rank;
    struct gni_place mine;

    b->memory = aligned_alloc(4096, 102400);
    memset(b->memory, 0, 102400);
    EXPECT_IS(fi_mr_reg(b->domain, b->memory, 102400,
                        FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 1, 0, &b->mr,
                        NULL),
              0);
    mine = (struct gni_place){(uintptr_t)b->memory, fi_mr_key(b->mr)};
    rank_allgather(rank, &mine, b->all, sizeof(mine));
    return 0;
}

/* Put and get of all lengths; with a descriptor, and without one. */
static int btl_transfer(struct btl *b, struct btl_context *context, uint32_t peer)
{
    static const size_t lengths[] = {1, 8, 63, 64, 4096, 8192, 8193, 49999};
    struct fi_context2 operation;
    struct rank *rank = b->rank;
    const struct gni_place *place = &b->all[peer];
    uint8_t *out = b->memory + 50000, *in = malloc(50000);
    size_t i;

    for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        gni_fill(out, lengths[i], i + rank_id(rank));
        RETRY(context, fi_write(context->tx, out, lengths[i], fi_mr_desc(b->mr), b->peers[peer],
                                place->address, place->key, &operation));
        TRY(btl_ends(b, context, 1));
        memset(in, 0, lengths[i]);
        RETRY(context, fi_read(context->tx, in, lengths[i], NULL, b->peers[peer], place->address,
                               place->key, &operation));
        TRY(btl_ends(b, context, 1));
        EXPECT(gni_filled(in, lengths[i], i + rank_id(rank)));
    }
    free(in);
    return 0;
}

/* On counters behind the memory above: a word of 64 bits and one of 32. */
static int btl_atomics(struct btl *b, struct btl_context *context, uint32_t peer)
{
    uint64_t address = b->all[peer].address + BTL_BYTES, key = b->all[peer].key;
    uint64_t operand = 5, compare, result = 99;
    uint32_t operand32 = 6, compare32, result32 = 99;
    fi_addr_t to = b->peers[peer];
    struct fi_context2 operation;
    struct rank *rank = b->rank;

    RETRY(context, fi_atomic(context->tx, &operand, 1, NULL, to, address, key, FI_UINT64,
                             FI_ATOMIC_WRITE, &operation));
    TRY(btl_ends(b, context, 1));
    operand = 7;
    RETRY(context, fi_atomic(context->tx, &operand, 1, NULL, to, address, key, FI_UINT64, FI_SUM,
                             &operation));
    TRY(btl_ends(b, context, 1));
    RETRY(context, fi_fetch_atomic(context->tx, &operand, 1, NULL, &result, NULL, to, address, key,
                                   FI_UINT64, FI_SUM, &operation));
    TRY(btl_ends(b, context, 1));
    EXPECT_IS(result, 12);
    compare = 19;
    operand = 1000;
    RETRY(context, fi_compare_atomic(context->tx, &operand, 1, NULL, &compare, NULL, &result, NULL,
                                     to, address, key, FI_UINT64, FI_CSWAP, &operation));
    TRY(btl_ends(b, context, 1));
    EXPECT_IS(result, 19);
    RETRY(context, fi_fetch_atomic(context->tx, &operand32, 1, NULL, &result32, NULL, to,
                                   address + 8, key, FI_UINT32, FI_SUM, &operation));
    TRY(btl_ends(b, context, 1));
    EXPECT_IS(result32, 0);
    compare32 = 6;
    operand32 = 0;
    RETRY(context, fi_compare_atomic(context->tx, &operand32, 1, NULL, &compare32, NULL, &result32,
                                     NULL, to, address + 8, key, FI_UINT32, FI_CSWAP, &operation));
    TRY(btl_ends(b, context, 1));
    EXPECT_IS(result32, 6);
    return 0;
}

static int btl_close(struct btl *b)
{
    struct rank *rank = b->rank;
    int i;

    rank_barrier(rank);
    EXPECT_IS(fi_close(&b->mr->fid), 0);
    for (i = 0; b->sep != NULL && i < b->context_count; i++)
        EXPECT_IS(fi_close(&b->contexts[i].tx->fid), 0);
    EXPECT_IS(fi_close(b->sep != NULL ? &b->sep->fid : &b->ep->fid), 0);
    EXPECT_IS(fi_av_remove(b->av, b->peers, rank_size(rank), 0), 0);
    EXPECT_IS(fi_close(&b->av->fid), 0);
    for (i = 0; i < b->context_count; i++)
        EXPECT_IS(fi_close(&b->contexts[i].cq->fid), 0);
    EXPECT_IS(fi_close(&b->domain->fid), 0);
    EXPECT_IS(fi_close(&b->fabric->fid), 0);
    fi_freeinfo(b->info);
    free(b->memory);
    return 0;
}

/* Each rank writes to the next one only. */
static int btl_body(struct rank *rank, bool scalable)
{
    uint32_t peer = (rank_id(rank) + 1) % rank_size(rank);
    struct btl b;
    int i;

    TRY(btl_open(&b, rank, scalable));
    TRY(btl_register(&b));
    for (i = 0; i < b.context_count; i++) {
        TRY(btl_transfer(&b, &b.contexts[i], peer));
        TRY(btl_atomics(&b, &b.contexts[i], peer));
    }
    return btl_close(&b);
}

static int btl_plain(struct rank *rank)
{
    return btl_body(rank, false);
}

static int btl_scalable(struct rank *rank)
{
    return btl_body(rank, true);
}

static void gni_158_open_mpi_btl(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = RANKS}, btl_plain);
    gni_run(&(struct gni_machine){.ranks = RANKS}, btl_scalable);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_158_open_mpi_btl),
    };

    return cmocka_run_group_tests_name("consumers", tests, NULL, NULL);
}
