/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_getinfo (info.c). */
#ifndef GNIP_INFO_H
#define GNIP_INFO_H

#include "gnip.h"

/* fi_getinfo (info.c). */
int gnip_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
                 const struct fi_info *hints, struct fi_info **info);
/* Whether a context can have these attributes; NULL: it takes those of its endpoint. */
bool gnip_tx_attr_fits(const struct fi_tx_attr *attr);
bool gnip_rx_attr_fits(const struct fi_rx_attr *attr);

#endif
