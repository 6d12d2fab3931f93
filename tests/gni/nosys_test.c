/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What an object does not offer says so, through every entry of its tables: none is empty. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <rdma/fi_collective.h>
#include "fixture.h"

static const struct gni_how plain = {.no_peers = true};

/* ---- endpoints ------------------------------------------------------------------------------- */

static int no_contexts(struct rank *rank, struct fid_ep *ep)
{
    struct fid_ep *context;

    EXPECT_IS(fi_tx_context(ep, 0, NULL, &context, NULL), -FI_ENOSYS);
    EXPECT_IS(fi_rx_context(ep, 0, NULL, &context, NULL), -FI_ENOSYS);
    return 0;
}

/* Of an endpoint of any type but MSG. */
static int no_connections(struct rank *rank, struct fid_ep *ep)
{
    uint8_t name[48] = {0};
    size_t bytes = sizeof(name);
    struct fid_mc *group;

    EXPECT_IS(fi_connect(ep, name, NULL, 0), -FI_ENOSYS);
    EXPECT_IS(fi_accept(ep, NULL, 0), -FI_ENOSYS);
    EXPECT_IS(fi_shutdown(ep, 0), -FI_ENOSYS);
    EXPECT_IS(ep->cm->listen(NULL), -FI_ENOSYS);
    EXPECT_IS(ep->cm->reject(NULL, NULL, NULL, 0), -FI_ENOSYS);
    EXPECT_IS(fi_join(ep, name, 0, &group, NULL), -FI_ENOSYS);
    EXPECT_IS(fi_getpeer(ep, name, &bytes), -FI_ENOTCONN);
    EXPECT_IS(fi_getpeer(ep, NULL, &bytes), -FI_EINVAL);
    EXPECT_IS(fi_getpeer(ep, name, NULL), -FI_EINVAL);
    return 0;
}

static int endpoint_body(struct rank *rank)
{
    struct fi_tx_attr tx = {0};
    struct gni_side side;
    struct fid_stx *stx;
    struct fid_ep *ep;
    size_t size = 0, bytes = sizeof(size);
    void *ops;

    TRY(gni_open(&side, rank, &plain));
    TRY(no_contexts(rank, side.ep));
    TRY(no_connections(rank, side.ep));
    EXPECT_IS(fi_control(&side.ep->fid, FI_GETWAIT, &size), -FI_ENOSYS);
    EXPECT_IS(fi_setopt(&side.ep->fid, FI_OPT_ENDPOINT, 12345, &size, bytes), -FI_ENOPROTOOPT);
    EXPECT_IS(fi_getopt(&side.ep->fid, 12345, FI_OPT_MIN_MULTI_RECV, &size, &bytes),
              -FI_ENOPROTOOPT);
    EXPECT_IS(fi_ep_bind(side.ep, &side.domain->fid, 0), -FI_EINVAL);
    EXPECT_IS(fi_endpoint(side.domain, NULL, &ep, NULL), -FI_EINVAL);
    /* a shared transmit context */
    EXPECT_IS(fi_stx_context(side.domain, &tx, NULL, NULL), -FI_EINVAL);
    tx.size = 1 << 20;
    EXPECT_IS(fi_stx_context(side.domain, &tx, &stx, NULL), -FI_EINVAL);
    EXPECT_IS(fi_stx_context(side.domain, NULL, &stx, NULL), 0);
    ep = (struct fid_ep *)stx; /* its operations are those of an endpoint */
    EXPECT_IS(stx->ops->cancel(&stx->fid, NULL), -FI_ENOSYS);
    EXPECT_IS(stx->ops->getopt(&stx->fid, 0, 0, &size, &bytes), -FI_ENOPROTOOPT);
    EXPECT_IS(stx->ops->setopt(&stx->fid, 0, 0, &size, bytes), -FI_ENOPROTOOPT);
    EXPECT_IS(stx->ops->tx_ctx(ep, 0, NULL, &ep, NULL), -FI_ENOSYS);
    EXPECT_IS(stx->ops->rx_ctx(ep, 0, NULL, &ep, NULL), -FI_ENOSYS);
    EXPECT_IS(stx->ops->tx_size_left(ep), -FI_ENOSYS);
    EXPECT_IS(stx->ops->rx_size_left(ep), -FI_ENOSYS);
    EXPECT_IS(stx->fid.ops->bind(&stx->fid, &side.av->fid, 0), -FI_ENOSYS);
    EXPECT_IS(fi_control(&stx->fid, FI_GETWAIT, &size), -FI_ENOSYS);
    EXPECT_IS(fi_open_ops(&stx->fid, "ep ops 1", 0, &ops, NULL), -FI_EINVAL);
    EXPECT_IS(fi_close(&stx->fid), 0);
    return gni_close(&side);
}

static void gni_42_gni_47_endpoints(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, endpoint_body);
}

static int passive_body(struct rank *rank)
{
    const struct gni_how how = {.no_peers = true, .not_enabled = true};
    struct fid_pep *pep;
    struct gni_side side;
    size_t size = 0, bytes = sizeof(size);
    struct fid_ep *ep;
    void *ops;

    TRY(gni_open(&side, rank, &how));
    side.info->ep_attr->type = FI_EP_MSG;
    EXPECT_IS(fi_passive_ep(side.fabric, side.info, NULL, NULL), -FI_EINVAL);
    EXPECT_IS(fi_passive_ep(side.fabric, side.info, &pep, NULL), 0);
    ep = (struct fid_ep *)pep;
    EXPECT_IS(fi_control(&pep->fid, FI_GETWAIT, &size), -FI_ENOSYS);
    EXPECT_IS(fi_open_ops(&pep->fid, "ep ops 1", 0, &ops, NULL), -FI_EINVAL);
    EXPECT_IS(pep->ops->cancel(&pep->fid, NULL), -FI_ENOSYS);
    EXPECT_IS(pep->ops->tx_ctx(ep, 0, NULL, &ep, NULL), -FI_ENOSYS);
    EXPECT_IS(pep->ops->rx_ctx(ep, 0, NULL, &ep, NULL), -FI_ENOSYS);
    EXPECT_IS(pep->ops->tx_size_left(ep), -FI_ENOSYS);
    EXPECT_IS(pep->ops->rx_size_left(ep), -FI_ENOSYS);
    EXPECT_IS(pep->cm->getpeer(ep, &size, &bytes), -FI_ENOSYS);
    EXPECT_IS(pep->cm->connect(ep, &size, NULL, 0), -FI_ENOSYS);
    EXPECT_IS(pep->cm->accept(ep, NULL, 0), -FI_ENOSYS);
    EXPECT_IS(pep->cm->shutdown(ep, 0), -FI_ENOSYS);
    EXPECT_IS(pep->cm->join(ep, &size, 0, NULL, NULL), -FI_ENOSYS);
    EXPECT_IS(fi_close(&pep->fid), 0);
    side.info->ep_attr->type = FI_EP_RDM;
    return gni_close(&side);
}

static void gni_130_passive_endpoints(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, passive_body);
}

/* ---- scalable endpoints: their contexts transfer --------------------------------------------- */

static int no_messages(struct rank *rank, struct fid_ep *ep)
{
    struct fi_msg_tagged tagged = {0};
    struct iovec iov = {0};
    struct fi_msg msg = {0};
    uint64_t word = 0;

    EXPECT_IS(fi_recv(ep, &word, 8, NULL, 0, NULL), -FI_ENOSYS);
    EXPECT_IS(fi_recvv(ep, &iov, NULL, 1, 0, NULL), -FI_ENOSYS);
    EXPECT_IS(fi_recvmsg(ep, &msg, 0), -FI_ENOSYS);
    EXPECT_IS(fi_send(ep, &word, 8, NULL, 0, NULL), -FI_ENOSYS);
    EXPECT_IS(fi_sendv(ep, &iov, NULL, 1, 0, NULL), -FI_ENOSYS);
    EXPECT_IS(fi_sendmsg(ep, &msg, 0), -FI_ENOSYS);
    EXPECT_IS(fi_inject(ep, &word, 8, 0), -FI_ENOSYS);
    EXPECT_IS(fi_senddata(ep, &word, 8, NULL, 1, 0, NULL), -FI_ENOSYS);
    EXPECT_IS(fi_injectdata(ep, &word, 8, 1, 0), -FI_ENOSYS);
    EXPECT_IS(fi_trecv(ep, &word, 8, NULL, 0, 1, 0, NULL), -FI_ENOSYS);
    EXPECT_IS(fi_trecvv(ep, &iov, NULL, 1, 0, 1, 0, NULL), -FI_ENOSYS);
    EXPECT_IS(fi_trecvmsg(ep, &tagged, 0), -FI_ENOSYS);
    EXPECT_IS(fi_tsend(ep, &word, 8, NULL, 0, 1, NULL), -FI_ENOSYS);
    EXPECT_IS(fi_tsendv(ep, &iov, NULL, 1, 0, 1, NULL), -FI_ENOSYS);
    EXPECT_IS(fi_tsendmsg(ep, &tagged, 0), -FI_ENOSYS);
    EXPECT_IS(fi_tinject(ep, &word, 8, 0, 1), -FI_ENOSYS);
    EXPECT_IS(fi_tsenddata(ep, &word, 8, NULL, 1, 0, 1, NULL), -FI_ENOSYS);
    EXPECT_IS(fi_tinjectdata(ep, &word, 8, 1, 0, 1), -FI_ENOSYS);
    return 0;
}

static int no_rma(struct rank *rank, struct fid_ep *ep)
{
    struct fi_msg_rma msg = {0};
    struct iovec iov = {0};
    uint64_t word = 0;

    EXPECT_IS(fi_read(ep, &word, 8, NULL, 0, 0, 0, NULL), -FI_ENOSYS);
    EXPECT_IS(fi_readv(ep, &iov, NULL, 1, 0, 0, 0, NULL), -FI_ENOSYS);
    EXPECT_IS(fi_readmsg(ep, &msg, 0), -FI_ENOSYS);
    EXPECT_IS(fi_write(ep, &word, 8, NULL, 0, 0, 0, NULL), -FI_ENOSYS);
    EXPECT_IS(fi_writev(ep, &iov, NULL, 1, 0, 0, 0, NULL), -FI_ENOSYS);
    EXPECT_IS(fi_writemsg(ep, &msg, 0), -FI_ENOSYS);
    EXPECT_IS(fi_inject_write(ep, &word, 8, 0, 0, 0), -FI_ENOSYS);
    EXPECT_IS(fi_writedata(ep, &word, 8, NULL, 1, 0, 0, 0, NULL), -FI_ENOSYS);
    EXPECT_IS(fi_inject_writedata(ep, &word, 8, 1, 0, 0, 0), -FI_ENOSYS);
    return 0;
}

static int no_atomics(struct rank *rank, struct fid_ep *ep)
{
    struct fi_msg_atomic msg = {0};
    struct fi_ioc ioc = {0};
    uint64_t word = 0;
    size_t count;

    EXPECT_IS(fi_atomic(ep, &word, 1, NULL, 0, 0, 0, FI_UINT64, FI_SUM, NULL), -FI_ENOSYS);
    EXPECT_IS(fi_atomicv(ep, &ioc, NULL, 1, 0, 0, 0, FI_UINT64, FI_SUM, NULL), -FI_ENOSYS);
    EXPECT_IS(fi_atomicmsg(ep, &msg, 0), -FI_ENOSYS);
    EXPECT_IS(fi_inject_atomic(ep, &word, 1, 0, 0, 0, FI_UINT64, FI_SUM), -FI_ENOSYS);
    EXPECT_IS(fi_fetch_atomic(ep, &word, 1, NULL, &word, NULL, 0, 0, 0, FI_UINT64, FI_SUM, NULL),
              -FI_ENOSYS);
    EXPECT_IS(fi_fetch_atomicv(ep, &ioc, NULL, 1, &ioc, NULL, 1, 0, 0, 0, FI_UINT64, FI_SUM, NULL),
              -FI_ENOSYS);
    EXPECT_IS(fi_fetch_atomicmsg(ep, &msg, &ioc, NULL, 1, 0), -FI_ENOSYS);
    EXPECT_IS(fi_compare_atomic(ep, &word, 1, NULL, &word, NULL, &word, NULL, 0, 0, 0, FI_UINT64,
                                FI_CSWAP, NULL),
              -FI_ENOSYS);
    EXPECT_IS(fi_compare_atomicv(ep, &ioc, NULL, 1, &ioc, NULL, 1, &ioc, NULL, 1, 0, 0, 0,
                                 FI_UINT64, FI_CSWAP, NULL),
              -FI_ENOSYS);
    EXPECT_IS(fi_compare_atomicmsg(ep, &msg, &ioc, NULL, 1, &ioc, NULL, 1, 0), -FI_ENOSYS);
    EXPECT_IS(fi_atomicvalid(ep, FI_UINT64, FI_SUM, &count), -FI_ENOSYS);
    EXPECT_IS(fi_fetch_atomicvalid(ep, FI_UINT64, FI_SUM, &count), -FI_ENOSYS);
    EXPECT_IS(fi_compare_atomicvalid(ep, FI_UINT64, FI_CSWAP, &count), -FI_ENOSYS);
    return 0;
}

static int scalable_body(struct rank *rank)
{
    size_t size = 0, bytes = sizeof(size);
    struct fid_ep *sep, *context;
    struct gni_side side;
    void *ops;

    TRY(gni_open(&side, rank, &plain));
    EXPECT_IS(fi_scalable_ep(side.domain, NULL, &sep, NULL), -FI_EINVAL);
    side.info->ep_attr->tx_ctx_cnt = side.info->ep_attr->rx_ctx_cnt = 2;
    EXPECT_IS(fi_scalable_ep(side.domain, side.info, &sep, NULL), 0);
    TRY(no_messages(rank, sep));
    TRY(no_rma(rank, sep));
    TRY(no_atomics(rank, sep));
    TRY(no_connections(rank, sep));
    EXPECT_IS(fi_tx_context(sep, 2, NULL, &context, NULL), -FI_EINVAL);
    EXPECT_IS(fi_rx_context(sep, -1, NULL, &context, NULL), -FI_EINVAL);
    EXPECT_IS(fi_cancel(&sep->fid, NULL), -FI_ENOENT);
    EXPECT_IS(fi_getopt(&sep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &size, &bytes),
              -FI_ENOPROTOOPT);
    EXPECT_IS(fi_setopt(&sep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &size, bytes),
              -FI_ENOPROTOOPT);
    EXPECT_IS(fi_tx_size_left(sep), -FI_ENOSYS);
    EXPECT_IS(fi_rx_size_left(sep), -FI_ENOSYS);
    EXPECT_IS(fi_control(&sep->fid, FI_GETWAIT, &size), -FI_ENOSYS);
    EXPECT_IS(fi_open_ops(&sep->fid, "ep ops 1", 0, &ops, NULL), -FI_EINVAL);
    EXPECT_IS(fi_getname(&sep->fid, &size, NULL), -FI_EINVAL);
    EXPECT_IS(fi_close(&sep->fid), 0);
    side.info->ep_attr->tx_ctx_cnt = side.info->ep_attr->rx_ctx_cnt = 1;
    return gni_close(&side);
}

static void gni_46_scalable_endpoints(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, scalable_body);
}

/* ---- fabric and domain ----------------------------------------------------------------------- */

static int domain_body(struct rank *rank)
{
    struct fi_rx_attr rx = {0};
    struct gni_side side;
    struct fid_ep *srx;
    struct fid_eq *eq;
    struct fi_eq_attr attr = {0};
    void *ops;

    TRY(gni_open(&side, rank, &plain));
    EXPECT_IS(fi_srx_context(side.domain, &rx, &srx, NULL), -FI_ENOSYS);
    EXPECT_IS(fi_eq_open(side.fabric, &attr, &eq, NULL), 0);
    EXPECT_IS(fi_domain_bind(side.domain, &eq->fid, 0), -FI_ENOSYS);
    EXPECT_IS(side.fabric->fid.ops->bind(&side.fabric->fid, &eq->fid, 0), -FI_ENOSYS);
    EXPECT_IS(fi_control(&side.fabric->fid, FI_GETWAIT, NULL), -FI_ENOSYS);
    EXPECT_IS(fi_control(&side.domain->fid, FI_GETWAIT, NULL), -FI_ENOSYS);
    EXPECT_IS(fi_open_ops(&eq->fid, "fab ops 1", 0, &ops, NULL), -FI_EINVAL);
    EXPECT_IS(eq->fid.ops->bind(&eq->fid, &side.av->fid, 0), -FI_ENOSYS);
    EXPECT_IS(fi_close(&eq->fid), 0);
    return gni_close(&side);
}

static void gni_46_fabric_and_domain(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, domain_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_42_gni_47_endpoints),
        cmocka_unit_test(gni_130_passive_endpoints),
        cmocka_unit_test(gni_46_scalable_endpoints),
        cmocka_unit_test(gni_46_fabric_and_domain),
    };

    return cmocka_run_group_tests_name("not offered", tests, NULL, NULL);
}
