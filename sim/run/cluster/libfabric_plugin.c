/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The plug-in that libfabric loads. The provider is in the program (libfabric.c), and the plug-in
 * hands it out. It is a library of its own because libfabric loads providers from files only.
 */
#include <rdma/providers/fi_prov.h>
#include <stddef.h>

#define EXPORTED __attribute__((visibility("default")))

struct fi_provider *fi_prov_ini(void);
extern struct fi_provider *(*jacquard_provider)(void);
EXPORTED struct fi_provider *(*jacquard_provider)(void); /* set by the program */

EXPORTED struct fi_provider *fi_prov_ini(void)
{
    return jacquard_provider != NULL ? jacquard_provider() : NULL;
}
