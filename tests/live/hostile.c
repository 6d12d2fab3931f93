/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A member that says anything to others: requests and replies of all kinds, well-formed and broken,
 * with lengths, regions, addresses, events and numbers of its choice; registrations that are not
 * there; what it says of long transfers in which it was asked to help, by their names; words over
 * its whole board. Honest processes have a domain of their own among themselves,
 * and another one with it. What they verify stays right, what they have not exposed stays
 * untouched, nobody crashes.
 *
 * The protection tag of a request is what its sender says. So the hostile one does not claim that
 * of the others: what it could write then they have exposed to whoever has that tag.
 *
 * JACQUARD_HOSTILE_ROUNDS: how often it joins (20, with the address sanitizer 7); JACQUARD_SEED.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "traffic.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "api/datagram.h"
#include "full.h"
#include "hostile_ring.h"
#include "live/backend.h"
#include "nic/mem_handle.h"
#include "api/smsg.h"

enum { HONEST = 3, HOSTILE = 3, STEPS = 150, STEPS_LONG = 4000, OWN = 1 << 20 };
enum { STEPS_HELPING = 12000, ASKED = 50 }; /* of a life that helps */

static struct {
    struct shm *shm;
    uint64_t random;
    uint8_t *own; /* memory that it offers */
    uint32_t block; /* of MDHs */
    bool breaks; /* also the rules of the rings */
    bool helps; /* its registrations and answers are right, so that it is asked to help; it lies
                   about its part only */
    uint32_t asked; /* to help with long transfers */
    uint64_t transfer; /* the name of the last one in which it was asked to help; 0: none */
} it;

static uint64_t dice(uint64_t sides)
{
    return mix(&it.random) % sides;
}

static uint64_t wild(void)
{
    static const uint64_t values[] = {
        0,          1,         4095,           4096,     UINT64_MAX,
        UINT32_MAX, INT64_MAX, UINT64_MAX - 7, 1u << 31, UINT64_C(1) << 47};

    return dice(2) == 0 ? values[dice(sizeof(values) / sizeof(values[0]))] : mix(&it.random);
}

/* Of what an honest one has exposed to it, or near it, or elsewhere. */
static void aim(const struct card *card, struct aries_live_request *request, uint32_t *most)
{
    bool mailbox = dice(2) == 0;
    uint64_t base = mailbox ? card->mailbox : card->window;
    uint64_t bytes = mailbox ? 8192 : WINDOW;

    request->mdh =
        (uint16_t)aries_mem_handle_mdh(mailbox ? &card->mailbox_handle : &card->window_handle);
    switch (dice(8)) {
    case 0:
        request->address = base - 1 - dice(64);
        break;
    case 1:
        request->address = base + bytes - dice(64);
        break;
    case 2:
        request->address = wild();
        break;
    case 3:
        request->mdh = (uint16_t)mix(&it.random);
        request->address = base;
        break;
    default:
        request->address = base + dice(bytes);
        break;
    }
    *most = dice(4) == 0 ? ARIES_LIVE_PIECE + 64 : 200;
}

/* Some of them right, again and again; results then go anywhere. */
static struct aries_live_ce join_of(const struct card *card)
{
    const gni_mem_handle_t handles[] = {
        card->window_handle, card->mailbox_handle, {wild(), wild()}, {mix(&it.random), 0}};
    struct aries_live_ce ce = {
        .header = {.reduction_id = dice(4) == 0 ? wild() : 7,
                   .ce_id = (uint8_t)(dice(8) == 0 ? wild() : dice(4)),
                   .child_id = (uint8_t)(dice(8) == 0 ? wild() : dice(2)),
                   .child_type = (uint8_t)(dice(8) == 0 ? wild() : 1 + dice(2)),
                   .command = (uint8_t)(dice(8) == 0 ? wild() : GNI_FMA_CE_FPADD),
                   .mode = (uint8_t)(dice(8) == 0 ? wild() : 0),
                   .status = (uint8_t)(dice(4) == 0 ? wild() : 0),
                   .from = (uint8_t)(dice(8) == 0 ? wild() : 1 + dice(2))},
        .operand = {wild(), wild()},
        .address = dice(2) == 0 ? wild() : card->window + 8 * dice(32),
        .handle = handles[dice(sizeof(handles) / sizeof(handles[0]))],
    };

    return ce;
}

/* A message for a shared queue, of which some are as they should be; or what its instances say. */
static uint32_t fill_queue(uint32_t rank, uint8_t *kind, struct aries_live_request *request,
                           uint8_t *at)
{
    const gni_mem_handle_t *handle = &shared->queues[rank];
    uint32_t number = (uint32_t)dice(4), lane = (uint32_t)dice(2), slot = 128;
    struct aries_msgq_record record = {
        .length = (uint16_t)(dice(8) == 0 ? wild() : dice(QUEUE_MESSAGE)),
        .mark = (uint8_t)(ARIES_MSGQ_MARK | (dice(8) == 0 ? wild() : 1)),
        .number = number,
        .returned = (uint32_t)wild(),
        .sender = (uint32_t)wild(),
        .target = dice(2) == 0 ? (uint32_t)wild() : rank};
    struct aries_live_msgq said = {.step = (uint32_t)dice(7),
                                   .cookie = COOKIE_APART,
                                   .from = (uint32_t)dice(3),
                                   .to = (uint32_t)dice(2),
                                   .pe = load(&shared->pe0) + (uint32_t)dice(3),
                                   .index = (uint32_t)(dice(4) == 0 ? wild() : dice(2)),
                                   .generation = (uint32_t)dice(65),
                                   .count = (uint32_t)(dice(4) == 0 ? wild() : dice(3)),
                                   .mailbox = wild()};
    struct aries_mem_handle fields;

    if (dice(3) == 0) {
        *kind = ARIES_LIVE_MSGQ;
        said.remote[0].handle = said.remote[1].handle = *handle;
        memcpy(at, &said, sizeof(said));
        return (uint32_t)(dice(4) == 0 ? dice(sizeof(said)) : sizeof(said));
    }
    *kind = ARIES_LIVE_PUT;
    aries_mem_handle_decode(handle, &fields);
    memset(at, 0x33, sizeof(record) + QUEUE_MESSAGE);
    memcpy(at, &record, sizeof(record));
    if (record.length <= QUEUE_MESSAGE)
        record.checksum = aries_msgq_checksum(&record, at + sizeof(record));
    memcpy(at, &record, sizeof(record));
    request->flags = ARIES_LIVE_EVENT;
    request->mdh = (uint16_t)aries_mem_handle_mdh(handle);
    request->event = dice(8) == 0 ? (uint32_t)wild()
                                  : ARIES_MSGQ_EVENT |
                                        aries_msgq_key(load(&shared->pe0) + HOSTILE % NODES, lane);
    request->address =
        fields.address + lane * (64 + QUEUE_CREDITS * slot) + 64 + (uint64_t)number * slot;
    if (dice(8) == 0) /* its count of credits */
        request->address -= 64 + (uint64_t)number * slot;
    return (uint32_t)sizeof(record) + QUEUE_MESSAGE;
}

static uint32_t fill_body(const struct card *card, uint8_t kind, struct aries_live_request *request,
                          uint8_t *at, uint32_t most)
{
    uint32_t bytes = (uint32_t)dice(most), i;
    struct aries_smsg_record record = {.length = (uint16_t)dice(1100),
                                       .tag = (uint8_t)dice(256),
                                       .mark = ARIES_SMSG_MARK,
                                       .sequence = (uint32_t)dice(3),
                                       .returned = (uint32_t)wild()};
    struct aries_live_datagram datagram = {.number = wild(),
                                           .about = dice(4) == 0 ? wild() : dice(50),
                                           .from_node =
                                               dice(4) == 0 ? (uint32_t)wild() : HOSTILE % NODES,
                                           .from_id = dice(4) == 0 ? (uint32_t)dice(5) : HOSTILE,
                                           .to_id = (uint32_t)dice(HONEST),
                                           .cookie = COOKIE_APART,
                                           .kind = (uint32_t)dice(5),
                                           .length = (uint16_t)(dice(8) == 0 ? wild() : dice(129))};

    for (i = 0; i + 8 <= bytes; i += 8) {
        uint64_t word = mix(&it.random);

        memcpy(at + i, &word, 8);
    }
    memset(at + i, 0x5a, bytes - i);
    if (kind == ARIES_LIVE_PUT && bytes >= sizeof(record) && dice(2) == 0) {
        memcpy(at, &record, sizeof(record));
        request->address = card->mailbox + 64 * dice(8);
    } else if (kind == ARIES_LIVE_DATAGRAM) {
        memcpy(at, &datagram, sizeof(datagram));
        bytes = dice(8) == 0 ? bytes : (uint32_t)sizeof(datagram);
    } else if (kind == ARIES_LIVE_AMO) {
        const struct aries_live_amo amo = {
            {wild(), wild()}, (uint32_t)(dice(4) == 0 ? wild() : dice(64)), 0};

        memcpy(at, &amo, sizeof(amo));
        bytes = dice(8) == 0 ? bytes : (uint32_t)sizeof(amo);
    } else if (kind == ARIES_LIVE_CE_JOIN || kind == ARIES_LIVE_CE_RESULT) {
        const struct aries_live_ce ce = join_of(card);

        memcpy(at, &ce, sizeof(ce));
        bytes = dice(8) == 0 ? bytes : (uint32_t)sizeof(ce);
    } else if (kind == ARIES_LIVE_SHARE) {
        const struct aries_live_share_call call = {dice(4) == 0 ? wild()
                                                                : (uintptr_t)it.own + dice(OWN),
                                                   (uint32_t)(dice(8) == 0 ? wild() : dice(3)), 0};

        memcpy(at, &call, sizeof(call));
        bytes = dice(8) == 0 ? bytes : (uint32_t)sizeof(call);
    } else if (request->flags & ARIES_LIVE_FLAGGED) {
        const struct aries_live_flag flag = {dice(2) == 0 ? request->address : wild(), wild()};

        memcpy(at, &flag, sizeof(flag));
        bytes += (uint32_t)sizeof(flag);
    }
    return bytes;
}

static void request_something(struct shm_peer *peer, uint32_t rank)
{
    const struct card *card = &shared->cards[rank][HOSTILE];
    struct aries_live_request request = {.ptag = PTAG_APART, .number = (uint32_t)dice(3)};
    uint8_t kind = (uint8_t)dice(ARIES_LIVE_RESULT + 2), body[SHM_RECORD_MAX];
    uint32_t most, bytes;
    uint8_t *room;

    request.flags =
        (uint8_t)(dice(2) == 0 ? 0 : dice(32) & ~(uint64_t)(dice(4) ? ARIES_LIVE_VMDH : 0));
    request.event = (uint32_t)wild();
    if (dice(16) == 0)
        while ((request.ptag = (uint8_t)dice(256)) == PTAG)
            ;
    aim(card, &request, &most);
    bytes = fill_body(card, kind, &request, body, most);
    request.length = bytes;
    if (request.flags & ARIES_LIVE_FLAGGED)
        request.length -=
            bytes >= sizeof(struct aries_live_flag) ? sizeof(struct aries_live_flag) : 0;
    if (kind == ARIES_LIVE_AMO)
        request.length = 8 * (uint32_t)(1 + dice(2));
    if (dice(6) == 0 || kind == ARIES_LIVE_LANDED || kind == ARIES_LIVE_SHARE)
        request.length = (uint32_t)(dice(2) == 0 ? wild() : dice(WINDOW));
    if (dice(4) == 0 && shared->queues[rank].qword1 != 0)
        request.length = bytes = fill_queue(rank, &kind, &request, body);
    bytes += (uint32_t)sizeof(request);
    room = shm_reserve(peer, SHM_REQUEST, bytes);
    if (room == NULL)
        return;
    memcpy(room, &request, sizeof(request));
    memcpy(room + sizeof(request), body, bytes - sizeof(request));
    if (dice(16) == 0) /* cut off */
        bytes = (uint32_t)dice(bytes + 1);
    shm_publish(peer, SHM_REQUEST, kind, bytes);
}

/* To a request that it got, or to none. */
static void reply_something(struct shm_peer *peer, uint32_t number, uint32_t wanted)
{
    struct aries_live_result result = {number, 0, (uint8_t)dice(256), dice(8) == 0, 0};
    uint32_t bytes = dice(4) == 0 ? (uint32_t)dice(ARIES_LIVE_PIECE + 100) : wanted;
    uint8_t *room;

    if (bytes > SHM_RECORD_MAX - sizeof(result))
        bytes = 0;
    if (dice(8) == 0)
        result.number = (uint32_t)wild();
    if (dice(8) == 0)
        result.status = (uint8_t)dice(256);
    room = shm_reserve(peer, SHM_REPLY, (uint32_t)sizeof(result) + bytes);
    if (room == NULL)
        return;
    memset(room, 0x77, sizeof(result) + bytes);
    memcpy(room, &result, sizeof(result));
    bytes += (uint32_t)sizeof(result);
    shm_publish(peer, SHM_REPLY, dice(16) == 0 ? dice(256) : ARIES_LIVE_RESULT,
                dice(16) == 0 ? (uint32_t)dice(bytes) : bytes);
}

/* As one does who has executed it. */
static void answer_well(const struct shm_record *record, const struct aries_live_request *request)
{
    struct aries_live_result result = {.number = request->number};
    uint32_t bytes = record->kind == ARIES_LIVE_DATAGRAM ? 0 : request->length;
    uint8_t *room;

    if (record->channel != SHM_REQUEST || bytes > ARIES_LIVE_PIECE ||
        (record->kind != ARIES_LIVE_GET && record->kind != ARIES_LIVE_AMO &&
         record->kind != ARIES_LIVE_DATAGRAM))
        return;
    bytes += (uint32_t)sizeof(result);
    room = shm_reserve(record->from, SHM_REPLY, bytes);
    if (room == NULL)
        return;
    memset(room, 0, bytes);
    memcpy(room, &result, sizeof(result));
    shm_publish(record->from, SHM_REPLY, ARIES_LIVE_RESULT, bytes);
}

/*
 * Numbers of transfers follow each other, so a hostile member can name the next one as easily. A
 * member that claims to have copied a part is asked again. So this one claims that half of the
 * time; otherwise it claims an offset behind the end.
 */
static void lie_about_transfers(uint64_t ahead)
{
    uint64_t name = it.transfer != 0 ? it.transfer + ahead : wild();
    uint64_t behind = dice(2) == 0 ? WINDOW + dice(4 * GUARD) : wild();

    *(struct aries_live_share *)((char *)shm_segment(it.shm) + ARIES_LIVE_SHARE_AT) =
        (struct aries_live_share){
            .open = dice(3),
            .front = dice(4) == 0 ? wild() : dice(WINDOW),
            .helping = dice(8) == 0 && !it.helps ? name : wild(),
            .back = wild(),
            .helped = dice(4) == 0 ? wild() : name,
            .from = dice(2) == 0 ? dice(32768) : behind,
        };
}

/* By whom it is asked to help, and in what. */
static void note_transfer(const struct shm_record *record)
{
    struct aries_live_share_call call;

    if (record->kind != ARIES_LIVE_SHARE ||
        record->count != sizeof(struct aries_live_request) + sizeof(call))
        return;
    memcpy(&call, (const char *)record->bytes + sizeof(struct aries_live_request), sizeof(call));
    it.transfer = (uint64_t)record->from->slot << 48 |
                  (uint64_t)(uint16_t)record->from->generation << 32 | call.number;
    it.asked++;
    lie_about_transfers(it.helps ? 0 : dice(3));
}

static void take_some(void)
{
    struct aries_live_request request;
    struct shm_record record;
    unsigned count = 0;

    while (count++ < 20 && shm_next(it.shm, &record)) {
        memset(&request, 0, sizeof(request));
        memcpy(&request, record.bytes,
               record.count < sizeof(request) ? record.count : sizeof(request));
        note_transfer(&record);
        if (it.helps)
            answer_well(&record, &request);
        else if (record.channel == SHM_REQUEST && dice(8) != 0)
            reply_something(record.from, request.number, request.length);
        shm_release(it.shm);
    }
}

/* ---- what it says of its memory -------------------------------------------------------------- */

static void register_something(void)
{
    struct aries_live_mdd *table = shm_segment(it.shm);
    struct aries_live_mdd mdd = {
        .flags = (uint8_t)(dice(4) == 0 ? dice(256) : ARIES_LIVE_MDD_VALID | ARIES_LIVE_MDD_PLAIN),
        .ptag = (uint8_t)(dice(8) == 0 ? dice(256) : PTAG_APART),
        .base = dice(4) == 0 ? wild() : (uintptr_t)it.own,
        .length = dice(4) == 0 ? wild() : OWN,
        /* Its own memory, or none at all: it would only destroy itself. */
        .address = dice(4) != 0   ? (uintptr_t)it.own
                   : dice(2) == 0 ? (uintptr_t)it.own + dice(OWN)
                                  : UINT64_MAX - dice(1u << 20),
    };

    if (it.helps) {
        mdd = (struct aries_live_mdd){.flags = ARIES_LIVE_MDD_VALID | ARIES_LIVE_MDD_PLAIN,
                                      .ptag = PTAG_APART,
                                      .base = (uintptr_t)it.own,
                                      .length = OWN,
                                      .address = (uintptr_t)it.own};
        table[it.block * ARIES_LIVE_MDH_BLOCK] = table[it.block * ARIES_LIVE_MDH_BLOCK + 1] = mdd;
        if (dice(64) == 0) /* else what it has said last stands while the other one copies */
            lie_about_transfers(1);
        return;
    }
    mdd.sequence = dice(8) == 0 ? (uint32_t)wild() : 2 * (uint32_t)dice(100);
    memcpy(&table[it.block * ARIES_LIVE_MDH_BLOCK + dice(2)], &mdd, sizeof(mdd));
    if (dice(16) == 0)
        table[dice(ARIES_LIVE_MDDS)] = mdd;
    lie_about_transfers(dice(3));
}

/* ---- its life -------------------------------------------------------------------------------- */

static void join(void)
{
    const struct shm_options options = {.node = HOSTILE % NODES,
                                        .segment_bytes = ARIES_LIVE_SEGMENT_BYTES};
    struct shm_key name = {HOSTILE % NODES,
                           ARIES_LIVE_NAME_INSTANCE,
                           {(uint64_t)COOKIE_APART << 32 | HOSTILE, PTAG_APART}};
    struct shm_key block = {
        HOSTILE % NODES, ARIES_LIVE_NAME_MDHS, {dice(ARIES_LIVE_MDH_BLOCKS - 8), 0}};
    char why[SHM_WHY_BYTES] = "";
    int result;

    if (shm_join(&options, &it.shm, why) != 0)
        fprintf(stderr, "%s\n", why);
    MUST(it.shm != NULL);
    result = shm_claim(it.shm, &name, 0, NULL);
    if (result != 0)
        fprintf(stderr, "its name: %s\n", strerror(-result));
    MUST(result == 0);
    MUST(shm_claim_free(it.shm, &block, 8, 0) == 0);
    it.block = (uint32_t)block.key[0];
}

/* A card that looks like everybody's, for each of the honest ones. */
static void introduce(void)
{
    struct aries_mem_handle fields = {.address = (uintptr_t)it.own,
                                      .mdh = it.block * ARIES_LIVE_MDH_BLOCK,
                                      .pages = OWN >> 12,
                                      .page_shift = 12};
    gni_mem_handle_t handle = aries_mem_handle_encode(&fields), other;
    uint32_t i;

    fields.mdh++;
    other = aries_mem_handle_encode(&fields);
    for (i = 0; i < HONEST; i++) {
        struct card *card = &shared->cards[HOSTILE][i];

        card->incarnations = 0;
        while (load(&shared->incarnation[i]) == 0)
            sched_yield();
        card->pe = load(&shared->pe0) + HOSTILE % NODES;
        card->mailbox = (uintptr_t)it.own;
        card->window = (uintptr_t)it.own + 65536;
        card->counters = (uintptr_t)it.own + 32768;
        card->mailbox_handle = card->counters_handle = handle;
        card->window_handle = other;
        __atomic_store_n(&card->incarnations, (uint64_t)incarnation << 32 | 1, __ATOMIC_SEQ_CST);
    }
    store(&shared->incarnation[HOSTILE], incarnation);
}

static void be_hostile_once(void)
{
    struct shm_member member;
    struct shm_peer *peer;
    /* Long enough for transfers, where nobody ends it before. */
    uint32_t slot, i, step, steps = it.breaks ? STEPS : STEPS_LONG, enough = it.asked + ASKED;

    join();
    introduce();
    for (slot = 0; slot < SHM_PROCESSES_MAX && shm_member(it.shm, 0, &member); slot++)
        if (slot < HONEST + 2 && shm_member(it.shm, slot, &member))
            shm_peer(it.shm, slot, 0, NULL);
    for (step = 0; step < steps || (it.helps && step < STEPS_HELPING && it.asked < enough);
         step++) {
        ring_pretend_to_poll(it.shm);
        take_some();
        register_something();
        for (i = 0; i < HONEST; i++) {
            for (peer = NULL, slot = 0; slot < HONEST + 2 && peer == NULL; slot++)
                if (shm_member(it.shm, slot, &member) &&
                    member.pid == (int32_t)load(&shared->pid[i]))
                    peer = shm_known(it.shm, slot, 0);
            if (peer == NULL || peer->gone)
                continue;
            if (it.helps)
                continue;
            request_something(peer, i);
            if (dice(8) == 0)
                reply_something(peer, (uint32_t)dice(200), (uint32_t)dice(200));
            if (it.breaks && dice(16) == 0)
                ring_break(it.shm, peer, dice);
        }
        if (dice(4) == 0)
            sched_yield();
    }
    shm_leave(it.shm);
    it.shm = NULL;
}

static void be_hostile(void)
{
    uint32_t rounds = (uint32_t)number_of("JACQUARD_HOSTILE_ROUNDS", (uint64_t)test_seeds(20, 20));

    it.random = shared->seed;
    it.own = mmap(NULL, 2 * OWN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(it.own != MAP_FAILED);
    for (incarnation = 1; incarnation <= rounds; incarnation++) {
        it.breaks = incarnation % 4 == 0 || incarnation % 4 == 2;
        it.helps = incarnation % 8 == 3;
        be_hostile_once();
    }
    store(&shared->asked, it.asked);
}

static int hostile(void)
{
    uint32_t seconds = (uint32_t)(WATCHDOG_S + number_of("JACQUARD_HOSTILE_ROUNDS", 20)), i;
    pid_t pids[RANKS], other;
    struct done done;
    int status;

    ranks = HONEST + 1;
    distrusted = HOSTILE;
    for (i = 0; i < HONEST; i++) {
        pids[i] = spawn(i, 1, seconds, shm);
        store(&shared->pid[i], (uint32_t)pids[i]);
    }
    pids[HOSTILE] = other = spawn(HOSTILE, 0, seconds, be_hostile);
    while (waitpid(other, &status, WNOHANG) == 0) {
        siginfo_t info = {0};

        rest(1000);
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0 &&
            info.si_pid != other) {
            kill(other, SIGKILL);
            waitpid(other, NULL, 0);
            for (i = 0; i < HONEST; i++)
                if (pids[i] != info.si_pid)
                    kill(pids[i], SIGTERM);
            return all_ended_well(pids, HONEST), 1;
        }
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "the hostile one: status %#x, JACQUARD_SEED=%lu\n", (unsigned)status,
                (unsigned long)shared->seed);
        for (i = 0; i < HONEST; i++)
            kill(pids[i], SIGTERM);
        all_ended_well(pids, HONEST);
        return 1;
    }
    if (!finish(pids, HONEST, &done))
        return 1;
    printf("%lu messages, %lu rounds of PUT, GET, FADD; %lu times it was given up, %u times asked "
           "to help\n",
           (unsigned long)done.messages, (unsigned long)done.rounds, (unsigned long)done.deaths,
           load(&shared->asked));
    return 0;
}

int main(void)
{
    return run("live_hostile_member", hostile);
}
