/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections over VIPL, how they fail and end; handlers and completion queues; lost frames. */
#include "via_world.h"

static VIP_RELIABILITY_LEVEL level;

static VIP_VI_HANDLE vi_of_level(struct process *self)
{
    self->attributes.ReliabilityLevel = level;
    return process_vi(self, NULL);
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
    CHECK(process_state(vi) == VIP_STATE_IDLE);
    there = address_of(99, 1);
    IS(VipConnectRequest(vi, &here.address, &there.address, 1000, &found), VIP_NOT_REACHABLE);
    sim_sleep_until(20 * SIM_MS);
    there = address_of(1, 2);
    IS(VipConnectRequest(vi, &here.address, &there.address, 1000, &found), VIP_REJECT);
    sim_sleep_until(60 * SIM_MS);
    there = address_of(1, 3);
    IS(VipConnectRequest(vi, &here.address, &there.address, 10, &found), VIP_TIMEOUT);
    CHECK(process_state(vi) == VIP_STATE_IDLE);
    sim_sleep_until(200 * SIM_MS);
    there = address_of(1, 4);
    IS(VipConnectRequest(vi, &here.address, &there.address, 1000, &found), VIP_SUCCESS);
    CHECK(found.MaxTransferSize == 32768 && process_state(vi) == VIP_STATE_CONNECTED);
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
    CHECK(host_bytes(&from)[5] == 0 && from.address.DiscriminatorLen == 4);
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
    CHECK(process_state(vi) == VIP_STATE_CONNECTED);
    IS(VipConnectAccept(connection, vi), VIP_INVALID_PARAMETER);
    sim_sleep_until(sim_now() + 10 * SIM_MS);
}

static void mad_68_connections_are_refused(void **state)
{
    world_run_pair(request_errors, wait_errors);
}

/* ---- connections between peers --------------------------------------------------------------- */

static VIP_RETURN peer_result(VIP_VI_HANDLE vi, uint32_t from, uint32_t to, VIP_ULONG timeout,
                              VIP_VI_ATTRIBUTES *found)
{
    union address here = address_of(from, 7), there = address_of(to, 7);

    IS(VipConnectPeerRequest(vi, &here.address, &there.address, timeout), VIP_SUCCESS);
    return VipConnectPeerWait(vi, found);
}

/* Both exchange a message. */
static void peer_exchange(struct process *self, VIP_VI_HANDLE vi)
{
    VIP_DESCRIPTOR *taken;

    CHECK(process_state(vi) == VIP_STATE_CONNECTED);
    memset(self->arena + DATA, 'a' + (int)self->endpoint, 100);
    CHECK(process_send(self, vi, descriptor_at(self, 0, DATA, 100)) == VIP_STATUS_DONE);
    taken = process_wait_receive(vi, VIP_SUCCESS);
    CHECK(self->arena[2 * DATA + 99] == 'b' - (int)self->endpoint && taken->Control.Length == 100);
}

static VIP_VI_HANDLE peer_vi(struct process *self)
{
    VIP_VI_HANDLE vi = process_vi(self, NULL);

    IS(VipPostRecv(vi, descriptor_at(self, 1, 2 * DATA, 100), self->memory), VIP_SUCCESS);
    return vi;
}

static sim_time_t peer_delay; /* of the second process */

static void peer(struct process *self)
{
    VIP_VI_ATTRIBUTES found = {0};
    VIP_VI_HANDLE vi;

    process_open(self);
    if (self->endpoint == 1)
        self->attributes.EnableRdmaWrite = VIP_FALSE;
    vi = peer_vi(self);
    sim_sleep_until((self->endpoint == 1 ? peer_delay : 0) + 10 * SIM_MS);
    IS(peer_result(vi, self->endpoint, 1 - self->endpoint, VIP_INFINITE, &found), VIP_SUCCESS);
    CHECK(found.EnableRdmaWrite == (self->endpoint == 1) && found.Ptag == NULL);
    peer_exchange(self, vi);
    IS(VipConnectPeerWait(vi, &found), VIP_INVALID_STATE); /* it was reported */
    sim_sleep_until(sim_now() + 10 * SIM_MS);
    CHECK(process_state(vi) == VIP_STATE_CONNECTED);
}

/* The requests cross, or one is in the other's host before. */
static void peers_connect(void **state)
{
    static const sim_time_t delays[] = {0, SIM_US, 30 * SIM_US, 200 * SIM_US, 5 * SIM_MS};

    for (size_t i = 0; i < sizeof(delays) / sizeof(delays[0]); i++) {
        peer_delay = delays[i];
        world_run_pair(peer, peer);
    }
}

static void first_errors(struct process *self)
{
    union address here = address_of(0, 7), there = address_of(1, 7);
    VIP_VI_ATTRIBUTES found;
    VIP_VI_HANDLE vi;

    process_open(self);
    vi = process_vi(self, NULL);
    IS(VipConnectPeerRequest(vi, &there.address, &there.address, 1), VIP_INVALID_PARAMETER);
    IS(VipConnectPeerRequest(NULL, &here.address, &there.address, 1), VIP_INVALID_PARAMETER);
    there = address_of(99, 7);
    IS(VipConnectPeerRequest(vi, &here.address, &there.address, 1), VIP_NOT_REACHABLE);
    there = address_of(1, 7);
    IS(VipConnectPeerRequest(vi, &here.address, &there.address, 5), VIP_SUCCESS);
    IS(VipConnectPeerRequest(vi, &here.address, &there.address, 5), VIP_INVALID_STATE);
    CHECK(process_state(vi) == VIP_STATE_CONNECT_PENDING);
    IS(VipConnectPeerDone(vi, NULL), VIP_INVALID_PARAMETER);
    IS(VipConnectPeerDone(vi, &found), VIP_NOT_DONE);
    IS(VipConnectPeerWait(vi, &found), VIP_TIMEOUT);
    CHECK(sim_now() >= 5 * SIM_MS && sim_now() < 6 * SIM_MS && process_state(vi) == VIP_STATE_IDLE);
    /* at 10 ms the other side finds no request; both have one at 30 ms, with other attributes */
    sim_sleep_until(30 * SIM_MS);
    IS(peer_result(vi, 0, 1, 100, &found), VIP_INVALID_MTU);
    IS(VipConnectPeerDone(vi, &found), VIP_INVALID_STATE);
    sim_sleep_until(50 * SIM_MS);
    self->attributes.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY;
    IS(VipSetViAttributes(vi, &self->attributes), VIP_SUCCESS);
    IS(peer_result(vi, 0, 1, 100, &found), VIP_INVALID_RELIABILITY_LEVEL);
    sim_sleep_until(70 * SIM_MS);
    self->attributes.ReliabilityLevel = VIP_SERVICE_UNRELIABLE;
    IS(VipSetViAttributes(vi, &self->attributes), VIP_SUCCESS);
    IS(VipConnectPeerRequest(vi, &here.address, &there.address, VIP_INFINITE), VIP_SUCCESS);
    while (VipConnectPeerDone(vi, &found) == VIP_NOT_DONE)
        sim_sleep_until(sim_now() + SIM_US);
    CHECK(process_state(vi) == VIP_STATE_CONNECTED);
    sim_sleep_until(100 * SIM_MS);
    IS(VipDisconnect(vi), VIP_SUCCESS);
    net_link_set_alive(world_net, 0, net_routers(world_net) + 2, 0, false);
    there = address_of(2, 7);
    IS(VipConnectPeerRequest(vi, &here.address, &there.address, VIP_INFINITE), VIP_SUCCESS);
    IS(VipConnectPeerWait(vi, &found), VIP_NOT_REACHABLE);
    IS(VipDestroyVi(vi), VIP_SUCCESS);
}

static void second_errors(struct process *self)
{
    union address here = address_of(1, 7), from;
    VIP_VI_ATTRIBUTES found;
    VIP_CONN_HANDLE connection;
    VIP_VI_HANDLE vi;

    process_open(self);
    vi = process_vi(self, NULL);
    IS(VipConnectWait(self->nic, &here.address, 4, &from.address, &found, &connection),
       VIP_TIMEOUT); /* it does not see a peer's request */
    sim_sleep_until(10 * SIM_MS);
    IS(peer_result(vi, 1, 0, 5, &found), VIP_TIMEOUT); /* the first one's was withdrawn */
    self->attributes.MaxTransferSize = 1000;
    IS(VipSetViAttributes(vi, &self->attributes), VIP_SUCCESS);
    sim_sleep_until(30 * SIM_MS);
    IS(peer_result(vi, 1, 0, 100, &found), VIP_INVALID_MTU);
    sim_sleep_until(55 * SIM_MS);
    IS(peer_result(vi, 1, 0, 100, &found), VIP_INVALID_RELIABILITY_LEVEL);
    self->attributes.MaxTransferSize = 32768;
    IS(VipSetViAttributes(vi, &self->attributes), VIP_SUCCESS);
    sim_sleep_until(72 * SIM_MS);
    IS(peer_result(vi, 1, 0, 100, &found), VIP_SUCCESS);
    sim_sleep_until(110 * SIM_MS);
    CHECK(process_state(vi) == VIP_STATE_ERROR);
    sim_sleep_until(150 * SIM_MS);
}

static void requests_of_peers_fail(void **state)
{
    world_run_pair(first_errors, second_errors);
}

static VIP_VI_STATE late_state;
static sim_time_t gives_up_at;

static void gives_up(struct process *self)
{
    VIP_VI_ATTRIBUTES found;
    VIP_VI_HANDLE vi;

    process_open(self);
    vi = process_vi(self, NULL);
    gives_up_at = sim_now() + 20 * SIM_MS;
    IS(peer_result(vi, 0, 1, 20, &found), VIP_TIMEOUT);
    IS(VipDestroyVi(vi), VIP_SUCCESS);
    sim_sleep_until(60 * SIM_MS);
}

static void comes_late(struct process *self)
{
    union address here = address_of(1, 7), there = address_of(0, 7);
    VIP_VI_ATTRIBUTES found;
    VIP_VI_HANDLE vi;

    process_open(self);
    vi = process_vi(self, NULL);
    sim_sleep_until(10 * SIM_MS);
    sim_sleep_until(gives_up_at - 5 * SIM_US); /* too late for an answer in time */
    CHECK(world_devices()->hosts[1].offers != NULL);
    IS(VipConnectPeerRequest(vi, &here.address, &there.address, 10), VIP_SUCCESS);
    sim_sleep_until(50 * SIM_MS);
    IS(VipConnectPeerDone(vi, &found), VIP_SUCCESS);
    late_state = process_state(vi);
    CHECK(world_devices()->hosts[0].offers == NULL && world_devices()->hosts[1].offers == NULL);
}

static void a_peer_gives_up_while_the_other_one_connects(void **state)
{
    world_run_pair(gives_up, comes_late);
    assert_int_equal(late_state, VIP_STATE_ERROR);
}

/* A process is killed, or its host dies: the peer learns it. */
static sim_time_t killed_at, noticed_at;
static bool host_dies;

static void killer(void)
{
    if (host_dies)
        net_link_set_alive(world_net, 0, net_routers(world_net), 0, false);
    killed_at = sim_now();
    world_kill(world_first);
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
    CHECK(process_state(vi) == VIP_STATE_ERROR);
    IS(VipPostRecv(vi, taken, self->memory), VIP_SUCCESS);
    IS(VipRecvDone(vi, &taken), VIP_DESCRIPTOR_ERROR); /* flushed at once */
    sim_stop();
}

static void a_dead_peer_is_noticed(void **state)
{
    for (int i = 0; i < 2; i++) {
        host_dies = i == 1;
        world_pair(victim, witness);
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
        CHECK(process_send(self, plain, descriptor_at(self, 0, DATA, 10)) == VIP_STATUS_DONE);
    for (int i = 0; i < 4; i++)
        CHECK(process_send(self, queued, descriptor_at(self, 0, DATA, 10)) == VIP_STATUS_DONE);
    sim_sleep_until(30 * SIM_MS);
    CHECK(process_send(self, queued, descriptor_at(self, 0, DATA, 10)) == VIP_STATUS_DONE);
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
    world_run_pair(ten_sends, handlers);
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
        CHECK(process_send(self, vi, descriptor) == VIP_STATUS_DONE);
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
        world_pair(lossy_sender, lossy_receiver);
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
        cmocka_unit_test(mad_68_connections_are_refused),
        cmocka_unit_test(peers_connect),
        cmocka_unit_test(requests_of_peers_fail),
        cmocka_unit_test(a_peer_gives_up_while_the_other_one_connects),
        cmocka_unit_test(a_dead_peer_is_noticed),
        cmocka_unit_test(handlers_and_completion_queues),
        cmocka_unit_test(frames_are_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
