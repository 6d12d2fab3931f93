/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Scalable endpoints (sep.c) and shared transmit contexts (stx.c). */
#ifndef GNIP_SEP_H
#define GNIP_SEP_H

#include "name.h"

struct gnip_sep {
    struct fid_ep fid;
    struct gnip_domain *domain;
    struct gnip_auth *auth;
    struct gnip_refs refs;
    struct fi_info *info;
    struct gnip_cm_nic *cm_nic;
    struct gnip_name name;
    struct gnip_av *av;
    uint32_t cdm_base, tx_count, rx_count, count; /* count: the greater of both numbers */
    struct port_mutex lock; /* protects what follows */
    struct gnip_sep_context {
        struct gnip_ep *ep; /* the EP of this index; it serves both directions */
        /* the EP's own operations; the contexts have those of the SEP */
        const struct fi_ops *ep_ops;
        bool tx_open, rx_open;
        bool tx_done, rx_done; /* the SEP has enabled the context; enabling it again is no error */
    } * contexts;
};
int gnip_scalable_ep(struct fid_domain *domain, struct fi_info *info, struct fid_ep **sep,
                     void *context);

struct gnip_stx {
    struct fid_stx fid;
    struct gnip_domain *domain;
    struct gnip_auth *auth;
    struct gnip_nic *nic;
    struct gnip_refs refs;
};
int gnip_stx_open(struct fid_domain *domain, struct fi_tx_attr *attr, struct fid_stx **stx,
                  void *context);

#endif
