/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two processes exchange PUTs and GETs of all sizes and check every byte. Parameters are in
 * LNET_OPTIONS.
 *
 *   lnet_exchange serve           has memory for PUT and GET until standard input ends; prints
 * "ready" lnet_exchange run NID [N]     N rounds (1) with the server; prints how many messages it
 * sent
 *
 * Only the public interface of liblnet is used.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lnet/api.h"
#include "lnet/live.h"

#define PORTAL 40
#define BITS_PUT 1
#define BITS_GET 2
#define MIB (1u << 20)
#define TIMEOUT_MS 60000

static const uint32_t sizes[] = {0,     1,      7,      8,      100,     927,     928,
                                 1024,  4095,   4096,   4097,   16384,   65535,   65536,
                                 65537, 100000, 262144, 524289, 1000000, MIB - 1, MIB};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static uint8_t *memory(void)
{
    uint8_t *bytes = aligned_alloc(PAGE_SIZE, MIB);

    if (bytes == NULL)
        abort();
    return bytes;
}

static void fill(uint8_t *bytes, uint32_t length, uint32_t seed)
{
    uint32_t i;

    for (i = 0; i < length; i++)
        bytes[i] = (uint8_t)(i * 31 + (i >> 8) * 17 + (i >> 16) * 5 + seed);
}

static void check(const uint8_t *bytes, uint32_t length, uint32_t seed, const char *what)
{
    uint32_t i;

    for (i = 0; i < length; i++)
        if (bytes[i] != (uint8_t)(i * 31 + (i >> 8) * 17 + (i >> 16) * 5 + seed)) {
            fprintf(stderr, "%s: byte %u of %u is wrong\n", what, i, length);
            exit(1);
        }
}

static void need(int condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "failed: %s\n", what);
    exit(1);
}

static void attach(struct lnet_handle_eq eq, uint64_t bits, uint8_t *bytes, uint32_t options)
{
    struct lnet_process_id any = {LNET_NID_ANY, LNET_PID_ANY};
    struct lnet_md md = {.start = bytes,
                         .length = MIB,
                         .threshold = LNET_MD_THRESH_INF,
                         .options = options | LNET_MD_MANAGE_REMOTE,
                         .eq_handle = eq};
    struct lnet_handle_me me;
    struct lnet_handle_md handle;

    need(LNetMEAttach(PORTAL, any, bits, 0, LNET_UNLINK, LNET_INS_AFTER, &me) == 0, "LNetMEAttach");
    need(LNetMDAttach(me, md, LNET_UNLINK, &handle) == 0, "LNetMDAttach");
}

static _Atomic int ended;

static void *until_input_ends(void *argument)
{
    char byte;

    (void)argument;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    ended = 1;
    return NULL;
}

static int serve(void)
{
    struct lnet_handle_eq eq;
    struct lnet_event event;
    uint8_t *bytes = memory();
    pthread_t thread;
    int which;

    need(LNetNIInit(LNET_PID_LUSTRE) == 0, "LNetNIInit");
    need(LNetEQAlloc(1024, LNET_EQ_HANDLER_NONE, &eq) == 0, "LNetEQAlloc");
    attach(eq, BITS_PUT, bytes, LNET_MD_OP_PUT);
    attach(eq, BITS_GET, bytes, LNET_MD_OP_GET);
    printf("ready\n");
    fflush(stdout);
    pthread_create(&thread, NULL, until_input_ends, NULL);
    while (!ended) {
        /* A hostile peer's message may fail. */
        if (LNetEQPoll(&eq, 1, 100, &event, &which) == 1 && event.status != 0)
            fprintf(stderr, "an event failed: %s\n", strerror(-event.status));
    }
    pthread_join(thread, NULL);
    LNetNIFini();
    lnet_live_stop();
    free(bytes);
    printf("served\n");
    return 0;
}

static struct lnet_handle_md bind_md(struct lnet_handle_eq eq, uint8_t *bytes, uint32_t length)
{
    struct lnet_md md = {.start = bytes, .length = length, .threshold = 2, .eq_handle = eq};
    struct lnet_handle_md handle;

    need(LNetMDBind(md, LNET_UNLINK, &handle) == 0, "LNetMDBind");
    return handle;
}

/* Waits for both events of an operation. */
static void wait_both(struct lnet_handle_eq eq, enum lnet_event_kind second, uint32_t length)
{
    struct lnet_event event;
    int i, which;

    for (i = 0; i < 2; i++) {
        need(LNetEQPoll(&eq, 1, TIMEOUT_MS, &event, &which) == 1, "an event in time");
        if (event.status != 0)
            fprintf(stderr, "event %d: %s\n", event.type, strerror(-event.status));
        need(event.status == 0, "event of an operation");
        need(event.type == LNET_EVENT_SEND || event.type == second, "kind of event");
        if (event.type == second)
            need(event.mlength == length, "length of an answer");
    }
}

static int run(const char *text, unsigned rounds)
{
    struct lnet_process_id target = {libcfs_str2nid(text), LNET_PID_LUSTRE};
    struct lnet_handle_eq eq;
    uint8_t *out = memory(), *in = memory();
    unsigned round, messages = 0;
    uint32_t i;

    need(target.nid != LNET_NID_ANY, "a NID");
    need(LNetNIInit(LNET_PID_LUSTRE) == 0, "LNetNIInit");
    need(LNetEQAlloc(64, LNET_EQ_HANDLER_NONE, &eq) == 0, "LNetEQAlloc");
    if (getenv("LNET_EXCHANGE_PCAP") != NULL) {
        char *error = NULL;

        need(lnet_live_capture(getenv("LNET_EXCHANGE_PCAP"), &error), "lnet_live_capture");
    }
    for (round = 0; round < rounds; round++) {
        for (i = 0; i < SIZES; i++) {
            uint32_t seed = round * 3 + i;

            fill(out, sizes[i], seed & 0xff);
            need(LNetPut(LNET_NID_ANY, bind_md(eq, out, sizes[i]), LNET_ACK_REQ, target, PORTAL,
                         BITS_PUT, 0, seed & 0xff) == 0,
                 "LNetPut");
            wait_both(eq, LNET_EVENT_ACK, sizes[i]);
            memset(in, 0, MIB);
            need(LNetGet(LNET_NID_ANY, bind_md(eq, in, sizes[i]), target, PORTAL, BITS_GET, 0,
                         false) == 0,
                 "LNetGet");
            wait_both(eq, LNET_EVENT_REPLY, sizes[i]);
            check(in, sizes[i], seed & 0xff, "what was PUT and came back by GET");
            messages += 2;
        }
    }
    need(LNetEQFree(eq) == 0, "LNetEQFree");
    LNetNIFini();
    {
        char *error = NULL;

        need(lnet_live_capture_end(&error), "lnet_live_capture_end");
    }
    lnet_live_stop();
    free(out);
    free(in);
    printf("%u messages\n", messages);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "serve") == 0)
        return serve();
    if (argc >= 3 && strcmp(argv[1], "run") == 0)
        return run(argv[2], argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 1);
    fprintf(stderr, "usage: lnet_exchange serve|run NID [ROUNDS]\n");
    return 2;
}
