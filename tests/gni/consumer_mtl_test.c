/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls of Open MPI's matching layer (mtl/ofi) to libfabric. */
#include "consumer_frame.h"

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

/* Each rank sends to all ranks. */
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

/* More operations end than the queue has entries before the queue is read. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_158_open_mpi_mtl),
    };

    return cmocka_run_group_tests_name("consumers", tests, NULL, NULL);
}
