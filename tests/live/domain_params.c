/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Prints the values of "domain ops 1" of a domain of gni, one "NAME value" a line; test_params.py
 * compares them with the environment. */
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "gni_pub.h"
#include "rdma/fi_ext_gni.h"

static const struct {
    const char *name;
    enum { U32, I32, BOOL, TEXT } type;
} values[GNI_NUM_DOM_OPS] = {
    [GNI_MSG_RENDEZVOUS_THRESHOLD] = {"MSG_RENDEZVOUS_THRESHOLD", U32},
    [GNI_RMA_RDMA_THRESHOLD] = {"RMA_RDMA_THRESHOLD", U32},
    [GNI_CONN_TABLE_INITIAL_SIZE] = {"CONN_TABLE_INITIAL_SIZE", U32},
    [GNI_CONN_TABLE_MAX_SIZE] = {"CONN_TABLE_MAX_SIZE", U32},
    [GNI_CONN_TABLE_STEP_SIZE] = {"CONN_TABLE_STEP_SIZE", U32},
    [GNI_VC_ID_TABLE_CAPACITY] = {"VC_ID_TABLE_CAPACITY", U32},
    [GNI_MBOX_PAGE_SIZE] = {"MBOX_PAGE_SIZE", U32},
    [GNI_MBOX_NUM_PER_SLAB] = {"MBOX_NUM_PER_SLAB", U32},
    [GNI_MBOX_MAX_CREDIT] = {"MBOX_MAX_CREDIT", U32},
    [GNI_MBOX_MSG_MAX_SIZE] = {"MBOX_MSG_MAX_SIZE", U32},
    [GNI_RX_CQ_SIZE] = {"RX_CQ_SIZE", U32},
    [GNI_TX_CQ_SIZE] = {"TX_CQ_SIZE", U32},
    [GNI_MAX_RETRANSMITS] = {"MAX_RETRANSMITS", U32},
    [GNI_ERR_INJECT_COUNT] = {"ERR_INJECT_COUNT", I32},
    [GNI_MR_CACHE_LAZY_DEREG] = {"MR_CACHE_LAZY_DEREG", I32},
    [GNI_MR_CACHE] = {"MR_CACHE", TEXT},
    [GNI_MR_UDREG_REG_LIMIT] = {"MR_UDREG_REG_LIMIT", U32},
    [GNI_MR_SOFT_REG_LIMIT] = {"MR_SOFT_REG_LIMIT", U32},
    [GNI_MR_HARD_REG_LIMIT] = {"MR_HARD_REG_LIMIT", I32},
    [GNI_MR_HARD_STALE_REG_LIMIT] = {"MR_HARD_STALE_REG_LIMIT", U32},
    [GNI_XPMEM_ENABLE] = {"XPMEM_ENABLE", BOOL},
    [GNI_DGRAM_PROGRESS_TIMEOUT] = {"DGRAM_PROGRESS_TIMEOUT", U32},
    [GNI_EAGER_AUTO_PROGRESS] = {"EAGER_AUTO_PROGRESS", U32},
};

static int failed(const char *what, int status)
{
    fprintf(stderr, "%s: %s\n", what, fi_strerror(-status));
    return 1;
}

static int print(struct fid_domain *domain, const struct fi_gni_ops_domain *ops)
{
    union {
        uint32_t u32;
        int32_t i32;
        bool yes;
        const char *text;
    } value;
    int which, status;

    for (which = 0; which < GNI_NUM_DOM_OPS; which++) {
        memset(&value, 0, sizeof(value));
        status = ops->get_val(&domain->fid, (dom_ops_val_t)which, &value);
        if (status != 0)
            return failed(values[which].name, status);
        printf("%s ", values[which].name);
        switch (values[which].type) {
        case U32:
            printf("%" PRIu32 "\n", value.u32);
            break;
        case I32:
            printf("%" PRId32 "\n", value.i32);
            break;
        case BOOL:
            printf("%d\n", value.yes);
            break;
        default:
            printf("%s\n", value.text);
        }
    }
    return 0;
}

int main(void)
{
    struct fi_info *hints = fi_allocinfo(), *info;
    struct fi_gni_ops_domain *ops;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    int status;

    hints->fabric_attr->prov_name = strdup("gni");
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    status = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info);
    if (status != 0)
        return failed("fi_getinfo", status);
    status = fi_fabric(info->fabric_attr, &fabric, NULL);
    if (status != 0)
        return failed("fi_fabric", status);
    status = fi_domain(fabric, info, &domain, NULL);
    if (status != 0)
        return failed("fi_domain", status);
    status = fi_open_ops(&domain->fid, FI_GNI_DOMAIN_OPS_1, 0, (void **)&ops, NULL);
    if (status != 0)
        return failed("fi_open_ops", status);
    status = print(domain, ops);
    fi_close(&domain->fid);
    fi_close(&fabric->fid);
    fi_freeinfo(info);
    fi_freeinfo(hints);
    return status;
}
