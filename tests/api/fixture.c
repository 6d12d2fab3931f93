/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Helpers of the tests that do not depend on how the machine is made; see fixture.h. */
#include "fixture.h"

/* ---- domains --------------------------------------------------------------------------------- */

void domain_open_as(struct domain *domain, uint32_t inst_id, uint8_t ptag, uint32_t cookie,
                    uint32_t modes)
{
    assert_ok(GNI_CdmCreate(inst_id, ptag, cookie, modes, &domain->cdm));
    assert_ok(GNI_CdmAttach(domain->cdm, 0, &domain->address, &domain->nic));
    assert_ok(GNI_CqCreate(domain->nic, 512, 0, GNI_CQ_NOBLOCK, NULL, NULL, &domain->source));
    assert_ok(GNI_CqCreate(domain->nic, 512, 0, GNI_CQ_NOBLOCK, NULL, NULL, &domain->target));
}

void domain_open(struct rank *rank, struct domain *domain, uint32_t modes)
{
    domain_open_as(domain, rank->id, MACHINE_PTAG, MACHINE_COOKIE, modes);
}

void domain_close(struct domain *domain)
{
    assert_ok(GNI_CdmDestroy(domain->cdm));
}

gni_ep_handle_t domain_connect(struct rank *rank, struct domain *domain, uint32_t peer)
{
    const struct rank *other = &rank->machine->rank[peer];
    gni_ep_handle_t ep;

    assert_ok(GNI_EpCreate(domain->nic, domain->source, &ep));
    assert_ok(GNI_EpBind(ep, machine_address(rank->machine, other->node), peer));
    return ep;
}

gni_mem_handle_t domain_register(struct domain *domain, void *memory, uint64_t bytes,
                                 gni_cq_handle_t cq, uint32_t flags)
{
    gni_mem_handle_t handle;

    assert_ok(GNI_MemRegister(domain->nic, (uintptr_t)memory, bytes, cq, flags, -1, &handle));
    return handle;
}

void publish(struct rank *rank, gni_mem_handle_t handle, const void *memory)
{
    uint64_t *row = rank->machine->shared[rank->id];

    row[0] = handle.qword1;
    row[1] = handle.qword2;
    row[2] = (uintptr_t)memory;
    machine_barrier(rank);
}

gni_mem_handle_t published_handle(const struct rank *rank, uint32_t peer)
{
    const uint64_t *row = rank->machine->shared[peer];

    return (gni_mem_handle_t){row[0], row[1]};
}

uint64_t published_address(const struct rank *rank, uint32_t peer)
{
    return rank->machine->shared[peer][2];
}

/* ---- pairs ----------------------------------------------------------------------------------- */

void side_open(struct rank *rank, struct side *side, void *memory, uint64_t bytes, uint32_t modes)
{
    uint32_t peer = rank->machine->ranks == 1 ? 0 : rank->id ^ 1;

    side->rank = rank;
    side->memory = memory;
    domain_open(rank, &side->domain, modes);
    side->handle = domain_register(&side->domain, memory, bytes, side->domain.target, 0);
    publish(rank, side->handle, memory);
    side->ep = domain_connect(rank, &side->domain, peer);
    side->peer_handle = published_handle(rank, peer);
    side->peer_address = published_address(rank, peer);
    machine_barrier(rank);
}

void side_close(struct side *side)
{
    machine_barrier(side->rank);
    domain_close(&side->domain);
}

gni_post_descriptor_t side_describe(const struct side *side, gni_post_type_t type, uint64_t local,
                                    uint64_t remote, uint64_t bytes)
{
    return describe_put(type, side->memory + local, side->handle, side->peer_address + remote,
                        side->peer_handle, bytes);
}

/* ---- events ---------------------------------------------------------------------------------- */

gni_cq_entry_t next_event(gni_cq_handle_t cq, gni_return_t *result)
{
    gni_cq_entry_t event;

    do {
        *result = GNI_CqGetEvent(cq, &event);
    } while (*result == GNI_RC_NOT_DONE);
    return event;
}

gni_cq_entry_t good_event(gni_cq_handle_t cq)
{
    gni_return_t result;
    gni_cq_entry_t event = next_event(cq, &result);

    assert_rc(result, GNI_RC_SUCCESS);
    return event;
}

gni_cq_entry_t complete(gni_cq_handle_t cq, gni_post_descriptor_t *descr)
{
    gni_cq_entry_t event = good_event(cq);
    gni_post_descriptor_t *collected;

    assert_ok(GNI_GetCompleted(cq, event, &collected));
    assert_ptr_equal(collected, descr);
    assert_int_equal(descr->status, GNI_RC_SUCCESS);
    return event;
}

unsigned complete_failed(gni_cq_handle_t cq, gni_post_descriptor_t *descr)
{
    gni_post_descriptor_t *collected;
    gni_return_t result;
    gni_cq_entry_t event = next_event(cq, &result);

    assert_rc(result, GNI_RC_TRANSACTION_ERROR);
    assert_true(event != 0);
    assert_rc(GNI_GetCompleted(cq, event, &collected), GNI_RC_TRANSACTION_ERROR);
    assert_ptr_equal(collected, descr);
    assert_int_equal(descr->status, GNI_RC_TRANSACTION_ERROR);
    return (unsigned)GNI_CQ_GET_STATUS(event);
}

/* ---- posts ----------------------------------------------------------------------------------- */

gni_post_descriptor_t describe_put(gni_post_type_t type, const void *local,
                                   gni_mem_handle_t local_handle, uint64_t remote,
                                   gni_mem_handle_t remote_handle, uint64_t length)
{
    return (gni_post_descriptor_t){
        .type = type,
        .cq_mode = GNI_CQMODE_GLOBAL_EVENT,
        .local_addr = (uintptr_t)local,
        .local_mem_hndl = local_handle,
        .remote_addr = remote,
        .remote_mem_hndl = remote_handle,
        .length = length,
    };
}

gni_post_descriptor_t describe_amo(gni_fma_cmd_type_t command, uint64_t first, uint64_t second,
                                   void *local, gni_mem_handle_t local_handle, uint64_t remote,
                                   gni_mem_handle_t remote_handle)
{
    gni_post_descriptor_t descr =
        describe_put(GNI_POST_AMO, local, local_handle, remote, remote_handle,
                     command & 0x200 ? sizeof(uint32_t) : sizeof(uint64_t));

    descr.amo_cmd = command;
    descr.first_operand = first;
    descr.second_operand = second;
    return descr;
}

gni_return_t post(gni_ep_handle_t ep, gni_post_descriptor_t *descr)
{
    switch (descr->type) {
    case GNI_POST_RDMA_PUT:
    case GNI_POST_RDMA_GET:
        return GNI_PostRdma(ep, descr);
    case GNI_POST_CQWRITE:
        return GNI_PostCqWrite(ep, descr);
    default:
        return GNI_PostFma(ep, descr);
    }
}
