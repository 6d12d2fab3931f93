/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What programs that were written for libfabric's own gni provider rely on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "fixture.h"
#include "rdma/fi_ext_gni.h"

#define MS 1000000000ull /* in ps */

static const struct gni_how plain = {0};
static const struct gni_how counted = {.counters = true};

/* ---- closing --------------------------------------------------------------------------------- */

/* As libfabric's own provider: everything can be closed in any order; the endpoint still works. */
static int early_close_body(struct rank *rank)
{
    struct gni_side side;
    struct gni_memory memory;
    fi_addr_t self;
    uint64_t in = 0, out = 7, i;

    TRY(gni_open(&side, rank, &counted));
    TRY(gni_memory_open(&side, &memory, 4096, FI_SEND | FI_RECV));
    self = side.peers[rank_id(rank)];
    EXPECT_IS(fi_close(&side.fabric->fid), 0);
    EXPECT_IS(fi_close(&side.fabric->fid), -FI_EINVAL);
    EXPECT_IS(fi_close(&side.domain->fid), 0);
    EXPECT_IS(fi_close(&side.domain->fid), -FI_EINVAL);
    EXPECT_IS(fi_close(&side.av->fid), 0);
    EXPECT_IS(fi_close(&side.av->fid), -FI_EINVAL);
    for (i = 0; i < 6; i++)
        if (i != RECEIVES)
            EXPECT_IS(fi_close(&side.cntr[i]->fid), 0);
    EXPECT_IS(fi_close(&side.cntr[SENDS]->fid), -FI_EINVAL);
    EXPECT_IS(fi_recv(side.ep, &in, sizeof(in), NULL, FI_ADDR_UNSPEC, &in), 0);
    EXPECT_IS(gni_again(&side, fi_inject(side.ep, &out, sizeof(out), self)), 0);
    TRY(gni_count(&side, side.cntr[RECEIVES], 1));
    EXPECT_IS(in, 7);
    EXPECT_IS(fi_cq_read(side.rx_cq, &(struct fi_cq_tagged_entry){0}, 1), 1);
    EXPECT_IS(fi_close(&side.cntr[RECEIVES]->fid), 0);
    EXPECT_IS(fi_close(&side.tx_cq->fid), 0);
    EXPECT_IS(fi_close(&side.tx_cq->fid), -FI_EINVAL);
    EXPECT_IS(fi_close(&side.ep->fid), 0);
    EXPECT_IS(fi_close(&memory.mr->fid), 0); /* the last user of the domain and the fabric */
    free(memory.bytes);
    free(memory.all);
    free(side.peers);
    fi_freeinfo(side.hints);
    fi_freeinfo(side.info);
    return 0;
}

static void gni_27_closed_in_any_order(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.env = GNI_NOT_STRICT}, early_close_body);
}

static int early_stx_body(struct rank *rank)
{
    struct gni_side side;
    struct fid_stx *stx;
    struct fid_ep *ep;

    TRY(gni_open(&side, rank, &plain));
    EXPECT_IS(fi_stx_context(side.domain, NULL, &stx, NULL), 0);
    side.info->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
    EXPECT_IS(fi_endpoint(side.domain, side.info, &ep, NULL), 0);
    EXPECT_IS(fi_ep_bind(ep, &stx->fid, 0), 0);
    EXPECT_IS(fi_close(&stx->fid), 0);
    EXPECT_IS(fi_close(&stx->fid), -FI_EINVAL);
    EXPECT_IS(fi_close(&ep->fid), 0);
    return gni_close(&side);
}

static void gni_121_shared_context_closed_first(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.env = GNI_NOT_STRICT}, early_stx_body);
}

/* ---- binding and enabling -------------------------------------------------------------------- */

/* A shared transmit context of another domain, after one of this domain was bound. */
static int foreign_stx_body(struct rank *rank)
{
    struct fid_domain *other;
    struct fid_stx *stx, *foreign;
    struct gni_side side;
    struct fid_ep *ep;

    TRY(gni_open(&side, rank, &plain));
    EXPECT_IS(fi_domain(side.fabric, side.info, &other, NULL), 0);
    EXPECT_IS(fi_stx_context(side.domain, NULL, &stx, NULL), 0);
    EXPECT_IS(fi_stx_context(other, NULL, &foreign, NULL), 0);
    side.info->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
    EXPECT_IS(fi_endpoint(side.domain, side.info, &ep, NULL), 0);
    EXPECT_IS(fi_ep_bind(ep, &stx->fid, 0), 0);
    EXPECT_IS(fi_ep_bind(ep, &foreign->fid, 0), -FI_EINVAL);
    EXPECT_IS(fi_ep_bind(ep, &stx->fid, 0), -FI_EOPBADSTATE);
    EXPECT_IS(fi_close(&ep->fid), 0);
    EXPECT_IS(fi_close(&stx->fid), 0);
    EXPECT_IS(fi_close(&foreign->fid), 0);
    EXPECT_IS(fi_close(&other->fid), 0);
    return gni_close(&side);
}

static void gni_47_foreign_stx(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.env = GNI_NOT_STRICT}, foreign_stx_body);
}

static int open_contexts(struct gni_side *side, struct fid_cntr *cntr, struct fid_ep **sep,
                         struct fid_ep **tx, struct fid_ep **rx)
{
    struct rank *rank = side->rank;

    side->info->ep_attr->tx_ctx_cnt = side->info->ep_attr->rx_ctx_cnt = 1;
    EXPECT_IS(fi_scalable_ep(side->domain, side->info, sep, NULL), 0);
    EXPECT_IS(fi_scalable_ep_bind(*sep, &side->av->fid, 0), 0);
    EXPECT_IS(fi_tx_context(*sep, 0, NULL, tx, NULL), 0);
    EXPECT_IS(fi_rx_context(*sep, 0, NULL, rx, NULL), 0);
    EXPECT_IS(fi_ep_bind(*tx, &side->tx_cq->fid, FI_TRANSMIT), 0);
    EXPECT_IS(fi_enable(*tx), 0);
    EXPECT_IS(fi_ep_bind(*rx, &side->rx_cq->fid, FI_RECV), 0);
    EXPECT_IS(fi_ep_bind(*rx, &cntr->fid, FI_RECV | FI_READ), 0);
    EXPECT_IS(fi_ep_bind(*rx, &cntr->fid, FI_READ), -FI_EINVAL);
    EXPECT_IS(fi_enable(*rx), 0);
    EXPECT_IS(fi_ep_bind(*tx, &cntr->fid, FI_SEND), -FI_EOPBADSTATE);
    return fi_enable(*sep);
}

/* A receive context takes a counter of reads: those of the transmit context with its index. */
static int read_counter_body(struct rank *rank)
{
    struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP};
    struct fid_ep *sep, *tx, *rx;
    struct fid_cntr *cntr;
    struct gni_memory memory;
    struct gni_side side;
    fi_addr_t peer;
    char name[48];
    size_t bytes = sizeof(name);
    uint64_t word = 0;

    TRY(gni_open(&side, rank, &(struct gni_how){.two_cqs = true}));
    TRY(gni_memory_open(&side, &memory, 4096, FI_REMOTE_READ));
    EXPECT_IS(fi_cntr_open(side.domain, &attr, &cntr, NULL), 0);
    TRY(open_contexts(&side, cntr, &sep, &tx, &rx));
    EXPECT_IS(fi_getname(&sep->fid, name, &bytes), 0);
    EXPECT_IS(fi_av_insert(side.av, name, 1, &peer, 0, NULL), 1);
    *(uint64_t *)memory.bytes = 23;
    EXPECT_IS(gni_again(&side, fi_read(tx, &word, 8, NULL, peer, memory.all[0].address,
                                       memory.all[0].key, &word)),
              0);
    TRY(gni_count(&side, cntr, 1));
    EXPECT_IS(word, 23);
    EXPECT_IS(fi_cq_read(side.tx_cq, &(struct fi_cq_tagged_entry){0}, 1), 1);
    EXPECT_IS(fi_recv(rx, &word, 8, NULL, FI_ADDR_UNSPEC, NULL), 0);
    EXPECT_IS(gni_again(&side, fi_inject(tx, name, 8, peer)), 0);
    TRY(gni_count(&side, cntr, 2));
    EXPECT_IS(fi_cq_read(side.rx_cq, &(struct fi_cq_tagged_entry){0}, 1), 1);
    EXPECT_IS(fi_close(&cntr->fid), 0);
    EXPECT_IS(fi_close(&tx->fid), 0);
    EXPECT_IS(fi_close(&rx->fid), 0);
    EXPECT_IS(fi_close(&sep->fid), 0);
    TRY(gni_memory_close(&side, &memory));
    return gni_close(&side);
}

static void gni_40_read_counter_of_a_receive_context(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.env = GNI_NOT_STRICT}, read_counter_body);
}

/* What an endpoint accepts that has these queues and counters. */
static int allowed(struct gni_side *side, uint64_t cq, uint64_t counters)
{
    bool sends = ((cq | counters) & FI_SEND) != 0, writes = (cq & FI_SEND) || counters & FI_WRITE,
         reads = (cq & FI_SEND) || counters & FI_READ, receives = ((cq | counters) & FI_RECV) != 0;
    const uint64_t events[] = {FI_SEND, FI_RECV, FI_WRITE, FI_READ};
    struct rank *rank = side->rank;
    struct gni_memory memory;
    struct fid_ep *ep;
    uint64_t word = 1, old = 0, place, key, i;
    fi_addr_t self = side->peers[0];

    TRY(gni_memory_open(side, &memory, 4096, FI_REMOTE_READ | FI_REMOTE_WRITE));
    place = memory.all[0].address;
    key = memory.all[0].key;
    EXPECT_IS(fi_endpoint(side->domain, side->info, &ep, NULL), 0);
    EXPECT_IS(fi_ep_bind(ep, &side->tx_cq->fid, cq), 0);
    for (i = 0; i < 4; i++)
        if (counters & events[i])
            EXPECT_IS(fi_ep_bind(ep, &side->cntr[i]->fid, events[i]), 0);
    EXPECT_IS(fi_ep_bind(ep, &side->av->fid, 0), 0);
    EXPECT_IS(fi_enable(ep), 0);
    EXPECT_IS(fi_recv(ep, &old, 8, NULL, FI_ADDR_UNSPEC, NULL), receives ? 0 : -FI_ENOCQ);
    EXPECT_IS(gni_again(side, fi_send(ep, &word, 8, NULL, self, NULL)), sends ? 0 : -FI_ENOCQ);
    EXPECT_IS(gni_again(side, fi_write(ep, &word, 8, NULL, self, place, key, NULL)),
              writes ? 0 : -FI_ENOCQ);
    EXPECT_IS(gni_again(side, fi_read(ep, &old, 8, NULL, self, place, key, NULL)),
              reads ? 0 : -FI_ENOCQ);
    EXPECT_IS(gni_again(side, fi_atomic(ep, &word, 1, NULL, self, place + 8, key, FI_UINT64, FI_SUM,
                                        NULL)),
              writes ? 0 : -FI_ENOCQ);
    EXPECT_IS(gni_again(side, fi_fetch_atomic(ep, &word, 1, NULL, &old, NULL, self, place + 16, key,
                                              FI_UINT64, FI_SUM, NULL)),
              reads ? 0 : -FI_ENOCQ);
    EXPECT_IS(gni_again(side, fi_inject_write(ep, &word, 8, self, place + 24, key)), 0);
    EXPECT_IS(
        gni_again(side, fi_inject_atomic(ep, &word, 1, self, place + 32, key, FI_UINT64, FI_SUM)),
        0);
    while (*(volatile uint64_t *)(memory.bytes + 32) == 0) {
        fi_cq_read(side->rx_cq, &(struct fi_cq_tagged_entry){0}, 1);
        gni_pause(rank, MS);
    }
    EXPECT_IS(fi_close(&ep->fid), 0);
    return gni_memory_close(side, &memory);
}

static int allowed_body(struct rank *rank)
{
    static const uint64_t queues[] = {0, FI_SEND, FI_RECV, FI_SEND | FI_RECV};
    static const uint64_t counters[] = {FI_SEND, FI_RECV, FI_WRITE, FI_READ, FI_WRITE | FI_READ};
    const struct gni_how how = {.counters = true};
    struct fi_cq_tagged_entry entry;
    struct gni_side side;
    struct fid_ep *ep;
    size_t i;

    TRY(gni_open(&side, rank, &how));
    for (i = 0; i < 4; i++)
        TRY(allowed(&side, queues[i], 0));
    for (i = 0; i < 5; i++)
        TRY(allowed(&side, 0, counters[i]));
    /* an endpoint with nothing */
    EXPECT_IS(fi_endpoint(side.domain, side.info, &ep, NULL), 0);
    EXPECT_IS(fi_enable(ep), 0);
    EXPECT_IS(fi_tx_size_left(ep), 500);
    EXPECT_IS(fi_rx_size_left(ep), 500);
    EXPECT_IS(fi_inject(ep, &i, 8, side.peers[0]), -FI_ENOAV);
    EXPECT_IS(fi_close(&ep->fid), 0);
    while (fi_cq_read(side.tx_cq, &entry, 1) == 1)
        ;
    return gni_close(&side);
}

static void gni_41_without_queue_or_counter(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.env = GNI_NOT_STRICT,
                                  .yaml = GNI_BREAKS(
                                      "libfabric.completion-unread, libfabric.completion-dropped")},
            allowed_body);
}

/* The peer of an endpoint without a connection is the one that its fi_info names. */
static int peer_body(struct rank *rank)
{
    char name[48], peer[48] = {0};
    size_t bytes = sizeof(name);
    struct gni_side side;
    struct fid_ep *ep, *sep;

    TRY(gni_open(&side, rank, &plain));
    EXPECT_IS(fi_getname(&side.ep->fid, name, &bytes), 0);
    side.info->dest_addr = malloc(sizeof(name));
    side.info->dest_addrlen = sizeof(name);
    memcpy(side.info->dest_addr, name, sizeof(name));
    EXPECT_IS(fi_endpoint(side.domain, side.info, &ep, NULL), 0);
    EXPECT_IS(fi_scalable_ep(side.domain, side.info, &sep, NULL), 0);
    bytes = 0;
    EXPECT_IS(fi_getpeer(ep, NULL, &bytes), -FI_ETOOSMALL);
    EXPECT_IS(bytes, sizeof(name));
    EXPECT_IS(fi_getpeer(ep, peer, &bytes), 0);
    EXPECT(memcmp(peer, name, sizeof(name)) == 0);
    memset(peer, 0, sizeof(peer));
    EXPECT_IS(fi_getpeer(sep, peer, &bytes), 0);
    EXPECT(memcmp(peer, name, sizeof(name)) == 0);
    EXPECT_IS(fi_getpeer(side.ep, peer, &bytes), -FI_ENOTCONN);
    EXPECT_IS(fi_close(&ep->fid), 0);
    EXPECT_IS(fi_close(&sep->fid), 0);
    return gni_close(&side);
}

static void gni_30_peer_of_the_info(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.env = GNI_NOT_STRICT}, peer_body);
}

static int options_body(struct rank *rank)
{
    struct gni_side side;
    size_t bytes = 0;
    uint64_t value = 0;

    TRY(gni_open(&side, rank, &plain));
    EXPECT_IS(fi_getopt(&side.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, &bytes), 0);
    EXPECT(value == 64 && bytes == 8);
    return gni_close(&side);
}

/* The records of the header that no function uses. */
static struct gnix_auth_key_attr key_limits = {.user_key_limit = 7, .prov_key_limit = 8};
static struct gnix_ops_domain values = {.msg_rendezvous_thresh = 1, .eager_auto_progress = 2};

static int header_body(struct rank *rank)
{
    EXPECT_IS(sizeof(key_limits), 2 * sizeof(int));
    EXPECT_IS(offsetof(struct gnix_ops_domain, xpmem_enabled), 14 * sizeof(uint32_t));
    EXPECT_IS(sizeof(values), 17 * sizeof(uint32_t));
    return 0;
}

static void gni_25_gni_26_records_of_the_header(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.env = GNI_NOT_STRICT}, header_body);
}

static void gni_42_length_is_not_set(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.env = GNI_NOT_STRICT}, options_body);
}

/* ---- domains --------------------------------------------------------------------------------- */

/* Every number is accepted and read back, and the endpoint works with its least values. */
static int any_value_body(struct rank *rank)
{
    struct fi_gni_ops_domain *ops;
    struct fi_cq_tagged_entry entry;
    struct gni_side side;
    struct fid_domain *domain;
    uint32_t value, factor;
    bool on;
    int which;

    TRY(gni_open(&side, rank, &plain));
    for (factor = 0; factor < 3; factor++) {
        EXPECT_IS(fi_domain(side.fabric, side.info, &domain, NULL), 0);
        EXPECT_IS(fi_open_ops(&domain->fid, FI_GNI_DOMAIN_OPS_1, 0, (void **)&ops, NULL), 0);
        for (which = 0; which < GNI_NUM_DOM_OPS; which++) {
            if (which == GNI_MR_CACHE)
                continue;
            value = factor * (uint32_t)which + (uint32_t)which;
            on = value != 0;
            if (which == GNI_XPMEM_ENABLE)
                EXPECT_IS(ops->set_val(&domain->fid, which, &on), 0);
            else
                EXPECT_IS(ops->set_val(&domain->fid, which, &value), 0);
            value = 77;
            EXPECT_IS(
                ops->get_val(&domain->fid, which, which == GNI_XPMEM_ENABLE ? (void *)&on : &value),
                0);
            EXPECT(which == GNI_XPMEM_ENABLE ? on : value == (factor + 1) * (uint32_t)which);
        }
        EXPECT_IS(fi_close(&domain->fid), 0);
    }
    EXPECT_IS(fi_recv(side.ep, &value, 4, NULL, FI_ADDR_UNSPEC, &value), 0);
    EXPECT_IS(gni_again(&side, fi_inject(side.ep, &factor, 4, side.peers[0])), 0);
    TRY(gni_entry(&side, side.rx_cq, &entry));
    EXPECT_IS(value, 3);
    return gni_close(&side);
}

static int least_values(struct gni_side *side)
{
    struct rank *rank = side->rank;
    struct fi_gni_ops_domain *ops;
    uint32_t zero = 0;
    int which;

    EXPECT_IS(fi_open_ops(&side->domain->fid, FI_GNI_DOMAIN_OPS_1, 0, (void **)&ops, NULL), 0);
    for (which = GNI_CONN_TABLE_INITIAL_SIZE; which <= GNI_TX_CQ_SIZE; which++)
        EXPECT_IS(ops->set_val(&side->domain->fid, which, &zero), 0);
    return 0;
}

static int least_values_body(struct rank *rank)
{
    struct fi_cq_tagged_entry entry;
    struct gni_side side;
    uint64_t in, i;

    TRY(gni_open(&side, rank, &(struct gni_how){.before_ep = least_values}));
    for (i = 0; i < 20; i++) {
        EXPECT_IS(fi_recv(side.ep, &in, 8, NULL, FI_ADDR_UNSPEC, &in), 0);
        EXPECT_IS(gni_again(&side, fi_inject(side.ep, &i, 8, side.peers[1 - side.id])), 0);
        TRY(gni_entry(&side, side.rx_cq, &entry));
        EXPECT_IS(in, i);
    }
    return gni_finish(&side);
}

static void gni_25_any_value(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.env = GNI_NOT_STRICT}, any_value_body);
    gni_run(&(struct gni_machine){.ranks = 2, .env = GNI_NOT_STRICT}, least_values_body);
}

/* ---- address vectors ------------------------------------------------------------------------- */

struct name { /* as fi_getname gives it */
    uint32_t device_addr, cdm_id;
    uint32_t name_type : 8, cm_nic_cdm_id : 24;
    uint32_t cookie, more[8];
};

static int any_type_in(struct rank *rank, struct gni_side *side, enum fi_av_type type)
{
    struct fi_av_attr attr = {.type = type};
    struct name names[20] = {0}, found;
    struct fid_av *av;
    fi_addr_t addresses[20];
    char text[128];
    size_t bytes, i;

    for (i = 0; i < 20; i++)
        names[i] = (struct name){.device_addr = (uint32_t)i + 1,
                                 .cdm_id = (uint32_t)i + 2,
                                 .name_type = i & 0xff,
                                 .cm_nic_cdm_id = 0xbeef,
                                 .cookie = 0xdeadbeef};
    EXPECT_IS(fi_av_open(side->domain, &attr, &av, NULL), 0);
    EXPECT_IS(fi_av_insert(av, names, 20, addresses, 0, NULL), 20);
    for (i = 0; i < 20; i++) {
        bytes = sizeof(found);
        EXPECT_IS(fi_av_lookup(av, addresses[i], &found, &bytes), 0);
        EXPECT(memcmp(&found, &names[i], sizeof(found)) == 0);
        EXPECT_IS(addresses[i], type == FI_AV_TABLE ? i : (i + 2) << 32 | (i + 1));
    }
    bytes = sizeof(text);
    EXPECT(fi_av_straddr(av, &names[17], text, &bytes) == text);
    EXPECT(strcmp(text, "0001:0x00000012:0x00000013:17:0x00beef:0xdeadbeef:00") == 0);
    bytes = 10;
    EXPECT(fi_av_straddr(av, &names[17], text, &bytes) == text);
    EXPECT(bytes == 53 && strcmp(text, "0001:0x00") == 0);
    bytes = sizeof(found);
    EXPECT_IS(fi_av_lookup(av, 0xdeadbeef, NULL, &bytes), -FI_EINVAL);
    EXPECT_IS(fi_av_remove(av, addresses, 20, 0), 0);
    EXPECT_IS(fi_av_lookup(av, addresses[0], &found, &bytes),
              type == FI_AV_TABLE ? -FI_EINVAL : -FI_ENOENT);
    return fi_close(&av->fid);
}

static int any_type_body(struct rank *rank)
{
    struct name strange = {.device_addr = 1, .cdm_id = 2};
    struct gni_side side;
    fi_addr_t address;

    TRY(gni_open(&side, rank, &plain));
    TRY(any_type_in(rank, &side, FI_AV_MAP));
    TRY(any_type_in(rank, &side, FI_AV_TABLE));
    /* there is no endpoint of such a type */
    EXPECT_IS(fi_av_insert(side.av, &strange, 1, &address, 0, NULL), 1);
    EXPECT_IS(fi_inject(side.ep, &side, 8, address), -FI_EINVAL);
    return gni_close(&side);
}

static void gni_31_gni_34_gni_36_names_of_any_type(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.env = GNI_NOT_STRICT}, any_type_body);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_27_closed_in_any_order),
        cmocka_unit_test(gni_121_shared_context_closed_first),
        cmocka_unit_test(gni_47_foreign_stx),
        cmocka_unit_test(gni_40_read_counter_of_a_receive_context),
        cmocka_unit_test(gni_41_without_queue_or_counter),
        cmocka_unit_test(gni_42_length_is_not_set),
        cmocka_unit_test(gni_30_peer_of_the_info),
        cmocka_unit_test(gni_25_gni_26_records_of_the_header),
        cmocka_unit_test(gni_25_any_value),
        cmocka_unit_test(gni_31_gni_34_gni_36_names_of_any_type),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
