/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* VIPL's objects: arguments, limits, attributes, and the answers to each misuse. */
#include "via_world.h"

static void alone(void (*main)(struct process *self))
{
    world_begin(2);
    world_process(0, main);
    assert_int_equal(world_run(), SIM_DONE);
    world_end();
}

#define BAD VIP_INVALID_PARAMETER

/* ---- the layout of the header ---------------------------------------------------------------- */

static void descriptors_have_the_documented_layout(void **state)
{
    VIP_DESCRIPTOR descriptor;

    assert_int_equal(sizeof(VIP_CONTROL_SEGMENT), 32);
    assert_int_equal(sizeof(VIP_DATA_SEGMENT), 16);
    assert_int_equal(sizeof(VIP_ADDRESS_SEGMENT), 16);
    assert_int_equal(offsetof(VIP_CONTROL_SEGMENT, NextHandle), 8);
    assert_int_equal(offsetof(VIP_CONTROL_SEGMENT, SegCount), 12);
    assert_int_equal(offsetof(VIP_CONTROL_SEGMENT, Control), 14);
    assert_int_equal(offsetof(VIP_CONTROL_SEGMENT, ImmediateData), 20);
    assert_int_equal(offsetof(VIP_CONTROL_SEGMENT, Length), 24);
    assert_int_equal(offsetof(VIP_CONTROL_SEGMENT, Status), 28);
    /* both spellings are the same memory */
    assert_ptr_equal(&descriptor.CS, &descriptor.Control);
    assert_ptr_equal(&descriptor.DS[1].Local, &descriptor.Data[1]);
    assert_ptr_equal(&descriptor.DS[0].Remote.Handle, &descriptor.Data[0].Handle);
    assert_int_equal(VIP_ERROR_NOT_SUPPORTED, 16);
    assert_int_equal(VIP_STATE_ERROR, 3);
    assert_int_equal(VIP_ERROR_CATASTROPHIC, 10);
}

/* ---- NICs and tags --------------------------------------------------------------------------- */

static void nic_main(struct process *self)
{
    VIP_NIC_HANDLE nic, second;
    VIP_NIC_ATTRIBUTES attributes;
    VIP_PROTECTION_HANDLE ptag, tags[64];
    VIP_VI_HANDLE vi;

    IS(VipOpenNic(NULL, &nic), BAD);
    IS(VipOpenNic("/dev/via_eth0", NULL), BAD);
    IS(VipOpenNic("/dev/via", &nic), VIP_ERROR_RESOURCE);
    IS(VipOpenNic("/dev/via_eth1", &nic), VIP_ERROR_RESOURCE);
    process_open(self);
    IS(VipOpenNic("/dev/via_eth0", &second), VIP_SUCCESS);
    IS(VipQueryNic(self->nic, NULL), BAD);
    IS(VipQuerySystemManagementInfo(self->nic, VIP_SMI_AUTODISCOVERY, NULL), BAD);
    IS(VipQuerySystemManagementInfo(self->nic, 99, &self->nic), BAD);
    IS(VipQuerySystemManagementInfo(self->nic, VIP_SMI_AUTODISCOVERY, &self->nic),
       VIP_ERROR_NOT_SUPPORTED);
    IS(VipQueryNic((void *)1, &attributes), BAD);
    IS(VipQueryNic(self->nic, &attributes), VIP_SUCCESS);
    CHECK(attributes.NativeMTU == 1484 && attributes.MaxSegmentsPerDesc == 252);
    CHECK(attributes.NicAddressLen == 6 && attributes.LocalNicAddress[5] == 0);
    CHECK(attributes.ReliabilityLevelSupport == 7 && attributes.RDMAReadSupport == 0);
    IS(VipCreatePtag(self->nic, NULL), BAD);
    for (unsigned i = 1; i < attributes.MaxPtags; i++)
        IS(VipCreatePtag(self->nic, &tags[i]), VIP_SUCCESS);
    IS(VipCreatePtag(self->nic, &ptag), VIP_ERROR_RESOURCE);
    IS(VipDestroyPtag(self->nic, tags[1]), VIP_SUCCESS);
    IS(VipDestroyPtag(self->nic, tags[1]), VIP_INVALID_PTAG); /* a stale handle */
    IS(VipCreatePtag(self->nic, &ptag), VIP_SUCCESS);
    CHECK(ptag != tags[1]);
    IS(VipDestroyPtag(self->nic, self->ptag), VIP_ERROR_RESOURCE); /* memory has it */
    IS(VipDestroyPtag(second, ptag), VIP_INVALID_PTAG); /* of another NIC */
    IS(VipDestroyPtag(NULL, ptag), BAD);
    vi = process_vi(self, NULL);
    IS(VipErrorCallback(NULL, NULL, NULL), BAD);
    IS(VipCloseNic(self->nic), VIP_SUCCESS); /* with all that belongs to it */
    IS(VipCloseNic(self->nic), BAD);
    IS(VipDestroyVi(vi), BAD);
    IS(VipCloseNic(second), VIP_SUCCESS);
}

static void nics_and_tags(void **state)
{
    alone(nic_main);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void memory_main(struct process *self)
{
    VIP_MEM_ATTRIBUTES attributes = {0}, found;
    VIP_MEM_HANDLE one, two;
    VIP_PROTECTION_HANDLE ptag;
    sim_time_t began;

    process_open(self);
    attributes.Ptag = self->ptag;
    IS(VipRegisterMem(self->nic, NULL, 10, &attributes, &one), BAD);
    IS(VipRegisterMem(self->nic, self->arena, 0, &attributes, &one), BAD);
    IS(VipRegisterMem(self->nic, self->arena, 10, NULL, &one), BAD);
    IS(VipRegisterMem(self->nic, self->arena, 10, &attributes, NULL), BAD);
    IS(VipRegisterMem(self->nic, self->arena, ~0ul, &attributes, &one), BAD);
    IS(VipRegisterMem(self->nic, self->arena, 1ul << 40, &attributes, &one), VIP_ERROR_RESOURCE);
    attributes.EnableRdmaRead = VIP_TRUE;
    IS(VipRegisterMem(self->nic, self->arena, 10, &attributes, &one), VIP_INVALID_RDMAREAD);
    attributes.EnableRdmaRead = VIP_FALSE;
    attributes.Ptag = (void *)77;
    IS(VipRegisterMem(self->nic, self->arena, 10, &attributes, &one), VIP_INVALID_PTAG);
    attributes.Ptag = NULL; /* no protection */
    IS(VipRegisterMem(self->nic, self->arena, 10, &attributes, &one), VIP_SUCCESS);
    IS(VipQueryMem(self->nic, self->arena, one, &found), VIP_SUCCESS);
    CHECK(found.Ptag == NULL);
    IS(VipSetMemAttributes(self->nic, self->arena, one, &attributes), VIP_SUCCESS);
    IS(VipDeregisterMem(self->nic, self->arena, one), VIP_SUCCESS);
    attributes.Ptag = self->ptag;
    began = sim_local_time();
    IS(VipRegisterMem(self->nic, self->arena, 8192, &attributes, &one), VIP_SUCCESS);
    CHECK(sim_local_time() - began == 48 * SIM_US); /* 45 + 2 pages of 1.5 */
    IS(VipRegisterMem(self->nic, self->arena, 8192, &attributes, &two), VIP_SUCCESS);
    CHECK(one != two); /* the same memory may be registered twice */
    CHECK(world_devices()->registered == 3);
    IS(VipQueryMem(self->nic, self->arena + 1, one, &found), BAD);
    IS(VipQueryMem(self->nic, self->arena, one, &found), VIP_SUCCESS);
    CHECK(found.Ptag == self->ptag && !found.EnableRdmaWrite);
    IS(VipCreatePtag(self->nic, &ptag), VIP_SUCCESS);
    attributes = (VIP_MEM_ATTRIBUTES){.Ptag = ptag, .EnableRdmaWrite = VIP_TRUE};
    IS(VipSetMemAttributes(self->nic, self->arena, one, &attributes), VIP_SUCCESS);
    IS(VipQueryMem(self->nic, self->arena, one, &found), VIP_SUCCESS);
    CHECK(found.Ptag == ptag && found.EnableRdmaWrite);
    attributes.Ptag = (void *)77;
    IS(VipSetMemAttributes(self->nic, self->arena, one, &attributes), VIP_INVALID_PTAG);
    IS(VipDeregisterMem(self->nic, self->arena + 64, one), BAD);
    began = sim_local_time();
    IS(VipDeregisterMem(self->nic, self->arena, one), VIP_SUCCESS);
    CHECK(sim_local_time() - began == 29400 * SIM_NS); /* 27.8 + 2 pages of 0.8 */
    IS(VipDeregisterMem(self->nic, self->arena, one), BAD);
    IS(VipDestroyPtag(self->nic, ptag), VIP_SUCCESS);
    IS(VipDeregisterMem(self->nic, self->arena, two), VIP_SUCCESS);
    for (unsigned i = 1; i < 4096; i++)
        IS(VipRegisterMem(self->nic, self->arena, 1, &(VIP_MEM_ATTRIBUTES){self->ptag, 0, 0}, &one),
           VIP_SUCCESS);
    IS(VipRegisterMem(self->nic, self->arena, 1, &(VIP_MEM_ATTRIBUTES){self->ptag, 0, 0}, &one),
       VIP_ERROR_RESOURCE);
}

static void memory_is_registered(void **state)
{
    alone(memory_main);
}

/* ---- virtual interfaces and completion queues ------------------------------------------------ */

static VIP_RETURN create(struct process *self, VIP_VI_ATTRIBUTES attributes)
{
    VIP_VI_HANDLE vi;

    return VipCreateVi(self->nic, &attributes, NULL, NULL, &vi);
}

static void vi_main(struct process *self)
{
    VIP_VI_ATTRIBUTES a, found;
    VIP_CQ_HANDLE cq, queues[256];
    VIP_VI_HANDLE vi;
    VIP_VI_STATE vi_state;
    VIP_BOOLEAN send_empty, receive_empty, receive;
    VIP_DESCRIPTOR *taken;

    process_open(self);
    a = self->attributes;
    a.ReliabilityLevel = 3;
    IS(create(self, a), VIP_INVALID_RELIABILITY_LEVEL);
    a.ReliabilityLevel = 8;
    IS(create(self, a), VIP_INVALID_RELIABILITY_LEVEL);
    a = self->attributes;
    a.MaxTransferSize = 65537;
    IS(create(self, a), VIP_INVALID_MTU);
    a = self->attributes;
    a.QoS = &a;
    IS(create(self, a), VIP_INVALID_QOS);
    a = self->attributes;
    a.Ptag = (void *)77;
    IS(create(self, a), VIP_INVALID_PTAG);
    a = self->attributes;
    a.EnableRdmaRead = VIP_TRUE;
    IS(create(self, a), VIP_INVALID_RDMAREAD);
    IS(VipCreateVi(self->nic, &self->attributes, (void *)5, NULL, &vi), BAD);
    IS(VipCreateVi(self->nic, NULL, NULL, NULL, &vi), BAD);

    IS(VipCreateCQ(self->nic, 0, &cq), BAD);
    IS(VipCreateCQ(self->nic, 65537, &cq), VIP_ERROR_RESOURCE);
    for (int i = 0; i < 256; i++)
        IS(VipCreateCQ(self->nic, 4, &queues[i]), VIP_SUCCESS);
    IS(VipCreateCQ(self->nic, 4, &cq), VIP_ERROR_RESOURCE);
    cq = queues[0];
    vi = process_vi(self, cq);
    IS(VipDestroyCQ(cq), VIP_ERROR_RESOURCE); /* a VI uses it */
    IS(VipResizeCQ(cq, 0), BAD);
    IS(VipResizeCQ(cq, 8), VIP_SUCCESS);
    IS(VipCQDone(cq, &vi, &receive), VIP_NOT_DONE);
    IS(VipCQWait(cq, 1, &vi, &receive), VIP_TIMEOUT);
    IS(VipCQNotify(cq, NULL, NULL), BAD);
    IS(VipQueryVi(vi, &vi_state, &found, &send_empty, &receive_empty), VIP_SUCCESS);
    CHECK(vi_state == VIP_STATE_IDLE && send_empty && receive_empty);
    CHECK(found.MaxTransferSize == 32768);
    a = self->attributes;
    a.MaxTransferSize = 1000;
    IS(VipSetViAttributes(vi, &a), VIP_SUCCESS);
    a.QoS = &a;
    IS(VipSetViAttributes(vi, &a), VIP_INVALID_QOS);
    IS(VipRecvDone(vi, &taken), VIP_NOT_DONE);
    IS(VipRecvWait(vi, 1, &taken), VIP_ERROR_RESOURCE); /* attached to a completion queue */
    IS(VipSendWait(vi, 1, &taken), VIP_TIMEOUT);
    IS(VipDisconnect(vi), VIP_INVALID_STATE);
    IS(VipConnectPeerWait(vi, &found), VIP_INVALID_STATE); /* there is no request */
    IS(VipConnectPeerDone(vi, &found), VIP_INVALID_STATE);
    IS(VipConnectPeerRequest(vi, NULL, NULL, 0), BAD);

    /* a receive may be posted before there is a connection, a send is flushed */
    IS(VipPostRecv(vi, (VIP_DESCRIPTOR *)(self->arena + 32), self->memory), BAD);
    IS(VipPostRecv(vi, NULL, self->memory), BAD);
    IS(VipPostRecv(vi, descriptor_at(self, 0, 65536, 100), self->memory), VIP_SUCCESS);
    IS(VipPostSend(vi, descriptor_at(self, 1, 65536, 100), self->memory), VIP_SUCCESS);
    IS(VipSendDone(vi, &taken), VIP_DESCRIPTOR_ERROR);
    CHECK(taken->Control.Status == (VIP_STATUS_DONE | VIP_STATUS_DESC_FLUSHED_ERROR));
    IS(VipDestroyVi(vi), VIP_ERROR_RESOURCE); /* with a posted descriptor */
    IS(VipQueryVi(vi, &vi_state, &found, &send_empty, &receive_empty), VIP_SUCCESS);
    CHECK(send_empty && !receive_empty);
    for (int i = 1; i < 1024; i++)
        IS(VipPostRecv(vi, descriptor_at(self, 0, 65536, 100), self->memory), VIP_SUCCESS);
    IS(VipPostRecv(vi, descriptor_at(self, 0, 65536, 100), self->memory), VIP_ERROR_RESOURCE);

    vi = process_vi(self, NULL);
    IS(VipDestroyVi(vi), VIP_SUCCESS);
    IS(VipDestroyVi(vi), BAD);
    for (int i = 1; i < 1024; i++)
        IS(create(self, self->attributes), VIP_SUCCESS);
    IS(create(self, self->attributes), VIP_ERROR_RESOURCE);
}

static void interfaces_and_completion_queues(void **state)
{
    alone(vi_main);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void name_main(struct process *self)
{
    union address address = address_of(0, 0);
    VIP_ULONG length = 3;
    char name[16];

    process_open(self);
    IS(VipNSGetHostByName(self->nic, "node1", &address.address, 0), VIP_ERROR_NAMESERVICE);
    IS(VipNSShutdown(self->nic), VIP_ERROR_NAMESERVICE);
    IS(VipNSInit(self->nic, NULL), VIP_SUCCESS);
    IS(VipNSGetHostByName(self->nic, "node1", &address.address, 0), VIP_SUCCESS);
    CHECK(host_bytes(&address)[5] == 1);
    address.address.HostAddressLen = 0;
    IS(VipNSGetHostByName(self->nic, "nid00001", &address.address, 0), VIP_SUCCESS);
    CHECK(address.address.HostAddressLen == 6 && host_bytes(&address)[5] == 1);
    IS(VipNSGetHostByName(self->nic, "nid00002", &address.address, 0), VIP_ERROR_NAMESERVICE);
    IS(VipNSGetHostByName(self->nic, "1", &address.address, 0), VIP_ERROR_NAMESERVICE);
    IS(VipNSGetHostByName(self->nic, "node2", &address.address, 0), VIP_ERROR_NAMESERVICE);
    IS(VipNSGetHostByName(self->nic, "node1", &address.address, 1), VIP_ERROR_NAMESERVICE);
    IS(VipNSGetHostByName(self->nic, NULL, &address.address, 0), BAD);
    IS(VipNSGetHostByAddr(self->nic, &address.address, name, &length), VIP_ERROR_RESOURCE);
    CHECK(length == 6);
    IS(VipNSGetHostByAddr(self->nic, &address.address, name, &length), VIP_SUCCESS);
    CHECK(strcmp(name, "node1") == 0 && length == 5);
    host_bytes(&address)[5] = 7;
    IS(VipNSGetHostByAddr(self->nic, &address.address, name, &length), VIP_ERROR_NAMESERVICE);
    IS(VipNSShutdown(self->nic), VIP_SUCCESS);
}

static void hosts_have_names(void **state)
{
    alone(name_main);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptors_have_the_documented_layout),
        cmocka_unit_test(nics_and_tags),
        cmocka_unit_test(memory_is_registered),
        cmocka_unit_test(interfaces_and_completion_queues),
        cmocka_unit_test(hosts_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
