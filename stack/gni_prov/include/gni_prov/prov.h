/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Entry points of the provider. */
#ifndef GNIP_PROV_H
#define GNIP_PROV_H

#include <rdma/providers/fi_prov.h>

/* For programs that link the provider: fi_getinfo finds out whether the calling process has a NIC.
 */
struct fi_provider *gni_prov_ini(void);
/* The rules that the provider checks (docs/findings.md); the last one has no name. */
struct port_rule;
const struct port_rule *gni_prov_rules(void);
/* What libfabric calls in the plug-in. NULL: there is no NIC, or uGNI is too old. */
struct fi_provider *fi_prov_ini(void);

#endif
