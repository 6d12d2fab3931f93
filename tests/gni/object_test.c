/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Fabrics, domains, address vectors, endpoints and registrations: what their calls return. */
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
static const struct gni_how bare = {.not_enabled = true, .no_peers = true};
#define VERSION FI_VERSION(1, 17)

/* ---- fabric and domain ----------------------------------------------------------------------- */

static int fabric_body(struct rank *rank)
{
    struct fi_fabric_attr other = {.prov_name = (char *)"gni", .name = (char *)"gnome"};
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_CONTEXT};
    struct gni_side side;
    struct fid_fabric *fabric = NULL;
    struct fid_domain *domain;
    struct fid_cq *cq;
    void *ops;

    TRY(gni_open(&side, rank, &counted));
    EXPECT(fi_fabric(&other, &fabric, NULL) == -FI_ENODATA && fabric == NULL);
    EXPECT_IS(fi_close(&side.fabric->fid), -FI_EBUSY);
    EXPECT_IS(fi_close(&side.domain->fid), -FI_EBUSY);
    EXPECT_IS(fi_close(&side.av->fid), -FI_EBUSY);
    EXPECT_IS(fi_close(&side.tx_cq->fid), -FI_EBUSY);
    EXPECT_IS(fi_close(&side.cntr[SENDS]->fid), -FI_EBUSY);
    /* They can still be used. */
    EXPECT_IS(fi_domain(side.fabric, side.info, &domain, NULL), 0);
    EXPECT_IS(fi_close(&domain->fid), 0);
    EXPECT_IS(fi_cq_open(side.domain, &attr, &cq, NULL), 0);
    EXPECT_IS(fi_close(&cq->fid), 0);
    EXPECT_IS(fi_open_ops(&side.fabric->fid, "fab ops 77", 0, &ops, NULL), -FI_EINVAL);
    EXPECT_IS(fi_open_ops(&side.domain->fid, "domain ops 77", 0, &ops, NULL), -FI_EINVAL);
    EXPECT_IS(fi_open_ops(&side.ep->fid, "ep ops 77", 0, &ops, NULL), -FI_EINVAL);
    return gni_close(&side);
}

static void gni_22_gni_27_gni_46_fabric(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, fabric_body);
}

/* Name, size and default of each value. */
static const struct {
    dom_ops_val_t which;
    uint32_t fallback;
} values[] = {
    {GNI_MSG_RENDEZVOUS_THRESHOLD, 16384},
    {GNI_RMA_RDMA_THRESHOLD, 8192},
    {GNI_CONN_TABLE_INITIAL_SIZE, 64},
    {GNI_CONN_TABLE_MAX_SIZE, 16384},
    {GNI_CONN_TABLE_STEP_SIZE, 2},
    {GNI_VC_ID_TABLE_CAPACITY, 128},
    {GNI_MBOX_PAGE_SIZE, 2 << 20},
    {GNI_MBOX_MAX_CREDIT, 64},
    {GNI_MBOX_MSG_MAX_SIZE, 16384},
    {GNI_RX_CQ_SIZE, 16384},
    {GNI_TX_CQ_SIZE, 2048},
    {GNI_MAX_RETRANSMITS, 5},
    {GNI_ERR_INJECT_COUNT, 0},
    {GNI_MR_SOFT_REG_LIMIT, 4096},
    {GNI_MR_HARD_REG_LIMIT, UINT32_MAX},
    {GNI_MR_HARD_STALE_REG_LIMIT, 128},
    {GNI_DGRAM_PROGRESS_TIMEOUT, 100},
    {GNI_EAGER_AUTO_PROGRESS, 0},
};

static int domain_values_body(struct rank *rank)
{
    struct fi_gni_ops_domain *ops;
    struct gni_side side;
    const char *cache = NULL, *none = "none", *bad = "magic", *udreg = "udreg";
    bool on = true;
    uint32_t value, next;
    size_t i;

    TRY(gni_open(&side, rank, &bare));
    EXPECT_IS(fi_open_ops(&side.domain->fid, FI_GNI_DOMAIN_OPS_1, 0, (void **)&ops, NULL), 0);
    for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        EXPECT_IS(ops->get_val(&side.domain->fid, values[i].which, &value), 0);
        EXPECT_IS(value, values[i].fallback);
        next = values[i].fallback == UINT32_MAX ? 7 : values[i].fallback * 2 + 2;
        EXPECT_IS(ops->set_val(&side.domain->fid, values[i].which, &next), 0);
        EXPECT_IS(ops->get_val(&side.domain->fid, values[i].which, &value), 0);
        EXPECT_IS(value, next);
    }
    EXPECT_IS(ops->get_val(&side.domain->fid, GNI_MR_CACHE, &cache), 0);
    EXPECT(strcmp(cache, "internal") == 0);
    EXPECT_IS(ops->set_val(&side.domain->fid, GNI_MR_CACHE, &none), 0);
    EXPECT_IS(ops->get_val(&side.domain->fid, GNI_MR_CACHE, &cache), 0);
    EXPECT(strcmp(cache, "none") == 0);
    EXPECT_IS(ops->set_val(&side.domain->fid, GNI_MR_CACHE, &bad), -FI_EINVAL);
    /* What has no effect is remembered. */
    EXPECT_IS(ops->set_val(&side.domain->fid, GNI_MR_CACHE, &udreg), 0);
    EXPECT_IS(ops->get_val(&side.domain->fid, GNI_MR_CACHE, &cache), 0);
    EXPECT(strcmp(cache, "udreg") == 0);
    EXPECT_IS(ops->set_val(&side.domain->fid, GNI_XPMEM_ENABLE, &on), 0);
    on = false;
    EXPECT_IS(ops->get_val(&side.domain->fid, GNI_XPMEM_ENABLE, &on), 0);
    EXPECT(on);
    EXPECT_IS(ops->get_val(&side.domain->fid, GNI_MR_UDREG_REG_LIMIT, &value), 0);
    EXPECT_IS(value, 2048);
    value = 100;
    EXPECT_IS(ops->set_val(&side.domain->fid, GNI_MR_UDREG_REG_LIMIT, &value), 0);
    EXPECT_IS(ops->get_val(&side.domain->fid, GNI_MR_UDREG_REG_LIMIT, &value), 0);
    EXPECT_IS(value, 100);
    EXPECT_IS(ops->set_val(&side.domain->fid, GNI_NUM_DOM_OPS, &value), -FI_EINVAL);
    EXPECT_IS(ops->get_val(&side.domain->fid, GNI_NUM_DOM_OPS, &value), -FI_EINVAL);
    EXPECT_IS(ops->flush_cache(&side.domain->fid), 0);
    return gni_close(&side);
}

static void gni_25_domain_values(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, domain_values_body);
}

/* Limits of the default credentials may change until a domain uses these. */
static int key_limits_body(struct rank *rank)
{
    static const gnix_auth_key_opt_t options[] = {GNIX_USER_KEY_LIMIT, GNIX_PROV_KEY_LIMIT};
    struct fi_gni_auth_key_ops_fab *keys;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    uint32_t value, next, i;
    struct fi_info *info;

    EXPECT_IS(fi_getinfo(VERSION, NULL, NULL, 0, NULL, &info), 0);
    EXPECT_IS(fi_fabric(info->fabric_attr, &fabric, NULL), 0);
    EXPECT_IS(fi_open_ops(&fabric->fid, FI_GNI_FAB_OPS_2, 0, (void **)&keys, NULL), 0);
    for (i = 0; i < 2; i++) {
        next = 4096;
        EXPECT_IS(keys->set_val(NULL, 0, options[i], &next), -FI_EINVAL);
        EXPECT_IS(keys->set_val(NULL, 0, options[i], NULL), -FI_EINVAL);
        next = 4095 - i;
        EXPECT_IS(keys->set_val(NULL, 0, options[i], &next), 0);
        EXPECT_IS(keys->get_val(NULL, 0, options[i], &value), 0);
        EXPECT_IS(value, next);
    }
    EXPECT_IS(fi_domain(fabric, info, &domain, NULL), 0);
    for (i = 0; i < 2; i++)
        EXPECT_IS(keys->set_val(NULL, 0, options[i], &next), -FI_EAGAIN);
    EXPECT_IS(fi_close(&domain->fid), 0);
    EXPECT_IS(fi_close(&fabric->fid), 0);
    fi_freeinfo(info);
    return 0;
}

static int fabric_values_body(struct rank *rank)
{
    struct fi_gni_auth_key_ops_fab *keys;
    struct fi_gni_ops_fab *ops;
    struct gni_side side;
    uint32_t value, limit = 4097, good = 100;

    TRY(gni_open(&side, rank, &bare));
    EXPECT_IS(fi_open_ops(&side.fabric->fid, FI_GNI_FAB_OPS_1, 0, (void **)&ops, NULL), 0);
    EXPECT_IS(ops->get_val(&side.fabric->fid, GNI_WAIT_THREAD_SLEEP, &value), 0);
    EXPECT_IS(value, 20);
    EXPECT_IS(ops->get_val(&side.fabric->fid, GNI_DEFAULT_USER_REGISTRATION_LIMIT, &value), 0);
    EXPECT_IS(value, 192);
    EXPECT_IS(ops->get_val(&side.fabric->fid, GNI_DEFAULT_PROV_REGISTRATION_LIMIT, &value), 0);
    EXPECT_IS(value, 64);
    EXPECT_IS(ops->set_val(&side.fabric->fid, GNI_DEFAULT_USER_REGISTRATION_LIMIT, &limit),
              -FI_EINVAL);
    EXPECT_IS(ops->set_val(&side.fabric->fid, GNI_DEFAULT_PROV_REGISTRATION_LIMIT, &limit),
              -FI_EINVAL);
    limit = 4096;
    EXPECT_IS(ops->set_val(&side.fabric->fid, GNI_DEFAULT_PROV_REGISTRATION_LIMIT, &limit), 0);
    EXPECT_IS(ops->get_val(&side.fabric->fid, GNI_DEFAULT_PROV_REGISTRATION_LIMIT, &value), 0);
    EXPECT_IS(value, 4096);
    EXPECT_IS(ops->set_val(&side.fabric->fid, GNI_DEFAULT_USER_REGISTRATION_LIMIT, &good), 0);
    EXPECT_IS(ops->set_val(&side.fabric->fid, GNI_WAIT_THREAD_SLEEP, NULL), -FI_EINVAL);
    EXPECT_IS(ops->get_val(&side.fabric->fid, GNI_NUM_FAB_OPS, &value), -FI_EINVAL);
    EXPECT_IS(fi_open_ops(&side.fabric->fid, FI_GNI_FAB_OPS_2, 0, (void **)&keys, NULL), 0);
    EXPECT_IS(keys->get_val(NULL, 0, GNIX_TOTAL_KEYS_NEEDED, &value), 0);
    EXPECT_IS(keys->set_val(NULL, 0, GNIX_TOTAL_KEYS_NEEDED, &value), -FI_EOPNOTSUPP);
    EXPECT_IS(keys->set_val(NULL, 0, GNIX_USER_KEY_MAX_PER_RANK, &value), -FI_EOPNOTSUPP);
    EXPECT_IS(keys->get_val(NULL, 0, GNIX_USER_KEY_LIMIT, NULL), -FI_EINVAL);
    return gni_close(&side);
}

static void gni_26_fabric_values(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, fabric_values_body);
    gni_run(&(struct gni_machine){0}, key_limits_body);
}

static int keys_body(struct rank *rank)
{
    struct fi_gni_auth_key key = {.type = GNIX_AKT_RAW};
    struct fid_domain *domain;
    struct gni_side side;
    uint8_t *bytes = (uint8_t *)&key;

    TRY(gni_open(&side, rank, &bare));
    key.raw.protection_key = rank_cookie(rank);
    side.info->domain_attr->auth_key = bytes;
    side.info->domain_attr->auth_key_size = 7;
    EXPECT_IS(fi_domain(side.fabric, side.info, &domain, NULL), -FI_EINVAL);
    side.info->domain_attr->auth_key_size = 8;
    EXPECT_IS(fi_domain(side.fabric, side.info, &domain, NULL), 0);
    EXPECT_IS(fi_close(&domain->fid), 0);
    side.fabric->api_version = FI_VERSION(1, 4);
    EXPECT_IS(fi_domain(side.fabric, side.info, &domain, NULL), -FI_EINVAL);
    side.fabric->api_version = VERSION;
    side.info->domain_attr->auth_key = NULL;
    side.info->domain_attr->auth_key_size = 0;
    return gni_close(&side);
}

static void gni_24_authorization(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, keys_body);
}

/* ---- names and address vectors --------------------------------------------------------------- */

static int names(struct rank *rank, uint32_t format, size_t size)
{
    struct gni_how how = {.addr_format = format, .not_enabled = true, .no_peers = true};
    char name[80], again[80], text[80];
    struct gni_side side;
    fi_addr_t address;
    size_t bytes = 0;

    TRY(gni_open(&side, rank, &how));
    EXPECT_IS(fi_getname(&side.ep->fid, NULL, &bytes), -FI_ETOOSMALL);
    EXPECT_IS(bytes, size);
    bytes = 10;
    EXPECT_IS(fi_getname(&side.ep->fid, name, &bytes), -FI_ETOOSMALL);
    EXPECT_IS(bytes, size);
    bytes = sizeof(name);
    EXPECT_IS(fi_getname(&side.ep->fid, name, &bytes), 0);
    EXPECT_IS(bytes, size);
    EXPECT_IS(fi_setname(&side.ep->fid, name, size - 1), -FI_EINVAL);
    EXPECT_IS(fi_setname(&side.ep->fid, NULL, size), -FI_EINVAL);
    EXPECT_IS(fi_getpeer(side.ep, again, &bytes), -FI_ENOTCONN);
    EXPECT_IS(fi_av_insert(side.av, name, 1, &address, 0, NULL), 1);
    bytes = sizeof(again);
    EXPECT_IS(fi_av_lookup(side.av, address, again, &bytes), 0);
    EXPECT(bytes == size && memcmp(name, again, size) == 0);
    bytes = 3;
    EXPECT_IS(fi_av_lookup(side.av, address, again, &bytes), -FI_ETOOSMALL);
    EXPECT_IS(bytes, size);
    /* 52 characters and the zero; a buffer that is too short gets what fits */
    bytes = sizeof(text);
    EXPECT(fi_av_straddr(side.av, name, text, &bytes) == text);
    EXPECT_IS(strlen(text), 52);
    EXPECT_IS(bytes, 53);
    memset(text, 'x', sizeof(text));
    bytes = 20;
    EXPECT(fi_av_straddr(side.av, name, text, &bytes) == text);
    EXPECT(strlen(text) == 19 && bytes == 53 && text[20] == 'x');
    return gni_close(&side);
}

static int binary_names(struct rank *rank)
{
    return names(rank, FI_ADDR_GNI, 48);
}

static int string_names(struct rank *rank)
{
    return names(rank, FI_ADDR_STR, 70);
}

static void gni_29_gni_30_gni_31_gni_32_names(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, binary_names);
    gni_run(&(struct gni_machine){0}, string_names);
}

static int malformed_body(struct rank *rank)
{
    static const char *const bad[] = {
        "gni;NONE;NONE;0001;0x00000001;0x0000000z;01;0x000001;0x00000001;00",
        "tcp;NONE;NONE;0001;0x00000001;0x00000001;01;0x000001;0x00000001;00",
        "gni;NONE;NONE;0001;0x00000001",
        "",
    };
    struct gni_how how = {.addr_format = FI_ADDR_STR, .not_enabled = true, .no_peers = true};
    char list[3][70] = {{0}};
    struct gni_side side;
    fi_addr_t addresses[3];
    size_t bytes = 70, i;
    int errors[3];

    TRY(gni_open(&side, rank, &how));
    EXPECT_IS(fi_getname(&side.ep->fid, list[0], &bytes), 0);
    memcpy(list[2], list[0], 70);
    EXPECT_IS(fi_av_insert(side.av, list[0], 1, addresses, FI_SYNC_ERR, NULL), -FI_EINVAL);
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        memset(list[1], 0, 70);
        snprintf(list[1], 70, "%s", bad[i]);
        EXPECT_IS(fi_av_insert(side.av, list, 3, addresses, FI_SYNC_ERR, errors), 2);
        EXPECT(errors[0] == 0 && errors[1] == FI_EINVAL && errors[2] == 0);
        EXPECT(addresses[0] != FI_ADDR_NOTAVAIL && addresses[1] == FI_ADDR_NOTAVAIL &&
               addresses[2] != FI_ADDR_NOTAVAIL);
    }
    return gni_close(&side);
}

static void gni_33_gni_34_malformed(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, malformed_body);
}

static int av_body(struct rank *rank)
{
    struct fi_av_attr map = {.type = FI_AV_MAP}, named = {.name = "shared"};
    struct fi_av_attr bits = {.rx_ctx_bits = 9};
    struct gni_side side;
    struct fid_av *av;
    fi_addr_t addresses[2] = {0};
    char name[48], other[48];
    size_t bytes = sizeof(name);
    uint64_t word = 0;

    TRY(gni_open(&side, rank, &plain));
    EXPECT_IS(fi_getname(&side.ep->fid, name, &bytes), 0);
    EXPECT_IS(fi_av_open(side.domain, &named, &av, NULL), -FI_ENOSYS);
    EXPECT_IS(fi_av_open(side.domain, &bits, &av, NULL), -FI_EINVAL);
    EXPECT_IS(fi_av_open(side.domain, &map, &av, NULL), 0);
    EXPECT_IS(fi_av_insert(av, name, 1, NULL, 0, NULL), -FI_EINVAL);
    EXPECT_IS(fi_av_insert(av, name, 1, &addresses[0], 0, NULL), 1);
    EXPECT_IS(fi_av_insert(av, name, 1, &addresses[1], 0, NULL), 1);
    EXPECT(addresses[0] == addresses[1]);
    EXPECT_IS(fi_av_remove(av, addresses, 1, 0), 0);
    EXPECT_IS(fi_av_remove(av, addresses, 1, 0), -FI_ENOENT);
    bytes = sizeof(other);
    EXPECT_IS(fi_av_lookup(av, addresses[0], other, &bytes), -FI_ENOENT);
    EXPECT_IS(fi_close(&av->fid), 0);
    /* the table: an index that was removed is an error from then on */
    EXPECT_IS(fi_av_insert(side.av, name, 1, &addresses[0], 0, NULL), 1);
    EXPECT_IS(fi_av_remove(side.av, addresses, 1, 0), 0);
    EXPECT_IS(fi_av_remove(side.av, addresses, 1, 0), -FI_EINVAL);
    EXPECT_IS(fi_send(side.ep, &word, 8, NULL, addresses[0], NULL), -FI_EINVAL);
    EXPECT_IS(fi_send(side.ep, &word, 8, NULL, 12345, NULL), -FI_EINVAL);
    EXPECT_IS(fi_send(side.ep, &word, 8, NULL, FI_ADDR_UNSPEC, NULL), -FI_EINVAL);
    return gni_close(&side);
}

static void gni_34_gni_35_gni_36_gni_37_gni_38_av(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, av_body);
}

/* ---- endpoints ------------------------------------------------------------------------------- */

static int bind_body(struct rank *rank)
{
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_CONTEXT};
    struct fi_cntr_attr cntr_attr = {.events = FI_CNTR_EVENTS_COMP};
    struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
    struct gni_side side, other;
    struct fid_cntr *cntr[2];
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;

    TRY(gni_open(&side, rank, &plain));
    TRY(gni_open(&other, rank, &bare));
    EXPECT_IS(fi_enable(side.ep), -FI_EOPBADSTATE);
    EXPECT(fi_tx_size_left(side.ep) > 0 && fi_rx_size_left(side.ep) > 0);
    EXPECT_IS(fi_cq_open(side.domain, &attr, &cq, NULL), 0);
    EXPECT_IS(fi_ep_bind(side.ep, &cq->fid, FI_TRANSMIT), -FI_EOPBADSTATE);
    EXPECT_IS(fi_endpoint(side.domain, side.info, &ep, NULL), 0);
    EXPECT_IS(fi_tx_size_left(ep), -FI_EOPBADSTATE);
    EXPECT_IS(fi_ep_bind(ep, NULL, 0), -FI_EINVAL);
    EXPECT_IS(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_REMOTE_READ), -FI_EBADFLAGS);
    EXPECT_IS(fi_ep_bind(ep, &other.tx_cq->fid, FI_TRANSMIT), -FI_EINVAL);
    EXPECT_IS(fi_ep_bind(ep, &side.domain->fid, 0), -FI_EINVAL);
    EXPECT_IS(fi_enable(ep), -FI_ENOAV);
    EXPECT_IS(fi_ep_bind(ep, &side.av->fid, 0), 0);
    EXPECT_IS(fi_enable(ep), -FI_ENOCQ);
    EXPECT_IS(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT), 0);
    EXPECT_IS(fi_ep_bind(ep, &side.tx_cq->fid, FI_TRANSMIT), -FI_EINVAL);
    EXPECT_IS(fi_enable(ep), -FI_ENOCQ);
    EXPECT_IS(fi_cntr_open(side.domain, &cntr_attr, &cntr[0], NULL), 0);
    EXPECT_IS(fi_cntr_open(side.domain, &cntr_attr, &cntr[1], NULL), 0);
    EXPECT_IS(fi_ep_bind(ep, &cntr[0]->fid, FI_RECV), 0);
    EXPECT_IS(fi_ep_bind(ep, &cntr[1]->fid, FI_RECV), -FI_EINVAL);
    EXPECT_IS(fi_ep_bind(ep, &cntr[1]->fid, FI_MULTI_RECV), -FI_EBADFLAGS);
    EXPECT_IS(fi_av_open(side.domain, &av_attr, &av, NULL), 0);
    EXPECT_IS(fi_ep_bind(ep, &av->fid, 0), -FI_EINVAL);
    EXPECT_IS(fi_close(&av->fid), 0);
    EXPECT_IS(fi_enable(ep), 0);
    EXPECT_IS(fi_close(&ep->fid), 0);
    EXPECT_IS(fi_close(&cntr[0]->fid), 0);
    EXPECT_IS(fi_close(&cntr[1]->fid), 0);
    EXPECT_IS(fi_close(&cq->fid), 0);
    TRY(gni_close(&other));
    return gni_close(&side);
}

static void gni_39_gni_40_gni_41_binding(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, bind_body);
}

static int options_body(struct rank *rank)
{
    struct gni_side side;
    size_t value = 0, bytes = sizeof(value);
    uint32_t small = 5;

    TRY(gni_open(&side, rank, &plain));
    EXPECT_IS(fi_getopt(&side.ep->fid, 77, FI_OPT_MIN_MULTI_RECV, &value, &bytes), -FI_ENOPROTOOPT);
    EXPECT_IS(fi_getopt(&side.ep->fid, FI_OPT_ENDPOINT, 77, &value, &bytes), -FI_ENOPROTOOPT);
    EXPECT_IS(fi_getopt(&side.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, &bytes), 0);
    EXPECT_IS(value, 64);
    EXPECT_IS(fi_setopt(&side.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &small, 4),
              -FI_EINVAL);
    value = 0;
    EXPECT_IS(fi_setopt(&side.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, 8),
              -FI_EINVAL);
    value = 128;
    EXPECT_IS(fi_setopt(&side.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, 8), 0);
    value = 0;
    EXPECT_IS(fi_getopt(&side.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, &bytes), 0);
    EXPECT_IS(value, 128);
    EXPECT_IS(fi_getopt(&side.ep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &value, &bytes), 0);
    EXPECT_IS(value, 256);
    EXPECT_IS(fi_setopt(&side.ep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &value, 8),
              -FI_ENOPROTOOPT);
    return gni_close(&side);
}

static void gni_42_options(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, options_body);
}

static int shared_context_body(struct rank *rank)
{
    struct gni_side side;
    struct fid_stx *stx;
    struct fid_ep *ep, *srx;
    uint64_t word = 0;

    TRY(gni_open(&side, rank, &plain));
    EXPECT_IS(fi_stx_context(side.domain, NULL, &stx, NULL), 0);
    EXPECT_IS(fi_ep_bind(side.ep, &stx->fid, 0), -FI_EOPBADSTATE);
    EXPECT_IS(fi_srx_context(side.domain, NULL, &srx, NULL), -FI_ENOSYS);
    side.info->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
    EXPECT_IS(fi_endpoint(side.domain, side.info, &ep, NULL), 0);
    EXPECT(fi_send(ep, &word, 8, NULL, side.peers[0], NULL) < 0);
    EXPECT_IS(fi_ep_bind(ep, &stx->fid, 0), 0);
    EXPECT_IS(fi_close(&stx->fid), -FI_EBUSY);
    EXPECT_IS(fi_close(&ep->fid), 0);
    EXPECT_IS(fi_close(&stx->fid), 0);
    return gni_close(&side);
}

static void gni_47_gni_121_shared_contexts(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, shared_context_body);
}

/* ---- registrations --------------------------------------------------------------------------- */

static int register_errors_body(struct rank *rank)
{
    static uint64_t page[512] __attribute__((aligned(4096)));
    struct iovec iov[2] = {{page, 8}, {page + 1, 8}};
    struct fi_mr_attr attr = {.mr_iov = iov, .iov_count = 2, .access = FI_READ};
    struct fid_domain *domain;
    struct gni_side side;
    struct fid_mr *mr, *twin;

    TRY(gni_open(&side, rank, &plain));
    domain = side.domain;
    EXPECT_IS(fi_mr_reg(domain, page, 8, FI_READ, 0, 0, 1, &mr, NULL), -FI_EBADFLAGS);
    EXPECT_IS(fi_mr_reg(domain, page, 8, FI_READ, 8, 0, 0, &mr, NULL), -FI_EINVAL);
    EXPECT_IS(fi_mr_reg(domain, NULL, 8, FI_READ, 0, 0, 0, &mr, NULL), -FI_EINVAL);
    EXPECT_IS(fi_mr_reg(domain, page, 8, 0, 0, 0, 0, &mr, NULL), -FI_EINVAL);
    EXPECT_IS(fi_mr_reg(domain, page, 8, 1ull << 40, 0, 0, 0, &mr, NULL), -FI_EINVAL);
    EXPECT_IS(fi_mr_reg(domain, page, 8, FI_READ, 0, 0, 0, NULL, NULL), -FI_EINVAL);
    EXPECT_IS(fi_mr_regattr(domain, &attr, 0, &mr), -FI_EOPNOTSUPP);
    attr.iov_count = 0;
    EXPECT_IS(fi_mr_regattr(domain, &attr, 0, &mr), -FI_EINVAL);
    EXPECT_IS(fi_mr_regv(domain, iov, 1, FI_READ, 0, 0, 0, &mr, NULL), 0);
    EXPECT_IS(fi_mr_refresh(mr, iov, 1, 0), -FI_EINVAL);
    EXPECT_IS(fi_close(&mr->fid), 0);
    EXPECT_IS(fi_mr_reg(domain, page, 4096, FI_REMOTE_READ, 0, 12345, 0, &mr, &side), 0);
    EXPECT_IS(fi_mr_reg(domain, page, 4096, FI_REMOTE_READ, 0, 12345, 0, &twin, &attr), 0);
    EXPECT(mr != twin && mr->fid.context == &side && twin->fid.context == &attr);
    EXPECT_IS(fi_close(&mr->fid), 0);
    EXPECT(fi_mr_key(twin) != FI_KEY_NOTAVAIL && fi_mr_desc(twin) != NULL);
    EXPECT_IS(fi_close(&twin->fid), 0);
    return gni_close(&side);
}

static void gni_131_gni_136_gni_137_register_errors(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, register_errors_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_22_gni_27_gni_46_fabric),
        cmocka_unit_test(gni_25_domain_values),
        cmocka_unit_test(gni_26_fabric_values),
        cmocka_unit_test(gni_24_authorization),
        cmocka_unit_test(gni_29_gni_30_gni_31_gni_32_names),
        cmocka_unit_test(gni_33_gni_34_malformed),
        cmocka_unit_test(gni_34_gni_35_gni_36_gni_37_gni_38_av),
        cmocka_unit_test(gni_39_gni_40_gni_41_binding),
        cmocka_unit_test(gni_42_options),
        cmocka_unit_test(gni_47_gni_121_shared_contexts),
        cmocka_unit_test(gni_131_gni_136_gni_137_register_errors),
    };

    return cmocka_run_group_tests_name("objects", tests, NULL, NULL);
}
