/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A hostile console of lnet_selftest.
 *
 *   lst_hostile NID SEED ROUNDS   sends messages to the test node there whose fields are random, of
 *                                 the wrong length or for the wrong service, and offers less bulk
 *                                 memory than it says. Sessions begin and end meanwhile. Prints how
 *                                 many messages it sent and how many replies came
 *   lst_hostile NID hungry        runs a batch of 1 GiB twice; prints the status of each reply
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libcfs/libcfs.h"
#include "lnet/api.h"
#include "lnet/live.h"
#include "wire.h"

enum { BULK = 65536, IN_FLIGHT = 64, ANSWER = 4, LIMIT_S = 60 };

static uint64_t state;
static _Atomic long sent, replies, answers, left;
static uint8_t bulk[BULK], answer[BULK];

static uint32_t chance(uint32_t below)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state >> 33) % below;
}

static void need(int rc, const char *what)
{
    if (rc == 0)
        return;
    fprintf(stderr, "%s: %s\n", what, strerror(-rc));
    exit(1);
}

static void on_event(struct lnet_event *event)
{
    if (event->type == LNET_EVENT_PUT)
        replies++;
    if (event->type == LNET_EVENT_PUT && event->match_bits == ANSWER)
        answers++;
    if (event->type == LNET_EVENT_SEND && event->unlinked)
        left++;
}

static uint32_t word(void)
{
    static const uint32_t words[] = {0,     1,       2,         3,          4,          7,
                                     4096,  65535,   65536,     1u << 20,   0x100001u,  87381,
                                     87382, 0x55556, 0x7ffffff, 0x7fffffff, 0x80000000, UINT32_MAX};

    return chance(3) == 0 ? (uint32_t)state : words[chance(sizeof(words) / sizeof(words[0]))];
}

/* A test that a node takes, but for one field. */
static void test(struct lst_message *message)
{
    message->test.batch = chance(3);
    message->test.bulk_bits = 1 + chance(2);
    message->test.service = chance(2) != 0 ? LST_SERVICE_BRW : LST_SERVICE_PING;
    message->test.loop = 1 + chance(3);
    message->test.concurrency = 1 + chance(8);
    message->test.is_client = chance(4) != 0;
    message->test.stop_on_error = (uint8_t)chance(2);
    message->test.targets = 1 + chance(4);
    message->test.operation = chance(4);
    message->test.bytes = 1 + chance(BULK);
    message->test.check = chance(5);
    message->test.offset = 8 * chance(512);
    switch (chance(8)) {
    case 0:
        message->test.service = word();
        break;
    case 1:
        message->test.loop = word();
        message->test.is_client = 0;
        break;
    case 2:
        message->test.concurrency = chance(2) != 0 ? 0 : 1025 + chance(1u << 30);
        break;
    case 3: /* the node wants more than there is, or refuses */
        message->test.targets = chance(2) != 0 ? 6000 : 87382 + chance(1u << 30);
        break;
    case 4:
        message->test.bytes = chance(2) != 0 ? 0 : (1u << 20) + 1 + chance(1u << 30);
        break;
    case 5:
        message->test.offset = word();
        break;
    default:
        break;
    }
}

static uint32_t make(struct lst_message *message, const struct lst_session_id *session)
{
    /* None without a buffer at the node: a message for it waits there, and those behind it on the
     * same connection with it. */
    static const uint32_t services[] = {0, 1, 2, 3, 4, 4, 4, 5, 6, 11, 12};
    static const uint32_t types[] = {
        [0] = LST_TYPE_DEBUG, [1] = LST_TYPE_MAKE_SESSION, [2] = LST_TYPE_REMOVE_SESSION,
        [3] = LST_TYPE_BATCH, [4] = LST_TYPE_TEST,         [5] = LST_TYPE_STAT,
        [6] = LST_TYPE_JOIN,  [11] = LST_TYPE_BRW,         [12] = LST_TYPE_PING,
    };
    uint32_t service = services[chance(sizeof(services) / sizeof(services[0]))], i;

    for (i = 0; i < sizeof(message->room); i++)
        message->room[i] = (uint8_t)chance(256);
    message->magic = LST_MAGIC;
    message->version = LST_VERSION;
    message->type = chance(20) == 0 ? word() : types[service];
    message->features = chance(4) == 0 ? word() : 1;
    message->reply_bits = 1 + chance(3); /* 3: nobody waits for the reply */
    switch (service) {
    case LST_SERVICE_MAKE_SESSION:
        message->make_session.session = *session;
        message->make_session.session.stamp += chance(2);
        message->make_session.force = chance(2);
        break;
    case LST_SERVICE_REMOVE_SESSION:
        message->remove_session.session = *session;
        message->remove_session.session.stamp += chance(2);
        break;
    case LST_SERVICE_BATCH:
        message->batch.session = *session;
        message->batch.batch = chance(4);
        message->batch.operation = chance(5);
        break;
    case LST_SERVICE_TEST:
        message->test.session = *session;
        test(message);
        break;
    case LST_SERVICE_STAT:
        message->stat.session = *session;
        break;
    case LST_SERVICE_BRW:
        /* Data that nobody offers the node awaits for a while, and its buffer with it. */
        message->brw.bulk_bits = chance(500) == 0 ? 3 : 1 + chance(2);
        message->brw.operation = chance(4);
        message->brw.bytes = chance(2) != 0 ? 1 + chance(2 * BULK) : word();
        message->brw.check = chance(5);
        break;
    default:
        break;
    }
    if (chance(20) == 0)
        lst_message_swap(message);
    if (chance(40) == 0)
        message->magic = word();
    return service;
}

/* Memory for replies and for bulk data in both directions: it truncates, so a node may get fewer
 * bytes than it asks for. What has the bits 1 takes anything, 2 is small. */
static void offer(struct lnet_handle_eq eq, uint64_t bits, uint8_t *memory, uint32_t bytes)
{
    struct lnet_process_id any = {LNET_NID_ANY, LNET_PID_ANY};
    struct lnet_md md = {.start = memory,
                         .length = bytes,
                         .threshold = LNET_MD_THRESH_INF,
                         .options = LNET_MD_OP_PUT | LNET_MD_OP_GET | LNET_MD_TRUNCATE |
                                    LNET_MD_MANAGE_REMOTE,
                         .eq_handle = eq};
    struct lnet_handle_me me;
    struct lnet_handle_md handle;

    need(LNetMEAttach(LST_RDMA_PORTAL, any, bits, 0, LNET_UNLINK, LNET_INS_AFTER, &me),
         "LNetMEAttach");
    need(LNetMDAttach(me, md, LNET_UNLINK, &handle), "LNetMDAttach");
}

static void send_one(struct lnet_handle_eq eq, struct lnet_process_id to, struct lst_message *from,
                     uint32_t service, uint32_t bytes)
{
    struct lnet_md md = {.start = from, .length = bytes, .threshold = 1, .eq_handle = eq};
    struct lnet_handle_md handle;
    uint32_t portal = service < LST_FRAMEWORK_SERVICES ? LST_FRAMEWORK_PORTAL : LST_TEST_PORTAL;

    while (left <= 0)
        usleep(100);
    left--;
    need(LNetMDBind(md, LNET_UNLINK, &handle), "LNetMDBind");
    need(LNetPut(LNET_NID_ANY, handle, LNET_NOACK_REQ, to, portal, service, 0, 0), "LNetPut");
    sent++;
}

/* Sends a request and waits for the reply; its status. */
static uint32_t ask(struct lnet_handle_eq eq, struct lnet_process_id to,
                    struct lst_message *request, uint32_t service, uint32_t type)
{
    long before = answers;
    struct lst_message reply;

    request->magic = LST_MAGIC;
    request->version = LST_VERSION;
    request->type = type;
    request->features = LST_FEATURE_BYTES;
    request->reply_bits = ANSWER;
    send_one(eq, to, request, service, sizeof(*request));
    while (answers == before)
        usleep(1000);
    memcpy(&reply, answer, sizeof(reply));
    return reply.status;
}

static void hungry(struct lnet_handle_eq eq, struct lnet_process_id to)
{
    const struct lst_session_id session = {.nid = 2, .stamp = 2};
    static struct lst_message request[4];

    request[0].make_session.session = session;
    request[0].make_session.force = 1;
    printf("%u\n", ask(eq, to, &request[0], LST_SERVICE_MAKE_SESSION, LST_TYPE_MAKE_SESSION));
    request[1].test.session = session;
    request[1].test.bulk_bits = 1;
    request[1].test.service = LST_SERVICE_BRW;
    request[1].test.loop = 1;
    request[1].test.concurrency = 1024;
    request[1].test.is_client = 1;
    request[1].test.targets = 1;
    request[1].test.operation = LST_WRITE;
    request[1].test.bytes = 1u << 20;
    request[1].test.check = LST_CHECK_NONE;
    printf("%u\n", ask(eq, to, &request[1], LST_SERVICE_TEST, LST_TYPE_TEST));
    request[2].batch.session = request[3].batch.session = session;
    request[2].batch.operation = request[3].batch.operation = LST_BATCH_RUN;
    printf("%u\n", ask(eq, to, &request[2], LST_SERVICE_BATCH, LST_TYPE_BATCH));
    printf("%u\n", ask(eq, to, &request[3], LST_SERVICE_BATCH, LST_TYPE_BATCH));
}

static void random_messages(struct lnet_handle_eq eq, struct lnet_process_id to, long rounds)
{
    static struct lst_message message[IN_FLIGHT + 1];
    static struct lst_message ping;
    const struct lst_session_id session = {.nid = 1, .stamp = 1};
    long i;

    for (i = 0; i < rounds; i++) {
        struct lst_message *next = &message[i % (IN_FLIGHT + 1)];
        uint32_t service = make(next, &session),
                 bytes = chance(20) == 0 ? chance(sizeof(*next)) : (uint32_t)sizeof(*next);

        send_one(eq, to, next, service, bytes);
        if (i % IN_FLIGHT != 0)
            continue;
        ping.ping.magic = LST_PING_MAGIC;
        if (ask(eq, to, &ping, LST_SERVICE_PING, LST_TYPE_PING) != 0)
            need(-EBADMSG, "ping"); /* the node has taken all messages before it */
    }
    while (left < IN_FLIGHT)
        usleep(1000);
    printf("%ld messages, %ld replies\n", (long)sent, (long)replies);
}

int main(int argc, char **argv)
{
    struct lnet_process_id to = {.pid = LNET_PID_LUSTRE}, self;
    struct lnet_handle_eq eq;
    long rounds = argc == 4 ? atol(argv[3]) : 0, i;

    if (rounds == 0 && (argc != 3 || strcmp(argv[2], "hungry") != 0))
        return 2;
    alarm(LIMIT_S);
    to.nid = libcfs_str2nid(argv[1]);
    state = argc == 4 ? strtoull(argv[2], NULL, 10) : 0;
    need(LNetNIInit(LNET_PID_LUSTRE) < 0 ? -ENETDOWN : 0, "LNetNIInit");
    need(LNetEQAlloc(0, on_event, &eq), "LNetEQAlloc");
    need(LNetGetId(1, &self), "LNetGetId");
    for (i = 0; i < BULK; i++)
        bulk[i] = (uint8_t)i;
    for (i = 0; i + 12 <= BULK / 2; i += 12) { /* as targets: this process and the node itself */
        memcpy(bulk + i, i % 24 != 0 ? &self.nid : &to.nid, sizeof(self.nid));
        memcpy(bulk + i + 8, &to.pid, sizeof(to.pid));
    }
    offer(eq, 1, bulk, BULK);
    offer(eq, 2, bulk, 100);
    offer(eq, ANSWER, answer, BULK);
    left = IN_FLIGHT;
    if (argc == 4)
        random_messages(eq, to, rounds);
    else
        hungry(eq, to);
    LNetNIFini();
    lnet_live_stop();
    return 0;
}
