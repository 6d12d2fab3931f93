/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rank 0 sends three messages by SMSG; rank 1 receives them after 200 us, in which it
 * registers other memory.
 */
#include <stdlib.h>
#include <gni_pub.h>
#include <run/workload.h>

#define CREDITS 8u
#define ROUNDS 200u
#define MAILBOX_BYTES 4096u

struct side {
    uint32_t nic;
    gni_smsg_attr_t mailbox;
};

static void succeed(gni_return_t status)
{
    if (status != GNI_RC_SUCCESS)
        abort();
}

static void send_all(gni_ep_handle_t ep)
{
    uint32_t i;

    for (i = 0; i < 3; i++)
        succeed(GNI_SmsgSendWTag(ep, NULL, 0, &i, sizeof(i), i, 1));
}

static void receive_all(gni_ep_handle_t ep, gni_nic_handle_t nic)
{
    static uint64_t other[512];
    uint8_t tag = GNI_SMSG_ANY_TAG;
    gni_mem_handle_t handle;
    uint32_t i;
    void *data;

    for (i = 0; i < ROUNDS; i++) {
        rank_compute(1000000);
        succeed(GNI_MemRegister(nic, (uint64_t)(uintptr_t)other, sizeof(other), NULL,
                                GNI_MEM_READWRITE, (uint32_t)-1, &handle));
        succeed(GNI_MemDeregister(nic, &handle));
    }
    for (i = 0; i < 3; i++) {
        succeed(GNI_SmsgGetNextWTag(ep, &data, &tag));
        succeed(GNI_SmsgRelease(ep));
        tag = GNI_SMSG_ANY_TAG;
    }
}

static int late(struct rank *rank)
{
    uint32_t me = rank_id(rank);
    struct side sides[2], mine = {.mailbox = {.msg_type = GNI_SMSG_TYPE_MBOX,
                                              .mbox_maxcredit = CREDITS,
                                              .msg_maxsize = 64,
                                              .buff_size = MAILBOX_BYTES}};
    void *memory = calloc(1, MAILBOX_BYTES);
    gni_cq_handle_t queue;
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;
    gni_ep_handle_t ep;

    succeed(GNI_CdmCreate(me, rank_ptag(rank), rank_cookie(rank), 0, &cdm));
    succeed(GNI_CdmAttach(cdm, 0, &mine.nic, &nic));
    succeed(GNI_CqCreate(nic, 16, 0, GNI_CQ_NOBLOCK, NULL, NULL, &queue));
    succeed(GNI_MemRegister(nic, (uint64_t)(uintptr_t)memory, MAILBOX_BYTES, NULL,
                            GNI_MEM_READWRITE, (uint32_t)-1, &mine.mailbox.mem_hndl));
    mine.mailbox.msg_buffer = memory;
    rank_allgather(rank, &mine, sides, sizeof(mine));
    succeed(GNI_EpCreate(nic, queue, &ep));
    succeed(GNI_EpBind(ep, sides[1 - me].nic, 1 - me));
    succeed(GNI_SmsgInit(ep, &sides[me].mailbox, &sides[1 - me].mailbox));
    rank_barrier(rank);
    if (me == 0)
        send_all(ep);
    else
        receive_all(ep, nic);
    rank_barrier(rank);
    succeed(GNI_CdmDestroy(cdm));
    free(memory);
    return 0;
}

static const struct workload late_workload = {
    "late", "messages that are received late", "none", NULL, 2, late};
WORKLOAD(late_workload)
