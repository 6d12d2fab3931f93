/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libfabric as MPI libraries use it: what they ask for, their calls in their order, and what they
 * do with results. Each accepts only certain results, and takes anything else for a fatal error.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <cmocka.h>
#include "fixture.h"

#define US 1000000ull /* in ps */
#define RANKS 4u
#define BASIC (FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)

/* Everybody retries this one, and nothing else. */
#define RETRY(cq, call)                          \
    do {                                         \
        ssize_t result_;                         \
        while ((result_ = (call)) == -FI_EAGAIN) \
            if (progress(cq) != 0)               \
                return -1;                       \
        EXPECT_IS(result_, 0);                   \
    } while (0)

/* Names by rank go out of band, as an MPI library's do. */
static int exchange_names(struct rank *rank, struct fid_ep *ep, char (*all)[64])
{
    char mine[64] = {0};
    size_t bytes = sizeof(mine);

    EXPECT_IS(fi_getname(&ep->fid, mine, &bytes), 0);
    EXPECT(bytes > 0 && bytes <= sizeof(mine));
    rank_allgather(rank, mine, all, sizeof(mine));
    return 0;
}

/* ---- Open MPI, mtl/ofi ----------------------------------------------------------------------- */

#define MTL_EVENTS 100
#define MTL_SOURCE_SHIFT 32
#define MTL_SYNC_SEND (1ull << 61)
#define MTL_SYNC_ACK (1ull << 62)

struct mtl_request {
    struct fi_context2 context;
    bool done, cancelled, truncated, missing;
    size_t length;
    uint64_t tag, data;
};

struct mtl {
    struct rank *rank;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;
    fi_addr_t peers[RANKS];
    size_t most_events; /* of one read */
};

static int mtl_error(struct mtl *m)
{
    struct fi_cq_err_entry error = {0};
    struct mtl_request *request;
    struct rank *rank = m->rank;
    ssize_t result = fi_cq_readerr(m->cq, &error, 0);

    if (result == -FI_EAGAIN)
        return 0;
    EXPECT_IS(result, 1);
    EXPECT(error.op_context != NULL);
    request = error.op_context;
    EXPECT(!request->done);
    request->done = true;
    request->length = error.len;
    if (error.err == FI_ECANCELED)
        request->cancelled = true;
    else if (error.err == FI_ETRUNC)
        request->truncated = true;
    else if (error.err == FI_ENOMSG)
        request->missing = true;
    else
        return rank_fail(rank, "an MPI operation failed: %s", fi_strerror(error.err));
    return 0;
}

static int mtl_progress(struct mtl *m)
{
    struct fi_cq_tagged_entry entries[MTL_EVENTS];
    struct mtl_request *request;
    struct rank *rank = m->rank;
    ssize_t count = fi_cq_read(m->cq, entries, MTL_EVENTS), i;

    if (count == -FI_EAGAIN)
        return 0;
    if (count == -FI_EAVAIL)
        return mtl_error(m);
    EXPECT(count > 0 && count <= MTL_EVENTS);
    if ((size_t)count > m->most_events)
        m->most_events = (size_t)count;
    for (i = 0; i < count; i++) {
        request = entries[i].op_context;
        EXPECT(request != NULL && !request->done);
        request->done = true;
        request->length = entries[i].len;
        request->tag = entries[i].tag;
        request->data = (entries[i].flags & FI_REMOTE_CQ_DATA) != 0 ? entries[i].data : UINT64_MAX;
    }
    return 0;
}

static int mtl_wait(struct mtl *m, struct mtl_request *request)
{
    while (!request->done)
        TRY(mtl_progress(m));
    return 0;
}

static struct fi_info *mtl_hints(enum fi_threading threading)
{
    struct fi_info *hints = fi_allocinfo();

    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = FI_TAGGED | FI_LOCAL_COMM | FI_REMOTE_COMM | FI_DIRECTED_RECV;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
    hints->tx_attr->op_flags = hints->rx_attr->op_flags = FI_COMPLETION;
    hints->domain_attr->threading = threading;
    hints->domain_attr->control_progress = FI_PROGRESS_UNSPEC;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->domain_attr->av_type = FI_AV_MAP;
    hints->domain_attr->cq_data_size = sizeof(uint32_t);
    return hints;
}

/* The first one that is not excluded by the beginning of its name. */
static struct fi_info *mtl_select(struct fi_info *list)
{
    static const char *const excluded[] = {"shm", "sockets", "tcp", "udp", "rstream", "usnic"};
    struct fi_info *info;
    size_t i;

    for (info = list; info != NULL; info = info->next) {
        for (i = 0; i < sizeof(excluded) / sizeof(excluded[0]); i++)
            if (strncasecmp(info->fabric_attr->prov_name, excluded[i], strlen(excluded[i])) == 0)
                break;
        if (i == sizeof(excluded) / sizeof(excluded[0]))
            return info;
    }
    return NULL;
}

static int mtl_getinfo(struct mtl *m, enum fi_threading threading)
{
    struct fi_info *hints = mtl_hints(threading), *list, *found;
    struct rank *rank = m->rank;

    hints->fabric_attr->prov_name = strdup("gni"); /* as by OMPI_MCA_mtl_ofi_provider_include */
    EXPECT_IS(fi_getinfo(FI_VERSION(1, 5), NULL, NULL, 0, hints, &list), 0);
    found = mtl_select(list);
    EXPECT(found != NULL && strncmp(found->fabric_attr->prov_name, "gni", 3) == 0);
    m->info = fi_dupinfo(found);
    fi_freeinfo(list);
    fi_freeinfo(hints);
    EXPECT(m->info->domain_attr->cq_data_size >= 4);
    EXPECT_IS(m->info->domain_attr->threading, threading);
    m->info->domain_attr->mr_mode = FI_MR_BASIC; /* what it does for names that begin so */
    return 0;
}

static int mtl_open(struct mtl *m, struct rank *rank, enum fi_threading threading)
{
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_TAGGED, .size = MTL_EVENTS};
    struct fi_av_attr av = {.type = FI_AV_MAP};
    char names[RANKS][64];

    *m = (struct mtl){.rank = rank};
    TRY(mtl_getinfo(m, threading));
    EXPECT_IS(fi_fabric(m->info->fabric_attr, &m->fabric, NULL), 0);
    EXPECT_IS(fi_domain(m->fabric, m->info, &m->domain, NULL), 0);
    EXPECT_IS(fi_endpoint(m->domain, m->info, &m->ep, NULL), 0);
    EXPECT_IS(fi_cq_open(m->domain, &cq, &m->cq, NULL), 0);
    EXPECT_IS(fi_av_open(m->domain, &av, &m->av, NULL), 0);
    EXPECT_IS(fi_ep_bind(m->ep, &m->cq->fid, FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION), 0);
    EXPECT_IS(fi_ep_bind(m->ep, &m->av->fid, 0), 0);
    EXPECT_IS(fi_enable(m->ep), 0);
    TRY(exchange_names(rank, m->ep, names));
    for (uint32_t i = 0; i < rank_size(rank); i++) /* the number that was asked for */
        EXPECT_IS(fi_av_insert(m->av, names[i], 1, &m->peers[i], 0, NULL), 1);
    return 0;
}

static int mtl_close(struct mtl *m)
{
    struct rank *rank = m->rank;

    rank_barrier(rank);
    EXPECT_IS(fi_close(&m->ep->fid), 0);
    EXPECT_IS(fi_close(&m->cq->fid), 0);
    EXPECT_IS(fi_close(&m->av->fid), 0);
    EXPECT_IS(fi_close(&m->domain->fid), 0);
    EXPECT_IS(fi_close(&m->fabric->fid), 0);
    fi_freeinfo(m->info);
    return 0;
}

static uint64_t mtl_tag(uint32_t source, uint32_t tag)
{
    return (uint64_t)source << MTL_SOURCE_SHIFT | tag;
}

/* The source goes along as remote CQ data. Short ones are injected. */
static int mtl_send(struct mtl *m, uint32_t to, const void *bytes, size_t length, uint64_t tag,
                    struct mtl_request *request)
{
    struct rank *rank = m->rank;

#define progress(cq) mtl_progress(m)
    if (length <= m->info->tx_attr->inject_size) {
        RETRY(m->cq, fi_tinjectdata(m->ep, bytes, length, rank_id(rank), m->peers[to], tag));
        request->done = true;
        return 0;
    }
    RETRY(m->cq, fi_tsenddata(m->ep, bytes, length, NULL, rank_id(rank), m->peers[to], tag,
                              &request->context));
    return 0;
}

static int mtl_receive(struct mtl *m, uint32_t from, void *bytes, size_t length, uint64_t tag,
                       uint64_t ignore, struct mtl_request *request)
{
    struct rank *rank = m->rank;

    RETRY(m->cq,
          fi_trecv(m->ep, bytes, length, NULL, m->peers[from], tag, ignore, &request->context));
    return 0;
}

/* FI_PEEK, with FI_CLAIM for a matched probe. */
static int mtl_probe(struct mtl *m, uint32_t from, uint64_t tag, uint64_t flags,
                     struct mtl_request *request)
{
    struct rank *rank = m->rank;
    struct fi_msg_tagged message = {.addr = m->peers[from], .tag = tag, .context = request};

    *request = (struct mtl_request){0};
    RETRY(m->cq, fi_trecvmsg(m->ep, &message, flags));
    return mtl_wait(m, request);
}

static const size_t mtl_lengths[] = {0, 1, 8, 63, 64, 65, 1000, 8192, 8193, 16384, 65536, 300001};
#define MTL_LENGTHS (sizeof(mtl_lengths) / sizeof(mtl_lengths[0]))

/* Everybody sends to everybody. */
static int mtl_all_to_all(struct mtl *m)
{
    struct mtl_request *in = calloc(RANKS, sizeof(*in)), *out = calloc(RANKS, sizeof(*out));
    uint32_t me = rank_id(m->rank), size = rank_size(m->rank), peer;
    uint8_t *buffers[RANKS], *bytes = malloc(300001);
    struct rank *rank = m->rank;
    size_t i;

    for (i = 0; i < MTL_LENGTHS; i++) {
        size_t length = mtl_lengths[i];

        memset(in, 0, RANKS * sizeof(*in));
        memset(out, 0, RANKS * sizeof(*out));
        gni_fill(bytes, length, i * RANKS + me);
        for (peer = 0; peer < size; peer++) {
            buffers[peer] = length > 0 ? malloc(length) : NULL; /* MPI_Barrier: no buffer at all */
            TRY(mtl_receive(m, peer, buffers[peer], length, mtl_tag(peer, (uint32_t)i), 0,
                            &in[peer]));
        }
        for (peer = 0; peer < size; peer++)
            TRY(mtl_send(m, peer, bytes, length, mtl_tag(me, (uint32_t)i), &out[peer]));
        for (peer = 0; peer < size; peer++) {
            TRY(mtl_wait(m, &in[peer]));
            TRY(mtl_wait(m, &out[peer]));
            EXPECT(!in[peer].truncated && in[peer].length == length && in[peer].data == peer);
            EXPECT_IS(in[peer].tag, mtl_tag(peer, (uint32_t)i));
            EXPECT(gni_filled(buffers[peer], length, i * RANKS + peer));
            free(buffers[peer]);
        }
    }
    free(bytes);
    free(in);
    free(out);
    return 0;
}

/* MPI_Ssend: the receiver answers with an empty message. */
static int mtl_synchronous(struct mtl *m)
{
    uint32_t me = rank_id(m->rank), other = me ^ 1;
    struct mtl_request ack = {0}, request = {0};
    uint64_t word = 77;

    if (me % 2 == 0) {
        TRY(mtl_receive(m, other, NULL, 0, mtl_tag(other, 9) | MTL_SYNC_ACK, 0, &ack));
        TRY(mtl_send(m, other, &word, sizeof(word), mtl_tag(me, 9) | MTL_SYNC_SEND, &request));
        return mtl_wait(m, &ack);
    }
    TRY(mtl_receive(m, other, &word, sizeof(word), mtl_tag(other, 9), MTL_SYNC_SEND, &request));
    TRY(mtl_wait(m, &request));
    return mtl_send(m, other, NULL, 0, mtl_tag(me, 9) | MTL_SYNC_ACK, &ack);
}

/* MPI_Iprobe, MPI_Mprobe, MPI_Cancel, and a message that is too long. */
static int mtl_probes(struct mtl *m)
{
    uint32_t me = rank_id(m->rank), other = me ^ 1;
    struct mtl_request probe, request = {0}, send = {0};
    uint8_t bytes[200], in[200];
    struct rank *rank = m->rank;

    TRY(mtl_probe(m, other, mtl_tag(other, 20), FI_PEEK | FI_COMPLETION, &probe));
    EXPECT(probe.missing);
    rank_barrier(rank);
    gni_fill(bytes, sizeof(bytes), me);
    TRY(mtl_send(m, other, bytes, sizeof(bytes), mtl_tag(me, 20), &send));
    do
        TRY(mtl_probe(m, other, mtl_tag(other, 20), FI_PEEK | FI_COMPLETION, &probe));
    while (probe.missing);
    EXPECT_IS(probe.length, sizeof(bytes));
    TRY(mtl_probe(m, other, mtl_tag(other, 20), FI_PEEK | FI_CLAIM | FI_COMPLETION, &probe));
    EXPECT(!probe.missing && probe.length == sizeof(bytes));
    probe.done = false; /* the same context takes what was claimed */
    {
        struct iovec iov = {in, sizeof(in)};
        struct fi_msg_tagged message = {.msg_iov = &iov,
                                        .iov_count = 1,
                                        .addr = m->peers[other],
                                        .tag = mtl_tag(other, 20),
                                        .context = &probe};

        RETRY(m->cq, fi_trecvmsg(m->ep, &message, FI_CLAIM | FI_COMPLETION));
    }
    TRY(mtl_wait(m, &probe));
    EXPECT(gni_filled(in, sizeof(in), other));
    TRY(mtl_wait(m, &send));
    TRY(mtl_receive(m, other, in, 8, mtl_tag(other, 21), 0, &request));
    EXPECT_IS(fi_cancel(&m->ep->fid, &request.context), 0);
    TRY(mtl_wait(m, &request));
    EXPECT(request.cancelled);
    request = send = (struct mtl_request){0};
    TRY(mtl_receive(m, other, in, 100, mtl_tag(other, 22), 0, &request));
    TRY(mtl_send(m, other, bytes, sizeof(bytes), mtl_tag(me, 22), &send));
    TRY(mtl_wait(m, &request));
    EXPECT(request.truncated && gni_filled(in, 100, other));
    return mtl_wait(m, &send);
}

/* More ends than the queue was asked to hold before anybody looks. */
static int mtl_many(struct mtl *m)
{
    enum { MANY = 180 };
    uint32_t me = rank_id(m->rank), other = me ^ 1, i;
    struct mtl_request *in = calloc(MANY, sizeof(*in)), out = {0};
    struct rank *rank = m->rank;
    uint64_t *words = calloc(MANY, sizeof(*words)), word;

    for (i = 0; i < MANY; i++)
        TRY(mtl_receive(m, other, &words[i], 8, mtl_tag(other, 100 + i), 0, &in[i]));
    rank_barrier(rank);
    for (i = 0; i < MANY; i++) {
        word = i;
        TRY(mtl_send(m, other, &word, 8, mtl_tag(me, 100 + i), &out));
    }
    rank_barrier(rank);
    gni_pause(rank, 1000 * US);
    for (i = 0; i < MANY; i++) {
        TRY(mtl_wait(m, &in[i]));
        EXPECT_IS(words[i], i);
    }
    EXPECT_IS(m->most_events, MTL_EVENTS);
    free(in);
    free(words);
    return 0;
}
#undef progress

static int mtl_body(struct rank *rank, enum fi_threading threading)
{
    struct mtl m;

    TRY(mtl_open(&m, rank, threading));
    TRY(mtl_all_to_all(&m));
    TRY(mtl_synchronous(&m));
    TRY(mtl_probes(&m));
    TRY(mtl_many(&m));
    return mtl_close(&m);
}

static int mtl_safe(struct rank *rank)
{
    return mtl_body(rank, FI_THREAD_SAFE);
}

static int mtl_domain(struct rank *rank)
{
    return mtl_body(rank, FI_THREAD_DOMAIN);
}

static void gni_158_open_mpi_mtl(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = RANKS}, mtl_safe);
    gni_run(&(struct gni_machine){.ranks = RANKS, .per_node = 2}, mtl_domain);
}

/* ---- Open MPI, btl/ofi ----------------------------------------------------------------------- */

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
#undef progress

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

/* Each writes to the next one; nobody else does. */
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

/* ---- MPICH, ch4:ofi with the set "gni" ------------------------------------------------------- */

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
#undef progress

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

static void gni_159_mpich(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = RANKS}, am_body);
    gni_run(&(struct gni_machine){.ranks = RANKS, .per_node = 2}, am_body);
}

/* The programs above take their buffers from malloc: where these lie must not come from the host.
 */
static void same_run_whatever_the_host_allocated(void **state)
{
    const struct gni_machine machine = {.ranks = RANKS};
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
        cmocka_unit_test(gni_158_open_mpi_mtl),
        cmocka_unit_test(gni_158_open_mpi_btl),
        cmocka_unit_test(gni_159_mpich),
        cmocka_unit_test(same_run_whatever_the_host_allocated),
    };

    return cmocka_run_group_tests_name("consumers", tests, NULL, NULL);
}
