/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How libfabric, or a program that links the provider, gets hold of it. */
#include "domain.h"
#include "gni_prov/prov.h"
#include "gnip.h"
#include "info.h"

static void clean_up(void)
{
    /* Everything went with the last fabric. */
}

/*
 * The one thing that is not constant: libfabric keeps a note of its own in `context` when it is
 * loaded, and nobody writes afterwards.
 */
static struct fi_provider provider = {
    .version = GNIP_VERSION,
    .fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
    .name = GNIP_NAME,
    .getinfo = gnip_getinfo,
    .fabric = gnip_fabric_open,
    .cleanup = clean_up,
};

struct fi_provider *gni_prov_ini(void)
{
    return &provider;
}
