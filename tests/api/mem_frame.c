/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A registered region and transfers into it. */
#include "mem_frame.h"

#include <string.h>
#include <sys/mman.h>

uint8_t memory[MACHINE_RANKS][BYTES] __attribute__((aligned(PAGE)));

void open_side(struct rank *rank, struct region *side, uint32_t flags)
{
    side->memory = memory[rank->id];
    memset(side->memory, 0, BYTES);
    domain_open(rank, &side->domain, 0);
    side->handle = domain_register(&side->domain, side->memory, BYTES, side->domain.target, flags);
    publish(rank, side->handle, side->memory);
    side->ep = domain_connect(rank, &side->domain, rank->id ^ 1);
}

unsigned outcome(struct region *side, gni_post_descriptor_t *descr)
{
    assert_ok(post(side->ep, descr));
    if (descr->type == GNI_POST_RDMA_PUT || descr->type == GNI_POST_RDMA_GET)
        assert_ptr_equal(descr->src_cq_hndl, side->domain.source);
    for (;;) {
        gni_post_descriptor_t *collected;
        gni_return_t result;
        gni_cq_entry_t event = next_event(side->domain.source, &result);

        assert_int_equal(GNI_GetCompleted(side->domain.source, event, &collected), result);
        assert_ptr_equal(collected, descr);
        return (unsigned)GNI_CQ_GET_STATUS(event);
    }
}

unsigned transfer(struct region *side, gni_post_type_t type, void *local,
                  gni_mem_handle_t local_handle, uint64_t remote, gni_mem_handle_t remote_handle,
                  uint64_t bytes)
{
    gni_post_descriptor_t descr =
        describe_put(type, local, local_handle, remote, remote_handle, bytes);

    return outcome(side, &descr);
}

gni_mem_handle_t rebuild(gni_mem_handle_t handle, bool vmdh)
{
    struct aries_mem_handle fields;

    aries_mem_handle_decode(&handle, &fields);
    fields.pages = 0xfffffff;
    fields.page_shift = 12;
    fields.flags = vmdh ? ARIES_MEM_VMDH : fields.flags & ARIES_MEM_READONLY;
    if (vmdh)
        fields.address = 0;
    return aries_mem_handle_encode(&fields);
}
