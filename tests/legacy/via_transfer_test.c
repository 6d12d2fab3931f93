/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections and messages over VIPL: every status, every way in which a connection fails or ends,
 * and the times of the model. */
#include "via_world.h"

#include <stdio.h>

#define IS(call, code) CHECK((call) == (code))
enum { DATA = 64 * 256 }; /* the arena behind the descriptors */

static struct process *first, *second;

static void pair(void (*one)(struct process *self), void (*two)(struct process *self))
{
    world_begin(3);
    first = world_process(0, one);
    second = world_process(1, two);
}

static void run_pair(void (*one)(struct process *self), void (*two)(struct process *self))
{
    pair(one, two);
    assert_int_equal(world_run(), SIM_DONE);
    world_end();
}

static VIP_DESCRIPTOR *wait_receive(VIP_VI_HANDLE vi, VIP_RETURN expected)
{
    VIP_DESCRIPTOR *taken = NULL;

    IS(VipRecvWait(vi, VIP_INFINITE, &taken), expected);
    return taken;
}

static uint32_t send_status(VIP_VI_HANDLE vi)
{
    VIP_DESCRIPTOR *taken = NULL;
    VIP_RETURN rc = VipSendWait(vi, VIP_INFINITE, &taken);

    CHECK(taken != NULL);
    CHECK((rc == VIP_SUCCESS) == ((taken->Control.Status & VIP_STATUS_ERROR_MASK) == 0));
    CHECK(rc == VIP_SUCCESS || rc == VIP_DESCRIPTOR_ERROR);
    return taken->Control.Status;
}

static uint32_t send_at(struct process *self, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *descriptor)
{
    IS(VipPostSend(vi, descriptor, self->memory), VIP_SUCCESS);
    return send_status(vi);
}

static VIP_VI_STATE state_of(VIP_VI_HANDLE vi)
{
    VIP_VI_ATTRIBUTES attributes;
    VIP_BOOLEAN send_empty, receive_empty;
    VIP_VI_STATE state;

    IS(VipQueryVi(vi, &state, &attributes, &send_empty, &receive_empty), VIP_SUCCESS);
    return state;
}

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
        CHECK(wait_receive(vi, VIP_SUCCESS) == go);
        for (k = 0; k < lengths[i]; k++)
            self->arena[DATA + 100 + k] = (char)(k * 7 + i);
        for (; left > 1484; left -= 1484)
            bytes += wire(1484);
        bytes += wire(left);
        /* post, first frame, wire, interrupt, and the receiver's wait */
        expected = 2 * SIM_US + 5 * SIM_US + bytes * 80 * SIM_NS + 12 * SIM_US + 1500 * SIM_NS;
        posted_at = sim_local_time();
        CHECK(send_at(self, vi, descriptor_at(self, 0, DATA + 100, lengths[i])) ==
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
        CHECK((send_at(self, vi, descriptor_at(self, 1, DATA, 8)) & VIP_STATUS_ERROR_MASK) == 0);
        CHECK(wait_receive(vi, VIP_SUCCESS) == descriptor);
        CHECK(sim_local_time() - posted_at == expected);
        CHECK(descriptor->Control.Status == (VIP_STATUS_DONE | VIP_STATUS_OP_RECEIVE));
        CHECK(descriptor->Control.Length == lengths[i]);
        for (k = 0; k < lengths[i]; k++)
            CHECK(self->arena[k < 1000 ? DATA + 3 + k : DATA + 1000 + k] == (char)(k * 7 + i));
    }
}

static void messages_take_the_time_of_the_model(void **state)
{
    run_pair(data_sender, data_receiver);
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
    CHECK(send_at(self, vi, descriptor) == (VIP_STATUS_DONE | VIP_STATUS_PROTECTION_ERROR));
    descriptor = descriptor_at(self, 0, DATA, 100);
    descriptor->Data[0].Data.Address = self->arena + ARENA; /* outside */
    CHECK(send_at(self, vi, descriptor) == (VIP_STATUS_DONE | VIP_STATUS_PROTECTION_ERROR));
    descriptor = descriptor_at(self, 0, DATA, 100);
    IS(VipPostSend(vi, descriptor, other + 1), VIP_SUCCESS); /* the descriptor is not registered */
    CHECK(send_status(vi) == (VIP_STATUS_DONE | VIP_STATUS_PROTECTION_ERROR));
    descriptor = descriptor_at(self, 0, DATA, 100);
    IS(VipPostSend(vi, descriptor, other), VIP_SUCCESS);
    CHECK(send_status(vi) == (VIP_STATUS_DONE | VIP_STATUS_PROTECTION_ERROR));
    descriptor = descriptor_at(self, 0, DATA, 40000); /* more than MaxTransferSize */
    CHECK(send_at(self, vi, descriptor) == (VIP_STATUS_DONE | VIP_STATUS_LENGTH_ERROR));
    descriptor = descriptor_at(self, 0, DATA, 100);
    descriptor->Control.Length = 99;
    CHECK(send_at(self, vi, descriptor) == (VIP_STATUS_DONE | VIP_STATUS_LENGTH_ERROR));
    descriptor = descriptor_at(self, 0, DATA, 100);
    descriptor->Control.Control = VIP_CONTROL_OP_RDMAREAD;
    CHECK(send_at(self, vi, descriptor) == (VIP_STATUS_DONE | VIP_STATUS_FORMAT_ERROR));
    descriptor = descriptor_at(self, 0, DATA, 100);
    descriptor->Control.SegCount = 253;
    CHECK(send_at(self, vi, descriptor) == (VIP_STATUS_DONE | VIP_STATUS_FORMAT_ERROR));
    descriptor = descriptor_at(self, 0, DATA, 100);
    descriptor->Control.Reserved = 1;
    CHECK(send_at(self, vi, descriptor) == (VIP_STATUS_DONE | VIP_STATUS_FORMAT_ERROR));
    CHECK(world_devices()->errors[VIP_ERROR_POST_DESC] == 9);
    /* memory that is deregistered while the kernel has the descriptor */
    descriptor = descriptor_at(self, 0, DATA, 100);
    IS(VipPostSend(vi, descriptor, self->memory), VIP_SUCCESS);
    IS(VipDeregisterMem(self->nic, self->arena, self->memory), VIP_SUCCESS);
    CHECK(send_status(vi) == (VIP_STATUS_DONE | VIP_STATUS_PROTECTION_ERROR));
    CHECK(state_of(vi) == VIP_STATE_CONNECTED); /* unreliable connections stay */
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
    CHECK(taken == NULL && state_of(vi) == VIP_STATE_ERROR);
    CHECK(world_devices()->errors[VIP_ERROR_CONN_LOST] == 1);
    IS(VipDisconnect(vi), VIP_SUCCESS);
    CHECK(state_of(vi) == VIP_STATE_IDLE);
    IS(VipDestroyVi(vi), VIP_SUCCESS);
}

static void mad_68_wrong_descriptors(void **state)
{
    run_pair(wrong_sender, idle_peer);
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
    sender_status = send_at(self, vi, descriptor_at(self, 0, DATA, 100));
    sim_sleep_until(sim_now() + 10 * SIM_MS);
    CHECK(state_of(vi) ==
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
    CHECK(state_of(vi) ==
          (level == VIP_SERVICE_UNRELIABLE ? VIP_STATE_CONNECTED : VIP_STATE_ERROR));
    sim_sleep_until(sim_now() + 10 * SIM_MS);
}

static void messages_without_a_receive_are_dropped(void **state)
{
    level = VIP_SERVICE_UNRELIABLE;
    run_pair(one_send, nothing_posted);
    assert_int_equal(sender_status, VIP_STATUS_DONE);
    for (int i = 0; i < 2; i++) {
        level = i == 0 ? VIP_SERVICE_RELIABLE_DELIVERY : VIP_SERVICE_RELIABLE_RECEPTION;
        run_pair(one_send, nothing_posted);
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
    taken = wait_receive(vi, VIP_DESCRIPTOR_ERROR);
    CHECK(taken->Control.Status ==
          (VIP_STATUS_DONE | VIP_STATUS_OP_RECEIVE | VIP_STATUS_LENGTH_ERROR));
    if (level != VIP_SERVICE_UNRELIABLE) { /* the connection breaks, and flushes the other one */
        CHECK(wait_receive(vi, VIP_DESCRIPTOR_ERROR) == two);
        CHECK(two->Control.Status ==
              (VIP_STATUS_DONE | VIP_STATUS_OP_RECEIVE | VIP_STATUS_DESC_FLUSHED_ERROR));
    }
    sim_sleep_until(sim_now() + 20 * SIM_MS);
}

static void mad_68_a_message_that_is_too_long(void **state)
{
    level = VIP_SERVICE_UNRELIABLE;
    run_pair(one_send, short_receive);
    assert_int_equal(sender_status, VIP_STATUS_DONE);
    level = VIP_SERVICE_RELIABLE_DELIVERY;
    run_pair(one_send, short_receive);
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
    CHECK(send_at(self, vi, rdma_at(self, 2000)) == (VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_WRITE));
    target.address += 2000;
    descriptor = rdma_at(self, 1000);
    descriptor->Control.Control |= VIP_CONTROL_IMMEDIATE;
    descriptor->Control.ImmediateData = 77;
    CHECK(send_at(self, vi, descriptor) == (VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_WRITE));
    sim_sleep_until(sim_now() + 10 * SIM_MS);
    target.address += ARENA; /* outside of what the peer has registered */
    sender_status = send_at(self, vi, rdma_at(self, 10));
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
    taken = wait_receive(vi, VIP_SUCCESS); /* the first RDMA write is not seen */
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
    run_pair(rdma_sender, rdma_target);
    assert_int_equal(sender_status, VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_WRITE);
    level = VIP_SERVICE_RELIABLE_RECEPTION;
    run_pair(rdma_sender, rdma_target);
    assert_int_equal(sender_status,
                     VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_WRITE | VIP_STATUS_RDMA_PROT_ERROR);
}

static void forbidden_sender(struct process *self)
{
    VIP_VI_HANDLE vi;

    process_open(self);
    vi = vi_of_level(self);
    process_connect(self, vi, 1, 9);
    sender_status = send_at(self, vi, rdma_at(self, 10));
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
    run_pair(forbidden_sender, forbidding_target);
    assert_int_equal(sender_status,
                     VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_WRITE | VIP_STATUS_RDMA_PROT_ERROR);
}

/* ---- connections ----------------------------------------------------------------------------- */

static void request_errors(struct process *self)
{
    union address here, there;
    VIP_VI_ATTRIBUTES found;
    VIP_VI_HANDLE vi;

    process_open(self);
    vi = process_vi(self, NULL);
    here = address_of(0, 1);
    there = address_of(1, 1);
    IS(VipConnectRequest(vi, NULL, &there.address, 0, &found), VIP_INVALID_PARAMETER);
    IS(VipConnectRequest(vi, &there.address, &there.address, 0, &found), VIP_INVALID_PARAMETER);
    IS(VipConnectRequest(vi, &here.address, &there.address, 1000, &found), VIP_NO_MATCH);
    CHECK(state_of(vi) == VIP_STATE_IDLE);
    there = address_of(99, 1);
    IS(VipConnectRequest(vi, &here.address, &there.address, 1000, &found), VIP_NOT_REACHABLE);
    sim_sleep_until(20 * SIM_MS);
    there = address_of(1, 2);
    IS(VipConnectRequest(vi, &here.address, &there.address, 1000, &found), VIP_REJECT);
    sim_sleep_until(60 * SIM_MS);
    there = address_of(1, 3);
    IS(VipConnectRequest(vi, &here.address, &there.address, 10, &found), VIP_TIMEOUT);
    CHECK(state_of(vi) == VIP_STATE_IDLE);
    sim_sleep_until(200 * SIM_MS);
    there = address_of(1, 4);
    IS(VipConnectRequest(vi, &here.address, &there.address, 1000, &found), VIP_SUCCESS);
    CHECK(found.MaxTransferSize == 32768 && state_of(vi) == VIP_STATE_CONNECTED);
    IS(VipConnectRequest(vi, &here.address, &there.address, 10, &found), VIP_INVALID_STATE);
    IS(VipSetViAttributes(vi, &self->attributes), VIP_INVALID_STATE);
    IS(VipDestroyVi(vi), VIP_INVALID_STATE);
    net_link_set_alive(world_net, 0, net_routers(world_net) + 2, 0, false);
    vi = process_vi(self, NULL);
    there = address_of(2, 4);
    IS(VipConnectRequest(vi, &here.address, &there.address, 1000, &found), VIP_NOT_REACHABLE);
}

static VIP_CONN_HANDLE wait_for(struct process *self, uint32_t discriminator)
{
    union address here = address_of(1, discriminator), from = {0};
    VIP_CONN_HANDLE connection = NULL;
    VIP_VI_ATTRIBUTES found;

    IS(VipConnectWait(self->nic, &here.address, VIP_INFINITE, &from.address, &found, &connection),
       VIP_SUCCESS);
    CHECK(from.address.HostAddress[5] == 0 && from.address.DiscriminatorLen == 4);
    return connection;
}

static void wait_errors(struct process *self)
{
    union address here, from = {0};
    VIP_VI_ATTRIBUTES found, other;
    VIP_CONN_HANDLE connection;
    VIP_VI_HANDLE vi;

    process_open(self);
    here = address_of(0, 2);
    IS(VipConnectWait(self->nic, &here.address, 1, &from.address, &found, &connection),
       VIP_INVALID_PARAMETER); /* not the own host */
    here = address_of(1, 2);
    IS(VipConnectWait(self->nic, &here.address, 1, &from.address, &found, &connection),
       VIP_TIMEOUT);
    IS(VipConnectReject(NULL), VIP_INVALID_PARAMETER);
    connection = wait_for(self, 2);
    IS(VipConnectReject(connection), VIP_SUCCESS);
    IS(VipConnectReject(connection), VIP_INVALID_PARAMETER);
    vi = process_vi(self, NULL);
    connection = wait_for(self, 3);
    sim_sleep_until(100 * SIM_MS);
    IS(VipConnectAccept(connection, vi), VIP_TIMEOUT); /* the other side has given up */
    connection = wait_for(self, 4);
    IS(VipConnectAccept(connection, NULL), VIP_INVALID_PARAMETER);
    other = self->attributes;
    other.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY;
    IS(VipSetViAttributes(vi, &other), VIP_SUCCESS);
    IS(VipConnectAccept(connection, vi), VIP_INVALID_RELIABILITY_LEVEL);
    other = self->attributes;
    other.MaxTransferSize = 1000;
    IS(VipSetViAttributes(vi, &other), VIP_SUCCESS);
    IS(VipConnectAccept(connection, vi), VIP_INVALID_MTU); /* nothing was sent: mad-68 */
    IS(VipSetViAttributes(vi, &self->attributes), VIP_SUCCESS);
    IS(VipConnectAccept(connection, vi), VIP_SUCCESS);
    CHECK(state_of(vi) == VIP_STATE_CONNECTED);
    IS(VipConnectAccept(connection, vi), VIP_INVALID_PARAMETER);
    sim_sleep_until(sim_now() + 10 * SIM_MS);
}

static void mad_68_connections_are_refused(void **state)
{
    run_pair(request_errors, wait_errors);
}

/* A process is killed, or its host dies: the peer learns it. */
static sim_time_t killed_at, noticed_at;
static bool host_dies;

static void killer(void)
{
    if (host_dies)
        net_link_set_alive(world_net, 0, net_routers(world_net), 0, false);
    killed_at = sim_now();
    world_kill(first);
}

static void victim(struct process *self)
{
    VIP_VI_HANDLE vi;

    process_open(self);
    vi = process_vi(self, NULL);
    process_connect(self, vi, 1, 9);
    for (;;)
        sim_sleep_until(sim_now() + SIM_S);
}

static void witness(struct process *self)
{
    VIP_DESCRIPTOR *taken;
    VIP_VI_HANDLE vi;

    process_open(self);
    vi = process_vi(self, NULL);
    IS(VipPostRecv(vi, descriptor_at(self, 0, DATA, 99), self->memory), VIP_SUCCESS);
    process_accept(self, vi, 9);
    sim_sleep_until(sim_now() + SIM_MS);
    killer();
    IS(VipRecvWait(vi, VIP_INFINITE, &taken), VIP_DESCRIPTOR_ERROR);
    CHECK(taken->Control.Status ==
          (VIP_STATUS_DONE | VIP_STATUS_OP_RECEIVE | VIP_STATUS_DESC_FLUSHED_ERROR));
    noticed_at = sim_now();
    CHECK(state_of(vi) == VIP_STATE_ERROR);
    IS(VipPostRecv(vi, taken, self->memory), VIP_SUCCESS);
    IS(VipRecvDone(vi, &taken), VIP_DESCRIPTOR_ERROR); /* flushed at once */
    sim_stop();
}

static void a_dead_peer_is_noticed(void **state)
{
    for (int i = 0; i < 2; i++) {
        host_dies = i == 1;
        pair(victim, witness);
        assert_int_equal(sim_run(), SIM_DONE);
        assert_true(noticed_at > killed_at);
        assert_true(host_dies == (noticed_at - killed_at >= 2 * SIM_MS));
        world_end();
    }
}

/* ---- completion queues, notification, asynchronous errors ------------------------------------ */

static unsigned handler_calls;
static VIP_ERROR_DESCRIPTOR last_error;
static VIP_DESCRIPTOR *notified;
static VIP_VI_HANDLE notified_vi;

static void on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
    VIP_NIC_ATTRIBUTES attributes;

    last_error = *error;
    handler_calls++;
    IS(VipQueryNic(error->NicHandle, &attributes), VIP_SUCCESS); /* it may call VIPL */
    CHECK(context == &handler_calls);
}

static void on_receive(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi,
                       VIP_DESCRIPTOR *descriptor)
{
    notified = descriptor;
    notified_vi = vi;
    CHECK(nic == ((struct process *)context)->nic);
}

static void on_entry(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_BOOLEAN receive)
{
    IS(VipRecvDone(vi, &notified), VIP_SUCCESS);
    CHECK(receive == VIP_TRUE && nic == ((struct process *)context)->nic);
}

static void ten_sends(struct process *self)
{
    VIP_VI_HANDLE plain, queued;

    process_open(self);
    plain = process_vi(self, NULL);
    queued = process_vi(self, NULL);
    process_connect(self, plain, 1, 9);
    process_connect(self, queued, 1, 10);
    sim_sleep_until(10 * SIM_MS);
    for (int i = 0; i < 2; i++)
        CHECK(send_at(self, plain, descriptor_at(self, 0, DATA, 10)) == VIP_STATUS_DONE);
    for (int i = 0; i < 4; i++)
        CHECK(send_at(self, queued, descriptor_at(self, 0, DATA, 10)) == VIP_STATUS_DONE);
    sim_sleep_until(30 * SIM_MS);
    CHECK(send_at(self, queued, descriptor_at(self, 0, DATA, 10)) == VIP_STATUS_DONE);
    sim_sleep_until(50 * SIM_MS);
}

static void handlers(struct process *self)
{
    VIP_VI_HANDLE plain, queued, vi;
    VIP_DESCRIPTOR *taken, *posted;
    VIP_BOOLEAN receive;
    VIP_CQ_HANDLE cq;

    process_open(self);
    IS(VipErrorCallback(self->nic, &handler_calls, on_error), VIP_SUCCESS);
    IS(VipCreateCQ(self->nic, 2, &cq), VIP_SUCCESS);
    plain = process_vi(self, NULL);
    queued = process_vi(self, cq);
    posted = descriptor_at(self, 0, DATA, 10);
    IS(VipPostRecv(plain, posted, self->memory), VIP_SUCCESS);
    for (unsigned i = 1; i <= 5; i++)
        IS(VipPostRecv(queued, descriptor_at(self, i, DATA, 10), self->memory), VIP_SUCCESS);
    IS(VipRecvNotify(plain, self, NULL), VIP_INVALID_PARAMETER);
    IS(VipRecvNotify(plain, self, on_receive), VIP_SUCCESS);
    IS(VipRecvNotify(plain, self, on_receive), VIP_ERROR_RESOURCE);
    IS(VipRecvNotify(queued, self, on_receive), VIP_ERROR_RESOURCE);
    process_accept(self, plain, 9);
    process_accept(self, queued, 10);
    sim_sleep_until(20 * SIM_MS);
    CHECK(notified == posted && notified_vi == plain);
    CHECK((notified->Control.Status & VIP_STATUS_DONE) != 0);
    /* one message more on the plain VI found nothing, and two more entries than the queue has */
    CHECK(handler_calls == 3);
    CHECK(last_error.ErrorCode == VIP_ERROR_VI_OVERRUN && last_error.CQHandle == cq);
    CHECK(last_error.ResourceCode == VIP_RESOURCE_CQ && last_error.ViHandle == queued);
    IS(VipResizeCQ(cq, 1), VIP_ERROR_RESOURCE); /* two entries are in it */
    IS(VipResizeCQ(cq, 3), VIP_SUCCESS);
    IS(VipCQDone(cq, &vi, &receive), VIP_SUCCESS);
    IS(VipCQWait(cq, 0, &vi, &receive), VIP_SUCCESS);
    CHECK(vi == queued && receive == VIP_TRUE);
    IS(VipCQWait(cq, 0, &vi, &receive), VIP_TIMEOUT);
    for (unsigned i = 1; i <= 4; i++) { /* the descriptors are there in any case */
        IS(VipRecvDone(queued, &taken), VIP_SUCCESS);
        CHECK(taken == (VIP_DESCRIPTOR *)(self->arena + (size_t)i * 256));
    }
    IS(VipCQNotify(cq, self, on_entry), VIP_SUCCESS);
    IS(VipCQNotify(cq, self, on_entry), VIP_ERROR_RESOURCE);
    sim_sleep_until(40 * SIM_MS);
    CHECK(notified == (VIP_DESCRIPTOR *)(self->arena + (size_t)5 * 256));
    sim_sleep_until(60 * SIM_MS);
}

static void handlers_and_completion_queues(void **state)
{
    handler_calls = 0;
    run_pair(ten_sends, handlers);
}

/* ---- lost frames ----------------------------------------------------------------------------- */

enum { MESSAGES = 200 };
static unsigned arrived_messages;

static void lossy_sender(struct process *self)
{
    VIP_VI_HANDLE vi;

    process_open(self);
    vi = vi_of_level(self);
    process_connect(self, vi, 1, 9);
    for (unsigned i = 0; i < MESSAGES; i++) {
        VIP_DESCRIPTOR *descriptor = descriptor_at(self, 0, DATA, 3000);

        descriptor->Control.Control = VIP_CONTROL_IMMEDIATE;
        descriptor->Control.ImmediateData = i;
        CHECK(send_at(self, vi, descriptor) == VIP_STATUS_DONE);
    }
    sim_sleep_until(sim_now() + 20 * SIM_MS);
}

static void lossy_receiver(struct process *self)
{
    VIP_DESCRIPTOR *taken;
    VIP_VI_HANDLE vi;
    unsigned next = 0;

    process_open(self);
    vi = vi_of_level(self);
    for (unsigned i = 0; i < MESSAGES; i++)
        IS(VipPostRecv(vi, descriptor_at(self, 0, DATA, 3000), self->memory), VIP_SUCCESS);
    process_accept(self, vi, 9);
    for (arrived_messages = 0; VipRecvWait(vi, 1000, &taken) == VIP_SUCCESS && taken != NULL;
         arrived_messages++) {
        CHECK(taken->Control.ImmediateData >= next); /* in order */
        next = taken->Control.ImmediateData + 1;
    }
}

static void frames_are_lost(void **state)
{
    const struct sim_fault_rule rule = {.action = SIM_FAULT_DROP,
                                        .from = SIM_MS,
                                        .until = SIM_NEVER,
                                        .probability = 0.05,
                                        .source = 0,
                                        .target = 1,
                                        .between = {SIM_FAULT_ANY, SIM_FAULT_ANY},
                                        .kind = SIM_FAULT_ANY};

    for (int i = 0; i < 2; i++) {
        level = i == 0 ? VIP_SERVICE_UNRELIABLE : VIP_SERVICE_RELIABLE_DELIVERY;
        pair(lossy_sender, lossy_receiver);
        sim_fault_rule_add(&world_packets, &rule);
        assert_int_equal(world_run(), SIM_DONE);
        if (level == VIP_SERVICE_UNRELIABLE)
            assert_in_range(arrived_messages, MESSAGES / 2, MESSAGES - 5);
        else
            assert_int_equal(arrived_messages, MESSAGES);
        assert_true(world_network->counters.lost > 5);
        world_end();
    }
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
        cmocka_unit_test(mad_68_connections_are_refused),
        cmocka_unit_test(a_dead_peer_is_noticed),
        cmocka_unit_test(handlers_and_completion_queues),
        cmocka_unit_test(frames_are_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
