/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The tables of names that gni_pub.h exports. */
#ifndef CRAY_CONFIG_GHAL_ARIES
#define CRAY_CONFIG_GHAL_ARIES /* the library uses the Aries numbering of gni_statistic_t */
#endif
#include "nic/gni.h"

const char *gni_err_str[] = {
    [GNI_RC_SUCCESS] = "GNI_RC_SUCCESS",
    [GNI_RC_NOT_DONE] = "GNI_RC_NOT_DONE",
    [GNI_RC_INVALID_PARAM] = "GNI_RC_INVALID_PARAM",
    [GNI_RC_ERROR_RESOURCE] = "GNI_RC_ERROR_RESOURCE",
    [GNI_RC_TIMEOUT] = "GNI_RC_TIMEOUT",
    [GNI_RC_PERMISSION_ERROR] = "GNI_RC_PERMISSION_ERROR",
    [GNI_RC_DESCRIPTOR_ERROR] = "GNI_RC_DESCRIPTOR_ERROR",
    [GNI_RC_ALIGNMENT_ERROR] = "GNI_RC_ALIGNMENT_ERROR",
    [GNI_RC_INVALID_STATE] = "GNI_RC_INVALID_STATE",
    [GNI_RC_NO_MATCH] = "GNI_RC_NO_MATCH",
    [GNI_RC_SIZE_ERROR] = "GNI_RC_SIZE_ERROR",
    [GNI_RC_TRANSACTION_ERROR] = "GNI_RC_TRANSACTION_ERROR",
    [GNI_RC_ILLEGAL_OP] = "GNI_RC_ILLEGAL_OP",
    [GNI_RC_ERROR_NOMEM] = "GNI_RC_ERROR_NOMEM",
};

const char *gni_statistic_str[] = {
    [GNI_STAT_SMSG_BUFF_CREDITS_STALL] = "SMSG_BUFF_CREDITS_STALL",
    [GNI_STAT_SMSG_DLA_STALL] = "SMSG_DLA_STALL",
    [GNI_STAT_SMSG_MBOX_CREDITS_STALL] = "SMSG_MBOX_CREDITS_STALL",
    [GNI_STAT_SMSG_REQ_STALL] = "SMSG_REQ_STALL",
    [GNI_STAT_SMSG_RETRANS_COUNT] = "SMSG_RETRANS_COUNT",
    [GNI_STAT_SMSG_RETRANS_DLA_COUNT] = "SMSG_RETRANS_DLA_COUNT",
    [GNI_STAT_SMSG_RETRANS_STALL] = "SMSG_RETRANS_STALL",
    [GNI_STAT_DLA_ALLOC_STATUS_STALL] = "DLA_ALLOC_STATUS_STALL",
    [GNI_STAT_DLA_ALLOC_STATUS_TIMEOUT] = "DLA_ALLOC_STATUS_TIMEOUT",
    [GNI_STAT_DLA_BLOCK_ORPHANED] = "DLA_BLOCK_ORPHANED",
    [GNI_STAT_DLA_BLOCK_RETRANS_COUNT] = "DLA_BLOCK_RETRANS_COUNT",
    [GNI_STAT_DLA_FREE_BLOCKS_STALL] = "DLA_FREE_BLOCKS_STALL",
    [GNI_STAT_DLA_FREE_FMAD_BLOCKS_STALL] = "DLA_FREE_FMAD_BLOCKS_STALL",
    [GNI_STAT_DLA_HIGH_RETRANS_COUNT] = "DLA_HIGH_RETRANS_COUNT",
    [GNI_STAT_DLA_OVERFLOW_RESEND] = "DLA_OVERFLOW_RESEND",
    [GNI_STAT_DLA_RETRANS_COUNT] = "DLA_RETRANS_COUNT",
    [GNI_STAT_DLA_TOTAL_RETRANS_COUNT] = "DLA_TOTAL_RETRANS_COUNT",
    [GNI_STAT_FLBTE_TXD_CORRUPT] = "FLBTE_TXD_CORRUPT",
    [GNI_STAT_FLBTE_TXD_NONE] = "FLBTE_TXD_NONE",
    [GNI_STAT_FMA_LAUNCH_COUNT] = "FMA_LAUNCH_COUNT",
    [GNI_STAT_MR_MULTI_PAGESIZE] = "MR_MULTI_PAGESIZE",
};
_Static_assert(sizeof(gni_statistic_str) / sizeof(gni_statistic_str[0]) == GNI_NUM_STATS,
               "one name per statistic");

static const char *const device_resources[] = {
    [GNI_DEV_RES_MDD] = "MDD", [GNI_DEV_RES_MRT] = "MRT", [GNI_DEV_RES_CQ] = "CQ",
    [GNI_DEV_RES_FMA] = "FMA", [GNI_DEV_RES_CE] = "CE",   [GNI_DEV_RES_DLA] = "DLA",
    [GNI_DEV_RES_TCR] = "TCR", [GNI_DEV_RES_DVA] = "DVA",
};
_Static_assert(sizeof(device_resources) / sizeof(device_resources[0]) == GNI_DEV_RES_LAST,
               "one name per device resource");

static const char *const job_resources[] = {
    [GNI_JOB_RES_MDD] = "MDD",         [GNI_JOB_RES_MRT] = "MRT",
    [GNI_JOB_RES_IOMMU] = "IOMMU",     [GNI_JOB_RES_GART] = "GART",
    [GNI_JOB_RES_CQ] = "CQ",           [GNI_JOB_RES_FMA] = "FMA",
    [GNI_JOB_RES_RDMA] = "RDMA",       [GNI_JOB_RES_CE] = "CE",
    [GNI_JOB_RES_DLA] = "DLA",         [GNI_JOB_RES_SFMA] = "SFMA",
    [GNI_JOB_RES_DIRECT] = "DIRECT",   [GNI_JOB_RES_PCI_IOMMU] = "PCI_IOMMU",
    [GNI_JOB_RES_NONVMDH] = "NONVMDH",
};
_Static_assert(sizeof(job_resources) / sizeof(job_resources[0]) == GNI_JOB_RES_LAST,
               "one name per job resource");

/* Aries has no memory relocation table, which Gemini has. */
uint32_t gni_dev_res_valid(gni_dev_res_t res_type)
{
    return res_type > GNI_DEV_RES_FIRST && res_type < GNI_DEV_RES_LAST &&
           res_type != GNI_DEV_RES_MRT;
}

const char *gni_dev_res_to_str(gni_dev_res_t res_type)
{
    if (res_type <= GNI_DEV_RES_FIRST || res_type >= GNI_DEV_RES_LAST)
        return "UNKNOWN";
    return device_resources[res_type];
}

/* Aries has no GART, which Gemini has. */
uint32_t gni_job_res_valid(gni_job_res_t res_type)
{
    return res_type > GNI_JOB_RES_FIRST && res_type < GNI_JOB_RES_LAST &&
           res_type != GNI_JOB_RES_MRT && res_type != GNI_JOB_RES_GART;
}

const char *gni_job_res_to_str(gni_job_res_t res_type)
{
    if (res_type <= GNI_JOB_RES_FIRST || res_type >= GNI_JOB_RES_LAST)
        return "UNKNOWN";
    return job_resources[res_type];
}
