/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smsg_pair.h"

void link_open(struct rank *rank, struct link *link, const struct shape *shape)
{
    gni_mem_handle_t handle;
    unsigned int size;

    domain_open(rank, &link->domain, GNI_CDM_MODE_ERR_NO_KILL);
    link->peer = rank->machine->ranks == 1 ? 0 : 1 - rank->id;
    link->mine = (gni_smsg_attr_t){.msg_type = shape->type,
                                   .mbox_maxcredit = shape->credits,
                                   .msg_maxsize = shape->bytes,
                                   .mbox_offset = shape->offset};
    assert_ok(GNI_SmsgBufferSizeNeeded(&link->mine, &size));
    link->mine.buff_size = size + shape->extra;
    link->bytes = shape->offset + link->mine.buff_size;
    link->memory = aligned_alloc(4096, (link->bytes + 4095) / 4096 * 4096);
    memset(link->memory, 0, link->bytes);
    if (shape->vmdh)
        assert_ok(GNI_SetMddResources(link->domain.nic, 16));
    handle = domain_register(&link->domain, link->memory, link->bytes,
                             shape->no_events ? NULL : link->domain.target,
                             GNI_MEM_READWRITE | (shape->vmdh ? GNI_MEM_USE_VMDH : 0));
    publish(rank, handle, link->memory);
    link->theirs = link->mine;
    link->mine.msg_buffer = link->memory;
    link->mine.mem_hndl = handle;
    link->theirs.msg_buffer = (void *)(uintptr_t)published_address(rank, link->peer);
    link->theirs.mem_hndl = published_handle(rank, link->peer);
    link->ep = domain_connect(rank, &link->domain, link->peer);
    if (!shape->no_init)
        assert_ok(GNI_SmsgInit(link->ep, &link->mine, &link->theirs));
}

void link_close(struct rank *rank, struct link *link)
{
    machine_barrier(rank);
    domain_close(&link->domain);
    free(link->memory);
}

uint32_t send_message(struct link *link, void *data, uint32_t bytes, uint32_t id)
{
    uint32_t stalls = 0;
    gni_cq_entry_t event;
    gni_return_t rc;

    while ((rc = GNI_SmsgSend(link->ep, NULL, 0, data, bytes, id)) == GNI_RC_NOT_DONE) {
        GNI_CqGetEvent(link->domain.source, &event);
        stalls++;
    }
    assert_ok(rc);
    return stalls;
}

void *get_message(struct link *link)
{
    void *message;
    gni_return_t rc;

    while ((rc = GNI_SmsgGetNext(link->ep, &message)) == GNI_RC_NOT_DONE)
        ;
    assert_ok(rc);
    return message;
}

void sent(struct link *link, uint32_t id)
{
    gni_cq_entry_t event = good_event(link->domain.source);

    assert_int_equal(GNI_CQ_GET_TYPE(event), GNI_CQ_EVENT_TYPE_SMSG);
    assert_int_equal(GNI_CQ_GET_MSG_ID(event), id);
}

void drain(gni_cq_handle_t cq)
{
    gni_cq_entry_t event;

    while (GNI_CqGetEvent(cq, &event) != GNI_RC_NOT_DONE)
        ;
}

const struct shape mbox = {.type = GNI_SMSG_TYPE_MBOX, .credits = 8, .bytes = 256};

const struct shape safe = {.type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT, .credits = 8, .bytes = 256};

uint32_t fill(struct link *link, uint32_t bytes)
{
    uint8_t data[1024] = {1};
    uint32_t count = 0;
    gni_return_t rc;

    while ((rc = GNI_SmsgSend(link->ep, data, bytes, NULL, 0, count)) == GNI_RC_SUCCESS)
        count++;
    assert_rc(rc, GNI_RC_NOT_DONE);
    return count;
}
