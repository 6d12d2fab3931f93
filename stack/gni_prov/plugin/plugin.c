/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The entry point that libfabric calls when it has loaded the library. */
#include "ctx.h"
#include "gni_prov/prov.h"
#include "gnip.h"
#include "params.h"

#define EXPORTED __attribute__((visibility("default")))

/* Whether uGNI is at least the version that this was compiled for. */
static bool recent_enough(void)
{
    gni_version_info_t version;
    uint32_t have;

    if (GNI_GetVersionInformation(&version) != GNI_RC_SUCCESS)
        return false;
    have = version.ugni_version;
    if (GNI_GET_MAJOR(have) != GNI_MAJOR_REV)
        return GNI_GET_MAJOR(have) > GNI_MAJOR_REV;
    return GNI_GET_MINOR(have) >= GNI_MINOR_REV;
}

/* fi_info -e lists them. */
static void define(const struct fi_provider *provider, dom_ops_val_t which)
{
    enum fi_param_type type;
    const char *meaning;
    char label[GNIP_PARAMS_LABEL];

    gnip_params_name(which, &type, &meaning);
    gnip_params_label(which, label);
    fi_param_define(provider, label, type, "%s", meaning);
}

EXPORTED struct fi_provider *fi_prov_ini(void)
{
    struct fi_provider *provider = gni_prov_ini();
    uint32_t address;
    int which;

    if (gnip_local_nic(&address) != 0 || !recent_enough())
        return NULL;
    for (which = 0; which < GNI_NUM_DOM_OPS; which++)
        define(provider, (dom_ops_val_t)which);
    fi_param_define(provider, GNIP_PARAM_MAX_NICS, FI_PARAM_SIZE_T,
                    "NICs of a protection tag at most");
    fi_param_define(provider, GNIP_PARAM_STRICT, FI_PARAM_BOOL,
                    "No: results as in libfabric's own gni, where the man pages differ");
    return provider;
}
