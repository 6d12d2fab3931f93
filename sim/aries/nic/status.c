/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names of completion statuses and whether they are recoverable, and the two functions of the API
 * that return them.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include "nic/cq_entry.h"
#include "nic/status.h"

/* One code a line. */
/* clang-format off */
static const struct {
    const char *name;
    bool recoverable;
} statuses[ARIES_STATUS_COUNT] = {
    [A_STATUS_OKAY] = {"OKAY", false},
    [A_STATUS_REQ_DISABLED] = {"REQ_DISABLED", false},
    [A_STATUS_REQ_ILLEGAL_CMD] = {"REQ_ILLEGAL_CMD", false},
    [A_STATUS_REQ_ILLEGAL_ADDR] = {"REQ_ILLEGAL_ADDR", false},
    [A_STATUS_REQ_ILLEGAL_SIZE] = {"REQ_ILLEGAL_SIZE", false},
    [A_STATUS_REQ_INSUFFICIENT_PRIV] = {"REQ_INSUFFICIENT_PRIV", false},
    [A_STATUS_PKT_MALFORMED_CMD] = {"PKT_MALFORMED_CMD", true},
    [A_STATUS_PKT_MALFORMED_ADDR] = {"PKT_MALFORMED_ADDR", true},
    [A_STATUS_PKT_MALFORMED_SIZE] = {"PKT_MALFORMED_SIZE", true},
    [A_STATUS_PKT_MALFORMED_RESERVED] = {"PKT_MALFORMED_RESERVED", true},
    [A_STATUS_PKT_MISROUTED] = {"PKT_MISROUTED", false},
    [A_STATUS_DATA_ERR] = {"DATA_ERR", true},
    [A_STATUS_DATA_POISON] = {"DATA_POISON", false},
    [A_STATUS_AT_VMDHCAM_MALFORMED] = {"AT_VMDHCAM_MALFORMED", false},
    [A_STATUS_AT_MDD_UNCORRECTABLE] = {"AT_MDD_UNCORRECTABLE", false},
    [A_STATUS_AT_MDD_INV] = {"AT_MDD_INV", false},
    [A_STATUS_AT_MDD_MALFORMED] = {"AT_MDD_MALFORMED", false},
    [A_STATUS_AT_MDD_WR_PERMISSION_ERR] = {"AT_MDD_WR_PERMISSION_ERR", false},
    [A_STATUS_AT_BOUNDS_ERR] = {"AT_BOUNDS_ERR", false},
    [A_STATUS_AT_PTT_UNCORRECTABLE] = {"AT_PTT_UNCORRECTABLE", false},
    [A_STATUS_AT_PROTECTION_ERR] = {"AT_PROTECTION_ERR", false},
    [A_STATUS_AT_TCE_UNCORRECTABLE] = {"AT_TCE_UNCORRECTABLE", false},
    [A_STATUS_AT_TCE_INV] = {"AT_TCE_INV", false},
    [A_STATUS_AT_PF_UNCORRECTABLE] = {"AT_PF_UNCORRECTABLE", false},
    [A_STATUS_AT_PF_TIMEOUT] = {"AT_PF_TIMEOUT", true},
    [A_STATUS_AT_PF_INV] = {"AT_PF_INV", false},
    [A_STATUS_AT_PF_MALFORMED] = {"AT_PF_MALFORMED", false},
    [A_STATUS_AT_PF_RD_PERMISSION_ERR] = {"AT_PF_RD_PERMISSION_ERR", false},
    [A_STATUS_AT_PF_WR_PERMISSION_ERR] = {"AT_PF_WR_PERMISSION_ERR", false},
    [A_STATUS_AT_UNCORRECTABLE] = {"AT_UNCORRECTABLE", true},
    [A_STATUS_PE_BOUNDS_ERR] = {"PE_BOUNDS_ERR", false},
    [A_STATUS_FMA_UNCORRECTABLE] = {"FMA_UNCORRECTABLE", false},
    [A_STATUS_DLA_OVERFLOW] = {"DLA_OVERFLOW", true},
    [A_STATUS_BTE_UNCORRECTABLE] = {"BTE_UNCORRECTABLE", true},
    [A_STATUS_BTE_SEQUENCE_TERMINATE] = {"BTE_SEQUENCE_TERMINATE", true},
    [A_STATUS_BTE_TIMEOUT] = {"BTE_TIMEOUT", true},
    [A_STATUS_MSG_PROTOCOL_ERR] = {"MSG_PROTOCOL_ERR", false},
    [A_STATUS_SSID_UNCORRECTABLE] = {"SSID_UNCORRECTABLE", false},
    [A_STATUS_SSID_PKT_MALFORMED_SIZE] = {"SSID_PKT_MALFORMED_SIZE", true},
    [A_STATUS_SSID_TIMEOUT] = {"SSID_TIMEOUT", true},
    [A_STATUS_RMT_DESC_UNCORRECTABLE] = {"RMT_DESC_UNCORRECTABLE", true},
    [A_STATUS_RMT_DESC_UNAVAILABLE] = {"RMT_DESC_UNAVAILABLE", true},
    [A_STATUS_RMT_SEQTBL_UNCORRECTABLE] = {"RMT_SEQTBL_UNCORRECTABLE", true},
    [A_STATUS_RMT_CAM_UNCORRECTABLE] = {"RMT_CAM_UNCORRECTABLE", true},
    [A_STATUS_RMT_SEQTBL_UNAVAILABLE] = {"RMT_SEQTBL_UNAVAILABLE", true},
    [A_STATUS_RMT_BUF_OVERRUN] = {"RMT_BUF_OVERRUN", false},
    [A_STATUS_RMT_TIMEOUT] = {"RMT_TIMEOUT", true},
    [A_STATUS_CQ_OVERRUN] = {"CQ_OVERRUN", true},
    [A_STATUS_CQ_ERR] = {"CQ_ERR", false},
    [A_STATUS_CE_UNCORRECTABLE] = {"CE_UNCORRECTABLE", false},
    [A_STATUS_CE_OPERATION_UNEXPECTED] = {"CE_OPERATION_UNEXPECTED", false},
    [A_STATUS_CE_JOIN_DUPLICATE] = {"CE_JOIN_DUPLICATE", false},
    [A_STATUS_CE_JOIN_CHILD_INV] = {"CE_JOIN_CHILD_INV", false},
    [A_STATUS_CE_JOIN_INCONSISTENT] = {"CE_JOIN_INCONSISTENT", false},
    [A_STATUS_CE_PROTECTION_ERR] = {"CE_PROTECTION_ERR", false},
    [A_STATUS_CE_REDUCTION_ID_MISMATCH] = {"CE_REDUCTION_ID_MISMATCH", false},
    [A_STATUS_AMO_CACHE_ERR] = {"AMO_CACHE_ERR", false},
    [A_STATUS_ORB_TIMEOUT] = {"ORB_TIMEOUT", true},
    [A_STATUS_PI_ERR] = {"PI_ERR", false},
    [A_STATUS_PI_TIMEOUT] = {"PI_TIMEOUT", true},
    [A_STATUS_WC_TAG_UNCORRECTABLE] = {"WC_TAG_UNCORRECTABLE", true},
    [A_STATUS_ENDPOINT_UNREACHABLE] = {"ENDPOINT_UNREACHABLE", true},
    [A_STATUS_RESERVED_3E] = {"RESERVED_3E", false},
    [A_STATUS_RESERVED_3F] = {"RESERVED_3F", false},
};
/* clang-format on */

static const char *const sources[8] = {
    "SOURCE_NONE", "SOURCE_BTE",       "SOURCE_SSID",      "SOURCE_RMT",
    "SOURCE_DLA",  "SOURCE_UNDEFINED", "SOURCE_UNDEFINED", "SOURCE_UNDEFINED",
};

static const char *const infos[8][4] = {
    [ARIES_CQ_SOURCE_BTE] = {"TX_DONE", "TX_DONE_NO_SSID", "ENQ_STATUS", NULL},
    [ARIES_CQ_SOURCE_SSID] = {"NONE", "CPLTN_SREQ", "CPLTN_DREQ", "CPLTN_SRSP"},
    [ARIES_CQ_SOURCE_RMT] = {"CQWRITE", "CPLTN_SREQ", "CPLTN_DREQ", "CPLTN_SRSP"},
    [ARIES_CQ_SOURCE_DLA] = {"ALLOC_STATUS", "DLA_MARKER", NULL, NULL},
};

const char *aries_status_name(unsigned status)
{
    assert(status < ARIES_STATUS_COUNT);
    return statuses[status].name;
}

bool aries_status_recoverable(unsigned status)
{
    assert(status < ARIES_STATUS_COUNT);
    return statuses[status].recoverable;
}

gni_return_t GNI_CqErrorStr(gni_cq_entry_t entry, void *buffer, uint32_t len)
{
    unsigned source = aries_cq_entry_source(entry);
    const char *info = infos[source][aries_cq_entry_info(entry)];
    char text[96];
    int length;

    if (!buffer || len == 0)
        return GNI_RC_INVALID_PARAM;
    length = snprintf(text, sizeof(text), "%s:%s:%s", sources[source],
                      aries_status_name(aries_cq_entry_status(entry)), info ? info : "UNDEFINED");
    assert(length > 0 && (size_t)length < sizeof(text));
    if (len <= (uint32_t)length)
        return GNI_RC_SIZE_ERROR;
    memcpy(buffer, text, (size_t)length + 1);
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_CqErrorRecoverable(gni_cq_entry_t entry, uint32_t *recoverable)
{
    unsigned status = aries_cq_entry_status(entry);

    if (!recoverable)
        return GNI_RC_INVALID_PARAM;
    if (status == A_STATUS_OKAY)
        return GNI_RC_INVALID_STATE;
    *recoverable = aries_status_recoverable(status);
    return GNI_RC_SUCCESS;
}
