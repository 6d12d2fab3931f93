/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The entry points for libfabric and for programs that link the provider. */
#include "domain.h"
#include "gni_prov/prov.h"
#include "gnip.h"
#include "info.h"

static void clean_up(void)
{
    /* All state was freed with the last fabric. */
}

/*
 * The only variable: libfabric stores a pointer in `context` when it loads the provider; nothing
 * writes to it afterwards.
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
