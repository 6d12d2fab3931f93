/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "traffic.h"

#include <dirent.h>
#include <sched.h>
#include <unistd.h>
#include "aries/misc/exceptions.h"

struct shared *shared;
uint32_t incarnation, ranks = RANKS, distrusted = NOBODY;
struct me me;

static uint8_t pattern_byte(uint64_t pattern, uint32_t i)
{
    return (uint8_t)((pattern + i * UINT64_C(0x9e3779b97f4a7c15)) >> 29);
}

static uint64_t check_of(const struct message *message, const uint8_t *rest)
{
    uint64_t sum = message->number * 31 + message->from, i;

    sum = sum * 31 + message->incarnation;
    sum = sum * 31 + message->to_incarnation;
    sum = sum * 31 + message->bytes;
    for (i = 0; i < message->bytes; i++)
        sum = sum * 31 + rest[i];
    return sum;
}

static bool ending(void)
{
    return load(&shared->phase) == 2;
}

/* An error from a peer: only the death of that life excuses it. */
static void is_lost(struct talk *talk, const char *what)
{
    if (talk->rank != distrusted && load(&shared->killed[talk->rank]) < talk->peer_incarnation) {
        fprintf(stderr, "from rank %u, life %u: %s\n", talk->rank, talk->peer_incarnation, what);
        MUST(load(&shared->killed[talk->rank]) >= talk->peer_incarnation);
    }
    if (!talk->lost)
        shared->deaths[lt_rank]++;
    talk->lost = true;
}

void register_area(const struct domain *domain, const struct guarded *area, gni_cq_handle_t cq,
                   gni_mem_handle_t *handle)
{
    OK(GNI_MemRegister(domain->nic, (uintptr_t)area->memory, area->bytes, cq, GNI_MEM_READWRITE,
                       UINT32_MAX, handle));
}

/* Fresh registrations for a peer that is new, and the card that says so. */
static void prepare(struct talk *talk, uint32_t peer_incarnation)
{
    struct card *card = &shared->cards[lt_rank][talk->rank];

    if (talk->prepared != 0) {
        OK(GNI_EpDestroy(talk->ep));
        OK(GNI_MemDeregister(talk->domain->nic, &talk->mailbox_handle));
        OK(GNI_MemDeregister(talk->domain->nic, &talk->window_handle));
    }
    memset(talk->mailbox.memory, 0, talk->mailbox.bytes);
    memset(talk->window.memory, 0, talk->window.bytes);
    register_area(talk->domain, &talk->mailbox, talk->domain->rx, &talk->mailbox_handle);
    register_area(talk->domain, &talk->window, NULL, &talk->window_handle);
    talk->prepared = peer_incarnation;
    talk->connected = talk->lost = false;
    __atomic_store_n(&card->incarnations, 0, __ATOMIC_SEQ_CST);
    card->pe = talk->domain->pe;
    card->mailbox = (uintptr_t)talk->mailbox.memory;
    card->window = (uintptr_t)talk->window.memory;
    card->counters = (uintptr_t)me.counters.memory;
    card->mailbox_handle = talk->mailbox_handle;
    card->window_handle = talk->window_handle;
    card->counters_handle = me.counters_handle;
    OK(GNI_EpCreate(talk->domain->nic, talk->domain->tx, &talk->ep));
    __atomic_store_n(&card->incarnations, (uint64_t)incarnation << 32 | peer_incarnation,
                     __ATOMIC_SEQ_CST);
}

static void connect(struct talk *talk)
{
    const struct card *card = &shared->cards[talk->rank][lt_rank];
    uint64_t incarnations = __atomic_load_n(&card->incarnations, __ATOMIC_SEQ_CST);
    gni_smsg_attr_t local = me.attributes, remote = me.attributes;

    if (incarnations != ((uint64_t)talk->prepared << 32 | incarnation))
        return;
    talk->card = *card;
    if (__atomic_load_n(&card->incarnations, __ATOMIC_SEQ_CST) != incarnations)
        return;
    talk->peer_incarnation = talk->prepared;
    OK(GNI_EpBind(talk->ep, talk->card.pe, talk->rank));
    local.mem_hndl = talk->mailbox_handle;
    local.msg_buffer = talk->mailbox.memory;
    remote.mem_hndl = talk->card.mailbox_handle;
    remote.msg_buffer = (void *)(uintptr_t)talk->card.mailbox;
    local.buff_size = remote.buff_size = me.mailbox_bytes;
    OK(GNI_SmsgInit(talk->ep, &local, &remote));
    talk->connected = true;
    talk->sent = talk->received = talk->rounds = talk->adds = 0;
    talk->stage = 0;
}

/* ---- rounds of PUT, GET, atomic -------------------------------------------------------------- */

/* The distrusted one is asked to help with long ones, so most of its are long. */
static uint32_t some_bytes(const struct talk *talk)
{
    uint32_t dice = (uint32_t)(mix(&me.random) % 16) + (talk->rank == distrusted ? 6 : 0);
    uint32_t most = dice < 8 ? 256 : dice < 13 ? 5000 : WINDOW - FIRST;

    return 8 + (uint32_t)(mix(&me.random) % (most - 8)) / 8 * 8;
}

static void post(struct talk *talk)
{
    bool rdma = talk->bytes > 4096 || mix(&me.random) % 4 == 0;
    gni_post_descriptor_t *post = &talk->post;
    uint32_t i;

    *post = (gni_post_descriptor_t){
        .cq_mode = GNI_CQMODE_GLOBAL_EVENT,
        .dlvr_mode = GNI_DLVMODE_PERFORMANCE,
        .remote_addr = talk->card.window + FIRST + talk->offset,
        .remote_mem_hndl = talk->card.window_handle,
        .length = talk->bytes,
    };
    switch (talk->stage) {
    case 0:
        talk->bytes = some_bytes(talk);
        talk->offset = (uint32_t)(mix(&me.random) % (WINDOW - FIRST - talk->bytes + 1)) / 8 * 8;
        talk->pattern = mix(&me.random);
        for (i = 0; i < talk->bytes; i++)
            talk->out.memory[i] = pattern_byte(talk->pattern, i);
        rdma = talk->bytes > 4096 || talk->pattern % 4 == 0;
        post->remote_addr = talk->card.window + FIRST + talk->offset;
        post->length = talk->bytes;
        post->type = rdma ? GNI_POST_RDMA_PUT : GNI_POST_FMA_PUT;
        post->local_addr = (uintptr_t)talk->out.memory;
        post->local_mem_hndl = talk->out_handle;
        break;
    case 1:
        memset(talk->in.memory, 0xee, talk->bytes);
        post->type = rdma ? GNI_POST_RDMA_GET : GNI_POST_FMA_GET;
        post->local_addr = (uintptr_t)talk->in.memory;
        post->local_mem_hndl = talk->in_handle;
        break;
    default:
        rdma = false;
        post->type = GNI_POST_AMO;
        post->amo_cmd = GNI_FMA_ATOMIC_FADD;
        post->first_operand = 1;
        post->length = 8;
        post->local_addr = (uintptr_t)talk->in.memory;
        post->local_mem_hndl = talk->in_handle;
        post->remote_addr = talk->card.counters + (uint64_t)lt_rank * 64;
        post->remote_mem_hndl = talk->card.counters_handle;
        __atomic_add_fetch(&shared->adding[lt_rank][talk->rank], 1, __ATOMIC_SEQ_CST);
        break;
    }
    OK(rdma ? GNI_PostRdma(talk->ep, post) : GNI_PostFma(talk->ep, post));
    talk->busy = true;
    talk->posted_at = lt_seconds();
}

static void posted_well(struct talk *talk)
{
    uint64_t seen;
    uint32_t i;

    if (talk->rank == distrusted) {
        MUST(guarded_ok(&talk->in));
        talk->rounds += talk->stage == 2;
    } else if (talk->stage == 1) {
        for (i = 0; i < talk->bytes; i++)
            MUST(talk->in.memory[i] == pattern_byte(talk->pattern, i));
        MUST(guarded_ok(&talk->in));
    } else if (talk->stage == 2) {
        memcpy(&seen, talk->in.memory, sizeof(seen));
        if (talk->adds == 0)
            talk->base = seen;
        if (talk->rank < STEADY) /* what earlier lives have added */
            MUST(seen >= shared->added[lt_rank][talk->rank] &&
                 seen < shared->adding[lt_rank][talk->rank]);
        MUST(seen == talk->base + talk->adds++);
        __atomic_add_fetch(&shared->added[lt_rank][talk->rank], 1, __ATOMIC_SEQ_CST);
        talk->rounds++;
        if (talk->rank < STEADY)
            store(&shared->warm[lt_rank], incarnation);
        shared->rounds[lt_rank]++;
    }
    talk->stage = (talk->stage + 1) % 3;
}

bool is_of_death(uint32_t status)
{
    return status == A_STATUS_ORB_TIMEOUT || status == A_STATUS_ENDPOINT_UNREACHABLE;
}

static struct talk *talk_of(const gni_post_descriptor_t *post)
{
    uint32_t i;

    for (i = 0; i < ranks; i++)
        if (post == &me.talks[i].post)
            return &me.talks[i];
    MUST(post == NULL && "a descriptor that was not posted");
    return NULL;
}

/* A PUT or GET to a process that died before the first one finds no such memory. is_lost() checks
 * that the process has been killed. */
static bool explained(gni_cq_entry_t entry)
{
    uint32_t status = GNI_CQ_GET_STATUS(entry);

    return is_of_death(status) ||
           (status == A_STATUS_AT_MDD_INV && GNI_CQ_GET_TYPE(entry) == GNI_CQ_EVENT_TYPE_POST);
}

static void completions(const struct domain *domain)
{
    gni_post_descriptor_t *done;
    gni_cq_entry_t entry;
    gni_return_t result;
    struct talk *talk;

    while ((result = GNI_CqGetEvent(domain->tx, &entry)) != GNI_RC_NOT_DONE) {
        MUST(result == GNI_RC_SUCCESS || result == GNI_RC_TRANSACTION_ERROR);
        if (result == GNI_RC_TRANSACTION_ERROR && domain == &me.domain && !explained(entry)) {
            fprintf(stderr, "status %#x, type %u\n", (unsigned)GNI_CQ_GET_STATUS(entry),
                    (unsigned)GNI_CQ_GET_TYPE(entry));
            MUST(explained(entry));
        }
        if (GNI_CQ_GET_TYPE(entry) != GNI_CQ_EVENT_TYPE_POST)
            continue;
        MUST(GNI_GetCompleted(domain->tx, entry, &done) == result);
        talk = talk_of(done);
        MUST(talk->busy);
        talk->busy = false;
        if (result == GNI_RC_SUCCESS)
            posted_well(talk);
        else
            is_lost(talk, "a transaction");
    }
    while (GNI_CqGetEvent(domain->rx, &entry) == GNI_RC_SUCCESS)
        ;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void send(struct talk *talk)
{
    uint8_t data[sizeof(struct message) + 900];
    struct message message = {.magic = MAGIC,
                              .number = talk->sent,
                              .from = lt_rank,
                              .incarnation = incarnation,
                              .to_incarnation = talk->peer_incarnation};
    gni_return_t result;
    uint32_t i;

    message.bytes = (uint32_t)(mix(&me.random) % (mix(&me.random) % 4 == 0 ? 900 : 40));
    for (i = 0; i < message.bytes; i++)
        data[sizeof(message) + i] = pattern_byte(talk->sent, i);
    message.check = check_of(&message, data + sizeof(message));
    memcpy(data, &message, sizeof(message));
    result = GNI_SmsgSendWTag(talk->ep, NULL, 0, data, (uint32_t)sizeof(message) + message.bytes,
                              (uint32_t)talk->sent, (uint8_t)(talk->sent % 200));
    if (result == GNI_RC_SUCCESS)
        talk->sent++;
    else if (result != GNI_RC_NOT_DONE)
        is_lost(talk, "a message to it");
}

static void receive(struct talk *talk)
{
    uint8_t tag = GNI_SMSG_ANY_TAG;
    struct message message;
    gni_return_t result;
    void *data;

    while ((result = GNI_SmsgGetNextWTag(talk->ep, &data, &tag)) == GNI_RC_SUCCESS) {
        if (talk->rank == distrusted) {
            OK(GNI_SmsgRelease(talk->ep));
            tag = GNI_SMSG_ANY_TAG;
            continue;
        }
        memcpy(&message, data, sizeof(message));
        MUST(message.magic == MAGIC && message.bytes <= 900);
        MUST(message.check == check_of(&message, (const uint8_t *)data + sizeof(message)));
        MUST(message.from == talk->rank && message.incarnation == talk->peer_incarnation);
        MUST(message.to_incarnation == incarnation);
        MUST(message.number == talk->received && tag == talk->received % 200);
        talk->received++;
        shared->messages[lt_rank]++;
        OK(GNI_SmsgRelease(talk->ep));
        tag = GNI_SMSG_ANY_TAG;
    }
    if (result != GNI_RC_NOT_DONE)
        is_lost(talk, "a message from it");
}

/* ---- datagrams ------------------------------------------------------------------------------- */

static void datagrams(struct talk *talk)
{
    gni_post_state_t state;
    uint32_t pe, id;
    gni_return_t result;

    if (!talk->offered) {
        if (mix(&me.random) % 64 != 0)
            return;
        memset(&talk->data_in, 0, sizeof(talk->data_in));
        talk->data_out = (struct message){
            .magic = MAGIC, .number = ++talk->offer, .from = lt_rank, .incarnation = incarnation};
        talk->data_out.check = check_of(&talk->data_out, NULL);
        result = GNI_EpPostDataWId(talk->datagrams, &talk->data_out, sizeof(talk->data_out),
                                   &talk->data_in, sizeof(talk->data_in), talk->offer);
        MUST(result == GNI_RC_SUCCESS || result == GNI_RC_ERROR_RESOURCE);
        talk->offered = result == GNI_RC_SUCCESS;
        return;
    }
    result = GNI_EpPostDataTestById(talk->datagrams, talk->offer, &state, &pe, &id);
    if (result == GNI_RC_SUCCESS && state == GNI_POST_PENDING)
        return;
    talk->offered = false;
    if (result != GNI_RC_SUCCESS || state != GNI_POST_COMPLETED)
        return; /* the peer died, or took too long to come back */
    if (talk->rank == distrusted)
        return;
    MUST(id == talk->rank);
    MUST(talk->data_in.magic == MAGIC && talk->data_in.from == talk->rank);
    MUST(talk->data_in.incarnation > 0 &&
         talk->data_in.incarnation <= (uint64_t)load(&shared->killed[talk->rank]) + 1);
    MUST(talk->data_in.check == check_of(&talk->data_in, NULL));
    shared->datagrams[lt_rank]++;
}

/* ---- the life of a process ------------------------------------------------------------------- */

static void attach(struct domain *domain, uint8_t ptag, uint32_t cookie)
{
    OK(GNI_CdmCreate(lt_rank, ptag, cookie, GNI_CDM_MODE_ERR_NO_KILL, &domain->cdm));
    /* At once: whoever had the name is dead and was waited for. */
    OK(GNI_CdmAttach(domain->cdm, 0, &domain->pe, &domain->nic));
    OK(GNI_CqCreate(domain->nic, 4096, 0, GNI_CQ_NOBLOCK, NULL, NULL, &domain->tx));
    OK(GNI_CqCreate(domain->nic, 4096, 0, GNI_CQ_NOBLOCK, NULL, NULL, &domain->rx));
}

/* Two channels of the collective engine whose neighbours are the distrusted one's. */
static void offer_channels(void)
{
    uint32_t node = me.domain.pe - lt_rank % NODES + distrusted % NODES;
    gni_ep_handle_t eps[3];
    gni_cq_handle_t events; /* which nobody reads */
    gni_ce_handle_t ce;
    uint32_t i;

    OK(GNI_CqCreate(me.apart.nic, 64, 0, GNI_CQ_NOBLOCK, NULL, NULL, &events));
    for (i = 0; i < 3; i++) {
        OK(GNI_EpCreate(me.apart.nic, NULL, &eps[i]));
        OK(GNI_EpBind(eps[i], node, distrusted));
        OK(GNI_EpSetCeAttr(eps[i], i, i, i == 0 ? GNI_CE_CHILD_PE : GNI_CE_CHILD_VCE));
    }
    OK(GNI_CeCreate(me.apart.nic, &ce));
    OK(GNI_CeConfigure(ce, eps, 1, NULL, events, GNI_CE_MODE_CQE_ONCOMP));
    OK(GNI_CeCreate(me.apart.nic, &ce));
    OK(GNI_CeConfigure(ce, eps, 2, eps[2], events, GNI_CE_MODE_CQE_ONERR));
}

static gni_msgq_handle_t queue;
static uint32_t queued;

static int swallow(uint32_t from, uint32_t pe, void *data, uint8_t tag, void *context)
{
    (void)from, (void)pe, (void)data, (void)tag, (void)context;
    queued++;
    return 1;
}

/* A shared message queue of the node, which is connected with the distrusted one's. */
static void offer_queue(void)
{
    uint32_t pe = me.domain.pe - lt_rank % NODES + distrusted % NODES, i;
    gni_msgq_attr_t attributes = {.max_msg_sz = QUEUE_MESSAGE,
                                  .smsg_q_sz = QUEUE_CREDITS,
                                  .rcv_pool_sz = 8,
                                  .num_msgq_eps = 2,
                                  .rcv_cq_sz = 64};
    gni_msgq_ep_attr_t connection;

    for (i = lt_rank % NODES; i < ranks; i += NODES)
        attributes.nloc_insts += i != distrusted;
    OK(GNI_MsgqInit(me.apart.nic, swallow, NULL, me.apart.tx, &attributes, &queue));
    if (lt_rank >= NODES)
        return;
    OK(GNI_MsgqGetConnAttrs(queue, pe, &connection, NULL));
    for (i = 0; i < connection.num_insts; i++)
        shared->queues[connection.insts[i].id] = connection.insts[i].mdh;
    connection.pe_addr = pe;
    OK(GNI_MsgqConnect(queue, pe, &connection));
}

void begin(void)
{
    struct talk *talk;
    uint32_t i;

    me.random = shared->seed ^ ((uint64_t)lt_rank << 32 | incarnation);
    me.attributes.msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT;
    me.attributes.mbox_maxcredit = 16;
    me.attributes.msg_maxsize = 1024;
    OK(GNI_SmsgBufferSizeNeeded(&me.attributes, &me.mailbox_bytes));
    attach(&me.domain, PTAG, COOKIE);
    if (distrusted < ranks)
        attach(&me.apart, PTAG_APART, COOKIE_APART);
    me.counters = guarded_new(64 * RANKS);
    register_area(&me.domain, &me.counters, NULL, &me.counters_handle);
    for (i = 0; i < ranks; i++) {
        talk = &me.talks[i];
        talk->rank = i;
        talk->domain = i == distrusted ? &me.apart : &me.domain;
        talk->mailbox = guarded_new(me.mailbox_bytes);
        talk->window = guarded_new(WINDOW);
        talk->out = guarded_new(WINDOW);
        talk->in = guarded_new(WINDOW);
        register_area(talk->domain, &talk->out, NULL, &talk->out_handle);
        register_area(talk->domain, &talk->in, NULL, &talk->in_handle);
        OK(GNI_EpCreate(talk->domain->nic, NULL, &talk->datagrams));
    }
    for (i = 0; i < ranks; i++) /* all nodes have an address before anybody is there */
        OK(GNI_EpBind(me.talks[i].datagrams, me.domain.pe - lt_rank % NODES + i % NODES, i));
    store(&shared->pe0, me.domain.pe - lt_rank % NODES);
    if (distrusted < ranks)
        offer_channels();
    if (distrusted < ranks)
        offer_queue();
    store(&shared->incarnation[lt_rank], incarnation);
}

static void check_guard(const struct talk *talk, const struct guarded *area, const char *what)
{
    if (!guarded_ok(area)) {
        fprintf(stderr, "around the %s for rank %u, at %s\n", what, talk->rank,
                area->all[GUARD - 1] != GUARD_BYTE ? "its beginning" : "its end");
        MUST(guarded_ok(area));
    }
}

static void guards(void)
{
    uint32_t i;

    MUST(guarded_ok(&me.counters));
    for (i = 0; i < ranks; i++) {
        const struct talk *talk = &me.talks[i];

        check_guard(talk, &talk->mailbox, "mailbox");
        check_guard(talk, &talk->window, "window");
        check_guard(talk, &talk->out, "source of PUTs");
        check_guard(talk, &talk->in, "target of GETs");
    }
}

static void converse(struct talk *talk)
{
    uint32_t there = load(&shared->incarnation[talk->rank]);

    if (talk->busy) {
        MUST(talk->rank == distrusted || lt_seconds() - talk->posted_at < WATCHDOG_S / 2);
    } else if (talk->lost || !talk->connected) {
        if (there > talk->peer_incarnation && there != talk->prepared)
            prepare(talk, there);
        if (!talk->connected && talk->prepared > talk->peer_incarnation)
            connect(talk);
        return;
    } else if (!ending()) {
        post(talk);
    }
    if (!talk->connected || talk->lost)
        return;
    receive(talk);
    if (!talk->lost && !ending() && mix(&me.random) % 4 == 0)
        send(talk);
}

static bool all_recovered(void)
{
    uint32_t i;

    for (i = 0; i < ranks; i++) {
        const struct talk *talk = &me.talks[i];

        if (i != lt_rank && i != distrusted &&
            (!talk->connected || talk->lost || talk->rounds < ROUNDS_AT_END ||
             talk->received < ROUNDS_AT_END ||
             talk->peer_incarnation != load(&shared->incarnation[i])))
            return false;
    }
    return true;
}

static bool any_busy(void)
{
    uint32_t i;

    for (i = 0; i < ranks; i++)
        if (me.talks[i].busy)
            return true;
    return false;
}

/* All are alive by now: a barrier. */
static void meet(uint32_t *count)
{
    uint32_t honest = ranks - (distrusted < ranks);
    gni_cq_entry_t entry;

    __atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST);
    while (load(count) < honest) {
        GNI_CqGetEvent(me.domain.rx, &entry);
        sched_yield();
    }
}

static void check_counters(void)
{
    uint64_t value, i;

    for (i = 0; i < ranks; i++) {
        memcpy(&value, me.counters.memory + 64 * i, sizeof(value));
        if (i == distrusted)
            continue;
        MUST(value >= shared->added[i][lt_rank] && value <= shared->adding[i][lt_rank]);
        if (i < STEADY)
            MUST(value == shared->adding[i][lt_rank]);
    }
}

static uint32_t entries(const char *path)
{
    DIR *directory = opendir(path);
    uint32_t count = 0;

    MUST(directory != NULL);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

void shm(void)
{
    uint32_t turn = 0, i;

    begin();
    while (!ending() || any_busy()) {
        completions(&me.domain);
        if (distrusted < ranks)
            completions(&me.apart);
        if (distrusted < ranks)
            GNI_MsgqProgress(queue, 0);
        for (i = 0; i < ranks; i++) {
            if (i == lt_rank)
                continue;
            converse(&me.talks[i]);
            datagrams(&me.talks[i]);
        }
        if (++turn % 256 == 0)
            guards();
        if (load(&shared->phase) == 1 && all_recovered())
            store(&shared->recovered[lt_rank], incarnation);
        if (turn % 16 == 0)
            sched_yield();
    }
    meet(&shared->drained);
    guards();
    if (lt_rank < STEADY) {
        check_counters();
        /* What belonged to the dead has been given back: boards are mapped, doorbells open. */
        MUST(entries("/proc/self/fd") < 64);
        MUST(entries("/proc/self/map_files") < 300);
    }
    meet(&shared->checked);
    OK(GNI_CdmDestroy(me.domain.cdm));
    if (distrusted < ranks)
        OK(GNI_CdmDestroy(me.apart.cdm));
}
