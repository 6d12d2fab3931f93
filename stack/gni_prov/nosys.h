/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Functions that are not offered (nosys.c). */
#ifndef GNIP_NOSYS_H
#define GNIP_NOSYS_H

#include "gnip.h"

int gnip_no_bind(struct fid *fid, struct fid *object, uint64_t flags);
int gnip_no_control(struct fid *fid, int command, void *argument);
int gnip_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);
int gnip_no_getopt(fid_t fid, int level, int option, void *value, size_t *bytes);
int gnip_no_setopt(fid_t fid, int level, int option, const void *value, size_t bytes);
int gnip_no_tx_ctx(struct fid_ep *ep, int index, struct fi_tx_attr *attr, struct fid_ep **tx_ep,
                   void *context);
int gnip_no_rx_ctx(struct fid_ep *ep, int index, struct fi_rx_attr *attr, struct fid_ep **rx_ep,
                   void *context);
ssize_t gnip_no_size_left(struct fid_ep *ep);
int gnip_no_connect(struct fid_ep *ep, const void *address, const void *data, size_t bytes);
int gnip_no_listen(struct fid_pep *pep);
int gnip_no_accept(struct fid_ep *ep, const void *data, size_t bytes);
int gnip_no_reject(struct fid_pep *pep, fid_t handle, const void *data, size_t bytes);
int gnip_no_shutdown(struct fid_ep *ep, uint64_t flags);
int gnip_no_av_set(struct fid_av *av, struct fi_av_set_attr *attr, struct fid_av_set **set,
                   void *context);
int gnip_no_join(struct fid_ep *ep, const void *address, uint64_t flags, struct fid_mc **mc,
                 void *context);
extern const struct fi_ops_msg gnip_no_msg_ops;
extern const struct fi_ops_tagged gnip_no_tagged_ops;
extern const struct fi_ops_rma gnip_no_rma_ops;
extern const struct fi_ops_atomic gnip_no_atomic_ops;

#endif
