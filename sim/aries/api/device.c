/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls that need no communication domain: the NICs of the node, and versions. An XC node has one
 * Aries NIC, device 0.
 */
#include <string.h>
#include "nic/gni.h"

#define DEVICE_COUNT 1

gni_return_t GNI_GetNumLocalDevices(int *num_devices)
{
    if (!num_devices)
        return GNI_RC_INVALID_PARAM;
    *num_devices = DEVICE_COUNT;
    return GNI_RC_SUCCESS;
}

/* Leaves the elements beyond the existing devices unchanged. */
gni_return_t GNI_GetLocalDeviceIds(int len, int *device_ids)
{
    int i;

    if (len <= 0 || !device_ids)
        return GNI_RC_INVALID_PARAM;
    for (i = 0; i < len && i < DEVICE_COUNT; i++)
        device_ids[i] = i;
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_GetDeviceType(gni_nic_device_t *dev_type)
{
    if (!dev_type)
        return GNI_RC_INVALID_PARAM;
    *dev_type = GNI_DEVICE_ARIES;
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_GetVersion(uint32_t *version)
{
    if (!version)
        return GNI_RC_INVALID_PARAM;
    *version = GNI_VERSION;
    return GNI_RC_SUCCESS;
}

/*
 * The driver is part of this library, so their versions always agree. There is no Subversion
 * revision.
 */
gni_return_t GNI_GetVersionInformation(gni_version_info_t *version_info)
{
    static const char ugni[] = "jacquard uGNI on simulated Aries";
    static const char kgni[] = "jacquard Aries NIC model";

    _Static_assert(sizeof(ugni) <= MAX_BUILD_STRING_LENGTH, "fits");
    _Static_assert(sizeof(kgni) <= MAX_BUILD_STRING_LENGTH, "fits");
    if (!version_info)
        return GNI_RC_INVALID_PARAM;
    memset(version_info, 0, sizeof(*version_info));
    version_info->ugni_version = GNI_VERSION;
    version_info->kgni_version = GNI_VERSION;
    memcpy(version_info->ugni_build_string, ugni, sizeof(ugni));
    memcpy(version_info->kgni_build_string, kgni, sizeof(kgni));
    return GNI_RC_SUCCESS;
}
