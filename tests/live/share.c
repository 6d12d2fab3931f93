/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Long transfers at which the target helps (sim/aries/live/share.c). Rank 0 is a program of uGNI,
 * rank 1 a member without a NIC that does the other side by hand, word for word: so each side is
 * seen from outside, and the other one can be slow, wrong or dead where it wants to.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "two_members.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "nic/mem_handle.h"

enum { BYTES = 4 << 20, GUARD = 64 << 10, TIMEOUT_S = 150 };
enum { OWN_BYTE = 0x11, HELPED_BYTE = 0x22, GUARD_BYTE = 0x33 };

/* The words that the two ranks share. */
static struct {
    uint32_t asked; /* rank 1 got a record for a transfer that was open */
    uint32_t over; /* rank 0 has seen what it wanted */
} * talk;

static void rest_ms(long ms)
{
    const struct timespec time = {0, ms * 1000000};

    nanosleep(&time, NULL);
}

static bool processors_suffice(void)
{
    cpu_set_t allowed;

    return sched_getaffinity(0, sizeof(allowed), &allowed) == 0 && CPU_COUNT(&allowed) >= 2;
}

/* Each to a processor of its own: who shares one with the other cannot help it. */
static void pin(void)
{
    cpu_set_t allowed, one;
    uint32_t which = lt_rank;
    int cpu;

    CPU_ZERO(&one);
    if (!processors_suffice() || sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        return;
    for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && which-- == 0)
            break;
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
}

/* ---- the member ------------------------------------------------------------------------------ */

static struct {
    struct shm *shm;
    struct shm_peer *other; /* rank 0 */
    struct aries_live_share *share; /* own words */
    const struct aries_live_share *theirs;
    uint8_t *memory; /* registered, all OWN_BYTE */
} it;

static void join(void)
{
    struct shm_key block = {1, ARIES_LIVE_NAME_MDHS, {0, 0}};
    struct aries_mem_handle fields = {.pages = BYTES >> 12, .page_shift = 12};
    struct lt_peer *own = (struct lt_peer *)lt_shared->note[1];
    struct aries_live_mdd *table;

    pin();
    it.share = join_without_nic(&it.shm);
    CHECK(shm_claim(it.shm, &block, 0, NULL) == 0);
    it.memory =
        mmap(NULL, BYTES + GUARD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(it.memory != MAP_FAILED);
    memset(it.memory, OWN_BYTE, BYTES + GUARD);
    table = shm_segment(it.shm);
    table[0] = (struct aries_live_mdd){.flags = ARIES_LIVE_MDD_VALID | ARIES_LIVE_MDD_PLAIN,
                                       .ptag = LT_PTAG,
                                       .base = (uintptr_t)it.memory,
                                       .length = BYTES,
                                       .address = (uintptr_t)it.memory};
    fields.address = (uintptr_t)it.memory;
    own->address = fields.address;
    own->handle = aries_mem_handle_encode(&fields);
    own->id = 1;
}

static void meet(void)
{
    struct shm_member member;
    uint32_t slot;

    for (slot = 0; slot < 8; slot++)
        if (shm_member(it.shm, slot, &member) && member.pid == lt_shared->pids[0])
            it.other = shm_peer(it.shm, slot, 0, NULL);
    CHECK(it.other != NULL);
    it.theirs =
        (const struct aries_live_share *)((const char *)it.other->segment + ARIES_LIVE_SHARE_AT);
}

static uint64_t name_of(const struct shm_peer *initiator, uint32_t number)
{
    return (uint64_t)initiator->slot << 48 | (uint64_t)(uint16_t)initiator->generation << 32 |
           number;
}

/* A record that asks for help; it stays unreleased. False: rank 0 wants no more. */
static bool next_call(struct aries_live_request *request, struct aries_live_share_call *call)
{
    struct shm_record record;

    while (load_word(&talk->over) == 0) {
        if (!shm_next(it.shm, &record))
            continue;
        if (record.channel == SHM_REQUEST && record.kind == ARIES_LIVE_SHARE) {
            CHECK(record.count == sizeof(*request) + sizeof(*call));
            memcpy(request, record.bytes, sizeof(*request));
            memcpy(call, (const char *)record.bytes + sizeof(*request), sizeof(*call));
            return true;
        }
        shm_release(it.shm);
    }
    return false;
}

/* Says that it helps. False: the transfer has been closed. */
static bool take_part(const struct aries_live_share_call *call, uint64_t back)
{
    set(&it.share->helped, 0);
    set(&it.share->back, back);
    set(&it.share->helping, name_of(it.other, call->number));
    if (get(&it.theirs->open) == call->number)
        return true;
    set(&it.share->helping, 0);
    return false;
}

static void end_part(const struct aries_live_share_call *call, bool done, uint64_t from)
{
    set(&it.share->from, from);
    if (done)
        set(&it.share->helped, name_of(it.other, call->number));
    set(&it.share->helping, 0);
}

/* ---- rank 0 as the initiator ----------------------------------------------------------------- */

enum { TIMES = 3 };

/* Until rank 0 has seen enough: `act` at what is open still. */
static void help(void (*act)(const struct aries_live_share_call *call))
{
    struct aries_live_share_call call;
    struct aries_live_request request;

    for (; next_call(&request, &call); shm_release(it.shm)) {
        CHECK(request.length == BYTES && (request.flags & ARIES_LIVE_WAS_READ));
        if (load_word(&talk->asked) == TIMES || !take_part(&call, BYTES / 2))
            continue;
        if (get(&it.theirs->front) > BYTES / 2) { /* that is copied twice, in either order */
            end_part(&call, false, 0);
            continue;
        }
        store_word(&talk->asked, load_word(&talk->asked) + 1);
        act(&call);
    }
}

static gni_return_t read_all(struct lt *lt)
{
    gni_post_descriptor_t post = {
        .type = GNI_POST_RDMA_GET,
        .cq_mode = GNI_CQMODE_GLOBAL_EVENT,
        .dlvr_mode = GNI_DLVMODE_PERFORMANCE,
        .local_addr = (uintptr_t)lt->memory,
        .local_mem_hndl = lt->handle,
        .remote_addr = lt->peers[1].address,
        .remote_mem_hndl = lt->peers[1].handle,
        .length = BYTES,
    };

    memset(lt->memory, 0, BYTES);
    memset(lt->memory + BYTES, GUARD_BYTE, GUARD);
    return lt_post(lt, 1, &post, true);
}

static void begin(struct lt *lt)
{
    pin();
    lt_start_among(lt, BYTES + GUARD, 1);
    lt->peers[1] = *(const struct lt_peer *)lt_shared->note[1];
    OK(GNI_EpCreate(lt->nic, lt->tx, &lt->eps[1]));
    OK(GNI_EpBind(lt->eps[1], lt->pe + 1, 1)); /* the next node */
}

/* Reads all of rank 1's memory until that has helped often enough. How much a processor has to do
 * besides decides when rank 1 finds one that is open. */
static void read_until_helped(uint8_t last)
{
    double until = lt_seconds() + TIMEOUT_S;
    uint32_t before, i;
    struct lt lt;

    begin(&lt);
    while ((before = load_word(&talk->asked)) < TIMES && lt_seconds() < until) {
        OK(read_all(&lt));
        CHECK(lt.memory[0] == OWN_BYTE && lt.memory[BYTES / 2 - 1] == OWN_BYTE);
        CHECK(lt.memory[BYTES - 1] == (load_word(&talk->asked) != before ? last : OWN_BYTE));
        for (i = 0; i < GUARD; i++)
            CHECK(lt.memory[BYTES + i] == GUARD_BYTE);
    }
    CHECK(load_word(&talk->asked) == TIMES);
    store_word(&talk->over, 1);
    lt_end(&lt);
}

/* As rank 1: comes to rank 0's barriers. */
static void with_rank_0(void (*what)(void))
{
    join();
    lt_barrier();
    meet();
    lt_barrier();
    what();
    lt_barrier();
    shm_leave(it.shm);
    lt_barrier();
}

/* The bytes that rank 1 writes are not those of its memory: so one sees who copied them. */
static void write_half(const struct aries_live_share_call *call)
{
    static uint8_t half[BYTES / 2];

    memset(half, HELPED_BYTE, sizeof(half));
    if (load_word(&talk->asked) > 1)
        rest_ms(load_word(&talk->asked)); /* longer than rank 0 looks at it: it goes on meanwhile */
    CHECK(shm_copy_to(it.other, call->address + BYTES / 2, half, sizeof(half)) == 0);
    end_part(call, true, BYTES / 2);
}

static void help_by_half(void)
{
    help(write_half);
}

static void target_helps(void)
{
    lt_rank == 0 ? read_until_helped(HELPED_BYTE) : with_rank_0(help_by_half);
}

static void give_up(const struct aries_live_share_call *call)
{
    rest_ms(load_word(&talk->asked) - 1);
    end_part(call, false, 0); /* whatever it says it has done: it does not say of what */
}

static void help_too_late(void)
{
    help(give_up);
}

/* It said that it would, and did not. */
static void target_gives_up(void)
{
    lt_rank == 0 ? read_until_helped(OWN_BYTE) : with_rank_0(help_too_late);
}

/* It says that it has copied from somewhere behind the end on: nothing, then. */
static void lie(const struct aries_live_share_call *call)
{
    static const uint64_t from[TIMES] = {BYTES + GUARD, BYTES + 1, UINT64_MAX};

    end_part(call, true, from[load_word(&talk->asked) - 1]);
}

static void help_by_lies(void)
{
    help(lie);
}

static void target_lies(void)
{
    lt_rank == 0 ? read_until_helped(OWN_BYTE) : with_rank_0(help_by_lies);
}

static void die(const struct aries_live_share_call *call)
{
    rest_ms(1);
    kill(getpid(), SIGKILL);
}

static void help_and_die(void)
{
    help(die);
}

static void target_dies(void)
{
    double until = lt_seconds() + TIMEOUT_S;
    gni_return_t result = GNI_RC_SUCCESS;
    struct lt lt;

    if (lt_rank == 1) {
        with_rank_0(help_and_die);
        return;
    }
    begin(&lt);
    while (result == GNI_RC_SUCCESS && lt_seconds() < until)
        result = read_all(&lt);
    CHECK(result == GNI_RC_TRANSACTION_ERROR && load_word(&talk->asked) == 1);
    lt_shared->alive--;
    lt_end(&lt);
}

/* ---- rank 0 as the target -------------------------------------------------------------------- */

static struct aries_live_request request_for(bool read)
{
    const struct lt_peer *other = (const struct lt_peer *)lt_shared->note[0];

    return (struct aries_live_request){.flags = read ? ARIES_LIVE_WAS_READ : 0,
                                       .ptag = LT_PTAG,
                                       .mdh = (uint16_t)aries_mem_handle_mdh(&other->handle),
                                       .length = BYTES,
                                       .address = other->address};
}

/* Asks rank 0 and waits until it has done what it wants to. */
static void call_for_help(const struct aries_live_request *request,
                          const struct aries_live_share_call *call, uint64_t open, uint64_t front)
{
    uint32_t bytes = sizeof(*request) + sizeof(*call);
    struct shm_record record;
    uint64_t position;
    char *at;

    set(&it.share->front, front);
    set(&it.share->open, open);
    at = shm_reserve(it.other, SHM_REQUEST, bytes);
    CHECK(at != NULL);
    memcpy(at, request, sizeof(*request));
    memcpy(at + sizeof(*request), call, sizeof(*call));
    position = shm_publish(it.other, SHM_REQUEST, ARIES_LIVE_SHARE, bytes);
    while (shm_executed(it.other, SHM_REQUEST) < position)
        if (shm_next(it.shm, &record))
            shm_release(it.shm);
    CHECK(get(&it.theirs->helping) == 0);
}

/* Both memories anew. */
static void paint(void)
{
    memset(it.memory, OWN_BYTE, BYTES);
    CHECK(shm_copy_to(it.other, ((struct lt_peer *)lt_shared->note[0])->address, it.memory,
                      BYTES) == 0);
    memset(it.memory, HELPED_BYTE, BYTES);
}

/* The first byte of rank 0's memory (or of the own one) that has the other one's value; BYTES. */
static uint64_t changed_from(bool read)
{
    static uint8_t theirs[BYTES];
    const uint8_t *memory = read ? it.memory : theirs;
    uint8_t own = read ? HELPED_BYTE : OWN_BYTE;
    uint64_t at = 0, i;

    CHECK(shm_copy_from(it.other, ((struct lt_peer *)lt_shared->note[0])->address, theirs, BYTES) ==
          0);
    while (at < BYTES && memory[at] == own)
        at++;
    for (i = at; i < BYTES; i++)
        CHECK(memory[i] != own);
    return at;
}

static void ask_for_help(void)
{
    struct aries_live_share_call call = {.address = (uintptr_t)it.memory};
    uint64_t fronts[] = {0, 1, 4096, BYTES / 2, BYTES - 1, BYTES, UINT64_MAX}, front, name;
    struct aries_live_request request;
    uint32_t i, read;

    for (read = 0; read < 2; read++)
        for (i = 0; i < sizeof(fronts) / sizeof(fronts[0]); i++) {
            front = fronts[i] < BYTES ? fronts[i] : BYTES;
            paint();
            call.number++;
            request = request_for(read);
            call_for_help(&request, &call, call.number, fronts[i]);
            CHECK(changed_from(read) == front);
            name = name_of(shm_self(it.shm), call.number);
            CHECK(get(&it.theirs->helped) == name && get(&it.theirs->from) == front);
            /* What is over, or never was, or may not be: nothing. */
            paint();
            call_for_help(&request, &call, 0, 0);
            call_for_help(&request, &call, call.number + 1, 0);
            call.number++;
            request.length += GUARD + 1;
            call_for_help(&request, &call, call.number, 0);
            request = request_for(read);
            request.ptag++;
            call_for_help(&request, &call, call.number, 0);
            request = request_for(read);
            request.mdh += 100;
            call_for_help(&request, &call, call.number, 0);
            CHECK(changed_from(0) == BYTES && changed_from(1) == BYTES);
            CHECK(get(&it.theirs->helped) == name);
            /* The initiator's memory is not there. */
            request = request_for(read);
            call.address = 4096;
            call_for_help(&request, &call, call.number, 0);
            CHECK(changed_from(0) == BYTES && changed_from(1) == BYTES);
            CHECK(get(&it.theirs->helped) == name_of(shm_self(it.shm), call.number));
            CHECK(get(&it.theirs->from) == BYTES);
            call.address = (uintptr_t)it.memory;
        }
    store_word(&talk->over, 1);
}

/* Takes what others began, from the back to the front, and nothing else. */
static void helps_as_target(void)
{
    gni_cq_entry_t entry;
    struct lt lt;

    if (lt_rank == 1) {
        with_rank_0(ask_for_help);
        return;
    }
    begin(&lt);
    while (load_word(&talk->over) == 0)
        CHECK(GNI_CqGetEvent(lt.rx, &entry) == GNI_RC_NOT_DONE);
    lt_end(&lt);
}

static int run(const char *name, void (*what)(void))
{
    return run_two(talk, sizeof(*talk), name, what);
}

int main(void)
{
    int failed = 0;

    talk = shared_words(sizeof(*talk));
    if (talk == NULL)
        return 1;
    if (processors_suffice()) { /* else nobody finds the other one at it */
        failed += run("live_target_helps", target_helps);
        failed += run("live_target_gives_up", target_gives_up);
        failed += run("live_target_lies_about_its_part", target_lies);
        failed += run("live_target_dies_helping", target_dies);
    }
    failed += run("live_helps_as_target", helps_as_target);
    return failed != 0;
}
