/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The calls of libfabric's fi_pingpong, in its order, for its three kinds of endpoints. Addresses,
 * which it exchanges over a TCP connection of its own, go out of band. Rank 0 is the server.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "fi/objects.h"
#include "fixture.h"

#define LARGEST (1u << 20)
#define ITERATIONS 10

struct pingpong {
    struct rank *rank;
    enum fi_ep_type type;
    bool server;
    struct fi_info *hints, *info, *listening;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_pep *pep;
    struct fid_ep *ep;
    struct fid_cq *tx_cq, *rx_cq;
    struct fid_mr *mr;
    struct fid_av *av;
    struct fid_eq *eq;
    fi_addr_t remote;
    uint8_t *buffer, *tx, *rx;
    uint64_t tx_seq, rx_seq, tx_done, rx_done;
    struct fi_context tx_context, rx_context;
};

/* ---- completions ----------------------------------------------------------------------------- */

static int until(struct pingpong *p, struct fid_cq *cq, uint64_t *done, uint64_t total)
{
    struct fi_cq_entry entry;
    struct rank *rank = p->rank;
    ssize_t result;

    while (*done < total) {
        result = fi_cq_read(cq, &entry, 1);
        if (result > 0)
            ++*done;
        else
            EXPECT_IS(result,
                      -FI_EAGAIN); /* an entry with an error is read only after -FI_EAVAIL */
    }
    return 0;
}

#define POST(call, cq, done, total)              \
    do {                                         \
        ssize_t result_;                         \
        while ((result_ = (call)) == -FI_EAGAIN) \
            if (until(p, cq, done, total) != 0)  \
                return -1;                       \
        EXPECT_IS(result_, 0);                   \
    } while (0)

static int post_receive(struct pingpong *p, size_t bytes)
{
    struct rank *rank = p->rank;

    POST(fi_recv(p->ep, p->rx, bytes, p->mr != NULL ? fi_mr_desc(p->mr) : NULL, 0, &p->rx_context),
         p->rx_cq, &p->rx_done, p->rx_seq); /* source 0 */
    p->rx_seq++;
    return 0;
}

static int inject(struct pingpong *p, size_t bytes)
{
    struct rank *rank = p->rank;

    gni_fill(p->tx, bytes, p->tx_seq);
    POST(fi_inject(p->ep, p->tx, bytes, p->remote), p->tx_cq, &p->tx_done, p->tx_seq);
    p->tx_seq++;
    p->tx_done++;
    return 0;
}

static int send(struct pingpong *p, size_t bytes)
{
    struct rank *rank = p->rank;

    gni_fill(p->tx, bytes, p->tx_seq);
    POST(fi_send(p->ep, p->tx, bytes, p->mr != NULL ? fi_mr_desc(p->mr) : NULL, p->remote,
                 &p->tx_context),
         p->tx_cq, &p->tx_done, p->tx_seq);
    p->tx_seq++;
    return until(p, p->tx_cq, &p->tx_done, p->tx_seq);
}

/* One message, and a new receive for the next one. */
static int receive(struct pingpong *p, size_t bytes)
{
    struct rank *rank = p->rank;

    TRY(until(p, p->rx_cq, &p->rx_done, p->rx_seq));
    EXPECT(gni_filled(p->rx, bytes, p->rx_seq - 1)); /* -v */
    return post_receive(p, LARGEST);
}

/* ---- beginning ------------------------------------------------------------------------------- */

static void fill_hints(struct pingpong *p)
{
    p->hints = fi_allocinfo();
    p->hints->ep_attr->type = p->type;
    p->hints->caps = FI_MSG;
    p->hints->mode = FI_CONTEXT | FI_CONTEXT2 | FI_MSG_PREFIX;
    p->hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    p->hints->fabric_attr->prov_name = strdup("gni");
    p->hints->tx_attr->tclass = FI_TC_LOW_LATENCY;
    p->hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    p->hints->domain_attr->threading = FI_THREAD_DOMAIN;
}

static int open_fabric(struct pingpong *p)
{
    struct fi_eq_attr eq = {.wait_obj = FI_WAIT_UNSPEC};
    struct rank *rank = p->rank;

    EXPECT_IS(fi_fabric(p->info->fabric_attr, &p->fabric, NULL), 0);
    EXPECT_IS(fi_eq_open(p->fabric, &eq, &p->eq, NULL), 0);
    return 0;
}

static int open_endpoint(struct pingpong *p, struct fi_info *info)
{
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_NONE};
    struct fi_av_attr av = {.type = info->domain_attr->av_type, .count = 1};
    struct rank *rank = p->rank;
    struct fi_objects objects;
    const char *call;

    EXPECT_IS(fi_domain(p->fabric, info, &p->domain, NULL), 0);
    p->buffer = aligned_alloc(4096, 2 * LARGEST);
    p->tx = p->buffer;
    p->rx = p->buffer + LARGEST;
    if ((info->domain_attr->mr_mode & FI_MR_LOCAL) != 0)
        EXPECT_IS(
            fi_mr_reg(p->domain, p->buffer, 2 * LARGEST, FI_SEND | FI_RECV, 0, 0, 0, &p->mr, NULL),
            0);
    cq.size = info->tx_attr->size;
    EXPECT_IS(fi_cq_open(p->domain, &cq, &p->tx_cq, &p->tx_cq), 0);
    cq.size = info->rx_attr->size;
    EXPECT_IS(fi_cq_open(p->domain, &cq, &p->rx_cq, &p->rx_cq), 0);
    if (p->type != FI_EP_MSG)
        EXPECT_IS(fi_av_open(p->domain, &av, &p->av, NULL), 0);
    objects = (struct fi_objects){.domain = p->domain,
                                  .info = info,
                                  .tx_cq = p->tx_cq,
                                  .rx_cq = p->rx_cq,
                                  .av = p->av,
                                  .eq = p->type == FI_EP_MSG ? p->eq : NULL};
    EXPECT_IS(fi_objects_endpoint(&objects, &p->ep, &call), 0);
    EXPECT_IS(fi_enable(p->ep), 0);
    return post_receive(p, LARGEST);
}

/* Its own name: first how long it is. */
static int name_of(struct pingpong *p, struct fid *fid, char *name)
{
    struct rank *rank = p->rank;
    size_t bytes = 0;

    EXPECT_IS(fi_getname(fid, NULL, &bytes), -FI_ETOOSMALL);
    EXPECT(bytes > 0 && bytes <= 64);
    EXPECT_IS(fi_getname(fid, name, &bytes), 0);
    return 0;
}

static int begin_unconnected(struct pingpong *p)
{
    char name[64] = {0}, all[2][64];
    struct rank *rank = p->rank;

    EXPECT_IS(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, p->hints, &p->info), 0);
    TRY(open_fabric(p));
    TRY(open_endpoint(p, p->info));
    TRY(name_of(p, &p->ep->fid, name));
    rank_allgather(rank, name, all, sizeof(name));
    EXPECT_IS(fi_av_insert(p->av, all[1 - rank_id(rank)], 1, &p->remote, 0, NULL), 1);
    return 0;
}

static int next_event(struct pingpong *p, uint32_t expected, struct fi_eq_cm_entry *entry)
{
    struct rank *rank = p->rank;
    uint32_t event;

    EXPECT_IS(fi_eq_sread(p->eq, &event, entry, sizeof(*entry), -1, 0), sizeof(*entry));
    EXPECT_IS(event, expected);
    return 0;
}

static int begin_connected(struct pingpong *p)
{
    char name[64] = {0}, all[2][64];
    struct rank *rank = p->rank;
    struct fi_eq_cm_entry entry;

    if (p->server) {
        EXPECT_IS(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, FI_SOURCE, p->hints, &p->listening), 0);
        p->info = p->listening;
        TRY(open_fabric(p));
        EXPECT_IS(fi_passive_ep(p->fabric, p->listening, &p->pep, NULL), 0);
        EXPECT_IS(fi_pep_bind(p->pep, &p->eq->fid, 0), 0);
        EXPECT_IS(fi_listen(p->pep), 0);
        TRY(name_of(p, &p->pep->fid, name));
    }
    rank_allgather(rank, name, all, sizeof(name));
    if (p->server) {
        TRY(next_event(p, FI_CONNREQ, &entry));
        EXPECT(entry.info != NULL && entry.info->dest_addr != NULL);
        TRY(open_endpoint(p, entry.info));
        EXPECT_IS(fi_accept(p->ep, NULL, 0), 0);
        p->info = entry.info;
    } else {
        p->hints->dest_addr = malloc(64);
        p->hints->dest_addrlen = 48;
        memcpy(p->hints->dest_addr, all[0], 64);
        EXPECT_IS(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, p->hints, &p->info), 0);
        TRY(open_fabric(p));
        TRY(open_endpoint(p, p->info));
        EXPECT_IS(fi_connect(p->ep, all[0], NULL, 0), 0);
    }
    TRY(next_event(p, FI_CONNECTED, &entry));
    EXPECT(entry.fid == &p->ep->fid);
    return 0;
}

/* ---- the game -------------------------------------------------------------------------------- */

static int play(struct pingpong *p, size_t bytes)
{
    int i, turn;

    for (i = 0; i < ITERATIONS; i++) {
        for (turn = 0; turn < 2; turn++) {
            if ((turn == 0) == p->server)
                TRY(receive(p, bytes));
            else
                TRY(bytes < p->info->tx_attr->inject_size ? inject(p, bytes) : send(p, bytes));
        }
    }
    return 0;
}

static int finalize(struct pingpong *p)
{
    struct iovec iov = {p->tx, 4};
    struct fi_msg message = {
        .msg_iov = &iov, .iov_count = 1, .addr = p->remote, .context = &p->tx_context};
    struct rank *rank = p->rank;
    void *descriptor = p->mr != NULL ? fi_mr_desc(p->mr) : NULL;

    message.desc = &descriptor;
    memcpy(p->tx, "fin", 4);
    POST(fi_sendmsg(p->ep, &message, FI_INJECT | FI_TRANSMIT_COMPLETE), p->tx_cq, &p->tx_done,
         p->tx_seq);
    p->tx_seq++;
    TRY(until(p, p->tx_cq, &p->tx_done, p->tx_seq));
    TRY(until(p, p->rx_cq, &p->rx_done, p->rx_seq));
    EXPECT(memcmp(p->rx, "fin", 4) == 0);
    return 0;
}

static int close_all(struct pingpong *p)
{
    struct fid *const fids[] = {
        FI_OBJECT(p->ep),    FI_OBJECT(p->pep),    FI_OBJECT(p->rx_cq),
        FI_OBJECT(p->tx_cq), FI_OBJECT(p->mr),     FI_OBJECT(p->av),
        FI_OBJECT(p->eq),    FI_OBJECT(p->domain), FI_OBJECT(p->fabric),
    };
    struct rank *rank = p->rank;
    size_t failed;

    if (p->type == FI_EP_MSG && !p->server)
        EXPECT_IS(fi_shutdown(p->ep, 0), 0);
    rank_barrier(rank);
    EXPECT_IS(fi_objects_close(fids, sizeof(fids) / sizeof(fids[0]), &failed), 0);
    free(p->buffer);
    fi_freeinfo(p->info);
    if (p->listening != NULL)
        fi_freeinfo(p->listening);
    fi_freeinfo(p->hints);
    return 0;
}

static int body(struct rank *rank, enum fi_ep_type type)
{
    struct pingpong p = {.rank = rank, .type = type, .server = rank_id(rank) == 0};
    size_t bytes;

    p.remote = FI_ADDR_UNSPEC;
    fill_hints(&p);
    TRY(type == FI_EP_MSG ? begin_connected(&p) : begin_unconnected(&p));
    rank_barrier(rank); /* the program's TCP connection says when both are ready */
    for (bytes = 1; bytes <= LARGEST; bytes *= 2)
        TRY(play(&p, bytes));
    TRY(play(&p, 64));
    TRY(play(&p, 4321));
    TRY(finalize(&p));
    return close_all(&p);
}

static int rdm_body(struct rank *rank)
{
    return body(rank, FI_EP_RDM);
}

static int dgram_body(struct rank *rank)
{
    return body(rank, FI_EP_DGRAM);
}

static int msg_body(struct rank *rank)
{
    return body(rank, FI_EP_MSG);
}

static void both(int (*which)(struct rank *))
{
    gni_run(&(struct gni_machine){.ranks = 2}, which);
    gni_run(&(struct gni_machine){.ranks = 2, .per_node = 2}, which);
}

static void gni_20_gni_160_rdm(void **state)
{
    (void)state;
    both(rdm_body);
}

static void gni_20_gni_160_dgram(void **state)
{
    (void)state;
    both(dgram_body);
}

static void gni_20_gni_160_msg(void **state)
{
    (void)state;
    both(msg_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_20_gni_160_rdm),
        cmocka_unit_test(gni_20_gni_160_dgram),
        cmocka_unit_test(gni_20_gni_160_msg),
    };

    return cmocka_run_group_tests_name("pingpong", tests, NULL, NULL);
}
