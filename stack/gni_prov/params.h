/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The values of "domain ops 1", by their numbers. */
#ifndef GNIP_PARAMS_H
#define GNIP_PARAMS_H

#include <rdma/providers/fi_prov.h>

#include "gnip.h"
#include "rdma/fi_ext_gni.h"

/* "domain ops 1" (params.c has the table of names, types and defaults). */
struct gnip_params {
    uint32_t msg_rendezvous_threshold, rma_rdma_threshold;
    uint32_t conn_table_initial, conn_table_max, conn_table_step, vc_id_capacity;
    uint32_t mbox_page, mbox_per_slab, mbox_credits, mbox_message;
    uint32_t rx_cq_size, tx_cq_size;
    uint32_t max_retransmits;
    int32_t error_inject;
    int32_t mr_lazy;
    char mr_cache[12]; /* internal or none */
    uint32_t mr_udreg_limit, mr_soft_limit;
    int32_t mr_hard_limit;
    uint32_t mr_stale_limit;
    bool xpmem;
    uint32_t dgram_timeout; /* ms between polls by the control helper while it has jobs */
    uint32_t eager_auto_progress;
    /* As the application has set them; above are the values that are used instead of these. */
    int64_t given[GNI_NUM_DOM_OPS];
    const char *given_cache;
};
void gnip_params_init(struct gnip_params *params); /* defaults, then the GNIX_ variables */

#define GNIP_PARAM_MAX_NICS "max_nics" /* not one of "domain ops 1": all domains share the NICs */
/* GNIX_MAX_NICS or FI_GNI_MAX_NICS. False: neither is set. */
bool gnip_params_max_nics(uint32_t *nics);
#define GNIP_PARAM_STRICT "strict"
bool gnip_params_strict(void); /* GNIX_STRICT or FI_GNI_STRICT; default: true */

#define GNIP_PARAMS_LABEL 64u /* bytes */
/* A parameter's name in lower case, as libfabric has it. */
void gnip_params_label(dom_ops_val_t which, char label[GNIP_PARAMS_LABEL]);
/* A parameter's name in the environment, behind GNIX_ or FI_GNI_. */
const char *gnip_params_name(dom_ops_val_t which, enum fi_param_type *type, const char **meaning);
/*
 * `value` points to a value of the parameter's type. gnip_params_get returns what gnip_params_set
 * was given, also where the provider uses its least value instead, or ignores the value. 0 or
 * -FI_EINVAL.
 */
int gnip_params_set(struct gnip_params *params, dom_ops_val_t which, const void *value);
int gnip_params_get(const struct gnip_params *params, dom_ops_val_t which, void *value);
/* Bytes of the parameter's type; 0: a string, or no such parameter. */
size_t gnip_params_bytes(dom_ops_val_t which);
/*
 * A constant text for a name of GNI_MR_CACHE. `bytes`: with or without its final zero. NULL:
 * unknown.
 */
const char *gnip_params_cache_of(const char *name, size_t bytes);

#endif
