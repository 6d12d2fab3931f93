/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Passive endpoints (pep.c). */
#ifndef GNIP_PEP_H
#define GNIP_PEP_H

#include "name.h"

struct gnip_pep {
    struct fid_pep fid;
    struct gnip_fabric *fabric;
    struct gnip_ctx *ctx;
    struct fi_info *info; /* a copy */
    struct gnip_eq *eq;
    struct gnip_cm_nic *cm_nic; /* NULL: not listening */
    struct gnip_name name;
    struct port_mutex lock; /* protects name, eq and cm_nic */
    struct gnip_msg_listener *listener; /* requests of peers (msg_listen.c) */
};
int gnip_pep_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep,
                  void *context);

#endif
