/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A ping-pong of COUNT messages each way, for measuring what idle polls cost: ./pingpong COUNT. */
#include "client.h"

static gni_nic_handle_t nic;
static gni_cq_handle_t tx, rx;
static gni_ep_handle_t ep;

static void set_up(void)
{
    gni_smsg_attr_t attr = {
        .msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT, .mbox_maxcredit = 16, .msg_maxsize = 64};
    gni_smsg_attr_t *all;
    gni_cdm_handle_t cdm;
    uint32_t address, *addresses;
    unsigned int bytes;
    int peer = !my_rank;

    OK(GNI_CdmCreate((uint32_t)my_rank, (uint8_t)atoi(getenv("PMI_GNI_PTAG")),
                     client_env_element("PMI_GNI_COOKIE", 0), 0, &cdm));
    OK(GNI_CdmAttach(cdm, 0, &address, &nic));
    OK(GNI_CqCreate(nic, 64, 0, GNI_CQ_NOBLOCK, NULL, NULL, &tx));
    OK(GNI_CqCreate(nic, 64, 0, GNI_CQ_NOBLOCK, NULL, NULL, &rx));
    OK(GNI_SmsgBufferSizeNeeded(&attr, &bytes));
    attr.msg_buffer = client_pages(bytes);
    attr.buff_size = bytes;
    OK(GNI_MemRegister(nic, (uintptr_t)attr.msg_buffer, bytes, rx, GNI_MEM_READWRITE, UINT32_MAX,
                       &attr.mem_hndl));
    all = client_allgather(&attr, sizeof(attr));
    addresses = client_allgather(&address, sizeof(address));
    OK(GNI_EpCreate(nic, tx, &ep));
    OK(GNI_EpBind(ep, addresses[peer], (uint32_t)peer));
    OK(GNI_SmsgInit(ep, &attr, &all[peer]));
    CHECK(PMI_Barrier() == PMI_SUCCESS);
}

static void receive(void)
{
    gni_return_t rc = GNI_RC_NOT_DONE;
    gni_cq_entry_t event;
    void *header;

    while (rc != GNI_RC_SUCCESS) {
        GNI_CqGetEvent(tx, &event);
        if (GNI_CqGetEvent(rx, &event) == GNI_RC_SUCCESS)
            rc = GNI_SmsgGetNext(ep, &header);
    }
    OK(GNI_SmsgRelease(ep));
}

int main(int argc, char **argv)
{
    uint64_t word = 7;
    int i, count;

    CHECK(argc == 2);
    count = atoi(argv[1]);
    client_start();
    CHECK(job_size == 2);
    set_up();
    for (i = 0; i < 2 * count; i++) {
        if (i % 2 != my_rank)
            receive();
        else
            while (GNI_SmsgSend(ep, &word, sizeof(word), NULL, 0, 0) != GNI_RC_SUCCESS)
                ;
    }
    return client_done("pingpong");
}
