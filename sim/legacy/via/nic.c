/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* NICs, protection tags and asynchronous errors. */
#include "via.h"

#include <assert.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

struct via_nic *via_nic_get(VIP_NIC_HANDLE handle)
{
    return via_handle_get(via_process_of(handle), VIA_HANDLE_NIC, handle);
}

static uint64_t limit(const struct via_nic *nic, enum via_param param)
{
    return (uint64_t)nic->process->devices->network->values[param];
}

/* ---- opening and closing --------------------------------------------------------------------- */

/* The number at the end of "/dev/via_eth0". */
static bool device_number(const char *name, uint32_t *number)
{
    size_t length = name != NULL ? strlen(name) : 0, digits = 0;

    while (digits < length && g_ascii_isdigit(name[length - 1 - digits]))
        digits++;
    if (digits == 0 || digits > 3)
        return false;
    *number = (uint32_t)g_ascii_strtoull(name + length - digits, NULL, 10);
    return *number < VIA_ADAPTERS_MAX;
}

VIP_RETURN VipOpenNic(const VIP_CHAR *DeviceName, VIP_NIC_HANDLE *NicHandle)
{
    struct via_process *process;
    struct via_nic *nic;
    uint32_t number;

    if (DeviceName == NULL || NicHandle == NULL)
        return VIP_INVALID_PARAMETER;
    if (!device_number(DeviceName, &number) || (process = via_process_on(number)) == NULL)
        return VIP_ERROR_RESOURCE;
    nic = g_new0(struct via_nic, 1);
    nic->process = process;
    nic->address[0] = 0x02; /* administered locally */
    nic->address[2] = (uint8_t)(process->endpoint >> 24);
    nic->address[3] = (uint8_t)(process->endpoint >> 16);
    nic->address[4] = (uint8_t)(process->endpoint >> 8);
    nic->address[5] = (uint8_t)process->endpoint;
    nic->handle = via_handle_new(process, VIA_HANDLE_NIC, nic);
    nic->next = process->nics;
    process->nics = nic;
    *NicHandle = nic->handle;
    return VIP_SUCCESS;
}

static void ptag_free(struct via_ptag *ptag)
{
    struct via_ptag **place = &ptag->nic->ptags;

    while (*place != ptag)
        place = &(*place)->next;
    *place = ptag->next;
    ptag->nic->ptag_count--;
    via_handle_free(ptag->nic->process, ptag->handle);
    g_free(ptag);
}

void via_nic_free(struct via_nic *nic)
{
    struct via_nic **place = &nic->process->nics;

    while (nic->vis != NULL)
        via_vi_free(nic->vis);
    while (nic->cqs != NULL)
        via_cq_free(nic->cqs);
    while (nic->ptags != NULL)
        ptag_free(nic->ptags);
    while (*place != nic)
        place = &(*place)->next;
    *place = nic->next;
    via_handle_free(nic->process, nic->handle);
    assert(nic->process->devices->registered >= nic->region_count);
    nic->process->devices->registered -= nic->region_count;
    g_free(nic->regions);
    g_free(nic);
}

VIP_RETURN VipCloseNic(VIP_NIC_HANDLE NicHandle)
{
    struct via_nic *nic = via_nic_get(NicHandle);

    if (nic == NULL)
        return VIP_INVALID_PARAMETER;
    via_nic_free(nic);
    return VIP_SUCCESS;
}

VIP_RETURN VipQueryNic(VIP_NIC_HANDLE NicHandle, VIP_NIC_ATTRIBUTES *Attributes)
{
    const struct via_nic *nic = via_nic_get(NicHandle);

    if (nic == NULL || Attributes == NULL)
        return VIP_INVALID_PARAMETER;
    *Attributes = (VIP_NIC_ATTRIBUTES){
        .Name = "M-VIA on Fast Ethernet",
        .HardwareVersion = 1,
        .ProviderVersion = 1,
        .NicAddressLen = VIA_ADDRESS_BYTES,
        .LocalNicAddress = nic->address,
        .ThreadSafe = VIP_TRUE,
        .MaxDiscriminatorLen = VIA_DISCRIMINATOR_MAX,
        .MaxRegisterBytes = limit(nic, VIA_MAX_REGISTER_BYTES),
        .MaxRegisterRegions = limit(nic, VIA_MAX_REGISTER_REGIONS),
        .MaxRegisterBlockBytes = limit(nic, VIA_MAX_REGISTER_BYTES),
        .MaxVI = limit(nic, VIA_MAX_VI),
        .MaxDescriptorsPerQueue = limit(nic, VIA_MAX_DESCRIPTORS),
        .MaxSegmentsPerDesc = VIA_SEGMENTS_MAX,
        .MaxCQ = limit(nic, VIA_MAX_CQ),
        .MaxCQEntries = VIA_CQ_ENTRIES_MAX,
        .MaxTransferSize = VIA_TRANSFER_MAX,
        .NativeMTU = limit(nic, VIA_MTU),
        .MaxPtags = limit(nic, VIA_MAX_PTAGS),
        .ReliabilityLevelSupport = (VIP_RELIABILITY_LEVEL)limit(nic, VIA_RELIABILITY),
        .RDMAReadSupport = 0,
    };
    return VIP_SUCCESS;
}

VIP_RETURN VipQuerySystemManagementInfo(VIP_NIC_HANDLE NicHandle, VIP_ULONG InfoType,
                                        VIP_PVOID SysManInfo)
{
    if (via_nic_get(NicHandle) == NULL || SysManInfo == NULL || InfoType != VIP_SMI_AUTODISCOVERY)
        return VIP_INVALID_PARAMETER;
    return VIP_ERROR_NOT_SUPPORTED;
}

/* ---- protection tags ------------------------------------------------------------------------- */

bool via_ptag_find(const struct via_nic *nic, VIP_PROTECTION_HANDLE handle, struct via_ptag **ptag)
{
    *ptag = handle != NULL ? via_handle_get(nic->process, VIA_HANDLE_PTAG, handle) : NULL;
    return handle == NULL || (*ptag != NULL && (*ptag)->nic == nic);
}

void via_ptag_use(struct via_ptag *ptag)
{
    if (ptag != NULL)
        ptag->users++;
}

void via_ptag_unuse(struct via_ptag *ptag)
{
    assert(ptag == NULL || ptag->users > 0);
    if (ptag != NULL)
        ptag->users--;
}

VIP_RETURN VipCreatePtag(VIP_NIC_HANDLE NicHandle, VIP_PROTECTION_HANDLE *Ptag)
{
    struct via_nic *nic = via_nic_get(NicHandle);
    struct via_ptag *ptag;

    if (nic == NULL || Ptag == NULL)
        return VIP_INVALID_PARAMETER;
    if (nic->ptag_count >= limit(nic, VIA_MAX_PTAGS))
        return VIP_ERROR_RESOURCE;
    ptag = g_new0(struct via_ptag, 1);
    ptag->nic = nic;
    ptag->handle = via_handle_new(nic->process, VIA_HANDLE_PTAG, ptag);
    ptag->next = nic->ptags;
    nic->ptags = ptag;
    nic->ptag_count++;
    *Ptag = ptag->handle;
    return VIP_SUCCESS;
}

VIP_RETURN VipDestroyPtag(VIP_NIC_HANDLE NicHandle, VIP_PROTECTION_HANDLE Ptag)
{
    struct via_nic *nic = via_nic_get(NicHandle);
    struct via_ptag *ptag;

    if (nic == NULL)
        return VIP_INVALID_PARAMETER;
    ptag = via_handle_get(nic->process, VIA_HANDLE_PTAG, Ptag);
    if (ptag == NULL || ptag->nic != nic)
        return VIP_INVALID_PTAG;
    if (ptag->users != 0)
        return VIP_ERROR_RESOURCE;
    ptag_free(ptag);
    return VIP_SUCCESS;
}

/* ---- asynchronous errors --------------------------------------------------------------------- */

VIP_RETURN VipErrorCallback(VIP_NIC_HANDLE NicHandle, VIP_PVOID Context, VIP_ERROR_HANDLER Handler)
{
    struct via_nic *nic = via_nic_get(NicHandle);

    if (nic == NULL)
        return VIP_INVALID_PARAMETER;
    nic->handler = Handler; /* NULL: errors are only counted */
    nic->context = Context;
    return VIP_SUCCESS;
}

struct report {
    struct via_process *process;
    VIP_ERROR_HANDLER handler;
    void *context;
    VIP_ERROR_DESCRIPTOR error;
};

static void run_report(void *arg)
{
    struct report report = *(struct report *)arg;

    report.handler(report.context, &report.error);
    sim_settle();
    via_thread_over(report.process);
}

void via_error(struct via_nic *nic, struct via_vi *vi, struct via_cq *cq,
               VIP_DESCRIPTOR *descriptor, VIP_RESOURCE_CODE resource, VIP_ERROR_CODE code)
{
    struct report *report;

    nic->process->devices->errors[code]++;
    if (nic->handler == NULL)
        return;
    report = g_new0(struct report, 1);
    report->process = nic->process;
    report->handler = nic->handler;
    report->context = nic->context;
    report->error = (VIP_ERROR_DESCRIPTOR){
        .NicHandle = nic->handle,
        .ViHandle = vi != NULL ? vi->handle : NULL,
        .CQHandle = cq != NULL ? cq->handle : NULL,
        .DescriptorPtr = descriptor,
        .OpCode = descriptor != NULL ? descriptor->Control.Control & VIP_CONTROL_OP_MASK : 0,
        .ResourceCode = resource,
        .ErrorCode = code,
    };
    if (!via_process_thread(nic->process, run_report, report))
        g_free(report);
}

/* ---- names: "node5" is the host of endpoint 5 ------------------------------------------------ */

VIP_RETURN VipNSInit(VIP_NIC_HANDLE NicHandle, VIP_PVOID NSInitInfo)
{
    struct via_nic *nic = via_nic_get(NicHandle);

    (void)NSInitInfo;
    if (nic == NULL)
        return VIP_INVALID_PARAMETER;
    nic->names = true;
    return VIP_SUCCESS;
}

VIP_RETURN VipNSShutdown(VIP_NIC_HANDLE NicHandle)
{
    struct via_nic *nic = via_nic_get(NicHandle);

    if (nic == NULL)
        return VIP_INVALID_PARAMETER;
    if (!nic->names)
        return VIP_ERROR_NAMESERVICE;
    nic->names = false;
    return VIP_SUCCESS;
}

bool via_host_find(const struct via_devices *devices, const VIP_NET_ADDRESS *address,
                   uint32_t *endpoint)
{
    const uint8_t *bytes = address->HostAddress;

    if (address->HostAddressLen != VIA_ADDRESS_BYTES || bytes[0] != 0x02 || bytes[1] != 0)
        return false;
    *endpoint =
        (uint32_t)bytes[2] << 24 | (uint32_t)bytes[3] << 16 | (uint32_t)bytes[4] << 8 | bytes[5];
    return *endpoint < devices->network->endpoints;
}

/* "node3", or what gethostname() says there, "nid00003". */
static bool find_name(const struct via_devices *devices, const char *name, uint32_t *endpoint)
{
    const char *digits = name + (g_str_has_prefix(name, "node")  ? 4
                                 : g_str_has_prefix(name, "nid") ? 3
                                                                 : strlen(name));
    guint64 number;

    if (!g_ascii_string_to_unsigned(digits, 10, 0, devices->network->endpoints - 1, &number, NULL))
        return false;
    *endpoint = (uint32_t)number;
    return true;
}

VIP_RETURN VipNSGetHostByName(VIP_NIC_HANDLE NicHandle, const VIP_CHAR *Name,
                              VIP_NET_ADDRESS *Address, VIP_ULONG NameIndex)
{
    const struct via_nic *nic = via_nic_get(NicHandle);
    uint32_t endpoint;

    if (nic == NULL || Name == NULL || Address == NULL)
        return VIP_INVALID_PARAMETER;
    if (!nic->names || NameIndex != 0 || !find_name(nic->process->devices, Name, &endpoint))
        return VIP_ERROR_NAMESERVICE;
    /* Many programs leave it 0, and have room for a discriminator and more. */
    if (Address->HostAddressLen != 0 && Address->HostAddressLen < VIA_ADDRESS_BYTES)
        return VIP_INVALID_PARAMETER;
    Address->HostAddressLen = VIA_ADDRESS_BYTES;
    memcpy(Address->HostAddress, nic->address, 2);
    Address->HostAddress[2] = (uint8_t)(endpoint >> 24);
    Address->HostAddress[3] = (uint8_t)(endpoint >> 16);
    Address->HostAddress[4] = (uint8_t)(endpoint >> 8);
    Address->HostAddress[5] = (uint8_t)endpoint;
    return VIP_SUCCESS;
}

VIP_RETURN VipNSGetHostByAddr(VIP_NIC_HANDLE NicHandle, const VIP_NET_ADDRESS *Address,
                              VIP_CHAR *Name, VIP_ULONG *NameLen)
{
    const struct via_nic *nic = via_nic_get(NicHandle);
    uint32_t endpoint;
    char text[32];

    if (nic == NULL || Address == NULL || Name == NULL || NameLen == NULL)
        return VIP_INVALID_PARAMETER;
    if (!nic->names || !via_host_find(nic->process->devices, Address, &endpoint))
        return VIP_ERROR_NAMESERVICE;
    snprintf(text, sizeof(text), "node%u", endpoint);
    if (*NameLen <= strlen(text)) {
        *NameLen = strlen(text) + 1;
        return VIP_ERROR_RESOURCE;
    }
    memcpy(Name, text, strlen(text) + 1);
    *NameLen = strlen(text);
    return VIP_SUCCESS;
}
