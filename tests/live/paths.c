/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Transactions on fabrics that test_paths.py starts. Links die: what is under way then, and what
 * comes later. Transactions take the model's time.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "live_test.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>
#include "aries/misc/exceptions.h"

#define PUTS 300u
#define LONG 1000u /* bytes: more than ten packets */

static double before, after; /* the fault comes between them; of lt_seconds() */

static void sleep_until(double seconds)
{
    while (lt_seconds() < seconds)
        usleep(1000);
}

static void put(struct lt *lt, gni_post_descriptor_t *post, uint32_t bytes)
{
    memset(post, 0, sizeof(*post));
    post->type = GNI_POST_FMA_PUT;
    post->cq_mode = GNI_CQMODE_GLOBAL_EVENT;
    post->local_addr = (uintptr_t)lt->memory;
    post->remote_addr = lt->peers[1].address + 8192;
    post->remote_mem_hndl = lt->peers[1].handle;
    post->length = bytes;
    OK(GNI_PostFma(lt->eps[1], post));
}

/* The status of the next post that ends, as A_STATUS_. */
static uint32_t ended(struct lt *lt)
{
    gni_post_descriptor_t *post;
    gni_cq_entry_t entry;
    gni_return_t result;

    while ((result = GNI_CqGetEvent(lt->tx, &entry)) == GNI_RC_NOT_DONE)
        ;
    CHECK(GNI_GetCompleted(lt->tx, entry, &post) == result);
    CHECK(result == GNI_RC_SUCCESS || result == GNI_RC_TRANSACTION_ERROR);
    return result == GNI_RC_SUCCESS ? 0 : (uint32_t)GNI_CQ_GET_STATUS(entry);
}

static uint32_t put_ends(struct lt *lt, uint32_t bytes)
{
    gni_post_descriptor_t post;

    put(lt, &post, bytes);
    return ended(lt);
}

static bool is_stopped(int pid)
{
    char path[64], text[256] = "";
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    file = fopen(path, "r");
    CHECK(file != NULL && fgets(text, sizeof(text), file) != NULL);
    fclose(file);
    return strstr(text, ") T") != NULL;
}

/* Else another fabric is tried, on which it comes later. */
static void not_late(void)
{
    if (lt_seconds() < before)
        return;
    puts("late");
    fflush(stdout);
    kill(lt_shared->pids[1], SIGKILL);
    _exit(1);
}

/* A target that stands still takes what is under way only after the link has died. */
static void caught(void)
{
    static gni_post_descriptor_t posts[PUTS];
    uint32_t i, status, lost = 0;
    struct lt lt;

    lt_start(&lt, 65536);
    if (lt_rank == 0) {
        CHECK(put_ends(&lt, 8) == 0);
        kill(lt_shared->pids[1], SIGSTOP);
        while (!is_stopped(lt_shared->pids[1]))
            usleep(1000);
        for (i = 0; i < PUTS; i++)
            put(&lt, &posts[i], 8);
        not_late();
        sleep_until(after);
        kill(lt_shared->pids[1], SIGCONT);
        for (i = 0; i < PUTS; i++) {
            status = ended(&lt);
            CHECK(status == 0 || status == A_STATUS_ORB_TIMEOUT);
            lost += status != 0;
        }
        for (i = 0; i < PUTS; i++)
            CHECK(put_ends(&lt, 8) == 0);
        printf("lost %u of %u\n", lost, PUTS);
    }
    lt_end(&lt);
}

/* Nothing leads there for a while: errors at once, and nothing arrives. */
static void cut_off(void)
{
    uint8_t out[8] = "", in[8], *value;
    uint32_t status, fails = 0, pe, id;
    gni_post_state_t state;
    struct lt lt;

    lt_start(&lt, 65536);
    value = lt.memory;
    if (lt_rank == 0) {
        CHECK(put_ends(&lt, 8) == 0 || lt_seconds() > before);
        not_late();
        while ((status = put_ends(&lt, 8)) == 0)
            usleep(100);
        CHECK(status == A_STATUS_ORB_TIMEOUT);
        *value = 1;
        /* The kernel tries until it is through. */
        OK(GNI_EpPostData(lt.eps[1], out, sizeof(out), in, sizeof(in)));
        while ((status = put_ends(&lt, LONG)) != 0) {
            CHECK(status == A_STATUS_ENDPOINT_UNREACHABLE);
            __atomic_store_n(&lt_shared->note[0][0], ++fails, __ATOMIC_SEQ_CST);
            usleep(1000);
        }
        OK(GNI_EpPostDataWait(lt.eps[1], UINT32_MAX, &state, &pe, &id));
        CHECK(fails > 0 && state == GNI_POST_COMPLETED);
    } else {
        value += 8192;
        lt_shared->note[0][0] = 0;
        while (__atomic_load_n(&lt_shared->note[0][0], __ATOMIC_SEQ_CST) == 0)
            usleep(1000);
        CHECK(*value == 0);
        OK(GNI_EpPostData(lt.eps[0], out, sizeof(out), in, sizeof(in)));
        OK(GNI_EpPostDataWait(lt.eps[0], UINT32_MAX, &state, &pe, &id));
        CHECK(state == GNI_POST_COMPLETED);
    }
    lt_barrier();
    CHECK(*value == 1);
    lt_end(&lt);
}

/* ---- the model's time ------------------------------------------------------------------------ */

#define ROUNDS 40u
#define MESSAGES 400u
#define BULK (1u << 20)

static double least; /* of one way, in seconds */

static void stamp(uint32_t place)
{
    double now = lt_seconds();

    memcpy(&lt_shared->note[0][place], &now, sizeof(now));
}

static double since(uint32_t place)
{
    double then;

    memcpy(&then, &lt_shared->note[0][place], sizeof(then));
    return lt_seconds() - then;
}

static uint32_t sent; /* messages whose end was not told yet */

static void count_completion(struct lt *lt)
{
    gni_cq_entry_t entry;

    sent -= GNI_CqGetEvent(lt->tx, &entry) == GNI_RC_SUCCESS;
}

static void send(struct lt *lt, uint32_t peer, const void *data, uint32_t bytes)
{
    gni_return_t result;

    sent++;
    while ((result = GNI_SmsgSend(lt->eps[peer], NULL, 0, (void *)(uintptr_t)data, bytes, 0)) ==
           GNI_RC_NOT_DONE)
        count_completion(lt);
    OK(result);
}

static void receive(struct lt *lt, uint32_t peer, void *data, uint32_t bytes)
{
    gni_cq_entry_t entry;
    gni_return_t result;
    void *message;

    while ((result = GNI_SmsgGetNext(lt->eps[peer], &message)) == GNI_RC_NOT_DONE)
        GNI_CqGetEvent(lt->rx, &entry);
    OK(result);
    memcpy(data, message, bytes);
    OK(GNI_SmsgRelease(lt->eps[peer]));
}

/* Of all sizes, there and back. */
static void messages(struct lt *lt)
{
    uint8_t out[1024], in[1024];
    uint32_t round, i;
    double began = lt_seconds();

    for (round = 0; round < ROUNDS; round++) {
        uint32_t bytes = 1 + round * 25;

        for (i = 0; i < bytes; i++)
            out[i] = (uint8_t)(round * 7 + i);
        if (lt_rank == 0)
            send(lt, 1, out, bytes);
        receive(lt, 1 - lt_rank, in, bytes);
        if (lt_rank == 1)
            send(lt, 0, in, bytes);
        CHECK(memcmp(in, out, bytes) == 0);
    }
    CHECK(lt_seconds() - began >= (2 * ROUNDS - 1) * least);
}

/* Long and short ones by turns, as many at a time as there are credits. */
static void in_order(struct lt *lt)
{
    uint32_t i, message[256];

    for (i = 0; i < MESSAGES; i++) {
        message[0] = i;
        if (lt_rank == 0)
            send(lt, 1, message, i % 2 == 0 ? sizeof(message) : sizeof(*message));
        else
            receive(lt, 0, message, sizeof(*message));
        CHECK(message[0] == i);
    }
    lt_barrier();
}

static void post(struct lt *lt, gni_post_type_t type, uint32_t bytes, bool rdma, double time)
{
    gni_post_descriptor_t post = {.type = type, .cq_mode = GNI_CQMODE_GLOBAL_EVENT};
    double began = lt_seconds();

    post.local_addr = (uintptr_t)lt->memory;
    post.local_mem_hndl = lt->handle;
    post.remote_addr = lt->peers[1].address;
    post.remote_mem_hndl = lt->peers[1].handle;
    post.length = bytes;
    post.amo_cmd = GNI_FMA_ATOMIC_FADD;
    OK(lt_post(lt, 1, &post, rdma));
    CHECK(lt_seconds() - began >= time);
}

static void transactions(struct lt *lt)
{
    gni_post_descriptor_t post_of[2], *done;
    double bulk = BULK / 9.87e9; /* aries.nic.bte_rate_MBps */
    gni_cq_entry_t entry;
    double began;
    uint32_t i;

    post(lt, GNI_POST_FMA_PUT, 8, false, 2 * least);
    post(lt, GNI_POST_FMA_GET, 64, false, 2 * least);
    post(lt, GNI_POST_AMO, 8, false, 2 * least);
    post(lt, GNI_POST_RDMA_PUT, BULK, true, 2 * least + bulk);
    post(lt, GNI_POST_RDMA_GET, BULK, true, 2 * least + bulk);
    /* The second one begins when the first has ended; asleep. */
    began = lt_seconds();
    for (i = 0; i < 2; i++) {
        memset(&post_of[i], 0, sizeof(post_of[i]));
        post_of[i].type = GNI_POST_RDMA_PUT;
        post_of[i].cq_mode = GNI_CQMODE_GLOBAL_EVENT;
        post_of[i].rdma_mode = GNI_RDMAMODE_FENCE;
        post_of[i].local_addr = (uintptr_t)lt->memory;
        post_of[i].local_mem_hndl = lt->handle;
        post_of[i].remote_addr = lt->peers[1].address;
        post_of[i].remote_mem_hndl = lt->peers[1].handle;
        post_of[i].length = 64;
        OK(GNI_PostRdma(lt->eps[1], &post_of[i]));
    }
    for (i = 0; i < 2; i++) {
        OK(GNI_CqWaitEvent(lt->tx, UINT64_MAX, &entry));
        OK(GNI_GetCompleted(lt->tx, entry, &done));
        CHECK(done == &post_of[i] && lt_seconds() - began >= (2 * i + 2) * least);
    }
}

/* Visible after one way, also when nobody of the initiator's process calls anything. */
static void visible(struct lt *lt)
{
    volatile uint8_t *value = lt->memory + 8192;
    gni_post_descriptor_t post;

    if (lt_rank == 0) {
        lt->memory[0] = 77;
        usleep(300000); /* tested: its helper sleeps by then */
        stamp(0);
        put(lt, &post, 1);
        while (__atomic_load_n(&lt_shared->note[0][1], __ATOMIC_SEQ_CST) == 0)
            usleep(100);
        CHECK(ended(lt) == 0 && since(0) >= 2 * least);
    } else {
        while (*value != 77)
            usleep(100);
        CHECK(since(0) >= least);
        __atomic_store_n(&lt_shared->note[0][1], 1, __ATOMIC_SEQ_CST);
    }
}

static void datagrams(struct lt *lt)
{
    uint8_t out[8] = "data", in[8] = "";
    gni_post_state_t state;
    uint32_t pe, id;

    lt_barrier();
    stamp(2 + lt_rank);
    lt_barrier();
    OK(GNI_EpPostData(lt->eps[1 - lt_rank], out, sizeof(out), in, sizeof(in)));
    OK(GNI_EpPostDataWait(lt->eps[1 - lt_rank], UINT32_MAX, &state, &pe, &id));
    CHECK(state == GNI_POST_COMPLETED && memcmp(in, out, sizeof(in)) == 0);
    CHECK(since(2) >= least && since(3) >= least);
}

static void paced(void)
{
    struct lt lt;

    lt_start(&lt, 2 * BULK);
    lt_connect(&lt);
    memset(lt_shared->note[lt_rank], 0, sizeof(lt_shared->note[lt_rank]));
    lt_barrier();
    messages(&lt);
    lt_barrier();
    in_order(&lt);
    while (sent > 0)
        count_completion(&lt);
    visible(&lt);
    datagrams(&lt);
    if (lt_rank == 0)
        transactions(&lt);
    lt_end(&lt);
}

int main(int count, char **arguments)
{
    const char *test = count > 1 ? arguments[1] : "";

    lt_stride = 4; /* a router each */
    before = count > 2 ? strtod(arguments[2], NULL) : 0;
    after = count > 3 ? strtod(arguments[3], NULL) : 0;
    if (strcmp(test, "paced") == 0) {
        least = before;
        lt_stride = 12; /* two links */
        return lt_run_there(test, 2, 2, paced);
    }
    if (strcmp(test, "caught") == 0)
        return lt_run_there(test, 2, 2, caught);
    if (strcmp(test, "cut_off") == 0)
        return lt_run_there(test, 2, 2, cut_off);
    return 2;
}
