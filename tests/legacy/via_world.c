/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "via_world.h"

#include <stdio.h>

enum { PROCESSES_MAX = 8 };

struct legacy_network *world_network;
struct sim_fault_point world_packets;
struct net *world_net;
static struct process processes[PROCESSES_MAX];
static unsigned process_count;
static enum legacy_kind world_kind;

void world_failed(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    abort();
}

static bool find(enum legacy_kind kind, uint32_t adapter, struct legacy_place *place)
{
    unsigned i;

    for (i = 0; i < process_count; i++)
        if (processes[i].fiber == sim_fiber_self() && kind == world_kind && adapter == 0) {
            *place = (struct legacy_place){world_network, processes[i].endpoint,
                                           processes[i].number, i, process_count};
            return true;
        }
    return false;
}

/* The process's rank is its number in the world. */
static uint32_t locate(const struct legacy_network *network, uint64_t number, bool *alive)
{
    (void)network;
    *alive = number < process_count && !processes[number].ended;
    return number < process_count ? processes[number].endpoint : UINT32_MAX;
}

void world_begin(uint32_t hosts)
{
    world_begin_with(LEGACY_VIA, hosts);
}

void world_begin_with(enum legacy_kind kind, uint32_t hosts)
{
    struct sim_options options = {.seed = 1, .stack_bytes = 256 << 10};
    struct net_config config;
    char *error = NULL;

    world_kind = kind;
    sim_init(&options);
    sim_fault_point_register(&world_packets, "net.packet");
    net_config_default(&config);
    config.topology = NET_SWITCHED;
    config.switched = (struct net_switched_config){"single-switch", hosts, 0, 12.5, SIM_NS, SIM_NS};
    world_net = net_create(&config, &error);
    assert_non_null(world_net);
    world_network = legacy_network_create(
        &(struct legacy_network_config){kind, "small", world_net, &world_packets, 1});
    legacy_set_find(find);
    legacy_set_locate(locate);
    process_count = 0;
}

static void run_process(void *arg)
{
    struct process *self = arg;

    self->main(self);
    sim_settle();
    self->ended = true;
    legacy_process_left(world_network, self->endpoint, self->number);
    free(self->arena);
    self->arena = NULL;
}

struct process *world_process(uint32_t endpoint, void (*main)(struct process *self))
{
    struct process *process = &processes[process_count];

    assert_true(process_count < PROCESSES_MAX);
    *process = (struct process){.endpoint = endpoint, .number = process_count++, .main = main};
    process->fiber = sim_fiber_start(run_process, process, "process", 0);
    return process;
}

void world_kill(struct process *process)
{
    sim_fiber_kill(process->fiber);
    process->ended = true;
    legacy_process_left(world_network, process->endpoint, process->number);
    free(process->arena);
    process->arena = NULL;
}

enum sim_outcome world_run(void)
{
    enum sim_outcome outcome = sim_run();

    assert_true(sim_ledger_balance());
    if (world_kind == LEGACY_VIA)
        assert_int_equal(world_devices()->registered, 0);
    return outcome;
}

void world_end(void)
{
    legacy_set_find(NULL);
    sim_fault_reset();
    sim_ledger_reset();
    legacy_network_destroy(world_network);
    net_destroy(world_net);
    sim_fini();
}

struct via_devices *world_devices(void)
{
    return world_network->devices;
}

/* ---- in a process ---------------------------------------------------------------------------- */

void process_open(struct process *self)
{
    VIP_MEM_ATTRIBUTES memory = {.EnableRdmaWrite = VIP_TRUE};

    CHECK(VipOpenNic("/dev/via_eth0", &self->nic) == VIP_SUCCESS);
    CHECK(VipCreatePtag(self->nic, &self->ptag) == VIP_SUCCESS);
    CHECK(posix_memalign((void **)&self->arena, VIA_PAGE, ARENA) == 0);
    memset(self->arena, 0, ARENA);
    memory.Ptag = self->ptag;
    CHECK(VipRegisterMem(self->nic, self->arena, ARENA, &memory, &self->memory) == VIP_SUCCESS);
    self->attributes = (VIP_VI_ATTRIBUTES){.ReliabilityLevel = VIP_SERVICE_UNRELIABLE,
                                           .MaxTransferSize = 32768,
                                           .Ptag = self->ptag,
                                           .EnableRdmaWrite = VIP_TRUE};
}

VIP_VI_HANDLE process_vi(struct process *self, VIP_CQ_HANDLE receive_cq)
{
    VIP_VI_HANDLE vi;

    CHECK(VipCreateVi(self->nic, &self->attributes, NULL, receive_cq, &vi) == VIP_SUCCESS);
    return vi;
}

union address address_of(uint32_t endpoint, uint32_t discriminator)
{
    union address address = {
        .address = {.HostAddressLen = VIA_ADDRESS_BYTES, .DiscriminatorLen = 4}};
    uint8_t *bytes = address.address.HostAddress;

    memset(bytes, 0, sizeof(address) - sizeof(VIP_NET_ADDRESS));
    bytes[0] = 0x02;
    bytes[5] = (uint8_t)endpoint;
    memcpy(bytes + VIA_ADDRESS_BYTES, &discriminator, sizeof(discriminator));
    return address;
}

void process_connect(struct process *self, VIP_VI_HANDLE vi, uint32_t to, uint32_t discriminator)
{
    union address from = address_of(self->endpoint, discriminator);
    union address there = address_of(to, discriminator);
    VIP_VI_ATTRIBUTES attributes;
    VIP_RETURN rc;

    while ((rc = VipConnectRequest(vi, &from.address, &there.address, VIP_INFINITE, &attributes)) ==
           VIP_NO_MATCH) {
    }
    CHECK(rc == VIP_SUCCESS);
}

void process_accept(struct process *self, VIP_VI_HANDLE vi, uint32_t discriminator)
{
    union address here = address_of(self->endpoint, discriminator), from = {0};
    VIP_VI_ATTRIBUTES attributes;
    VIP_CONN_HANDLE connection;

    CHECK(VipConnectWait(self->nic, &here.address, VIP_INFINITE, &from.address, &attributes,
                         &connection) == VIP_SUCCESS);
    CHECK(VipConnectAccept(connection, vi) == VIP_SUCCESS);
}

VIP_DESCRIPTOR *descriptor_at(const struct process *self, unsigned slot, size_t offset,
                              size_t length)
{
    VIP_DESCRIPTOR *descriptor = (VIP_DESCRIPTOR *)(self->arena + (size_t)slot * 256);

    CHECK(slot < 64 && offset >= 64 * 256 && offset + length <= ARENA);
    memset(descriptor, 0, sizeof(*descriptor));
    descriptor->Control.SegCount = length != 0;
    descriptor->Control.Length = (VIP_UINT32)length;
    descriptor->Data[0].Data.Address = self->arena + offset;
    descriptor->Data[0].Handle = self->memory;
    descriptor->Data[0].Length = (VIP_UINT32)length;
    return descriptor;
}

/* ---- two processes -----------------------------------------------------------------------------
 */

struct process *world_first;

void world_pair(void (*one)(struct process *self), void (*two)(struct process *self))
{
    world_begin(3);
    world_first = world_process(0, one);
    world_process(1, two);
}

void world_run_pair(void (*one)(struct process *self), void (*two)(struct process *self))
{
    world_pair(one, two);
    assert_int_equal(world_run(), SIM_DONE);
    world_end();
}

VIP_DESCRIPTOR *process_wait_receive(VIP_VI_HANDLE vi, VIP_RETURN expected)
{
    VIP_DESCRIPTOR *taken = NULL;

    IS(VipRecvWait(vi, VIP_INFINITE, &taken), expected);
    return taken;
}

uint32_t process_send_status(VIP_VI_HANDLE vi)
{
    VIP_DESCRIPTOR *taken = NULL;
    VIP_RETURN rc = VipSendWait(vi, VIP_INFINITE, &taken);

    CHECK(taken != NULL);
    CHECK((rc == VIP_SUCCESS) == ((taken->Control.Status & VIP_STATUS_ERROR_MASK) == 0));
    CHECK(rc == VIP_SUCCESS || rc == VIP_DESCRIPTOR_ERROR);
    return taken->Control.Status;
}

uint32_t process_send(struct process *self, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *descriptor)
{
    IS(VipPostSend(vi, descriptor, self->memory), VIP_SUCCESS);
    return process_send_status(vi);
}

VIP_VI_STATE process_state(VIP_VI_HANDLE vi)
{
    VIP_VI_ATTRIBUTES attributes;
    VIP_BOOLEAN send_empty, receive_empty;
    VIP_VI_STATE state;

    IS(VipQueryVi(vi, &state, &attributes, &send_empty, &receive_empty), VIP_SUCCESS);
    return state;
}
