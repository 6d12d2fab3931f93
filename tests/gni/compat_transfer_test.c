/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What programs that were written for libfabric's own gni provider rely on: transfers and events.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "fixture.h"
#include "rdma/fi_ext_gni.h"

static const struct gni_how plain = {0};
static const struct gni_how counted = {.counters = true};

/* ---- transfers ------------------------------------------------------------------------------- */

/* The entry that releases a multi-receive buffer counts as a receive. */
static int multi_counter_body(struct rank *rank)
{
    uint8_t buffer[100], words[42] = {0};
    struct iovec iov = {buffer, sizeof(buffer)};
    struct fi_msg message = {.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC};
    struct fi_cq_tagged_entry entry;
    struct gni_side side;

    TRY(gni_open(&side, rank, &counted));
    EXPECT_IS(fi_recvmsg(side.ep, &message, FI_MULTI_RECV), 0);
    EXPECT_IS(gni_again(&side, fi_inject(side.ep, words, 42, side.peers[0])), 0);
    TRY(gni_entry(&side, side.rx_cq, &entry));
    EXPECT_IS(entry.flags, FI_MSG | FI_RECV);
    TRY(gni_entry(&side, side.rx_cq, &entry));
    EXPECT_IS(entry.flags, FI_MULTI_RECV);
    EXPECT_IS(fi_cntr_read(side.cntr[RECEIVES]), 2);
    return gni_close(&side);
}

static void gni_92_release_is_counted(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.env = GNI_NOT_STRICT}, multi_counter_body);
}

static int vectors_body(struct rank *rank)
{
    struct fi_cq_tagged_entry entry;
    struct gni_side side, other;
    struct gni_memory memory, foreign;
    struct fid_mr *mr, *mrs[2];
    uint64_t word = 5, result = 0;
    uint8_t *in;

    TRY(gni_open(&side, rank, &plain));
    TRY(gni_open(&other, rank, &plain));
    EXPECT_IS(fi_mr_reg(side.domain, &word, 8, 0, 0, 0, 0, &mr, NULL), -FI_EINVAL);
    EXPECT_IS(fi_sendv(side.ep, NULL, NULL, 0, side.peers[0], NULL), -FI_EINVAL);
    EXPECT_IS(fi_tsendv(side.ep, NULL, NULL, 0, side.peers[0], 1, NULL), -FI_EINVAL);
    /* descriptors that are none: of another domain, and the address of an array */
    TRY(gni_memory_open(&side, &memory, 1 << 17, FI_REMOTE_READ | FI_REMOTE_WRITE));
    TRY(gni_memory_open(&other, &foreign, 1 << 17, FI_REMOTE_READ | FI_REMOTE_WRITE));
    mrs[0] = mrs[1] = memory.mr;
    in = memory.bytes + (1 << 16);
    gni_fill(foreign.bytes, 1 << 16, 3);
    EXPECT_IS(fi_recv(side.ep, in, 1 << 16, mrs, FI_ADDR_UNSPEC, in), 0);
    EXPECT_IS(gni_again(&side,
                        fi_send(side.ep, foreign.bytes, 1 << 16, foreign.mr, side.peers[0], &side)),
              0);
    TRY(gni_entry(&side, side.tx_cq, &entry));
    TRY(gni_entry(&side, side.tx_cq, &entry));
    EXPECT(gni_filled(in, 1 << 16, 3));
    EXPECT_IS(gni_again(&side, fi_write(side.ep, in, 1 << 16, foreign.mr, side.peers[0],
                                        memory.all[0].address, memory.all[0].key, &side)),
              0);
    TRY(gni_entry(&side, side.tx_cq, &entry));
    EXPECT(gni_filled(memory.bytes, 1 << 16, 3));
    *(uint64_t *)memory.bytes = 10;
    EXPECT_IS(gni_again(&side, fi_fetch_atomic(side.ep, &word, 1, NULL, &result, mrs, side.peers[0],
                                               memory.all[0].address, memory.all[0].key, FI_UINT64,
                                               FI_SUM, &side)),
              0);
    TRY(gni_entry(&side, side.tx_cq, &entry));
    EXPECT(result == 10 && *(uint64_t *)memory.bytes == 15);
    TRY(gni_memory_close(&other, &foreign));
    TRY(gni_memory_close(&side, &memory));
    TRY(gni_close(&other));
    return gni_close(&side);
}

static void gni_62_gni_131_vectors_and_descriptors(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.env = GNI_NOT_STRICT}, vectors_body);
}

static int inject_errors(struct gni_side *side)
{
    struct rank *rank = side->rank;
    struct fi_gni_ops_domain *ops;
    uint32_t attempts = 1;
    int32_t failures = 1;

    EXPECT_IS(fi_open_ops(&side->domain->fid, FI_GNI_DOMAIN_OPS_1, 0, (void **)&ops, NULL), 0);
    EXPECT_IS(ops->set_val(&side->domain->fid, GNI_ERR_INJECT_COUNT, &failures), 0);
    EXPECT_IS(ops->set_val(&side->domain->fid, GNI_MAX_RETRANSMITS, &attempts), 0);
    return 0;
}

static int expect_failure(struct gni_side *side, uint64_t flags)
{
    struct rank *rank = side->rank;
    struct fi_cq_err_entry error = {0};

    TRY(gni_error(side, side->tx_cq, &error));
    EXPECT(error.op_context == side && error.flags == flags && error.len == 0 &&
           error.buf == NULL && error.data == 0 && error.olen == 0);
    EXPECT_IS(error.err, FI_ECANCELED);
    EXPECT_IS(error.prov_errno, FI_ECANCELED);
    return 0;
}

static int failures(struct rank *rank, enum fi_ep_type type)
{
    const struct gni_how how = {.type = type, .before_ep = inject_errors, .two_cqs = true};
    struct fi_cq_err_entry error = {0};
    struct gni_memory memory;
    struct gni_side side;

    TRY(gni_open(&side, rank, &how));
    TRY(gni_memory_open(&side, &memory, 1 << 17, FI_REMOTE_READ | FI_REMOTE_WRITE));
    EXPECT_IS(gni_again(&side, fi_send(side.ep, memory.bytes, 8, NULL, side.peers[0], &side)), 0);
    TRY(expect_failure(&side, FI_MSG | FI_SEND));
    EXPECT_IS(gni_again(&side, fi_write(side.ep, memory.bytes, 8, NULL, side.peers[0],
                                        memory.all[0].address + 64, memory.all[0].key, &side)),
              0);
    TRY(expect_failure(&side, FI_RMA | FI_WRITE));
    EXPECT_IS(gni_again(&side, fi_atomic(side.ep, memory.bytes, 1, NULL, side.peers[0],
                                         memory.all[0].address + 64, memory.all[0].key, FI_UINT64,
                                         FI_SUM, &side)),
              0);
    TRY(expect_failure(&side, FI_ATOMIC | FI_WRITE));
    /* a long message: at both sides */
    EXPECT_IS(fi_recv(side.ep, memory.bytes + 65536, 65536, NULL, FI_ADDR_UNSPEC, &memory), 0);
    EXPECT_IS(gni_again(&side, fi_send(side.ep, memory.bytes, 65536, NULL, side.peers[0], &side)),
              0);
    TRY(gni_error(&side, side.rx_cq, &error));
    EXPECT(error.op_context == &memory && error.err == FI_ECANCELED);
    TRY(expect_failure(&side, FI_MSG | FI_SEND));
    TRY(gni_memory_close(&side, &memory));
    return gni_close(&side);
}

static int reliable_failures(struct rank *rank)
{
    return failures(rank, FI_EP_RDM);
}

static int datagram_failures(struct rank *rank)
{
    return failures(rank, FI_EP_DGRAM);
}

static void gni_103_gni_142_injected_failures_are_cancelled(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.env = GNI_NOT_STRICT}, reliable_failures);
    gni_run(&(struct gni_machine){.env = GNI_NOT_STRICT}, datagram_failures);
}

/* ---- event queues ---------------------------------------------------------------------------- */

static int many_events_body(struct rank *rank)
{
    struct fi_eq_attr attr = {.flags = FI_WRITE, .wait_obj = FI_WAIT_NONE};
    struct fi_eq_entry entry = {0};
    struct gni_side side;
    struct fid_eq *eq;
    uint32_t event, i;

    TRY(gni_open(&side, rank, &plain));
    EXPECT_IS(fi_eq_open(side.fabric, &attr, &eq, NULL), 0);
    EXPECT_IS(fi_eq_sread(eq, &event, &entry, sizeof(entry), 0, 0), -FI_EINVAL);
    for (i = 0; i < 1025; i++) {
        entry.data = i;
        EXPECT_IS(fi_eq_write(eq, FI_NOTIFY, &entry, sizeof(entry), 0), sizeof(entry));
    }
    for (i = 0; i < 1025; i++) {
        EXPECT_IS(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), sizeof(entry));
        EXPECT_IS(entry.data, i);
    }
    EXPECT_IS(fi_close(&eq->fid), 0);
    return gni_close(&side);
}

static void gni_115_many_events(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.env = GNI_NOT_STRICT}, many_events_body);
}

/* An event queue, and a completion queue of a wait set, that are closed before their users. */
static int queues_first_body(struct rank *rank)
{
    struct fi_wait_attr set_attr = {.wait_obj = FI_WAIT_UNSPEC};
    struct fi_eq_attr eq_attr = {.wait_obj = FI_WAIT_UNSPEC};
    struct fi_cq_attr cq_attr = {.wait_obj = FI_WAIT_SET};
    struct gni_side side;
    struct fid_wait *set;
    struct fid_pep *pep;
    struct fid_eq *eq;
    struct fid_cq *cq;
    struct fid_ep *ep;

    TRY(gni_open(&side, rank, &plain));
    EXPECT_IS(fi_wait_open(side.fabric, &set_attr, &set), 0);
    cq_attr.wait_set = set;
    EXPECT_IS(fi_cq_open(side.domain, &cq_attr, &cq, NULL), 0);
    EXPECT_IS(fi_endpoint(side.domain, side.info, &ep, NULL), 0);
    EXPECT_IS(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), 0);
    EXPECT_IS(fi_close(&cq->fid), 0);
    EXPECT_IS(fi_close(&set->fid), -FI_EBUSY); /* the endpoint keeps the queue in the set */
    EXPECT_IS(fi_close(&ep->fid), 0);
    EXPECT_IS(fi_close(&set->fid), 0);
    side.info->ep_attr->type = FI_EP_MSG;
    EXPECT_IS(fi_eq_open(side.fabric, &eq_attr, &eq, NULL), 0);
    EXPECT_IS(fi_passive_ep(side.fabric, side.info, &pep, NULL), 0);
    EXPECT_IS(fi_pep_bind(pep, &eq->fid, 0), 0);
    EXPECT_IS(fi_close(&eq->fid), 0);
    EXPECT_IS(fi_close(&eq->fid), -FI_EINVAL);
    EXPECT_IS(fi_close(&pep->fid), 0);
    return gni_close(&side);
}

static void gni_114_gni_115_queues_closed_first(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.env = GNI_NOT_STRICT}, queues_first_body);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_92_release_is_counted),
        cmocka_unit_test(gni_62_gni_131_vectors_and_descriptors),
        cmocka_unit_test(gni_103_gni_142_injected_failures_are_cancelled),
        cmocka_unit_test(gni_115_many_events),
        cmocka_unit_test(gni_114_gni_115_queues_closed_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
