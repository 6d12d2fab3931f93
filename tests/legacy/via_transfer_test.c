/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections and messages over VIPL: every status, every way in which a connection fails or ends,
 * and the times of the model. */
#include "via_world.h"

#include <stdio.h>

/* ---- data and times -------------------------------------------------------------------------- */

static const unsigned lengths[] = {0, 4, 512, 1484, 1485, 5000, 32768};
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };
static sim_time_t posted_at, expected;

static uint64_t wire(uint64_t bytes)
{
    return (bytes + 34 > 64 ? bytes + 34 : 64) + 20;
}

static void data_sender(struct process *self)
{
    VIP_VI_HANDLE vi;
    unsigned i, k;

    process_open(self);
    vi = process_vi(self, NULL);
    process_connect(self, vi, 1, 9);
    for (i = 0; i < LENGTHS; i++) {
        VIP_DESCRIPTOR *go = descriptor_at(self, 1, DATA, 8);
        uint64_t bytes = 0, left = lengths[i];

        IS(VipPostRecv(vi, go, self->memory), VIP_SUCCESS);
        CHECK(process_wait_receive(vi, VIP_SUCCESS) == go);
        for (k = 0; k < lengths[i]; k++)
            self->arena[DATA + 100 + k] = (char)(k * 7 + i);
        for (; left > 1484; left -= 1484)
            bytes += wire(1484);
        bytes += wire(left);
        /* post, world_first frame, wire, interrupt, and the receiver's wait */
        expected = 2 * SIM_US + 5 * SIM_US + bytes * 80 * SIM_NS + 12 * SIM_US + 1500 * SIM_NS;
        posted_at = sim_local_time();
        CHECK(process_send(self, vi, descriptor_at(self, 0, DATA + 100, lengths[i])) ==
              (VIP_STATUS_DONE | VIP_STATUS_OP_SEND));
    }
}

static void data_receiver(struct process *self)
{
    VIP_DESCRIPTOR *descriptor;
    VIP_VI_HANDLE vi;
    unsigned i, k;

    process_open(self);
    vi = process_vi(self, NULL);
    process_accept(self, vi, 9);
    for (i = 0; i < LENGTHS; i++) {
        descriptor = descriptor_at(self, 0, DATA + 3, 40000);
        descriptor->Control.SegCount = 2; /* scattered: 1000 bytes, the rest behind a gap */
        descriptor->Data[1] = descriptor->Data[0];
        descriptor->Data[0].Length = 1000;
        descriptor->Data[1].Data.Address = self->arena + DATA + 2000;
        IS(VipPostRecv(vi, descriptor, self->memory), VIP_SUCCESS);
        CHECK((process_send(self, vi, descriptor_at(self, 1, DATA, 8)) & VIP_STATUS_ERROR_MASK) ==
              0);
        CHECK(process_wait_receive(vi, VIP_SUCCESS) == descriptor);
        CHECK(sim_local_time() - posted_at == expected);
        CHECK(descriptor->Control.Status == (VIP_STATUS_DONE | VIP_STATUS_OP_RECEIVE));
        CHECK(descriptor->Control.Length == lengths[i]);
        for (k = 0; k < lengths[i]; k++)
            CHECK(self->arena[k < 1000 ? DATA + 3 + k : DATA + 1000 + k] == (char)(k * 7 + i));
    }
}

static void messages_take_the_time_of_the_model(void **state)
{
    world_run_pair(data_sender, data_receiver);
}

/* ---- descriptors that are wrong (mad-68) ------------------------------------------------------
 */

static void wrong_sender(struct process *self)
{
    VIP_MEM_ATTRIBUTES attributes = {0};
    VIP_DESCRIPTOR *descriptor;
    VIP_MEM_HANDLE other;
    VIP_VI_HANDLE vi;

    process_open(self);
    vi = process_vi(self, NULL);
    process_connect(self, vi, 1, 9);
    IS(VipCreatePtag(self->nic, &attributes.Ptag), VIP_SUCCESS);
    IS(VipRegisterMem(self->nic, self->arena, ARENA, &attributes, &other), VIP_SUCCESS);

    descriptor = descriptor_at(self, 0, DATA, 100);
    descriptor->Data[0].Handle = other; /* another protection tag */
    CHECK(process_send(self, vi, descriptor) == (VIP_STATUS_DONE | VIP_STATUS_PROTECTION_ERROR));
    descriptor = descriptor_at(self, 0, DATA, 100);
    descriptor->Data[0].Data.Address = self->arena + ARENA; /* outside */
    CHECK(process_send(self, vi, descriptor) == (VIP_STATUS_DONE | VIP_STATUS_PROTECTION_ERROR));
    descriptor = descriptor_at(self, 0, DATA, 100);
    IS(VipPostSend(vi, descriptor, other + 1), VIP_SUCCESS); /* the descriptor is not registered */
    CHECK(process_send_status(vi) == (VIP_STATUS_DONE | VIP_STATUS_PROTECTION_ERROR));
    descriptor = descriptor_at(self, 0, DATA, 100);
    IS(VipPostSend(vi, descriptor, other), VIP_SUCCESS);
    CHECK(process_send_status(vi) == (VIP_STATUS_DONE | VIP_STATUS_PROTECTION_ERROR));
    descriptor = descriptor_at(self, 0, DATA, 40000); /* more than MaxTransferSize */
    CHECK(process_send(self, vi, descriptor) == (VIP_STATUS_DONE | VIP_STATUS_LENGTH_ERROR));
    descriptor = descriptor_at(self, 0, DATA, 100);
    descriptor->Control.Length = 99;
    CHECK(process_send(self, vi, descriptor) == (VIP_STATUS_DONE | VIP_STATUS_LENGTH_ERROR));
    descriptor = descriptor_at(self, 0, DATA, 100);
    descriptor->Control.Control = VIP_CONTROL_OP_RDMAREAD;
    CHECK(process_send(self, vi, descriptor) == (VIP_STATUS_DONE | VIP_STATUS_FORMAT_ERROR));
    descriptor = descriptor_at(self, 0, DATA, 100);
    descriptor->Control.SegCount = 253;
    CHECK(process_send(self, vi, descriptor) == (VIP_STATUS_DONE | VIP_STATUS_FORMAT_ERROR));
    descriptor = descriptor_at(self, 0, DATA, 100);
    descriptor->Control.Reserved = 1;
    CHECK(process_send(self, vi, descriptor) == (VIP_STATUS_DONE | VIP_STATUS_FORMAT_ERROR));
    CHECK(world_devices()->errors[VIP_ERROR_POST_DESC] == 9);
    /* memory that is deregistered while the kernel has the descriptor */
    descriptor = descriptor_at(self, 0, DATA, 100);
    IS(VipPostSend(vi, descriptor, self->memory), VIP_SUCCESS);
    IS(VipDeregisterMem(self->nic, self->arena, self->memory), VIP_SUCCESS);
    CHECK(process_send_status(vi) == (VIP_STATUS_DONE | VIP_STATUS_PROTECTION_ERROR));
    CHECK(process_state(vi) == VIP_STATE_CONNECTED); /* unreliable connections stay */
    IS(VipDisconnect(vi), VIP_SUCCESS);
}

static void idle_peer(struct process *self)
{
    VIP_DESCRIPTOR *taken;
    VIP_VI_HANDLE vi;

    process_open(self);
    vi = process_vi(self, NULL);
    process_accept(self, vi, 9);
    CHECK(VipRecvWait(vi, VIP_INFINITE, &taken) == VIP_DESCRIPTOR_ERROR);
    CHECK(taken == NULL && process_state(vi) == VIP_STATE_ERROR);
    CHECK(world_devices()->errors[VIP_ERROR_CONN_LOST] == 1);
    IS(VipDisconnect(vi), VIP_SUCCESS);
    CHECK(process_state(vi) == VIP_STATE_IDLE);
    IS(VipDestroyVi(vi), VIP_SUCCESS);
}

static void mad_68_wrong_descriptors(void **state)
{
    world_run_pair(wrong_sender, idle_peer);
}

/* ---- the receiver's side ----------------------------------------------------------------------
 */

static VIP_RELIABILITY_LEVEL level;
static uint32_t sender_status;

static VIP_VI_HANDLE vi_of_level(struct process *self)
{
    self->attributes.ReliabilityLevel = level;
    return process_vi(self, NULL);
}

static void one_send(struct process *self)
{
    VIP_VI_HANDLE vi;

    process_open(self);
    vi = vi_of_level(self);
    process_connect(self, vi, 1, 9);
    sender_status = process_send(self, vi, descriptor_at(self, 0, DATA, 100));
    sim_sleep_until(sim_now() + 10 * SIM_MS);
    CHECK(process_state(vi) ==
          (level == VIP_SERVICE_UNRELIABLE ? VIP_STATE_CONNECTED : VIP_STATE_ERROR));
}

static void nothing_posted(struct process *self)
{
    VIP_VI_HANDLE vi;

    process_open(self);
    vi = vi_of_level(self);
    process_accept(self, vi, 9);
    sim_sleep_until(sim_now() + 5 * SIM_MS);
    CHECK(world_network->counters.dropped == 1);
    CHECK(world_devices()->errors[VIP_ERROR_RECVQ_EMPTY] == 1);
    CHECK(process_state(vi) ==
          (level == VIP_SERVICE_UNRELIABLE ? VIP_STATE_CONNECTED : VIP_STATE_ERROR));
    sim_sleep_until(sim_now() + 10 * SIM_MS);
}

static void messages_without_a_receive_are_dropped(void **state)
{
    level = VIP_SERVICE_UNRELIABLE;
    world_run_pair(one_send, nothing_posted);
    assert_int_equal(sender_status, VIP_STATUS_DONE);
    for (int i = 0; i < 2; i++) {
        level = i == 0 ? VIP_SERVICE_RELIABLE_DELIVERY : VIP_SERVICE_RELIABLE_RECEPTION;
        world_run_pair(one_send, nothing_posted);
        assert_int_equal(sender_status, VIP_STATUS_DONE | VIP_STATUS_REMOTE_DESC_ERROR);
    }
}

static void short_receive(struct process *self)
{
    VIP_DESCRIPTOR *taken, *two;
    VIP_VI_HANDLE vi;

    process_open(self);
    vi = vi_of_level(self);
    IS(VipPostRecv(vi, descriptor_at(self, 0, DATA, 99), self->memory), VIP_SUCCESS);
    two = descriptor_at(self, 1, DATA, 99);
    IS(VipPostRecv(vi, two, self->memory), VIP_SUCCESS);
    process_accept(self, vi, 9);
    taken = process_wait_receive(vi, VIP_DESCRIPTOR_ERROR);
    CHECK(taken->Control.Status ==
          (VIP_STATUS_DONE | VIP_STATUS_OP_RECEIVE | VIP_STATUS_LENGTH_ERROR));
    if (level != VIP_SERVICE_UNRELIABLE) { /* the connection breaks, and flushes the other one */
        CHECK(process_wait_receive(vi, VIP_DESCRIPTOR_ERROR) == two);
        CHECK(two->Control.Status ==
              (VIP_STATUS_DONE | VIP_STATUS_OP_RECEIVE | VIP_STATUS_DESC_FLUSHED_ERROR));
    }
    sim_sleep_until(sim_now() + 20 * SIM_MS);
}

static void mad_68_a_message_that_is_too_long(void **state)
{
    level = VIP_SERVICE_UNRELIABLE;
    world_run_pair(one_send, short_receive);
    assert_int_equal(sender_status, VIP_STATUS_DONE);
    level = VIP_SERVICE_RELIABLE_DELIVERY;
    world_run_pair(one_send, short_receive);
    assert_int_equal(sender_status, VIP_STATUS_DONE | VIP_STATUS_REMOTE_DESC_ERROR);
}

/* ---- RDMA ------------------------------------------------------------------------------------ */

static struct {
    char *address;
    VIP_MEM_HANDLE handle;
} target;

static VIP_DESCRIPTOR *rdma_at(struct process *self, unsigned length)
{
    VIP_DESCRIPTOR *descriptor = descriptor_at(self, 0, DATA, length);

    descriptor->Control.Control = VIP_CONTROL_OP_RDMAWRITE;
    descriptor->Control.SegCount = 2;
    descriptor->Data[1] = descriptor->Data[0];
    descriptor->DS[0].Remote = (VIP_ADDRESS_SEGMENT){.Handle = target.handle};
    descriptor->DS[0].Remote.Data.Address = target.address;
    return descriptor;
}

static void rdma_sender(struct process *self)
{
    VIP_DESCRIPTOR *descriptor;
    VIP_VI_HANDLE vi;

    process_open(self);
    vi = vi_of_level(self);
    process_connect(self, vi, 1, 9);
    memset(self->arena + DATA, 0x5A, 3000);
    CHECK(process_send(self, vi, rdma_at(self, 2000)) ==
          (VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_WRITE));
    target.address += 2000;
    descriptor = rdma_at(self, 1000);
    descriptor->Control.Control |= VIP_CONTROL_IMMEDIATE;
    descriptor->Control.ImmediateData = 77;
    CHECK(process_send(self, vi, descriptor) == (VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_WRITE));
    sim_sleep_until(sim_now() + 10 * SIM_MS);
    target.address += ARENA; /* outside of what the peer has registered */
    sender_status = process_send(self, vi, rdma_at(self, 10));
    sim_sleep_until(sim_now() + 10 * SIM_MS);
}

static void rdma_target(struct process *self)
{
    VIP_DESCRIPTOR *taken;
    VIP_VI_HANDLE vi;

    process_open(self);
    target.address = self->arena + DATA;
    target.handle = self->memory;
    vi = vi_of_level(self);
    IS(VipPostRecv(vi, descriptor_at(self, 0, DATA, 0), self->memory), VIP_SUCCESS);
    process_accept(self, vi, 9);
    taken = process_wait_receive(vi, VIP_SUCCESS); /* the world_first RDMA write is not seen */
    CHECK(taken->Control.Status ==
          (VIP_STATUS_DONE | VIP_STATUS_OP_REMOTE_RDMA_WRITE | VIP_STATUS_IMMEDIATE));
    CHECK(taken->Control.ImmediateData == 77 && taken->Control.Length == 1000);
    for (unsigned i = 0; i < 3000; i++)
        CHECK(self->arena[DATA + i] == 0x5A);
    sim_sleep_until(sim_now() + 15 * SIM_MS);
    CHECK(world_devices()->errors[VIP_ERROR_RDMAW_PROT] == 1);
    sim_sleep_until(sim_now() + 15 * SIM_MS);
}

static void mad_68_rdma_writes_what_is_allowed(void **state)
{
    level = VIP_SERVICE_UNRELIABLE;
    world_run_pair(rdma_sender, rdma_target);
    assert_int_equal(sender_status, VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_WRITE);
    level = VIP_SERVICE_RELIABLE_RECEPTION;
    world_run_pair(rdma_sender, rdma_target);
    assert_int_equal(sender_status,
                     VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_WRITE | VIP_STATUS_RDMA_PROT_ERROR);
}

static void forbidden_sender(struct process *self)
{
    VIP_VI_HANDLE vi;

    process_open(self);
    vi = vi_of_level(self);
    process_connect(self, vi, 1, 9);
    sender_status = process_send(self, vi, rdma_at(self, 10));
    sim_sleep_until(sim_now() + 10 * SIM_MS);
}

static void forbidding_target(struct process *self)
{
    VIP_MEM_ATTRIBUTES attributes = {.Ptag = NULL};
    VIP_VI_HANDLE vi;

    process_open(self);
    attributes.Ptag = self->ptag;
    IS(VipSetMemAttributes(self->nic, self->arena, self->memory, &attributes), VIP_SUCCESS);
    target.address = self->arena + DATA;
    target.handle = self->memory;
    vi = vi_of_level(self);
    process_accept(self, vi, 9);
    sim_sleep_until(sim_now() + 10 * SIM_MS);
    CHECK(self->arena[DATA] == 0);
}

static void mad_68_rdma_without_permission(void **state)
{
    level = VIP_SERVICE_RELIABLE_DELIVERY;
    world_run_pair(forbidden_sender, forbidding_target);
    assert_int_equal(sender_status,
                     VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_WRITE | VIP_STATUS_RDMA_PROT_ERROR);
}

/* The first write loses a frame: nothing of it is written, and the NIC of the target says so. */
static void aborted_sender(struct process *self)
{
    VIP_VI_HANDLE vi;

    process_open(self);
    vi = vi_of_level(self);
    process_connect(self, vi, 1, 9);
    memset(self->arena + DATA, 0x5A, 3000);
    sim_sleep_until(10 * SIM_MS);
    sender_status = process_send(self, vi, rdma_at(self, 3000));
    sim_sleep_until(30 * SIM_MS);
    CHECK(process_send(self, vi, rdma_at(self, 100)) ==
          (VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_WRITE));
    sim_sleep_until(50 * SIM_MS);
}

static void aborted_target(struct process *self)
{
    VIP_VI_HANDLE vi;

    process_open(self);
    target.address = self->arena + DATA;
    target.handle = self->memory;
    vi = vi_of_level(self);
    process_accept(self, vi, 9);
    sim_sleep_until(20 * SIM_MS);
    CHECK(world_devices()->errors[VIP_ERROR_RDMAW_ABORT] == 1);
    CHECK(self->arena[DATA] == 0 && self->arena[DATA + 2999] == 0);
    sim_sleep_until(50 * SIM_MS); /* the next one arrives */
    CHECK(self->arena[DATA] == 0x5A && self->arena[DATA + 99] == 0x5A);
    CHECK(self->arena[DATA + 100] == 0);
    CHECK(world_devices()->errors[VIP_ERROR_RDMAW_ABORT] == 1);
}

static void mad_68_rdma_that_is_not_complete(void **state)
{
    const struct sim_fault_rule rule = {.action = SIM_FAULT_DROP,
                                        .from = 9 * SIM_MS,
                                        .until = 19 * SIM_MS,
                                        .skip = 1, /* the second of three frames */
                                        .count_max = 1,
                                        .probability = 1,
                                        .source = 0,
                                        .target = 1,
                                        .between = {SIM_FAULT_ANY, SIM_FAULT_ANY},
                                        .kind = SIM_FAULT_ANY};

    level = VIP_SERVICE_UNRELIABLE;
    world_pair(aborted_sender, aborted_target);
    sim_fault_rule_add(&world_packets, &rule);
    assert_int_equal(world_run(), SIM_DONE);
    assert_int_equal(sender_status, VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_WRITE);
    assert_int_equal(world_network->counters.lost, 1);
    world_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_take_the_time_of_the_model),
        cmocka_unit_test(mad_68_wrong_descriptors),
        cmocka_unit_test(messages_without_a_receive_are_dropped),
        cmocka_unit_test(mad_68_a_message_that_is_too_long),
        cmocka_unit_test(mad_68_rdma_writes_what_is_allowed),
        cmocka_unit_test(mad_68_rdma_without_permission),
        cmocka_unit_test(mad_68_rdma_that_is_not_complete),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
