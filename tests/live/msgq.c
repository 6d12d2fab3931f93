/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared message queues of two nodes with two processes each: one process of each node connects
 * them, all send to all on the other node. Then the same, and one dies in the middle.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "live_test.h"

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#define RANKS 4u
#define NODES 2u
#define MESSAGES 500u
#define QUIET_S 0.3
#define VICTIM 3u /* on node 1, with rank 1 */
#define DIFFERENT_ROUNDS 100u
#define ANEW_ROUNDS 500u
#define THREE 3u

enum { ORB_TIMEOUT = 0x39 }; /* status code of Aries */

static struct lt lt;
static gni_msgq_handle_t queue;
static uint32_t received[RANKS], sent[RANKS];

struct message {
    uint32_t from, to, number, check;
};

static uint32_t check_of(const struct message *message)
{
    return message->from * 31 + message->to * 17 + message->number * 7 + 1;
}

static int receive(uint32_t from, uint32_t pe, void *data, uint8_t tag, void *context)
{
    struct message message;

    memcpy(&message, data, sizeof(message));
    CHECK(context == &lt && from < RANKS && from % NODES != lt_rank % NODES);
    CHECK(pe == lt.peers[from].pe && tag == (uint8_t)message.number);
    CHECK(message.from == from && message.to == lt_rank && message.check == check_of(&message));
    CHECK(message.number == received[from]++); /* in order, each once */
    return 1;
}

static gni_return_t send_to(uint32_t to)
{
    struct message message = {lt_rank, to, sent[to], 0};
    gni_return_t result;

    message.check = check_of(&message);
    result = GNI_MsgqSend(queue, lt.eps[to], &message, 8, (uint8_t *)&message + 8, 8, sent[to],
                          (uint8_t)sent[to]);
    sent[to] += result == GNI_RC_SUCCESS;
    return result;
}

static void progress(void)
{
    gni_return_t result = GNI_MsgqProgress(queue, 0);

    CHECK(result == GNI_RC_SUCCESS || result == GNI_RC_NOT_DONE);
}

/* All that have come so far; the number of failures. */
static uint32_t events(void)
{
    gni_return_t result;
    gni_cq_entry_t entry;
    uint32_t failures = 0;

    while ((result = GNI_CqGetEvent(lt.tx, &entry)) != GNI_RC_NOT_DONE) {
        CHECK(GNI_CQ_GET_TYPE(entry) == GNI_CQ_EVENT_TYPE_MSGQ);
        if (result == GNI_RC_SUCCESS)
            continue;
        CHECK(GNI_CQ_GET_STATUS(entry) == ORB_TIMEOUT);
        failures++;
    }
    return failures;
}

static gni_msgq_attr_t attributes_for(uint32_t instances)
{
    return (gni_msgq_attr_t){.max_msg_sz = 64,
                             .smsg_q_sz = 16,
                             .rcv_pool_sz = 64,
                             .num_msgq_eps = NODES,
                             .nloc_insts = instances,
                             .rcv_cq_sz = 1024};
}

static void join(void)
{
    gni_msgq_attr_t attributes = attributes_for(lt_ranks / NODES);

    OK(GNI_MsgqInit(lt.nic, receive, &lt, lt.tx, &attributes, &queue));
    lt_barrier();
}

static void start(void)
{
    const uint32_t node = lt_rank % NODES;
    gni_msgq_ep_attr_t *mine = (gni_msgq_ep_attr_t *)(void *)lt_shared->note[lt_rank], theirs;
    uint32_t bytes;

    lt_start(&lt, 4096);
    join();
    if (lt_rank < NODES) {
        OK(GNI_MsgqGetConnAttrs(queue, lt.peers[1 - node].pe, &theirs, &bytes));
        CHECK(bytes <= LT_NOTE_BYTES);
        memcpy(mine, &theirs, bytes);
    }
    lt_barrier();
    if (lt_rank >= NODES) { /* what one has done is done for all of the node */
        CHECK_RC(send_to(1 - node), GNI_RC_INVALID_STATE);
        CHECK_RC(GNI_MsgqGetConnAttrs(queue, lt.peers[1 - node].pe, &theirs, NULL),
                 GNI_RC_INVALID_STATE);
    }
    lt_barrier();
    if (lt_rank < NODES) {
        memcpy(&theirs, lt_shared->note[1 - node], sizeof(theirs));
        OK(GNI_MsgqConnect(queue, lt.peers[1 - node].pe, &theirs));
    }
    lt_barrier();
}

static void traffic(void)
{
    const uint32_t other = 1 - lt_rank % NODES;
    uint32_t to = other;

    start();
    while (sent[other] < MESSAGES || sent[other + 2] < MESSAGES) {
        if (sent[to] < MESSAGES && send_to(to) == GNI_RC_SUCCESS && sent[to] % 100 == lt_rank)
            usleep(1000);
        to = to == other ? other + 2 : other;
        progress();
        CHECK(events() == 0);
    }
    while (received[other] < MESSAGES || received[other + 2] < MESSAGES)
        progress();
    while (GNI_MsgqIdle(queue) != GNI_RC_SUCCESS)
        CHECK(events() == 0);
    lt_barrier();
    if (lt_rank < NODES) /* not by those that connected them */
        CHECK_RC(send_to(lt_rank + 2), GNI_RC_NO_MATCH);
    else
        OK(GNI_MsgqConnRelease(queue, lt.peers[other].pe));
    lt_barrier();
    CHECK_RC(send_to(other), GNI_RC_NO_MATCH);
    OK(GNI_MsgqRelease(queue));
    lt_end(&lt);
}

static void victim(void)
{
    const uint32_t other = 1 - lt_rank % NODES;
    gni_msgq_ep_attr_t attributes;
    gni_return_t result = GNI_RC_SUCCESS;
    uint32_t failures = 0, goal;
    double since = 0;

    start();
    while (lt_rank == VICTIM) {
        send_to(0);
        progress();
        events();
        if (received[0] > MESSAGES / 4) {
            __atomic_fetch_sub(&lt_shared->alive, 1, __ATOMIC_SEQ_CST);
            kill(getpid(), SIGKILL);
        }
    }
    /* Node 0 sends to it until that fails, or has no credits left that it could give back. */
    while (other == 1 && result != GNI_RC_INVALID_STATE &&
           (lt_shared->alive == RANKS || lt_seconds() < since + QUIET_S)) {
        result = send_to(VICTIM);
        since = result == GNI_RC_SUCCESS || lt_shared->alive == RANKS ? lt_seconds() : since;
        progress();
        failures += events();
    }
    while (GNI_MsgqIdle(queue) != GNI_RC_SUCCESS) {
        progress();
        failures += events();
    }
    failures += events();
    CHECK((failures > 0) == (result == GNI_RC_INVALID_STATE));
    lt_barrier();
    goal = sent[other] + 100;
    while (sent[other] < goal) {
        result = send_to(other);
        CHECK(result == GNI_RC_SUCCESS || result == GNI_RC_NOT_DONE);
        progress();
        CHECK(events() == 0);
    }
    while ((lt_rank != 2 && received[other] < 100) || (lt_rank == 1 && received[2] < 100))
        progress();
    if (lt_rank == 1) /* a queue that lacks an instance is being torn down */
        CHECK_RC(GNI_MsgqGetConnAttrs(queue, lt.pe, &attributes, NULL), GNI_RC_PERMISSION_ERROR);
    lt_end(&lt);
}

/* The first instance sets the attributes: of two pairs with different attributes, one is refused.
 */
static void different(void)
{
    gni_msgq_attr_t attributes = attributes_for(2);
    uint64_t *joined = lt_shared->note[0];
    gni_return_t result;
    uint32_t round;

    lt_start(&lt, 4096);
    attributes.smsg_q_sz += 2 * (lt_rank % 2);
    for (round = 0; round < DIFFERENT_ROUNDS; round++) {
        joined[0] = joined[1] = 0;
        lt_barrier();
        result = GNI_MsgqInit(lt.nic, receive, &lt, lt.tx, &attributes, &queue);
        CHECK(result == GNI_RC_SUCCESS || result == GNI_RC_INVALID_STATE);
        if (result == GNI_RC_SUCCESS)
            __atomic_fetch_add(&joined[lt_rank % 2], 1, __ATOMIC_SEQ_CST);
        lt_barrier();
        CHECK(joined[0] + joined[1] == 2 && joined[0] * joined[1] == 0);
        lt_barrier();
        if (result == GNI_RC_SUCCESS)
            OK(GNI_MsgqRelease(queue));
    }
    lt_end(&lt);
}

/* Connections end with their queue: the next one may have the same. */
static void again(void)
{
    gni_msgq_ep_attr_t attributes;
    uint32_t round;

    lt_start(&lt, 4096);
    for (round = 0; round < NODES + 1; round++) {
        join();
        if (lt_rank / NODES == round % 2)
            OK(GNI_MsgqGetConnAttrs(queue, lt.peers[1 - lt_rank % NODES].pe, &attributes, NULL));
        lt_barrier();
        OK(GNI_MsgqRelease(queue));
        lt_barrier();
    }
    lt_end(&lt);
}

/* One releases a connection, another one makes it anew at once: the third one has followed both. */
static void anew(void)
{
    gni_msgq_attr_t attributes = attributes_for(THREE);
    gni_msgq_ep_attr_t connection;
    uint64_t *made = lt_shared->note[THREE]; /* so often */
    gni_return_t result;
    uint32_t round, pe;

    lt_start(&lt, 4096);
    pe = lt.pe + 1; /* of some other node */
    OK(GNI_MsgqInit(lt.nic, receive, &lt, lt.tx, &attributes, &queue));
    lt_barrier();
    if (lt_rank == 0)
        OK(GNI_MsgqGetConnAttrs(queue, pe, &connection, NULL));
    for (round = 0; round < ANEW_ROUNDS; round++) {
        lt_barrier();
        if (lt_rank == round % 2 * 2) { /* first 0; then 2, which has followed */
            OK(GNI_MsgqConnRelease(queue, pe));
        } else if (lt_rank == 1 - round % 2) {
            while ((result = GNI_MsgqGetConnAttrs(queue, pe, &connection, NULL)) !=
                   GNI_RC_SUCCESS) {
                CHECK(result == GNI_RC_INVALID_STATE);
                progress();
            }
            __atomic_store_n(made, round + 1, __ATOMIC_SEQ_CST);
        } else { /* looks now and then */
            while (__atomic_load_n(made, __ATOMIC_SEQ_CST) != round + 1) {
                progress();
                usleep(8000);
            }
        }
    }
    lt_end(&lt);
}

/* All threads of it: a signal takes a moment, longest where processors are few. */
static bool is_stopped(pid_t process)
{
    char path[64], line[256];
    struct dirent *entry;
    bool all = true;
    FILE *file;
    DIR *tasks;

    snprintf(path, sizeof(path), "/proc/%d/task", process);
    tasks = opendir(path);
    CHECK(tasks != NULL);
    while ((entry = readdir(tasks)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "/proc/%d/task/%.16s/stat", process, entry->d_name);
        file = fopen(path, "re");
        if (file == NULL)
            continue;
        all &= fgets(line, sizeof(line), file) != NULL && strstr(line, ") T") != NULL;
        fclose(file);
    }
    closedir(tasks);
    return all;
}

/* Who cannot be asked whether it uses a connection has not said that it does not. */
static void stopped(void)
{
    gni_msgq_attr_t attributes = attributes_for(THREE);
    gni_msgq_ep_attr_t connection;
    uint64_t *over = lt_shared->note[THREE];
    gni_return_t result;
    uint32_t pe;

    lt_start(&lt, 4096);
    pe = lt.pe + 1;
    OK(GNI_MsgqInit(lt.nic, receive, &lt, lt.tx, &attributes, &queue));
    lt_barrier();
    if (lt_rank == 0) {
        OK(GNI_MsgqGetConnAttrs(queue, pe, &connection, NULL));
        kill(lt_shared->pids[1], SIGSTOP);
        while (!is_stopped(lt_shared->pids[1]))
            usleep(1000);
        CHECK_RC(GNI_MsgqConnRelease(queue, pe), GNI_RC_NOT_DONE);
        kill(lt_shared->pids[1], SIGCONT);
        while ((result = GNI_MsgqConnRelease(queue, pe)) != GNI_RC_SUCCESS)
            CHECK(result == GNI_RC_NOT_DONE);
        CHECK_RC(GNI_MsgqConnRelease(queue, pe), GNI_RC_NO_MATCH);
        __atomic_store_n(over, 1, __ATOMIC_SEQ_CST);
    }
    while (__atomic_load_n(over, __ATOMIC_SEQ_CST) == 0)
        progress();
    lt_end(&lt);
}

int main(void)
{
    return lt_run("live_msgq_traffic", RANKS, NODES, traffic) |
           lt_run("live_msgq_victim", RANKS, NODES, victim) |
           lt_run("live_msgq_different", RANKS, 1, different) |
           lt_run("live_msgq_again", RANKS, NODES, again) |
           lt_run("live_msgq_anew", THREE, 1, anew) |
           lt_run("live_msgq_stopped", THREE, 1, stopped);
}
