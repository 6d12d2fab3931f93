/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "api.h"

/* any_thread: gni_pub.h allows the call without a lock, on any thread. */
static const struct entry {
    call_fn *fn;
    bool any_thread;
} entries[64] = {
    {call_cdm_create, 0},
    {call_cdm_destroy, 0},
    {call_cdm_attach, 0},
    {call_cq_create, 0},
    {call_cq_destroy, 0},
    {call_ep_create, 0},
    {call_ep_bind, 0},
    {call_ep_unbind, 0},
    {call_ep_destroy, 0},
    {call_ep_misc, 0},
    {call_mem_register, 0},
    {call_mem_segments, 0},
    {call_mem_deregister, 0},
    {call_mem_misc, 0},
    {call_cq_get, 0},
    {call_cq_wait, 1},
    {call_cq_vector_wait, 1},
    {call_cq_vector_monitor, 1},
    {call_cq_mask, 0},
    {call_cq_misc, 0},
    {call_device, 0},
    {call_sleep, 1},
    {call_protect, 0},
    {call_leave, 1},
    {call_rdma, 0},
    {call_put, 0},
    {call_get, 0},
    {call_amo, 0},
    {call_chain, 0},
    {call_cqwrite, 0},
    {call_cqwrite_chain, 0},
    {call_completed, 0},
    {call_collect, 0},
    {call_post_data, 0},
    {call_data_test, 0},
    {call_data_wait, 0},
    {call_data_probe, 0},
    {call_data_probe_wait, 1},
    {call_data_cancel, 0},
    {call_smsg_init, 0},
    {call_smsg_send, 0},
    {call_smsg_next, 0},
    {call_smsg_release, 0},
    {call_smsg_misc, 0},
    {call_msgq_make, 0},
    {call_msgq_connect, 0},
    {call_msgq_send, 0},
    {call_msgq_progress, 0},
    {call_ce_make, 0},
    {call_ce_configure, 0},
    {call_ce_post, 0},
    {call_channel, 0},
    {call_channel_event, 1},
    {call_errors, 0},
    {call_error_events, 1},
    {call_job, 0},
    {call_injection, 0},
    /* Calls that the others depend on have a second entry. */
    {call_rdma, 0},
    {call_put, 0},
    {call_amo, 0},
    {call_collect, 0},
    {call_smsg_send, 0},
    {call_smsg_next, 0},
    {call_sleep, 1},
};

static void lock(struct thread *thread)
{
    const struct sim_wait wait = {.text = "the lock of its process", .what = thread->process};

    while (thread->process->lock != NULL)
        sim_wait_until(SIM_NEVER, &wait);
    thread->process->lock = thread;
}

static void unlock(struct thread *thread)
{
    struct process *process = thread->process;
    uint32_t i;

    process->lock = NULL;
    for (i = 0; i < process->threads; i++)
        if (&process->thread[i] != thread && !process->thread[i].ended)
            sim_wake(process->thread[i].fiber);
}

/*
 * A collective engine whose only child is its own process, which joins through the endpoint to
 * itself.
 */
static void prepare_engine(struct process *process)
{
    gni_ep_handle_t self = process->slot[EP][process->id];
    gni_ce_handle_t ce;
    uint32_t id;

    if (GNI_CeCreate(process->slot[NIC][0], &ce) != GNI_RC_SUCCESS)
        return;
    model_made(CE, ce, process->id, model_domain(NIC, process->slot[NIC][0]));
    process->slot[CE][0] = ce;
    if (GNI_CeGetId(ce, &id) != GNI_RC_SUCCESS ||
        GNI_EpSetCeAttr(self, id, 0, GNI_CE_CHILD_PE) != GNI_RC_SUCCESS)
        return;
    GNI_CeConfigure(ce, &self, 1, NULL, process->slot[CQ][1], GNI_CE_MODE_CQE_ONCOMP);
}

static void make(struct call *call, call_fn *fn, uint8_t a, uint8_t b, uint8_t c, uint8_t d,
                 uint8_t e, uint8_t f)
{
    const uint8_t record[RECORD_BYTES] = {0, 0, a, b, c, d, e, f};

    call->b = record;
    fn(call);
}

/*
 * Sets up objects that need several calls in the right order, which random bytes hardly ever
 * contain: a channel, a subscription, connected mailboxes and message queues. A mark in the head
 * asks for it, so that older files of the corpus keep their meaning.
 */
static void prepare_services(struct call *call)
{
    struct process *process = call->process;
    uint8_t here = 0, i;

    for (i = 0; i < world.processes; i++)
        here += world.process[i].node == process->node;
    make(call, call_channel, 0, 0, 0, 0, 0, 0); /* created, and attached to queue 1 */
    make(call, call_channel, 0, 2, 0, 1, 0, 0);
    make(call, call_errors, 0, 0, 0, 0, 0, 7);
    make(call, call_msgq_make, 0, 0, 0, 7, (uint8_t)(3 | (here - 1) << 6), 32);
    sim_sleep_until(SIM_MS); /* until the others have created theirs */
    for (i = 0; i < world.processes; i++) {
        make(call, call_smsg_init, i, 0, i, 0, 0, 0);
        make(call, call_msgq_connect, 0, i, 0, 0, 0, 0); /* GNI_MsgqGetConnAttrs */
    }
    sim_sleep_until(SIM_MS + 500 * SIM_US);
    for (i = 0; i < world.processes; i++)
        make(call, call_msgq_connect, 0, i, 1, 0, 0, 0); /* GNI_MsgqConnect */
}

void calls_prepare(struct thread *thread)
{
    static const uint8_t none[RECORD_BYTES];
    struct call call = {thread, thread->process, none};
    uint32_t id = thread->process->id, i;
    uint64_t arena = (uintptr_t)thread->process->arena;

    create_domain(&call, 0, id, 17, cookies[0],
                  GNI_CDM_MODE_ERR_NO_KILL | GNI_CDM_MODE_DUAL_EVENTS |
                      GNI_CDM_MODE_CACHED_AMO_ENABLED);
    if (attach(&call, 0, 0) == NULL)
        return;
    create_queue(&call, 0, 0, 64, GNI_CQ_NOBLOCK, false);
    create_queue(&call, 0, 1, 64, GNI_CQ_BLOCKING, false);
    create_queue(&call, 0, 2, 4, GNI_CQ_BLOCKING, true);
    register_memory(&call, 0, 1, 0, arena, 2 * PAGE, 0, UINT32_MAX);
    register_memory(&call, 0, SLOTS - 1, 1, arena + 3 * PAGE, 2 * PAGE, 0, UINT32_MAX);
    register_memory(&call, 0, 1, 2, arena + 5 * PAGE, PAGE, GNI_MEM_READ_ONLY, UINT32_MAX);
    register_memory(&call, 0, 1, 3, arena + MAILBOX_PAGE * PAGE, PAGE, 0, UINT32_MAX);
    register_memory(&call, 0, 1, 4, arena + FLAKY_PAGE * PAGE, 2 * PAGE, 0, UINT32_MAX);
    for (i = 0; i < RANKS; i++) {
        create_ep(&call, 0, 0, i);
        if (GNI_EpBind(thread->process->slot[EP][i], address_of((uint8_t)i), i) == GNI_RC_SUCCESS)
            model_bound(thread->process->slot[EP][i], node_of((uint8_t)i));
    }
    prepare_engine(thread->process);
    if (world.head[14] == SERVICES)
        prepare_services(&call);
}

void calls_run(struct thread *thread)
{
    struct call call = {thread, thread->process, NULL};

    while (thread->next < thread->end) {
        const struct entry *entry;

        call.b = thread->next;
        thread->next += RECORD_BYTES;
        if ((call.b[1] & 3) % world.processes != call.process->id ||
            (call.b[1] >> 2 & 1) % call.process->threads != thread->id)
            continue;
        entry = &entries[call.b[0] % 64];
        if (!entry->any_thread)
            lock(thread);
        entry->fn(&call);
        if (!entry->any_thread)
            unlock(thread);
        sim_clock_read(); /* advances the clock, so that a loop of polls makes progress */
    }
}

void calls_destroy_all(struct process *process)
{
    gni_cdm_handle_t cdm;

    while ((cdm = model_any(CDM, process->id)) != NULL) {
        uint32_t domain = model_domain(CDM, cdm);

        if (GNI_CdmDestroy(cdm) != GNI_RC_SUCCESS)
            die("a domain that is alive cannot be destroyed");
        model_gone(CDM, cdm);
        post_forget(process, domain);
    }
}
