/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The instances of each node share a message queue; every rank sends to random ranks of other nodes
 * and receives theirs, both at once. Sender, number and content of each message are verified: so
 * nothing may be lost, come twice, or overtake another of the same pair.
 *
 * One rank of each node connects it with the others, as Cray's sample does: the attributes go in
 * datagrams, in pieces of 128 bytes.
 */
#include "support/gni.h"

static const struct workload_arg args[] = {
    {"bytes", ARG_BYTES, "16", "8", "128", NULL,
     "length of a message; from 16 on its latency is measured"},
    {"messages", ARG_COUNT, "1000", "1", "1000000000", NULL, "messages of each rank"},
    {"credits", ARG_COUNT, "64", "1", "65536", NULL,
     "messages in flight between two nodes; an odd number but 1 is rounded up"},
    {"pool", ARG_COUNT, "256", "1", "65536", NULL,
     "messages that others of the node may put aside for a rank"},
    {"blocking", ARG_BOOL, "false", NULL, NULL, NULL,
     "ranks that have sent everything sleep until a message comes"},
    {"software", ARG_TIME, "0", "0", "1ms", NULL,
     "time of software above uGNI, per message and side"},
    {"withdraw", ARG_BOOL, "false", NULL, NULL, NULL,
     "at the end, the first node's connection is released while a sender waits for a credit"},
    {"give_up", ARG_TIME, "20s", "1ms", NULL, NULL, "without any news for so long"},
    {NULL},
};

#define COMPLETIONS_DUE 32 /* completions are polled when so many sends are in flight */
#define BLOCK_MS 1
#define WAITS_PS UINT64_C(5000000000) /* a sender waits by then */
#define AT_ONCE_PS UINT64_C(10000000)

struct head {
    uint64_t mark, sent_at; /* short messages end behind the mark */
};

struct test {
    struct wl_domain domain;
    gni_msgq_handle_t queue;
    uint64_t messages, software, sent, received, expected;
    uint64_t start, random; /* of the choice of peers */
    uint64_t ready_at; /* when the next message could have been sent; the loop itself must not read
                          the clock */
    uint32_t bytes;
    uint32_t *to, *from; /* messages so far, by rank */
    uint32_t *remote, remote_count; /* ranks of other nodes */
    const uint32_t *places; /* of each rank on its node; 0: it connects the node */
    uint8_t *pattern;
    bool withdrawn; /* this node's connection with that of remote[0] */
    int blocking, status;
};

static uint32_t draw(struct test *test)
{
    test->random ^= test->random >> 12;
    test->random ^= test->random << 25;
    test->random ^= test->random >> 27;
    return test->remote[((test->random * 0x2545f4914f6cdd1dull) >> 32) * test->remote_count >> 32];
}

/* A number that identifies sender, receiver and message. */
static uint64_t mark_of(uint32_t from, uint32_t to, uint32_t number)
{
    return (uint64_t)number << 32 | ((from + 1) * 0x9e3779b1u ^ to * 0x85ebca6bu ^ number);
}

/* ---- receiving ------------------------------------------------------------------------------- */

static int receive(uint32_t from, uint32_t pe, void *message, uint8_t tag, void *data)
{
    struct test *test = data;
    struct wl_domain *domain = &test->domain;
    struct head head = {0};

    domain->progress_count++;
    test->received++;
    rank_compute(test->software);
    rank_progress(domain->rank);
    if (from >= domain->size || pe != domain->addresses[from]) {
        test->status = rank_fail(domain->rank, "a message of instance %u at PE %u", from, pe);
        return 0;
    }
    memcpy(&head.mark, message, sizeof(head.mark));
    if (head.mark != mark_of(from, domain->id, test->from[from]) ||
        tag != (uint8_t)test->from[from]) {
        test->status = rank_fail(domain->rank, "message %u of rank %u begins with %#llx",
                                 test->from[from], from, (unsigned long long)head.mark);
        return 0;
    }
    test->from[from]++;
    if (test->bytes < sizeof(head))
        return 1;
    memcpy(&head, message, sizeof(head));
    rank_record_latency(domain->rank, "latency", rank_now() - head.sent_at);
    if (memcmp((uint8_t *)message + sizeof(head), test->pattern + sizeof(head),
               test->bytes - sizeof(head)) == 0)
        return 1;
    test->status =
        rank_fail(domain->rank, "message %u of rank %u is wrong", test->from[from] - 1, from);
    return 0;
}

static int progress(struct test *test)
{
    int sleeps = test->blocking && test->sent == test->messages && test->domain.in_flight == 0;
    gni_return_t rc = GNI_MsgqProgress(test->queue, sleeps ? BLOCK_MS : 0);

    /* ERROR_RESOURCE: credits wait for room in the send queue, which is emptied all the time. */
    if (rc != GNI_RC_SUCCESS && rc != GNI_RC_NOT_DONE && rc != GNI_RC_ERROR_RESOURCE)
        test->status = rank_fail(test->domain.rank, "GNI_MsgqProgress: %s", wl_rc_name(rc));
    return test->status;
}

/* ---- sending --------------------------------------------------------------------------------- */

static void completions(struct test *test)
{
    struct wl_domain *domain = &test->domain;
    gni_cq_entry_t entry;
    gni_return_t rc;

    while (domain->in_flight != 0 && (rc = GNI_CqGetEvent(domain->tx, &entry)) != GNI_RC_NOT_DONE) {
        if (rc ==
            GNI_RC_ERROR_RESOURCE) { /* forced: the events are lost, and with them the count */
            domain->in_flight = 0;
            return;
        }
        if (GNI_CQ_GET_TYPE(entry) != GNI_CQ_EVENT_TYPE_MSGQ) {
            test->status = rank_fail(domain->rank, "an event of type %u among those of sends",
                                     (unsigned)GNI_CQ_GET_TYPE(entry));
            return;
        }
        domain->in_flight--;
        domain->progress_count++;
        if (rc == GNI_RC_TRANSACTION_ERROR) {
            domain->errors++;
            domain->lost++;
        }
    }
}

/* 1: accepted. */
static int send_one(struct test *test, uint32_t to)
{
    struct wl_domain *domain = &test->domain;
    struct head head = {.mark = mark_of(domain->id, to, test->to[to])};
    gni_ep_handle_t ep = wl_domain_ep(domain, to);
    gni_return_t rc;

    if (ep == NULL)
        return test->status = -1;
    if (test->bytes < sizeof(head)) {
        rc = GNI_MsgqSend(test->queue, ep, NULL, 0, &head.mark, test->bytes, to,
                          (uint8_t)test->to[to]);
    } else {
        head.sent_at = test->ready_at;
        rc = GNI_MsgqSend(test->queue, ep, &head, sizeof(head), test->pattern + sizeof(head),
                          test->bytes - sizeof(head), to, (uint8_t)test->to[to]);
    }
    if (rc == GNI_RC_NOT_DONE)
        return 0;
    if (rc == GNI_RC_INVALID_STATE) { /* the connection is broken */
        domain->lost++;
        return 1;
    }
    if (rc != GNI_RC_SUCCESS)
        return test->status =
                   rank_fail(domain->rank, "cannot send to rank %u: %s", to, wl_rc_name(rc));
    domain->in_flight++;
    test->to[to]++;
    return 1;
}

static void traffic(struct test *test)
{
    struct wl_domain *domain = &test->domain;
    uint32_t to = draw(test);
    int accepted;

    test->ready_at = rank_now();
    while ((test->sent < test->messages || test->received < test->expected) && test->status == 0) {
        uint64_t before = test->received;

        accepted = test->sent < test->messages ? send_one(test, to) : 0;
        if (accepted < 0)
            return;
        if (accepted) {
            rank_compute(test->software);
            test->sent++;
            to = draw(test);
            test->ready_at = rank_now();
        }
        progress(test);
        if (domain->in_flight >= COMPLETIONS_DUE || (!accepted && before == test->received))
            completions(test);
        if (!accepted && before == test->received && wl_domain_timed_out(domain))
            return;
    }
    while (domain->in_flight != 0 && test->status == 0 && !wl_domain_timed_out(domain)) {
        progress(test); /* senders that wait need the credits that this returns */
        completions(test);
    }
}

/* ---- setting up ------------------------------------------------------------------------------ */

/* Sends our attributes and receives the peer's, as many pieces as it takes. */
static int trade(struct test *test, uint32_t peer, const gni_msgq_ep_attr_t *mine,
                 gni_msgq_ep_attr_t *theirs, uint32_t bytes)
{
    gni_ep_handle_t ep = wl_domain_ep(&test->domain, peer);
    gni_post_state_t state;
    uint32_t at, pe, id;
    gni_return_t rc;

    if (ep == NULL)
        return -1;
    for (at = 0; at < bytes; at += GNI_DATAGRAM_MAXSIZE) {
        uint32_t left = bytes - at;
        uint16_t piece = (uint16_t)(left < GNI_DATAGRAM_MAXSIZE ? left : GNI_DATAGRAM_MAXSIZE);

        rc = GNI_EpPostData(ep, (uint8_t *)(uintptr_t)mine + at, piece, (uint8_t *)theirs + at,
                            piece);
        do {
            if (rc == GNI_RC_SUCCESS)
                rc = GNI_EpPostDataWait(ep, UINT32_MAX, &state, &pe, &id);
        } while (rc == GNI_RC_SUCCESS && state == GNI_POST_PENDING);
        if (rc != GNI_RC_SUCCESS || state != GNI_POST_COMPLETED)
            return rank_fail(test->domain.rank, "no attributes of rank %u: %s", peer,
                             wl_rc_name(rc));
    }
    return 0;
}

static int connect_node(struct test *test, uint32_t peer)
{
    uint32_t pe = test->domain.addresses[peer], size = 0;
    gni_msgq_ep_attr_t *attrs = calloc(2, sizeof(*attrs));
    gni_return_t rc;
    int status = -1;

    if (attrs == NULL)
        return rank_fail(test->domain.rank, "no memory");
    rc = GNI_MsgqGetConnAttrs(test->queue, pe, &attrs[0], &size);
    /* Every node has as many instances: the attributes are equally long. */
    if (rc == GNI_RC_SUCCESS)
        status = trade(test, peer, &attrs[0], &attrs[1], size);
    if (status == 0)
        rc = GNI_MsgqConnect(test->queue, pe, &attrs[1]);
    free(attrs);
    if (rc != GNI_RC_SUCCESS)
        return rank_fail(test->domain.rank, "cannot connect with the node of rank %u: %s", peer,
                         wl_rc_name(rc));
    return status;
}

/* The first rank of each node is its leader: calls `visit` for those of the other nodes. */
static int each_leader(struct test *test, int (*visit)(struct test *test, uint32_t peer))
{
    uint32_t k;

    if (rank_on_node(test->domain.rank) != 0)
        return 0;
    for (k = 0; k < test->remote_count; k++)
        if (test->places[test->remote[k]] == 0 && visit(test, test->remote[k]) != 0)
            return -1;
    return 0;
}

static int release_node(struct test *test, uint32_t peer)
{
    gni_return_t rc;

    if (test->withdrawn && peer == test->remote[0])
        return 0;
    do {
        rc = GNI_MsgqConnRelease(test->queue, test->domain.addresses[peer]);
    } while (rc == GNI_RC_NOT_DONE);
    return rc == GNI_RC_SUCCESS
               ? 0
               : rank_fail(test->domain.rank, "cannot release a connection: %s", wl_rc_name(rc));
}

/* Finds the ranks on this node and on the other nodes. */
static int find_remote(struct test *test, gni_msgq_attr_t *attrs)
{
    struct rank *rank = test->domain.rank;
    uint32_t size = test->domain.size, place = rank_on_node(rank), peer;

    test->places = rank_exchange(rank, &place, sizeof(place));
    test->remote = calloc(size, sizeof(*test->remote));
    test->to = calloc(size, sizeof(*test->to));
    test->from = calloc(size, sizeof(*test->from));
    test->pattern = malloc(test->bytes);
    if (test->places == NULL || test->remote == NULL || test->to == NULL || test->from == NULL ||
        test->pattern == NULL)
        return rank_fail(rank, "no memory for %u ranks", size);
    wl_pattern_fill(test->pattern, test->bytes, 1);
    for (peer = 0; peer < size; peer++) {
        if (rank_node_of(rank, peer) == rank_node(rank)) {
            attrs->nloc_insts++;
        } else {
            test->remote[test->remote_count++] = peer;
            attrs->num_msgq_eps += test->places[peer] == 0;
        }
    }
    return test->remote_count > 0 ? 0 : rank_fail(rank, "all ranks are on one node");
}

/* Draws the peers as the run will, and exchanges the numbers of messages with the others. */
static int expect(struct test *test)
{
    uint32_t size = test->domain.size, peer;
    uint32_t *mine = calloc(size, sizeof(*mine));
    const uint32_t *all;
    uint64_t i;

    if (mine == NULL)
        return rank_fail(test->domain.rank, "no memory for %u ranks", size);
    test->start = test->random = rank_random(test->domain.rank) | 1;
    for (i = 0; i < test->messages; i++)
        mine[draw(test)]++;
    test->random = test->start;
    all = rank_exchange(test->domain.rank, mine, size * sizeof(*mine));
    free(mine);
    for (peer = 0; all != NULL && peer < size; peer++)
        test->expected += all[(size_t)peer * size + test->domain.id];
    return all != NULL ? 0 : -1;
}

static int open_queue(struct test *test)
{
    struct rank *rank = test->domain.rank;
    uint64_t credits = rank_arg_count(rank, "credits");
    gni_msgq_attr_t attrs = {
        .max_msg_sz = test->bytes,
        .smsg_q_sz = (uint32_t)(credits > 1 ? (credits + 1) & ~UINT64_C(1) : credits),
        .rcv_pool_sz = (uint32_t)rank_arg_count(rank, "pool"),
        .modes = test->blocking ? GNI_MSGQ_MODE_BLOCKING : 0,
    };
    gni_return_t rc;

    if (find_remote(test, &attrs) != 0)
        return -1;
    attrs.rcv_cq_sz = attrs.num_msgq_eps * attrs.smsg_q_sz;
    rc = GNI_MsgqInit(test->domain.nic, receive, test, test->domain.tx, &attrs, &test->queue);
    if (rc != GNI_RC_SUCCESS)
        return rank_fail(rank, "no shared message queue: %s", wl_rc_name(rc));
    rank_barrier(rank);
    if (each_leader(test, connect_node) != 0)
        return -1;
    rank_barrier(rank);
    return 0;
}

/* Sends until there are no credits, and on until the connection is not there any more. */
static int send_into_withdrawal(struct test *test)
{
    gni_ep_handle_t ep = wl_domain_ep(&test->domain, test->remote[0]);
    gni_return_t rc;

    if (ep == NULL)
        return -1;
    do {
        rc = GNI_MsgqSend(test->queue, ep, NULL, 0, test->pattern, test->bytes, 0, 0);
        test->domain.in_flight += rc == GNI_RC_SUCCESS;
    } while (rc == GNI_RC_SUCCESS);
    completions(test);
    while (test->domain.in_flight != 0 && test->status == 0)
        completions(test);
    while (rc == GNI_RC_NOT_DONE)
        rc = GNI_MsgqSend(test->queue, ep, NULL, 0, test->pattern, test->bytes, 0, 0);
    return rc == GNI_RC_NO_MATCH
               ? 0
               : rank_fail(test->domain.rank, "a connection that was released: %s", wl_rc_name(rc));
}

/*
 * The other node receives nothing meanwhile. What waits for a credit learns at once that it will
 * not come: nothing else happens on this node that could wake it.
 */
static int withdraw(struct test *test)
{
    struct rank *rank = test->domain.rank;
    bool first = rank_node(rank) == rank_node_of(rank, 0);
    uint32_t place = rank_on_node(rank);
    uint64_t now = 0;
    const uint64_t *all;
    int status = 0;

    rank_barrier(rank);
    if (first && place == 0) {
        rank_compute(WAITS_PS);
        status = release_node(test, test->remote[0]);
        now = rank_now();
        rank_compute(WAITS_PS);
        test->withdrawn = true;
    } else if (first && place == 1) {
        status = send_into_withdrawal(test);
        now = rank_now();
    }
    all = rank_exchange(rank, &now, sizeof(now));
    if (status == 0 && first && place == 0 && (all == NULL || all[1] > now + AT_ONCE_PS))
        status = rank_fail(rank, "a sender is not told that its connection was released");
    return status;
}

static void close_queue(struct test *test)
{
    if (test->queue == NULL)
        return;
    each_leader(test, release_node);
    rank_barrier(test->domain.rank);
    while (GNI_MsgqRelease(test->queue) == GNI_RC_NOT_DONE)
        ;
}

static int run(struct rank *rank)
{
    struct test test = {
        .bytes = (uint32_t)rank_arg_count(rank, "bytes"),
        .messages = rank_arg_count(rank, "messages"),
        .software = rank_arg_ps(rank, "software"),
        .blocking = rank_arg_bool(rank, "blocking"),
    };
    uint64_t began;

    test.status = wl_domain_open(&test.domain, rank, 1024, 0);
    if (test.status == 0)
        test.status = open_queue(&test);
    if (test.status == 0)
        test.status = expect(&test);
    if (test.status == 0) {
        wl_domain_set_timeout(&test.domain, rank_arg_ps(rank, "give_up"));
        began = rank_now();
        traffic(&test);
        rank_record_rate(rank, "rate", test.received, rank_now() - began);
    }
    if (wl_domain_finish(&test.domain, test.expected - test.received) != 0)
        test.status = -1;
    if (test.status == 0 && rank_arg_bool(rank, "withdraw"))
        test.status = withdraw(&test);
    close_queue(&test);
    wl_domain_close(&test.domain);
    free(test.remote);
    free(test.to);
    free(test.from);
    free(test.pattern);
    return test.status != 0;
}

static const struct workload msgq_rate = {
    .name = "msgq_rate",
    .meaning = "ranks send to random ranks of other nodes through message queues shared per node",
    .metrics = "rate (1/s, received per rank), latency (ps, one way with the wait for a credit)",
    .args = args,
    .ranks_min = 2,
    .main = run,
};
WORKLOAD(msgq_rate)
