/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Processes with NICs of VIA, or with SBP, on a small network, without a cluster: each is a fiber.
 */
#ifndef VIA_WORLD_H
#define VIA_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "via/via.h"

/* An assertion in a fiber: cmocka's long jumps may not leave one. */
#define CHECK(condition)                                  \
    do {                                                  \
        if (!(condition))                                 \
            world_failed(__FILE__, __LINE__, #condition); \
    } while (0)
_Noreturn void world_failed(const char *file, int line, const char *what);

#define IS(call, code) CHECK((call) == (code))

enum { ARENA = 1 << 18, DATA = 64 * 256 /* the arena behind the descriptors */ };

struct process {
    struct sim_fiber *fiber;
    uint32_t endpoint;
    uint64_t number; /* its rank */
    bool ended;
    void (*main)(struct process *self);
    /* of process_open(): */
    VIP_NIC_HANDLE nic;
    VIP_PROTECTION_HANDLE ptag;
    VIP_MEM_HANDLE memory; /* of the arena, which RDMA may write */
    char *arena; /* ARENA bytes, on a page */
    VIP_VI_ATTRIBUTES attributes;
};

extern struct legacy_network *world_network;
extern struct sim_fault_point world_packets;
extern struct net *world_net;

void world_begin(uint32_t hosts); /* with VIA */
void world_begin_with(enum legacy_kind kind, uint32_t hosts);
/* It starts when the world runs. */
struct process *world_process(uint32_t endpoint, void (*main)(struct process *self));
enum sim_outcome world_run(void); /* checks the ledger */
void world_end(void);
struct via_devices *world_devices(void);
/* The process ends at once, as its system would end it. */
void world_kill(struct process *process);

/* NIC, tag, memory, and attributes of an unreliable VI with RDMA. */
void process_open(struct process *self);
VIP_VI_HANDLE process_vi(struct process *self, VIP_CQ_HANDLE receive_cq);
union address {
    VIP_NET_ADDRESS address;
    uint8_t room[32];
};
/* The address is longer than its declaration in vipl.h, and so is the storage of the union. */
static inline VIP_UINT8 *host_bytes(union address *address)
{
    return address->address.HostAddress;
}
union address address_of(uint32_t endpoint, uint32_t discriminator);
/* Both sides connect by the same discriminator; the passive one first waits. */
void process_connect(struct process *self, VIP_VI_HANDLE vi, uint32_t to, uint32_t discriminator);
void process_accept(struct process *self, VIP_VI_HANDLE vi, uint32_t discriminator);
/* A descriptor at `slot` of the arena (64 slots of 256 bytes) with one data segment at an offset.
 */
VIP_DESCRIPTOR *descriptor_at(const struct process *self, unsigned slot, size_t offset,
                              size_t length);

/* ---- two processes, on hosts 0 and 1 of three ---- */
extern struct process *world_first;
void world_pair(void (*one)(struct process *self), void (*two)(struct process *self));
void world_run_pair(void (*one)(struct process *self), void (*two)(struct process *self));
VIP_DESCRIPTOR *process_wait_receive(VIP_VI_HANDLE vi, VIP_RETURN expected);
uint32_t process_send_status(VIP_VI_HANDLE vi); /* of the next send that is done */
uint32_t process_send(struct process *self, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *descriptor);
VIP_VI_STATE process_state(VIP_VI_HANDLE vi);

#endif
