/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libvipl.so: what a program for VIPL is linked with. sim-run has the functions themselves, and a
 * program there finds those. Here is a machine without a device: no NIC opens, and so no handle is
 * valid.
 */
#include <vipl.h>

#define UNUSED __attribute__((unused))

VIP_RETURN VipOpenNic(UNUSED const VIP_CHAR *DeviceName, UNUSED VIP_NIC_HANDLE *NicHandle)
{
    return VIP_ERROR_RESOURCE;
}

VIP_RETURN VipCloseNic(UNUSED VIP_NIC_HANDLE NicHandle)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipQueryNic(UNUSED VIP_NIC_HANDLE NicHandle, UNUSED VIP_NIC_ATTRIBUTES *Attributes)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipQuerySystemManagementInfo(UNUSED VIP_NIC_HANDLE NicHandle, UNUSED VIP_ULONG InfoType,
                                        UNUSED VIP_PVOID SysManInfo)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipErrorCallback(UNUSED VIP_NIC_HANDLE NicHandle, UNUSED VIP_PVOID Context,
                            UNUSED VIP_ERROR_HANDLER Handler)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipCreatePtag(UNUSED VIP_NIC_HANDLE NicHandle, UNUSED VIP_PROTECTION_HANDLE *Ptag)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipDestroyPtag(UNUSED VIP_NIC_HANDLE NicHandle, UNUSED VIP_PROTECTION_HANDLE Ptag)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipRegisterMem(UNUSED VIP_NIC_HANDLE NicHandle, UNUSED VIP_PVOID VirtualAddress,
                          UNUSED VIP_ULONG Length, UNUSED VIP_MEM_ATTRIBUTES *MemAttributes,
                          UNUSED VIP_MEM_HANDLE *MemHandle)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipDeregisterMem(UNUSED VIP_NIC_HANDLE NicHandle, UNUSED VIP_PVOID VirtualAddress,
                            UNUSED VIP_MEM_HANDLE MemHandle)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipQueryMem(UNUSED VIP_NIC_HANDLE NicHandle, UNUSED VIP_PVOID VirtualAddress,
                       UNUSED VIP_MEM_HANDLE MemHandle, UNUSED VIP_MEM_ATTRIBUTES *MemAttributes)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipSetMemAttributes(UNUSED VIP_NIC_HANDLE NicHandle, UNUSED VIP_PVOID VirtualAddress,
                               UNUSED VIP_MEM_HANDLE MemHandle,
                               UNUSED VIP_MEM_ATTRIBUTES *MemAttributes)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipCreateVi(UNUSED VIP_NIC_HANDLE NicHandle, UNUSED VIP_VI_ATTRIBUTES *ViAttributes,
                       UNUSED VIP_CQ_HANDLE SendCQHandle, UNUSED VIP_CQ_HANDLE RecvCQHandle,
                       UNUSED VIP_VI_HANDLE *ViHandle)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipDestroyVi(UNUSED VIP_VI_HANDLE ViHandle)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipQueryVi(UNUSED VIP_VI_HANDLE ViHandle, UNUSED VIP_VI_STATE *State,
                      UNUSED VIP_VI_ATTRIBUTES *ViAttributes, UNUSED VIP_BOOLEAN *ViSendQEmpty,
                      UNUSED VIP_BOOLEAN *ViRecvQEmpty)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipSetViAttributes(UNUSED VIP_VI_HANDLE ViHandle, UNUSED VIP_VI_ATTRIBUTES *ViAttributes)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipConnectWait(UNUSED VIP_NIC_HANDLE NicHandle, UNUSED VIP_NET_ADDRESS *LocalAddr,
                          UNUSED VIP_ULONG Timeout, UNUSED VIP_NET_ADDRESS *RemoteAddr,
                          UNUSED VIP_VI_ATTRIBUTES *RemoteViAttributes,
                          UNUSED VIP_CONN_HANDLE *ConnHandle)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipConnectAccept(UNUSED VIP_CONN_HANDLE ConnHandle, UNUSED VIP_VI_HANDLE ViHandle)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipConnectReject(UNUSED VIP_CONN_HANDLE ConnHandle)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipConnectRequest(UNUSED VIP_VI_HANDLE ViHandle, UNUSED VIP_NET_ADDRESS *LocalAddr,
                             UNUSED VIP_NET_ADDRESS *RemoteAddr, UNUSED VIP_ULONG Timeout,
                             UNUSED VIP_VI_ATTRIBUTES *RemoteViAttributes)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipConnectPeerRequest(UNUSED VIP_VI_HANDLE ViHandle, UNUSED VIP_NET_ADDRESS *LocalAddr,
                                 UNUSED VIP_NET_ADDRESS *RemoteAddr, UNUSED VIP_ULONG Timeout)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipConnectPeerDone(UNUSED VIP_VI_HANDLE ViHandle,
                              UNUSED VIP_VI_ATTRIBUTES *RemoteAttributes)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipConnectPeerWait(UNUSED VIP_VI_HANDLE ViHandle,
                              UNUSED VIP_VI_ATTRIBUTES *RemoteAttributes)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipDisconnect(UNUSED VIP_VI_HANDLE ViHandle)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipPostSend(UNUSED VIP_VI_HANDLE ViHandle, UNUSED VIP_DESCRIPTOR *DescriptorPtr,
                       UNUSED VIP_MEM_HANDLE MemoryHandle)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipPostRecv(UNUSED VIP_VI_HANDLE ViHandle, UNUSED VIP_DESCRIPTOR *DescriptorPtr,
                       UNUSED VIP_MEM_HANDLE MemoryHandle)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipSendDone(UNUSED VIP_VI_HANDLE ViHandle, UNUSED VIP_DESCRIPTOR **DescriptorPtr)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipRecvDone(UNUSED VIP_VI_HANDLE ViHandle, UNUSED VIP_DESCRIPTOR **DescriptorPtr)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipSendWait(UNUSED VIP_VI_HANDLE ViHandle, UNUSED VIP_ULONG Timeout,
                       UNUSED VIP_DESCRIPTOR **DescriptorPtr)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipRecvWait(UNUSED VIP_VI_HANDLE ViHandle, UNUSED VIP_ULONG Timeout,
                       UNUSED VIP_DESCRIPTOR **DescriptorPtr)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipSendNotify(UNUSED VIP_VI_HANDLE ViHandle, UNUSED VIP_PVOID Context,
                         UNUSED VIP_VI_NOTIFY_HANDLER Handler)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipRecvNotify(UNUSED VIP_VI_HANDLE ViHandle, UNUSED VIP_PVOID Context,
                         UNUSED VIP_VI_NOTIFY_HANDLER Handler)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipCreateCQ(UNUSED VIP_NIC_HANDLE NicHandle, UNUSED VIP_ULONG EntryCount,
                       UNUSED VIP_CQ_HANDLE *CQHandle)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipDestroyCQ(UNUSED VIP_CQ_HANDLE CQHandle)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipResizeCQ(UNUSED VIP_CQ_HANDLE CQHandle, UNUSED VIP_ULONG EntryCount)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipCQDone(UNUSED VIP_CQ_HANDLE CQHandle, UNUSED VIP_VI_HANDLE *ViHandle,
                     UNUSED VIP_BOOLEAN *RecvQueue)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipCQWait(UNUSED VIP_CQ_HANDLE CQHandle, UNUSED VIP_ULONG Timeout,
                     UNUSED VIP_VI_HANDLE *ViHandle, UNUSED VIP_BOOLEAN *RecvQueue)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipCQNotify(UNUSED VIP_CQ_HANDLE CQHandle, UNUSED VIP_PVOID Context,
                       UNUSED VIP_CQ_NOTIFY_HANDLER Handler)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipNSInit(UNUSED VIP_NIC_HANDLE NicHandle, UNUSED VIP_PVOID NSInitInfo)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipNSGetHostByName(UNUSED VIP_NIC_HANDLE NicHandle, UNUSED const VIP_CHAR *Name,
                              UNUSED VIP_NET_ADDRESS *Address, UNUSED VIP_ULONG NameIndex)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipNSGetHostByAddr(UNUSED VIP_NIC_HANDLE NicHandle,
                              UNUSED const VIP_NET_ADDRESS *Address, UNUSED VIP_CHAR *Name,
                              UNUSED VIP_ULONG *NameLen)
{
    return VIP_INVALID_PARAMETER;
}

VIP_RETURN VipNSShutdown(UNUSED VIP_NIC_HANDLE NicHandle)
{
    return VIP_INVALID_PARAMETER;
}
