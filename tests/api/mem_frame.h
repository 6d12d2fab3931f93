/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A registered region and transfers into it. */
#ifndef JACQUARD_TESTS_MEM_FRAME_H
#define JACQUARD_TESTS_MEM_FRAME_H

#include "fixture.h"
#include "nic/mem_handle.h"

#define PAGE 4096u
#define PAGES 4
#define BYTES (PAGES * PAGE)

struct region {
    struct domain domain;
    gni_mem_handle_t handle;
    uint8_t *memory;
    gni_ep_handle_t ep; /* to the peer of a pair */
};

/* Page-aligned memory of each rank. */
extern uint8_t memory[MACHINE_RANKS][BYTES];
void open_side(struct rank *rank, struct region *side, uint32_t flags);
/* Posts a descriptor and returns the status code of its completion, 0 for success. */
unsigned outcome(struct region *side, gni_post_descriptor_t *descr);
unsigned transfer(struct region *side, gni_post_type_t type, void *local,
                  gni_mem_handle_t local_handle, uint64_t remote, gni_mem_handle_t remote_handle,
                  uint64_t bytes);
/* As libfabric makes a handle from a key. */
gni_mem_handle_t rebuild(gni_mem_handle_t handle, bool vmdh);

#endif
