/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A client in the style of foMPI: one-sided communication with notifications. Before every post it
 * sets the event data to rank and tag, packed into 32 bits. The target reads them from its queue by
 * GNI_CQ_GET_REM_INST_ID and matches them with the notification that it waits for. Ranks of one
 * node share memory by XPMEM.
 */
#include <xpmem.h>
#include "client.h"

enum { NEIGHBOURS = 2, STEPS = 25, CELL = 512, UNEXPECTED = 64 };
#define DATUM(rank, tag) ((uint32_t)(rank) << 16 | (uint32_t)(tag))

struct window {
    uint64_t address;
    gni_mem_handle_t handle;
    xpmem_segid_t segment;
    int nid;
};

static gni_cdm_handle_t cdm;
static gni_nic_handle_t nic;
static gni_cq_handle_t source_cq, notify_cq;
static gni_ep_handle_t *eps;
static struct window mine, *windows;
static char *memory;
static uint32_t unexpected[UNEXPECTED];
static int unexpected_count;

static void open_window(void)
{
    uint32_t address, *addresses;
    int i;

    OK(GNI_CdmCreate((uint32_t)my_rank, (uint8_t)client_env_element("PMI_GNI_PTAG", 1),
                     client_env_element("PMI_GNI_COOKIE", 1), GNI_CDM_MODE_DUAL_EVENTS, &cdm));
    OK(GNI_CdmAttach(cdm, 0, &address, &nic));
    OK(GNI_CqCreate(nic, 256, 0, GNI_CQ_NOBLOCK, NULL, NULL, &source_cq));
    OK(GNI_CqCreate(nic, 1024, 0, GNI_CQ_BLOCKING, NULL, NULL, &notify_cq));
    addresses = client_allgather(&address, sizeof(address));
    eps = calloc((size_t)job_size, sizeof(*eps));
    for (i = 0; i < job_size; i++) {
        OK(GNI_EpCreate(nic, source_cq, &eps[i]));
        OK(GNI_EpBind(eps[i], addresses[i], (uint32_t)i));
    }
    memory = client_pages(65536);
    mine.address = (uint64_t)(uintptr_t)memory;
    OK(GNI_MemRegister(nic, mine.address, 65536, notify_cq, GNI_MEM_READWRITE, (uint32_t)-1,
                       &mine.handle));
    mine.segment = xpmem_make(memory, 65536, XPMEM_PERMIT_MODE, (void *)0600);
    CHECK(mine.segment != -1 && PMI_Get_nid(my_rank, &mine.nid) == PMI_SUCCESS);
    windows = client_allgather(&mine, sizeof(mine));
    free(addresses);
}

static void put_notify(int target, int tag, uint64_t from, uint64_t to, uint64_t bytes)
{
    gni_post_descriptor_t descriptor, *completed;
    gni_cq_entry_t entry;
    gni_return_t status;

    memset(&descriptor, 0, sizeof(descriptor));
    descriptor.type = GNI_POST_FMA_PUT;
    descriptor.cq_mode = GNI_CQMODE_GLOBAL_EVENT | GNI_CQMODE_REMOTE_EVENT;
    descriptor.dlvr_mode = GNI_DLVMODE_IN_ORDER;
    descriptor.local_addr = mine.address + from;
    descriptor.remote_addr = windows[target].address + to;
    descriptor.remote_mem_hndl = windows[target].handle;
    descriptor.length = bytes;
    OK(GNI_EpSetEventData(eps[target], DATUM(my_rank, tag), DATUM(my_rank, tag)));
    OK(GNI_PostFma(eps[target], &descriptor));
    /* The event data of the next post do not change those of this one. */
    OK(GNI_EpSetEventData(eps[target], 0xffffff, 0xffffffff));
    while ((status = GNI_CqGetEvent(source_cq, &entry)) == GNI_RC_NOT_DONE)
        ;
    OK(status);
    CHECK(GNI_CQ_GET_INST_ID(entry) == (DATUM(my_rank, tag) & 0xffffff));
    OK(GNI_GetCompleted(source_cq, entry, &completed));
}

/* Waits for one notification and keeps others that arrive for later calls. */
static void wait_notify(int source, int tag)
{
    uint32_t wanted = DATUM(source, tag), got;
    gni_cq_entry_t entry;
    int i;

    for (i = 0; i < unexpected_count; i++) {
        if (unexpected[i] != wanted)
            continue;
        unexpected[i] = unexpected[--unexpected_count];
        return;
    }
    for (;;) {
        OK(GNI_CqWaitEvent(notify_cq, (uint64_t)-1, &entry));
        got = (uint32_t)GNI_CQ_GET_REM_INST_ID(entry);
        if (got == wanted)
            return;
        CHECK(unexpected_count < UNEXPECTED);
        unexpected[unexpected_count++] = got;
    }
}

/* A ring: each rank passes its data on, in both directions, with two tags each. */
static void ring(void)
{
    int right = (my_rank + 1) % job_size, left = (my_rank + job_size - 1) % job_size, step, i;

    for (step = 0; step < STEPS; step++) {
        memset(memory, my_rank * 3 + step, CELL);
        put_notify(right, 2 * step, 0, 4096 + (uint64_t)(step % 8) * CELL, CELL);
        put_notify(left, 2 * step + 1, 0, 16384 + (uint64_t)(step % 8) * CELL, CELL);
        wait_notify(right, 2 * step + 1); /* not in the order of arrival */
        wait_notify(left, 2 * step);
        for (i = 0; i < CELL; i++) {
            CHECK(memory[4096 + step % 8 * CELL + i] == (char)(left * 3 + step));
            CHECK(memory[16384 + step % 8 * CELL + i] == (char)(right * 3 + step));
        }
        PMI_Barrier();
    }
    CHECK(unexpected_count == 0);
}

/* Writes the memory of ranks of the same node; that of other nodes cannot be attached. */
static void share(void)
{
    struct xpmem_addr where;
    xpmem_apid_t right;
    int i, theirs = 0;
    char *cell;

    for (i = 0; i < job_size; i++) {
        right = xpmem_get(windows[i].segment, XPMEM_RDWR, XPMEM_PERMIT_MODE, NULL);
        CHECK((right != -1) == (windows[i].nid == mine.nid));
        if (right == -1)
            continue;
        where.apid = right;
        where.offset = 32768 + my_rank;
        cell = xpmem_attach(where, 1, NULL);
        CHECK(cell != (char *)-1);
        *cell = (char)(my_rank + 1);
        where.offset = 65536;
        CHECK(xpmem_attach(where, 1, NULL) == (void *)-1);
        CHECK(xpmem_detach(cell) == 0 && xpmem_release(right) == 0);
    }
    PMI_Barrier();
    for (i = 0; i < job_size; i++) {
        CHECK(memory[32768 + i] == (windows[i].nid == mine.nid ? (char)(i + 1) : 0));
        theirs += memory[32768 + i] != 0;
    }
    CHECK(PMI_Get_numpes_in_app_on_smp(&i) == PMI_SUCCESS && i == theirs);
    CHECK(xpmem_remove(mine.segment) == 0);
}

int main(void)
{
    client_start();
    open_window();
    ring();
    share();
    OK(GNI_CdmDestroy(cdm));
    return client_done("fompi");
}
