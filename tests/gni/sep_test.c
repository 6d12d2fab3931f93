/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Scalable endpoints and their contexts; transmit contexts that endpoints share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "fixture.h"
#include "rdma/fi_ext_gni.h"

static const struct gni_how bare = {.not_enabled = true, .no_peers = true};

#define CONTEXTS 4
#define RX_BITS 2

struct scalable {
    struct gni_side side; /* domain and CQ */
    struct fid_av *av;
    struct fid_ep *sep, *tx[CONTEXTS], *rx[CONTEXTS];
    fi_addr_t peers[2]; /* by rank */
};

static int open_contexts(struct scalable *s)
{
    struct rank *rank = s->side.rank;
    uint64_t i;

    for (i = 0; i < CONTEXTS; i++) {
        EXPECT_IS(fi_tx_context(s->sep, (int)i, NULL, &s->tx[i], (void *)(i + 1)), 0);
        EXPECT_IS(fi_ep_bind(s->tx[i], &s->side.tx_cq->fid, FI_TRANSMIT), 0);
        EXPECT_IS(fi_enable(s->tx[i]), 0);
        EXPECT_IS(fi_rx_context(s->sep, (int)i, NULL, &s->rx[i], (void *)(i + 1)), 0);
        EXPECT_IS(fi_ep_bind(s->rx[i], &s->side.tx_cq->fid, FI_RECV), 0);
        EXPECT_IS(fi_enable(s->rx[i]), 0);
        EXPECT_IS(fi_enable(s->rx[i]), -FI_EOPBADSTATE);
        EXPECT_IS(fi_ep_bind(s->rx[i], &s->side.tx_cq->fid, FI_RECV), -FI_EOPBADSTATE);
    }
    EXPECT_IS(fi_enable(s->sep), 0);
    return 0;
}

#define SERVICE "4711"

/* What the library says of a node and a service: it cannot know how many contexts are there. */
static int insert_by_service(struct scalable *s)
{
    struct rank *rank = s->side.rank;
    struct fi_info *info;
    char node[16];
    uint32_t i;

    rank_barrier(rank);
    for (i = 0; i < rank_size(rank); i++) {
        snprintf(node, sizeof(node), "nid%05u", i);
        EXPECT_IS(fi_getinfo(FI_VERSION(1, 17), node, SERVICE, 0, s->side.hints, &info), 0);
        EXPECT_IS(fi_av_insert(s->av, info->dest_addr, 1, &s->peers[i], 0, NULL), 1);
        fi_freeinfo(info);
    }
    return 0;
}

/* Names are exchanged, or are those of a service. */
static int open_by(struct scalable *s, struct rank *rank, const char *service)
{
    struct fi_av_attr attr = {.type = FI_AV_TABLE, .rx_ctx_bits = RX_BITS};
    struct fi_info *info;
    char mine[48], all[2][48];
    size_t bytes = sizeof(mine);
    uint32_t i;

    TRY(gni_open(&s->side, rank, &bare));
    EXPECT_IS(fi_av_open(s->side.domain, &attr, &s->av, NULL), 0);
    if (service != NULL)
        EXPECT_IS(fi_getinfo(FI_VERSION(1, 17), NULL, service, FI_SOURCE, s->side.hints, &info), 0);
    else
        info = fi_dupinfo(s->side.info);
    info->ep_attr->tx_ctx_cnt = info->ep_attr->rx_ctx_cnt = CONTEXTS;
    EXPECT_IS(fi_scalable_ep(s->side.domain, info, &s->sep, NULL), 0);
    fi_freeinfo(info);
    EXPECT_IS(fi_scalable_ep_bind(s->sep, &s->side.tx_cq->fid, 0), -FI_EINVAL);
    EXPECT_IS(fi_scalable_ep_bind(s->sep, &s->av->fid, 0), 0);
    TRY(open_contexts(s));
    if (service != NULL)
        return insert_by_service(s);
    EXPECT_IS(fi_getname(&s->sep->fid, mine, &bytes), 0);
    EXPECT_IS(bytes, sizeof(mine));
    rank_allgather(rank, mine, all, sizeof(mine));
    for (i = 0; i < rank_size(rank); i++)
        EXPECT_IS(fi_av_insert(s->av, all[i], 1, &s->peers[i], 0, NULL), 1);
    return 0;
}

static int open_scalable(struct scalable *s, struct rank *rank)
{
    return open_by(s, rank, NULL);
}

static int close_scalable(struct scalable *s)
{
    struct rank *rank = s->side.rank;
    int i;

    rank_barrier(rank);
    EXPECT_IS(fi_close(&s->sep->fid), -FI_EBUSY);
    for (i = 0; i < CONTEXTS; i++)
        EXPECT_IS(fi_close(&s->tx[i]->fid), 0);
    EXPECT_IS(fi_close(&s->sep->fid), -FI_EBUSY);
    for (i = CONTEXTS; i-- > 0;)
        EXPECT_IS(fi_close(&s->rx[i]->fid), 0);
    EXPECT_IS(fi_close(&s->av->fid), -FI_EBUSY);
    EXPECT_IS(fi_close(&s->sep->fid), 0);
    EXPECT_IS(fi_close(&s->av->fid), 0);
    return gni_close(&s->side);
}

/* Until `sent` sends have completed and a message has come to each receive context. */
static int collect(struct scalable *s, uint32_t sent, uint32_t received)
{
    struct rank *rank = s->side.rank;
    fi_addr_t peer = s->peers[1 - rank_id(rank)], source;
    struct fi_cq_tagged_entry entry;
    uint32_t seen[CONTEXTS] = {0}, i;

    while (sent + received > 0) {
        TRY(gni_entry_from(&s->side, s->side.tx_cq, &entry, &source));
        if ((entry.flags & FI_SEND) != 0) {
            EXPECT(sent-- > 0);
            continue;
        }
        EXPECT(received-- > 0);
        EXPECT_IS(source << RX_BITS >> RX_BITS, peer);
        i = *(uint32_t *)entry.op_context;
        EXPECT(i < CONTEXTS && entry.len == sizeof(uint32_t));
        seen[i]++;
    }
    for (i = 0; i < CONTEXTS; i++)
        EXPECT(seen[i] == CONTEXTS);
    return 0;
}

/* From each transmit context to each receive context. */
static int contexts_by(struct rank *rank, const char *service)
{
    uint32_t received[CONTEXTS][CONTEXTS][2], sent[CONTEXTS], i, j, peer = 1 - rank_id(rank);
    struct scalable *s = calloc(1, sizeof(*s));

    TRY(open_by(s, rank, service));
    for (i = 0; i < CONTEXTS; i++) {
        for (j = 0; j < CONTEXTS; j++) {
            received[i][j][0] = i;
            /*
             * the number that is sent lies behind the one that names the context where it was
             * posted
             */
            EXPECT_IS(
                fi_recv(s->rx[i], &received[i][j][1], 4, NULL, FI_ADDR_UNSPEC, &received[i][j][0]),
                0);
        }
        sent[i] = i;
    }
    rank_barrier(rank);
    for (i = 0; i < CONTEXTS; i++)
        for (j = 0; j < CONTEXTS; j++)
            EXPECT_IS(
                gni_again(&s->side, fi_send(s->tx[j], &sent[i], 4, NULL,
                                            fi_rx_addr(s->peers[peer], (int)i, RX_BITS), &sent[i])),
                0);
    EXPECT_IS(fi_send(s->tx[0], &sent[0], 4, NULL, FI_ADDR_NOTAVAIL, NULL), -FI_EINVAL);
    TRY(collect(s, CONTEXTS * CONTEXTS, CONTEXTS * CONTEXTS));
    for (i = 0; i < CONTEXTS; i++)
        for (j = 0; j < CONTEXTS; j++)
            EXPECT_IS(received[i][j][1], i);
    TRY(close_scalable(s));
    free(s);
    return 0;
}

static int contexts_body(struct rank *rank)
{
    return contexts_by(rank, NULL);
}

static int service_body(struct rank *rank)
{
    return contexts_by(rank, SERVICE);
}

static void gni_118_gni_122_contexts(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, contexts_body);
}

static void gni_118_contexts_of_a_service(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, service_body);
}

/* A context number that the peer does not have, though there are bits for it. */
static int beyond_body(struct rank *rank)
{
    struct fi_av_attr attr = {.type = FI_AV_MAP, .rx_ctx_bits = 4};
    struct scalable *s = calloc(1, sizeof(*s));
    struct fid_av *wide;
    struct fid_ep *ep;
    fi_addr_t address;
    char name[48];
    size_t bytes = sizeof(name);

    TRY(open_scalable(s, rank));
    EXPECT_IS(fi_getname(&s->sep->fid, name, &bytes), 0);
    EXPECT_IS(fi_av_open(s->side.domain, &attr, &wide, NULL), 0);
    EXPECT_IS(fi_av_insert(wide, name, 1, &address, 0, NULL), 1);
    EXPECT_IS(fi_endpoint(s->side.domain, s->side.info, &ep, NULL), 0);
    EXPECT_IS(fi_ep_bind(ep, &wide->fid, 0), 0);
    EXPECT_IS(fi_ep_bind(ep, &s->side.tx_cq->fid, FI_TRANSMIT | FI_RECV), 0);
    EXPECT_IS(fi_enable(ep), 0);
    EXPECT_IS(fi_send(ep, name, 1, NULL, fi_rx_addr(address, CONTEXTS, 4), NULL), -FI_EINVAL);
    EXPECT_IS(fi_close(&ep->fid), 0);
    EXPECT_IS(fi_close(&wide->fid), 0);
    TRY(close_scalable(s));
    free(s);
    return 0;
}

static void gni_118_beyond(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, beyond_body);
}

static int rename_it(struct rank *rank, struct fid_ep *sep)
{
    uint32_t name[12], again[12];
    size_t bytes = sizeof(name);

    EXPECT_IS(fi_getname(&sep->fid, name, &bytes), 0);
    EXPECT_IS(fi_setname(&sep->fid, name, bytes - 1), -FI_EINVAL);
    EXPECT_IS(fi_setname(&sep->fid, name, bytes), 0);
    name[1] = 4711; /* cdm_id */
    EXPECT_IS(fi_setname(&sep->fid, name, bytes), 0);
    EXPECT_IS(fi_getname(&sep->fid, again, &bytes), 0);
    EXPECT_IS(again[1], 4711);
    name[0] += 4; /* another NIC */
    EXPECT_IS(fi_setname(&sep->fid, name, bytes), -FI_EADDRNOTAVAIL);
    return 0;
}

static int errors_body(struct rank *rank)
{
    struct gni_side side;
    struct fid_ep *sep, *tx, *rx, *again;
    struct fi_tx_attr tx_attr = {.op_flags = FI_MATCH_COMPLETE};
    struct fi_info *info;

    TRY(gni_open(&side, rank, &bare));
    info = fi_dupinfo(side.info);
    info->ep_attr->tx_ctx_cnt = 129;
    EXPECT_IS(fi_scalable_ep(side.domain, info, &sep, NULL), -FI_EINVAL);
    info->ep_attr->tx_ctx_cnt = 3;
    info->ep_attr->rx_ctx_cnt = 2;
    EXPECT_IS(fi_scalable_ep(side.domain, info, NULL, NULL), -FI_EINVAL);
    EXPECT_IS(fi_scalable_ep(side.domain, NULL, &sep, NULL), -FI_EINVAL);
    info->ep_attr->type = FI_EP_MSG;
    EXPECT_IS(fi_scalable_ep(side.domain, info, &sep, NULL), -FI_ENOSYS);
    info->ep_attr->type = FI_EP_RDM;
    EXPECT_IS(fi_scalable_ep(side.domain, info, &sep, NULL), 0);
    fi_freeinfo(info);
    TRY(rename_it(rank, sep));
    EXPECT_IS(fi_tx_context(sep, 3, NULL, &tx, NULL), -FI_EINVAL);
    EXPECT_IS(fi_tx_context(sep, -1, NULL, &tx, NULL), -FI_EINVAL);
    EXPECT_IS(fi_rx_context(sep, 2, NULL, &rx, NULL), -FI_EINVAL);
    EXPECT_IS(fi_tx_context(sep, 0, &tx_attr, &tx, NULL), -FI_EINVAL);
    EXPECT_IS(fi_tx_context(sep, 2, NULL, &tx, NULL), 0);
    EXPECT_IS(fi_tx_context(sep, 2, NULL, &again, NULL), -FI_EBUSY);
    EXPECT_IS(fi_rx_context(sep, 1, NULL, &rx, NULL), 0);
    EXPECT_IS(fi_rx_context(sep, 1, NULL, &again, NULL), -FI_EBUSY);
    EXPECT_IS(fi_enable(tx), -FI_ENOAV);
    EXPECT_IS(fi_ep_bind(tx, &side.tx_cq->fid, FI_RECV), -FI_EINVAL);
    EXPECT_IS(fi_send(sep, &side, 1, NULL, 0, NULL), -FI_ENOSYS);
    EXPECT_IS(fi_close(&sep->fid), -FI_EBUSY);
    EXPECT_IS(fi_close(&rx->fid), 0);
    EXPECT_IS(fi_close(&sep->fid), -FI_EBUSY);
    EXPECT_IS(fi_close(&tx->fid), 0);
    EXPECT_IS(fi_close(&sep->fid), 0);
    return gni_close(&side);
}

static void gni_119_errors(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, errors_body);
}

/* ---- shared transmit contexts ---------------------------------------------------------------- */

static int few_descriptors(struct gni_side *side)
{
    struct rank *rank = side->rank;
    struct fi_gni_ops_domain *ops;
    uint32_t size = 32;

    EXPECT_IS(fi_open_ops(&side->domain->fid, FI_GNI_DOMAIN_OPS_1, 0, (void **)&ops, NULL), 0);
    EXPECT_IS(ops->set_val(&side->domain->fid, GNI_TX_CQ_SIZE, &size), 0);
    return 0;
}

static int open_sharing(struct gni_side *side, struct fid_stx *stx, struct fid_ep **ep)
{
    struct rank *rank = side->rank;
    struct fi_info *info = fi_dupinfo(side->info);

    info->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
    EXPECT_IS(fi_endpoint(side->domain, info, ep, NULL), 0);
    fi_freeinfo(info);
    EXPECT_IS(fi_ep_bind(*ep, &stx->fid, 0), 0);
    EXPECT_IS(fi_ep_bind(*ep, &side->av->fid, 0), 0);
    EXPECT_IS(fi_ep_bind(*ep, &side->tx_cq->fid, FI_TRANSMIT | FI_RECV), 0);
    EXPECT_IS(fi_enable(*ep), 0);
    return 0;
}

#define MESSAGES 400u

/* Both endpoints send; whatever is left of `sent` and `received` has completed behind it. */
static int sharing_body(struct rank *rank)
{
    const struct gni_how how = {.before_ep = few_descriptors, .cq_size = 2048};
    uint32_t sent = 0, received = 0, i, j, peer = 1 - rank_id(rank);
    fi_addr_t addresses[2][2];
    struct fi_cq_tagged_entry entry;
    struct fid_ep *eps[2];
    struct fid_stx *stx;
    struct gni_side side;
    uint64_t bytes[64] = {0}, arrived[64];

    TRY(gni_open(&side, rank, &how));
    EXPECT_IS(fi_stx_context(side.domain, NULL, &stx, NULL), 0);
    for (i = 0; i < 2; i++) {
        TRY(open_sharing(&side, stx, &eps[i]));
        TRY(gni_exchange(&side, eps[i], addresses[i]));
    }
    EXPECT_IS(fi_close(&stx->fid), -FI_EBUSY);
    for (i = 0; i < 2; i++)
        for (j = 0; j < MESSAGES; j++)
            EXPECT_IS(fi_recv(eps[i], arrived, sizeof(arrived), NULL, FI_ADDR_UNSPEC, NULL), 0);
    rank_barrier(rank);
    for (j = 0; j < MESSAGES; j++)
        for (i = 0; i < 2; i++)
            EXPECT_IS(gni_again(&side, fi_send(eps[i], bytes, sizeof(bytes), NULL,
                                               addresses[i][peer], NULL)),
                      0);
    while (sent < 2 * MESSAGES || received < 2 * MESSAGES) {
        TRY(gni_entry(&side, side.tx_cq, &entry));
        sent += (entry.flags & FI_SEND) != 0;
        received += (entry.flags & FI_RECV) != 0;
    }
    rank_barrier(rank);
    for (i = 0; i < 2; i++)
        EXPECT_IS(fi_close(&eps[i]->fid), 0);
    EXPECT_IS(fi_close(&stx->fid), 0);
    return gni_close(&side);
}

static void gni_120_shared_transmit(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, sharing_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_118_gni_122_contexts), cmocka_unit_test(gni_118_contexts_of_a_service),
        cmocka_unit_test(gni_118_beyond),           cmocka_unit_test(gni_119_errors),
        cmocka_unit_test(gni_120_shared_transmit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
