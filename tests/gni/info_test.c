/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fi_getinfo: what is offered, which hints fit, what of them comes back. The provider's own
 * function is asked, mostly: libfabric adds what its layers make of the same endpoints
 * (gni;ofi_rxm).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "ctx.h"
#include "domain.h"
#include "fixture.h"
#include "gni_prov/prov.h"
#include "gnip.h"
#include "name.h"

#define NEW FI_VERSION(1, 17)
#define OLD FI_VERSION(1, 4)
#define MR_ALL (FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)

/* Hints that everything fits, to be changed by a test. */
static struct fi_info *hints_new(void)
{
    struct fi_info *hints = fi_allocinfo();

    hints->fabric_attr->prov_name = strdup("gni");
    hints->domain_attr->mr_mode = MR_ALL;
    hints->ep_attr->type = FI_EP_RDM;
    return hints;
}

static int getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
                   const struct fi_info *hints, struct fi_info **info)
{
    return gni_prov_ini()->getinfo(version, node, service, flags, hints, info);
}

static int ask(const struct fi_info *hints, struct fi_info **info)
{
    return getinfo(NEW, NULL, NULL, 0, hints, info);
}

/* hints are changed by `change`: they must (not) fit. */
#define FITS(change)                                \
    do {                                            \
        struct fi_info *hints = hints_new(), *info; \
        change;                                     \
        EXPECT_IS(ask(hints, &info), 0);            \
        fi_freeinfo(info);                          \
        fi_freeinfo(hints);                         \
    } while (0)
#define FITS_NOT(change)                            \
    do {                                            \
        struct fi_info *hints = hints_new(), *info; \
        change;                                     \
        EXPECT_IS(ask(hints, &info), -FI_ENODATA);  \
        EXPECT(info == NULL);                       \
        fi_freeinfo(hints);                         \
    } while (0)
/* A field that comes back as it was given. */
#define ANSWERED(field, value, answer)              \
    do {                                            \
        struct fi_info *hints = hints_new(), *info; \
        hints->field = value;                       \
        EXPECT_IS(ask(hints, &info), 0);            \
        EXPECT_IS(info->field, answer);             \
        fi_freeinfo(info);                          \
        fi_freeinfo(hints);                         \
    } while (0)
#define ECHOED(field, value) ANSWERED(field, value, value)

/* ---- what there is --------------------------------------------------------------------------- */

static int offered_body(struct rank *rank)
{
    static const enum fi_ep_type types[] = {FI_EP_RDM, FI_EP_DGRAM, FI_EP_MSG};
    struct fi_info *info, *one;
    size_t i = 0;

    EXPECT_IS(getinfo(FI_VERSION(1, 5), NULL, NULL, 0, NULL, &info), 0);
    for (one = info; one != NULL; one = one->next, i++) {
        EXPECT(i < 3);
        EXPECT_IS(one->ep_attr->type, types[i]);
        EXPECT(strcmp(one->fabric_attr->name, "gni") == 0);
        EXPECT(strcmp(one->domain_attr->name, "/sys/class/gni/kgni0") == 0);
        EXPECT_IS(one->fabric_attr->prov_version, FI_VERSION(1, 1));
        EXPECT(one->domain_attr->cntr_cnt > 0 && one->domain_attr->cq_cnt > 0);
        EXPECT(one->domain_attr->ep_cnt == SIZE_MAX);
        EXPECT(one->domain_attr->tx_ctx_cnt >= 1 && one->domain_attr->rx_ctx_cnt >= 1);
        EXPECT_IS(one->domain_attr->mr_mode, MR_ALL);
        EXPECT_IS(one->domain_attr->mr_cnt, 65535);
        EXPECT_IS(one->domain_attr->max_ep_stx_ctx, 128);
        EXPECT_IS(one->domain_attr->max_ep_srx_ctx, 0);
        EXPECT_IS(one->domain_attr->resource_mgmt, FI_RM_ENABLED);
        EXPECT_IS(one->ep_attr->protocol, FI_PROTO_GNI);
        EXPECT_IS(one->ep_attr->max_msg_size, 0xffffffff);
        EXPECT(one->ep_attr->mem_tag_format == 0xAAAAAAAAAAAAAAAAull);
        EXPECT_IS(one->tx_attr->inject_size, 64);
        EXPECT_IS(one->tx_attr->size, 500);
        EXPECT_IS(one->tx_attr->iov_limit, 8);
        EXPECT_IS(one->tx_attr->rma_iov_limit, 1);
        EXPECT_IS(one->addr_format, FI_ADDR_GNI);
        EXPECT(one->src_addrlen == 48 && one->src_addr != NULL && one->dest_addr == NULL);
        EXPECT((one->caps & (FI_MSG | FI_RMA | FI_TAGGED | FI_ATOMIC | FI_SOURCE)) ==
               (FI_MSG | FI_RMA | FI_TAGGED | FI_ATOMIC | FI_SOURCE));
        EXPECT((one->tx_attr->caps & (FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE)) == 0);
        EXPECT((one->rx_attr->caps & (FI_SEND | FI_READ | FI_WRITE)) == 0);
    }
    EXPECT_IS(i, 3);
    fi_freeinfo(info);
    return 0;
}

static void gni_3_offered(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, offered_body);
}

static int named_body(struct rank *rank)
{
    struct fi_info *hints = hints_new(), *info, *one;
    int found = 0;

    hints->ep_attr->type = FI_EP_UNSPEC;
    EXPECT_IS(fi_getinfo(NEW, NULL, NULL, 0, hints, &info), 0);
    for (one = info; one != NULL; one = one->next) {
        EXPECT(strncmp(one->fabric_attr->prov_name, "gni", 3) == 0);
        if (one->fabric_attr->prov_name[3] != '\0')
            continue; /* a layer above */
        found++;
        EXPECT(strcmp(one->fabric_attr->name, "gni") == 0);
        EXPECT(strcmp(one->domain_attr->name, "/sys/class/gni/kgni0") == 0);
    }
    EXPECT_IS(found, 3);
    fi_freeinfo(info);
    fi_freeinfo(hints);
    return 0;
}

static void gni_2_named(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, named_body);
}

static int one_type(struct rank *rank)
{
    static const enum fi_ep_type types[] = {FI_EP_RDM, FI_EP_DGRAM, FI_EP_MSG};
    struct fi_info *hints, *info;
    size_t i;

    for (i = 0; i < 3; i++) {
        hints = hints_new();
        hints->ep_attr->type = types[i];
        EXPECT_IS(ask(hints, &info), 0);
        EXPECT(info->ep_attr->type == types[i] && info->next == NULL);
        fi_freeinfo(info);
        fi_freeinfo(hints);
    }
    return 0;
}

static int types_body(struct rank *rank)
{
    TRY(one_type(rank));
    FITS_NOT(hints->ep_attr->type = FI_EP_SOCK_STREAM);
    FITS(hints->ep_attr->protocol = FI_PROTO_GNI);
    FITS_NOT(hints->ep_attr->protocol = FI_PROTO_PSMX);
    return 0;
}

static void gni_4_gni_5_types(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, types_body);
}

/* ---- hints ----------------------------------------------------------------------------------- */

static int limits_body(struct rank *rank)
{
    FITS(hints->ep_attr->max_msg_size = 0xffffffff);
    FITS_NOT(hints->ep_attr->max_msg_size = 0x100000000);
    ECHOED(ep_attr->tx_ctx_cnt, 128);
    FITS_NOT(hints->ep_attr->tx_ctx_cnt = 129);
    FITS(hints->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT);
    ECHOED(ep_attr->rx_ctx_cnt, 128);
    FITS_NOT(hints->ep_attr->rx_ctx_cnt = 129);
    FITS_NOT(hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT);
    ECHOED(tx_attr->inject_size, 64);
    ANSWERED(tx_attr->inject_size, 8, 64);
    ANSWERED(tx_attr->iov_limit, 1, 8);
    ANSWERED(rx_attr->iov_limit, 1, 8);
    FITS_NOT(hints->tx_attr->inject_size = 65);
    FITS(hints->tx_attr->iov_limit = 8);
    FITS_NOT(hints->tx_attr->iov_limit = 9);
    FITS(hints->rx_attr->iov_limit = 8);
    FITS_NOT(hints->rx_attr->iov_limit = 9);
    FITS_NOT(hints->tx_attr->rma_iov_limit = 2);
    ECHOED(tx_attr->size, 2048);
    FITS_NOT(hints->tx_attr->size = 2049);
    ECHOED(rx_attr->size, 65536);
    FITS_NOT(hints->rx_attr->size = 65537);
    FITS_NOT(hints->domain_attr->mr_key_size = 9);
    FITS_NOT(hints->domain_attr->cq_data_size = 9);
    FITS_NOT(hints->domain_attr->mr_iov_limit = 2);
    FITS_NOT(hints->domain_attr->cntr_cnt = SIZE_MAX);
    return 0;
}

static void gni_6_gni_7_gni_8_limits(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, limits_body);
}

static int added_caps(struct rank *rank)
{
    const uint64_t added = FI_MULTI_RECV | FI_TRIGGER | FI_FENCE | FI_LOCAL_COMM | FI_REMOTE_COMM;
    struct fi_info *hints = hints_new(), *info;

    hints->caps = FI_MSG;
    EXPECT_IS(ask(hints, &info), 0);
    EXPECT((info->caps & added) == added);
    EXPECT((info->caps & (FI_RMA | FI_TAGGED | FI_ATOMIC | FI_SOURCE)) == 0);
    fi_freeinfo(info);
    fi_freeinfo(hints);
    return 0;
}

static int caps_body(struct rank *rank)
{
    FITS_NOT(hints->caps = FI_MSG | FI_MULTICAST);
    FITS_NOT(hints->caps = FI_MSG | FI_SHARED_AV);
    FITS_NOT(hints->caps = FI_MSG | FI_HMEM);
    FITS_NOT(hints->caps = FI_COLLECTIVE);
    FITS(hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_DIRECTED_RECV |
                       FI_NAMED_RX_CTX | FI_SOURCE | FI_SOURCE_ERR | FI_RMA_EVENT);
    TRY(added_caps(rank));
    ECHOED(domain_attr->caps, FI_LOCAL_COMM | FI_REMOTE_COMM);
    FITS(hints->domain_attr->caps = FI_REMOTE_COMM);
    FITS_NOT(hints->domain_attr->caps = FI_SHARED_AV);
    return 0;
}

static void gni_9_gni_13_capabilities(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, caps_body);
}

static int flags_body(struct rank *rank)
{
    ECHOED(tx_attr->op_flags, FI_COMPLETION | FI_INJECT | FI_DELIVERY_COMPLETE);
    ECHOED(rx_attr->op_flags, FI_MULTI_RECV | FI_COMPLETION);
    FITS_NOT(hints->tx_attr->op_flags = FI_MATCH_COMPLETE);
    FITS_NOT(hints->rx_attr->op_flags = FI_MATCH_COMPLETE);
    ECHOED(tx_attr->msg_order, FI_ORDER_SAS);
    FITS_NOT(hints->tx_attr->msg_order = FI_ORDER_RAW);
    FITS_NOT(hints->rx_attr->msg_order = FI_ORDER_SAS | FI_ORDER_RAR);
    FITS_NOT(hints->tx_attr->comp_order = FI_ORDER_STRICT);
    FITS_NOT(hints->rx_attr->comp_order = FI_ORDER_DATA);
    FITS_NOT(hints->ep_attr->max_order_raw_size = 1);
    FITS_NOT(hints->ep_attr->max_order_war_size = 1);
    FITS_NOT(hints->ep_attr->max_order_waw_size = 1);
    return 0;
}

static void gni_10_gni_11_flags_and_orders(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, flags_body);
}

static int echoes_body(struct rank *rank)
{
    ECHOED(domain_attr->threading, FI_THREAD_SAFE);
    ECHOED(domain_attr->threading, FI_THREAD_FID);
    ECHOED(domain_attr->threading, FI_THREAD_DOMAIN);
    ECHOED(domain_attr->threading, FI_THREAD_COMPLETION);
    ECHOED(domain_attr->threading, FI_THREAD_ENDPOINT);
    ECHOED(domain_attr->control_progress, FI_PROGRESS_AUTO);
    ECHOED(domain_attr->control_progress, FI_PROGRESS_MANUAL);
    ECHOED(domain_attr->data_progress, FI_PROGRESS_AUTO);
    ECHOED(domain_attr->data_progress, FI_PROGRESS_MANUAL);
    ECHOED(domain_attr->av_type, FI_AV_MAP);
    ECHOED(domain_attr->av_type, FI_AV_TABLE);
    FITS_NOT(hints->domain_attr->threading = (enum fi_threading)77);
    FITS(hints->domain_attr->resource_mgmt = FI_RM_DISABLED);
    FITS(hints->domain_attr->name = strdup("/sys/class/gni/kgni0"));
    FITS_NOT(hints->domain_attr->name = strdup("/sys/class/gni/kgni0x"));
    FITS_NOT(hints->domain_attr->name = strdup("/sys/class/gni/kgni"));
    FITS_NOT(hints->fabric_attr->name = strdup("gnigni"));
    return 0;
}

static void gni_12_gni_18_echoes(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, echoes_body);
}

/* ---- registration modes ---------------------------------------------------------------------- */

#define ANY_TARGET (FI_MSG | FI_RMA)
#define NO_TARGET (FI_MSG | FI_TAGGED)

static const struct {
    int wanted;
    uint64_t caps;
    int mode; /* -1: no match */
} modes[] = {
    {FI_MR_BASIC, ANY_TARGET, FI_MR_BASIC},
    {FI_MR_BASIC | FI_MR_LOCAL, ANY_TARGET, -1},
    {FI_MR_SCALABLE, ANY_TARGET, -1},
    {FI_MR_SCALABLE | MR_ALL, ANY_TARGET, -1},
    {MR_ALL, ANY_TARGET, MR_ALL},
    {MR_ALL | FI_MR_LOCAL, ANY_TARGET, MR_ALL},
    {MR_ALL | FI_MR_LOCAL | FI_MR_ENDPOINT | FI_MR_RAW, ANY_TARGET, MR_ALL},
    {FI_MR_ALLOCATED, NO_TARGET, 0},
    {FI_MR_ALLOCATED, ANY_TARGET, -1},
    {0, NO_TARGET, 0},
    {0, ANY_TARGET, 0},
    {FI_MR_LOCAL, FI_MSG | FI_RMA | FI_READ | FI_WRITE, 0},
    {FI_MR_MMU_NOTIFY, ANY_TARGET, FI_MR_MMU_NOTIFY},
    {FI_MR_MMU_NOTIFY | MR_ALL, ANY_TARGET, MR_ALL},
};

static int one_mode(struct rank *rank, size_t i)
{
    struct fi_info *hints = hints_new(), *info = NULL;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    int result;

    hints->caps = modes[i].caps;
    hints->domain_attr->mr_mode = modes[i].wanted;
    result = ask(hints, &info);
    fi_freeinfo(hints);
    if (modes[i].mode < 0) {
        EXPECT_IS(result, -FI_ENODATA);
        return 0;
    }
    EXPECT_IS(result, 0);
    EXPECT_IS(info->domain_attr->mr_mode, modes[i].mode);
    /* without a mode there are no keys, so no peer can access our memory */
    if (modes[i].wanted == 0 && modes[i].caps == ANY_TARGET)
        EXPECT_IS(info->caps & (FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE),
                  FI_READ | FI_WRITE);
    EXPECT_IS(gni_prov_ini()->fabric(info->fabric_attr, &fabric, NULL), 0);
    EXPECT_IS(fi_domain(fabric, info, &domain, NULL), 0);
    EXPECT_IS(gnip_container(domain, struct gnip_domain, fid)->vmdh,
              modes[i].mode == FI_MR_MMU_NOTIFY);
    EXPECT_IS(fi_close(&domain->fid), 0);
    info->domain_attr->mr_mode = FI_MR_RAW;
    EXPECT_IS(fi_domain(fabric, info, &domain, NULL), -FI_EINVAL);
    EXPECT_IS(fi_close(&fabric->fid), 0);
    fi_freeinfo(info);
    return 0;
}

static int modes_body(struct rank *rank)
{
    struct fi_info *hints, *info;
    size_t i;

    for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        TRY(one_mode(rank, i));
    hints = hints_new();
    hints->domain_attr->mr_mode = 0;
    EXPECT_IS(getinfo(OLD, NULL, NULL, 0, hints, &info), 0);
    EXPECT_IS(info->domain_attr->mr_mode, FI_MR_BASIC);
    fi_freeinfo(info);
    hints->domain_attr->mr_mode = FI_MR_BASIC;
    EXPECT_IS(getinfo(OLD, NULL, NULL, 0, hints, &info), 0);
    EXPECT_IS(info->domain_attr->mr_mode, FI_MR_BASIC);
    fi_freeinfo(info);
    hints->domain_attr->mr_mode = FI_MR_SCALABLE;
    EXPECT_IS(getinfo(OLD, NULL, NULL, 0, hints, &info), -FI_ENODATA);
    fi_freeinfo(hints);
    return 0;
}

static void gni_14_gni_15_registration_modes(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, modes_body);
}

static int mode_bits_body(struct rank *rank)
{
    struct fi_info *hints = hints_new(), *info;

    hints->mode = FI_CONTEXT | FI_MSG_PREFIX | FI_ASYNC_IOV | FI_NOTIFY_FLAGS_ONLY | FI_RX_CQ_DATA |
                  FI_BUFFERED_RECV;
    EXPECT_IS(ask(hints, &info), 0);
    EXPECT_IS(info->mode, FI_CONTEXT | FI_NOTIFY_FLAGS_ONLY);
    EXPECT_IS(info->tx_attr->mode, info->mode);
    fi_freeinfo(info);
    hints->domain_attr->mr_mode = 0;
    EXPECT_IS(getinfo(OLD, NULL, NULL, 0, hints, &info), 0);
    EXPECT_IS(info->mode, FI_CONTEXT);
    fi_freeinfo(info);
    fi_freeinfo(hints);
    return 0;
}

static void gni_16_mode_bits(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, mode_bits_body);
}

/* ---- addresses ------------------------------------------------------------------------------- */

static int strings(struct rank *rank)
{
    struct fi_info *hints = hints_new(), *info;
    struct gnip_name name;

    hints->addr_format = FI_ADDR_STR;
    EXPECT_IS(ask(hints, &info), 0);
    EXPECT(info->src_addrlen == 70 && info->dest_addrlen == 70);
    EXPECT_IS(strlen(info->src_addr), 66);
    EXPECT_IS(gnip_name_read(&name, FI_ADDR_STR, info->src_addr), 0);
    EXPECT_IS(name.name_type, GNIP_UNBOUND);
    fi_freeinfo(info);
    EXPECT_IS(getinfo(NEW, "nid00000", "7", 0, hints, &info), -FI_ENODATA);
    EXPECT_IS(getinfo(NEW, "gni;NONE;NONE;0001;0x00000001;0x00000002;02;0x000003;0x00000004;00",
                      NULL, 0, hints, &info),
              0);
    EXPECT_IS(gnip_name_read(&name, FI_ADDR_STR, info->dest_addr), 0);
    EXPECT(name.device_addr == 1 && name.cdm_id == 2 && name.name_type == GNIP_BOUND &&
           name.cm_nic_cdm_id == 3 && name.cookie == 4);
    fi_freeinfo(info);
    EXPECT_IS(getinfo(NEW, "gni;NONE;NONE;0001;1", NULL, 0, hints, &info), -FI_ENODATA);
    fi_freeinfo(hints);
    return 0;
}

static int strings_body(struct rank *rank)
{
    TRY(strings(rank));
    FITS_NOT(hints->addr_format = FI_SOCKADDR_IN);
    return 0;
}

static void gni_17_strings(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, strings_body);
}

static int services_body(struct rank *rank)
{
    struct fi_info *hints = hints_new(), *info;
    struct gnip_name name, here;

    EXPECT_IS(ask(hints, &info), 0);
    memcpy(&here, info->src_addr, sizeof(here));
    fi_freeinfo(info);
    EXPECT_IS(getinfo(NEW, "nid00001", "4711", 0, hints, &info), 0);
    memcpy(&name, info->dest_addr, sizeof(name));
    EXPECT(name.name_type == GNIP_BOUND && name.cdm_id == 4711 && name.cm_nic_cdm_id == 4711);
    EXPECT(name.cookie == rank_cookie(rank));
    if (rank_id(rank) == 0)
        EXPECT(name.device_addr != here.device_addr);
    else
        EXPECT(name.device_addr == here.device_addr);
    memcpy(&name, info->src_addr, sizeof(name));
    EXPECT(memcmp(&name, &here, sizeof(name)) == 0);
    fi_freeinfo(info);
    EXPECT_IS(getinfo(NEW, "nid00001", NULL, 0, hints, &info), 0);
    memcpy(&name, info->dest_addr, sizeof(name));
    EXPECT(name.name_type == GNIP_UNBOUND && name.cdm_id == 0);
    fi_freeinfo(info);
    EXPECT_IS(getinfo(NEW, NULL, "99", FI_SOURCE, hints, &info), 0);
    memcpy(&name, info->src_addr, sizeof(name));
    EXPECT(name.name_type == GNIP_BOUND && name.cdm_id == 99 && info->dest_addr == NULL);
    EXPECT_IS(name.device_addr, here.device_addr);
    fi_freeinfo(info);
    EXPECT_IS(getinfo(NEW, "nobody.example", "1", 0, hints, &info), -FI_ENODATA);
    EXPECT_IS(getinfo(NEW, "nid00001", "http", 0, hints, &info), -FI_ENODATA);
    EXPECT_IS(getinfo(NEW, "nid00001", "16777216", 0, hints, &info), -FI_ENODATA);
    fi_freeinfo(hints);
    return 0;
}

static void gni_19_services(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){.ranks = 2}, services_body);
}

/* ---- nothing is left ------------------------------------------------------------------------- */

static int opens_nothing_body(struct rank *rank)
{
    static const gni_job_res_t resources[] = {GNI_JOB_RES_FMA, GNI_JOB_RES_SFMA, GNI_JOB_RES_CQ,
                                              GNI_JOB_RES_MDD};
    gni_job_res_desc_t resource;
    struct fi_info *info;
    size_t i;

    for (i = 0; i < 100; i++) {
        EXPECT_IS(getinfo(NEW, NULL, NULL, 0, NULL, &info), 0);
        fi_freeinfo(info);
    }
    EXPECT(gnip_ctx_current() == NULL);
    for (i = 0; i < sizeof(resources) / sizeof(resources[0]); i++) {
        EXPECT_IS(GNI_GetJobResInfo(0, rank_ptag(rank), resources[i], &resource), GNI_RC_SUCCESS);
        EXPECT_IS(resource.used, 0);
    }
    return 0;
}

static void gni_21_opens_nothing(void **state)
{
    (void)state;
    gni_run(&(struct gni_machine){0}, opens_nothing_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gni_2_named),
        cmocka_unit_test(gni_3_offered),
        cmocka_unit_test(gni_4_gni_5_types),
        cmocka_unit_test(gni_6_gni_7_gni_8_limits),
        cmocka_unit_test(gni_9_gni_13_capabilities),
        cmocka_unit_test(gni_10_gni_11_flags_and_orders),
        cmocka_unit_test(gni_12_gni_18_echoes),
        cmocka_unit_test(gni_14_gni_15_registration_modes),
        cmocka_unit_test(gni_16_mode_bits),
        cmocka_unit_test(gni_17_strings),
        cmocka_unit_test(gni_19_services),
        cmocka_unit_test(gni_21_opens_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
