/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A random program, for the test that parking changes nothing: ./idle SEED COUNTS.
 *
 * Each rank sends messages (SMSG with few credits) and PUTs to random peers, and polls in cycles of
 * one to six steps: queues, GNI_CqTestEvent, mailboxes, sends that lack a credit, datagrams. What
 * it finds makes it act, and sometimes wait in the library, sleep, or choose another cycle. All of
 * it follows from the seed.
 *
 * COUNTS = 1: besides, it counts its idle passes and does something else at the n-th, reads the
 * clock in idle passes, and looks at memory that its peers write. Nothing may be left out of such a
 * program. COUNTS = 0: its idle passes only poll.
 *
 * No pass polls the same place twice in the same way: equal polls of one pass look alike from
 * outside, and a program that goes on differently after each of them must not be parked either.
 *
 * Each rank prints a hash of what it found, in which order and when.
 */
#include "client.h"

#include <stdbool.h>
#include <time.h>

#define RANKS_MAX 8
#define ACTIONS 40
#define CREDITS 4
#define STEPS_MAX 6
#define PUT_BYTES 64
#define FLAG_PLACE 4096

enum { POLL_TX, POLL_RX, TEST_RX, TEST_TX, GET_NEXT, SEND, PROBE, STEP_KINDS };
enum { ACT_MESSAGE, ACT_PUT, ACT_FLAG, ACTS };

struct random {
    uint64_t state;
};

struct region {
    uint64_t address;
    gni_mem_handle_t handle;
    gni_smsg_attr_t mailboxes[RANKS_MAX];
    uint32_t pe;
};

static gni_cdm_handle_t cdm;
static gni_nic_handle_t nic;
static gni_cq_handle_t tx, rx, blocking;
static gni_ep_handle_t eps[RANKS_MAX], message_eps[RANKS_MAX], waiting_ep;
static gni_post_descriptor_t posts[2 * ACTIONS + 2];
static struct region *regions;
static uint8_t *memory;
static bool counts;
static struct random dice;

static struct {
    int acts[ACTIONS], peers[ACTIONS], next; /* what this rank does, and how far it is */
    int tx_expected, tx_seen, messages_expected, messages_seen;
    int to; /* a message to this peer waits for a credit; -1: none */
    uint32_t posted;
    uint64_t passes, hash, flag_seen;
    int steps[STEPS_MAX], length, left; /* `left`: finds until another cycle */
} self = {.to = -1};

static uint64_t draw(struct random *random, uint64_t below)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15ull;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return (z ^ z >> 31) % below;
}

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void note(uint64_t what)
{
    self.hash = (self.hash ^ what ^ now() << 8) * 0x100000001b3ull;
}

static void rest(uint64_t nanoseconds)
{
    struct timespec time = {0, (long)nanoseconds};

    nanosleep(&time, NULL);
}

/* ---- setting up ------------------------------------------------------------------------------ */

/* What a rank does follows from the seed, so each knows how many messages will come. */
static void plan(uint64_t seed)
{
    int rank, i;

    for (rank = 0; rank < job_size; rank++) {
        struct random random = {seed * 1000003 + (uint64_t)rank};

        for (i = 0; i < ACTIONS; i++) {
            int act = (int)draw(&random, ACTS), peer = (int)draw(&random, (uint64_t)job_size - 1);

            peer += peer >= rank;
            if (rank == my_rank) {
                self.acts[i] = act;
                self.peers[i] = peer;
            }
            self.messages_expected += act == ACT_MESSAGE && peer == my_rank;
        }
    }
    self.tx_expected = ACTIONS;
    dice.state = seed * 7919 + (uint64_t)my_rank * 104729 + 1;
}

static void set_up(void)
{
    gni_smsg_attr_t attr = {.msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT,
                            .mbox_maxcredit = CREDITS,
                            .msg_maxsize = 64};
    size_t place = 2 * FLAG_PLACE;
    struct region mine = {0};
    unsigned int each;
    uint32_t address;
    int i;

    OK(GNI_CdmCreate((uint32_t)my_rank, (uint8_t)atoi(getenv("PMI_GNI_PTAG")),
                     client_env_element("PMI_GNI_COOKIE", 0), GNI_CDM_MODE_FAST_DATAGRAM_POLL,
                     &cdm));
    OK(GNI_CdmAttach(cdm, 0, &address, &nic));
    OK(GNI_CqCreate(nic, 256, 0, GNI_CQ_NOBLOCK, NULL, NULL, &tx));
    OK(GNI_CqCreate(nic, 1024, 0, GNI_CQ_NOBLOCK, NULL, NULL, &rx));
    OK(GNI_CqCreate(nic, 16, 0, GNI_CQ_BLOCKING, NULL, NULL, &blocking));
    OK(GNI_SmsgBufferSizeNeeded(&attr, &each));
    memory = client_pages(place + (size_t)each * RANKS_MAX);
    OK(GNI_MemRegister(nic, (uintptr_t)memory, place + (size_t)each * RANKS_MAX, rx,
                       GNI_MEM_READWRITE, UINT32_MAX, &mine.handle));
    mine.address = (uintptr_t)memory;
    mine.pe = address;
    for (i = 0; i < job_size; i++) {
        attr.msg_buffer = memory;
        attr.buff_size = each;
        attr.mem_hndl = mine.handle;
        attr.mbox_offset = (uint32_t)(place + (size_t)i * each);
        mine.mailboxes[i] = attr;
    }
    regions = client_allgather(&mine, sizeof(mine));
    for (i = 0; i < job_size; i++) {
        OK(GNI_EpCreate(nic, tx, &eps[i]));
        OK(GNI_EpBind(eps[i], regions[i].pe, (uint32_t)i));
        OK(GNI_EpSetEventData(eps[i], (uint32_t)i, (uint32_t)my_rank));
        OK(GNI_EpCreate(nic, tx, &message_eps[i]));
        OK(GNI_EpBind(message_eps[i], regions[i].pe, (uint32_t)i));
        if (i != my_rank)
            OK(GNI_SmsgInit(message_eps[i], &mine.mailboxes[i], &regions[i].mailboxes[my_rank]));
    }
    OK(GNI_EpCreate(nic, blocking, &waiting_ep));
    OK(GNI_EpBind(waiting_ep, regions[my_rank].pe, (uint32_t)my_rank));
    CHECK(PMI_Barrier() == PMI_SUCCESS);
}

/* ---- what it does ---------------------------------------------------------------------------- */

static void put(gni_ep_handle_t ep, int peer, uint32_t bytes, uint64_t place, uint16_t events)
{
    gni_post_descriptor_t *post = &posts[self.posted++ % (sizeof(posts) / sizeof(*posts))];

    memset(post, 0, sizeof(*post));
    post->type = GNI_POST_FMA_PUT;
    post->cq_mode = events;
    post->dlvr_mode = GNI_DLVMODE_PERFORMANCE;
    post->local_addr = (uintptr_t)memory + FLAG_PLACE + 2048;
    post->local_mem_hndl = regions[my_rank].handle;
    post->remote_addr = regions[peer].address + place;
    post->remote_mem_hndl = regions[peer].handle;
    post->length = bytes;
    OK(GNI_PostFma(ep, post));
}

static bool try_message(void)
{
    uint64_t text[2] = {(uint64_t)my_rank, self.hash};
    gni_return_t rc = GNI_SmsgSend(message_eps[self.to], text, sizeof(text), NULL, 0, 0);

    CHECK(rc == GNI_RC_SUCCESS || rc == GNI_RC_NOT_DONE);
    if (rc == GNI_RC_SUCCESS)
        self.to = -1;
    return rc == GNI_RC_SUCCESS;
}

static void act(void)
{
    int peer;

    if (self.next == ACTIONS || self.to >= 0)
        return;
    peer = self.peers[self.next];
    switch (self.acts[self.next++]) {
    case ACT_MESSAGE:
        self.to = peer;
        try_message();
        break;
    case ACT_PUT:
        put(eps[peer], peer, PUT_BYTES, (uint64_t)my_rank * PUT_BYTES,
            GNI_CQMODE_GLOBAL_EVENT | GNI_CQMODE_REMOTE_EVENT);
        break;
    default:
        put(eps[peer], peer, 8, FLAG_PLACE + 8 * draw(&dice, 8), GNI_CQMODE_GLOBAL_EVENT);
        break;
    }
}

/* Waits in the library for a PUT to itself. */
static void wait_in_library(void)
{
    gni_post_descriptor_t *post;
    gni_cq_entry_t event;

    put(waiting_ep, my_rank, 8, FLAG_PLACE + 1024, GNI_CQMODE_GLOBAL_EVENT);
    OK(GNI_CqWaitEvent(blocking, 1000, &event));
    OK(GNI_GetCompleted(blocking, event, &post));
    note(1);
}

static bool is_in_cycle(int kind, int length)
{
    int i;

    for (i = 0; i < length; i++)
        if (self.steps[i] == kind)
            return true;
    return false;
}

static void choose_cycle(void)
{
    int i;

    self.left = 1 + (int)draw(&dice, 12);
    self.length = 1 + (int)draw(&dice, STEPS_MAX - 1);
    for (i = 0; i < self.length; i++)
        do
            self.steps[i] = (int)draw(&dice, STEP_KINDS);
        while (!counts && is_in_cycle(self.steps[i], i));
}

static void found(uint64_t what)
{
    note(what);
    self.passes = 0;
    if (draw(&dice, 16) == 0)
        rest(100 + draw(&dice, 3000));
    if (draw(&dice, 16) == 0)
        wait_in_library();
    if (--self.left <= 0)
        choose_cycle();
    act();
    if (draw(&dice, 3) == 0)
        act();
}

/* ---- polling --------------------------------------------------------------------------------- */

static void poll_tx(void)
{
    gni_post_descriptor_t *post;
    gni_cq_entry_t event;
    gni_return_t rc = GNI_CqGetEvent(tx, &event);

    if (rc == GNI_RC_NOT_DONE)
        return;
    CHECK(rc == GNI_RC_SUCCESS);
    if (GNI_CQ_GET_TYPE(event) == GNI_CQ_EVENT_TYPE_POST)
        OK(GNI_GetCompleted(tx, event, &post));
    self.tx_seen++;
    found(2);
}

static void poll_rx(void)
{
    gni_cq_entry_t event;
    gni_return_t rc = GNI_CqGetEvent(rx, &event);

    CHECK(rc == GNI_RC_SUCCESS || rc == GNI_RC_NOT_DONE);
    if (rc == GNI_RC_SUCCESS)
        found(3 + 256 * GNI_CQ_GET_REM_INST_ID(event));
}

static void get_next(int peer)
{
    void *header;
    gni_return_t rc;

    rc = GNI_SmsgGetNext(message_eps[peer], &header);
    CHECK(rc == GNI_RC_SUCCESS || rc == GNI_RC_NOT_DONE);
    if (rc != GNI_RC_SUCCESS)
        return;
    CHECK(*(uint64_t *)header == (uint64_t)peer);
    OK(GNI_SmsgRelease(message_eps[peer]));
    self.messages_seen++;
    found(4 + 256 * (uint64_t)peer);
}

static void step(int kind)
{
    uint64_t id;
    int peer;

    switch (kind) {
    case POLL_TX:
        poll_tx();
        break;
    case POLL_RX:
        poll_rx();
        break;
    case TEST_TX:
        if (GNI_CqTestEvent(tx) == GNI_RC_SUCCESS)
            poll_tx();
        break;
    case TEST_RX:
        if (GNI_CqTestEvent(rx) == GNI_RC_SUCCESS)
            poll_rx();
        break;
    case GET_NEXT:
        for (peer = 0; peer < job_size; peer++)
            if (peer != my_rank)
                get_next(peer);
        break;
    case SEND:
        if (self.to >= 0 && try_message())
            found(5);
        break;
    default:
        CHECK(GNI_PostDataProbeById(nic, &id) == GNI_RC_NO_MATCH);
        break;
    }
}

/* Counts an idle pass and reads a flag; only programs that count their idle passes call it. */
static void count_pass(void)
{
    const volatile uint64_t *flags = (const volatile uint64_t *)(memory + FLAG_PLACE);
    uint64_t flag = flags[self.passes % 8];

    self.passes++;
    if (flag != self.flag_seen) {
        self.flag_seen = flag;
        note(self.passes << 16);
    }
    if (self.passes % 57 == 0)
        note(6);
    if (self.passes % 101 == 0)
        sched_yield();
    if (self.passes % 211 == 0)
        choose_cycle();
    if (self.passes % 1000 == 0)
        rest(2000);
    if (self.passes % 100 == 0)
        act();
    ((volatile uint64_t *)memory)[(FLAG_PLACE + 2048) / 8] = self.passes;
}

static bool is_over(void)
{
    return self.next == ACTIONS && self.to < 0 && self.tx_seen == self.tx_expected &&
           self.messages_seen == self.messages_expected;
}

/* Polls the queues of its cycle, and then the others, so that every event is collected. */
static void pass(void)
{
    static const int all[] = {POLL_TX, SEND, GET_NEXT};
    int length = self.length, left = self.left;
    size_t i;

    /* Another cycle begins with the next pass. */
    for (i = 0; i < (size_t)length && self.left == left; i++)
        step(self.steps[i]);
    for (i = 0; i < sizeof(all) / sizeof(*all) && self.left == left; i++)
        if (!is_in_cycle(all[i], length))
            step(all[i]);
    if (counts)
        count_pass();
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    client_start();
    CHECK(job_size > 1 && job_size <= RANKS_MAX);
    counts = atoi(argv[2]) != 0;
    plan(strtoull(argv[1], NULL, 10));
    set_up();
    choose_cycle();
    act();
    act();
    while (!is_over()) {
        if (self.tx_seen == self.next - (self.to >= 0)) /* it has nothing in flight */
            act();
        pass();
    }
    fprintf(stderr, "rank %d found %016llx\n", my_rank, (unsigned long long)self.hash);
    return client_done("idle");
}
