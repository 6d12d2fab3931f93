/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The driver of the tests: like a socket, it copies a message when it is sent, and delivers it
 * after a fixed time, in order. */
#include "wire.h"

struct wire wire;
static LIST_HEAD(nis); /* struct end */
static LIST_HEAD(moving); /* struct transit */
static LIST_HEAD(incomplete); /* struct transit without payload, for wire_done */
static LIST_HEAD(arriving); /* struct transit */

struct end {
    struct list_head on_wire;
    struct lnet_ni *ni;
};

struct transit {
    struct list_head on_wire;
    struct sim_event arrive;
    struct lnet_hdr header;
    lnet_nid_t from, to;
    struct lnet_msg *msg; /* of the sender, until it is done */
    struct lnet_node *sender;
    bool held;
    bool fails;
    int status;
    enum lnet_msg_hstatus health;
    struct lnet_msg *at_receiver; /* while it arrives */
    struct lnet_node *receiver;
    struct lnet_fragments place;
    uint32_t offset, bytes;
    uint8_t payload[];
};

static struct lnet_ni *find(lnet_nid_t nid)
{
    struct end *end;

    list_for_each_entry (end, &nis, on_wire) {
        if (end->ni->nid == nid)
            return end->ni;
    }
    return NULL;
}

static void sender_done(struct transit *transit, int status, enum lnet_msg_hstatus health)
{
    struct lnet_msg *msg = transit->msg;

    if (msg == NULL)
        return;

    transit->msg = NULL;
    lnet_host_lock(transit->sender);
    msg->health_status = health;
    lnet_finalize(msg, status);
    lnet_host_unlock(transit->sender);
}

/* The message is on its way, but its sender waits for wire_done. */
static void complete_later(struct transit *transit)
{
    struct transit *later;

    if (transit->msg == NULL)
        return;
    later = calloc(1, sizeof(*later));
    later->msg = transit->msg;
    later->sender = transit->sender;
    transit->msg = NULL;
    list_add_tail(&later->on_wire, &incomplete);
}

void wire_done(void)
{
    struct transit *transit, *next;

    list_for_each_entry_safe (transit, next, &incomplete, on_wire) {
        list_del(&transit->on_wire);
        sender_done(transit, 0, LNET_MSG_STATUS_OK);
        free(transit);
    }
}

static void arrive(struct sim_event *event)
{
    struct transit *transit = sim_container_of(event, struct transit, arrive);
    struct lnet_ni *ni = find(transit->to);
    int rc;

    list_del(&transit->on_wire);
    if (transit->fails || (ni == NULL && !wire.swallow)) {
        sender_done(transit, transit->fails ? transit->status : -EHOSTUNREACH,
                    transit->fails ? transit->health : LNET_MSG_STATUS_REMOTE_DROPPED);
        free(transit);
        return;
    }
    if (wire.hold_done)
        complete_later(transit);
    sender_done(transit, 0, LNET_MSG_STATUS_OK);
    if (wire.swallow || ni == NULL) {
        lnet_records_lost(transit->sender, transit->to);
        free(transit);
        return;
    }
    lnet_host_lock(ni->node);
    rc = lnet_parse(ni, &transit->header, transit->from, transit, false);
    lnet_host_unlock(ni->node);
    if (rc < 0) {
        wire.protocol_errors++;
        free(transit);
    }
}

static void start(struct transit *transit)
{
    transit->held = false;
    transit->arrive.fire = arrive;
    sim_event_schedule(&transit->arrive, sim_now() + wire.latency);
}

static int wire_send(struct lnet_ni *ni, void *in, struct lnet_msg *msg)
{
    struct transit *transit;

    (void)in;
    if (wire.send_error != 0)
        return wire.send_error;
    if (lnet_drop_for_health(ni, msg)) {
        wire.closed++;
        lnet_finalize(msg, -EINVAL);
        return 0;
    }
    transit = malloc(sizeof(*transit) + msg->payload_length);
    memset(transit, 0, sizeof(*transit));
    transit->header = msg->header;
    transit->from = ni->nid;
    transit->to = msg->next_hop;
    transit->msg = msg;
    transit->sender = ni->node;
    if (msg->payload_length > 0)
        lnet_copy_from_fragments(transit->payload, &msg->payload, msg->payload_offset,
                                 msg->payload_length);
    list_add_tail(&transit->on_wire, &moving);
    wire.sent++;
    if (wire.fail > 0 && (!wire.fail_only_puts || msg->header.type == LNET_MSG_PUT)) {
        wire.fail--;
        transit->fails = true;
        transit->status = wire.fail_status;
        transit->health = wire.fail_health;
    }
    if (wire.hold) {
        transit->held = true;
        wire.held++;
    } else {
        start(transit);
    }
    return 0;
}

void wire_release(unsigned count)
{
    struct transit *transit, *next;

    list_for_each_entry_safe (transit, next, &moving, on_wire) {
        if (transit->held && count > 0) {
            count--;
            wire.held--;
            start(transit);
        }
    }
}

void wire_release_last(unsigned count)
{
    struct transit *transit;
    struct list_head *at;

    for (at = moving.prev; at != &moving && count > 0; at = at->prev) {
        transit = list_entry(at, struct transit, on_wire);
        if (transit->held) {
            count--;
            wire.held--;
            start(transit);
        }
    }
}

void wire_fail_held(unsigned count, int status, enum lnet_msg_hstatus health)
{
    struct transit *transit, *next;

    list_for_each_entry_safe (transit, next, &moving, on_wire) {
        if (transit->held && count > 0) {
            count--;
            wire.held--;
            transit->fails = true;
            transit->status = status;
            transit->health = health;
            start(transit);
        }
    }
}

static int wire_receive(struct lnet_ni *ni, void *in, struct lnet_msg *msg, bool delayed,
                        const struct lnet_fragments *to, uint32_t offset, uint32_t mlen,
                        uint32_t rlen)
{
    struct transit *transit = in;

    (void)delayed;
    assert_true(mlen <= rlen);
    if (wire.hold_received && msg != NULL) {
        transit->at_receiver = msg;
        transit->receiver = ni->node;
        if (mlen > 0)
            transit->place = *to;
        transit->offset = offset;
        transit->bytes = mlen;
        list_add_tail(&transit->on_wire, &arriving);
        wire.receiving++;
        return 0;
    }
    if (mlen > 0)
        lnet_copy_to_fragments(to, offset, transit->payload, mlen);
    free(transit);
    if (msg != NULL)
        lnet_finalize(msg, 0);
    return 0;
}

void wire_received(unsigned n, int status)
{
    struct list_head *at = arriving.next;
    struct transit *transit;

    while (n-- > 0)
        at = at->next;
    assert_ptr_not_equal(at, &arriving);
    transit = list_entry(at, struct transit, on_wire);
    list_del(&transit->on_wire);
    wire.receiving--;
    if (transit->bytes > 0 && status == 0)
        lnet_copy_to_fragments(&transit->place, transit->offset, transit->payload, transit->bytes);
    lnet_host_lock(transit->receiver);
    lnet_finalize(transit->at_receiver, status);
    lnet_host_unlock(transit->receiver);
    free(transit);
}

static int wire_eager(struct lnet_ni *ni, void *in, struct lnet_msg *msg, void **new_in)
{
    (void)ni;
    (void)msg;
    wire.eager_copies++;
    *new_in = in;
    return 0;
}

static int wire_startup(struct lnet_ni *ni)
{
    struct end *end;

    if (wire.startup_error != 0)
        return wire.startup_error;
    end = malloc(sizeof(*end));
    ni->nid = LNET_MKNID(ni->net->id, ni->interface.address);
    end->ni = ni;
    ni->driver = end;
    list_add_tail(&end->on_wire, &nis);
    return 0;
}

static void wire_shutdown(struct lnet_ni *ni)
{
    struct end *end = ni->driver;
    struct transit *transit, *next;

    list_for_each_entry_safe (transit, next, &moving, on_wire) {
        struct lnet_msg *msg = transit->msg;

        if (msg == NULL || msg->tx_ni != ni)
            continue;
        transit->msg = NULL; /* a held one has not left, the others arrive */
        lnet_finalize(msg, transit->held ? -ESHUTDOWN : 0);
        if (transit->held) {
            list_del(&transit->on_wire);
            wire.held--;
            free(transit);
        }
    }
    list_del(&end->on_wire);
    free(end);
}

#define DRIVER(number, text, module_name, tx, peer, timeout)                          \
    {                                                                                 \
        .type = (number), .name = (text), .module = (module_name), .credits = (tx),   \
        .peer_credits = (peer), .peer_timeout_s = (timeout), .startup = wire_startup, \
        .shutdown = wire_shutdown, .send = wire_send, .receive = wire_receive,        \
    }
static const struct lnet_lnd tcp_driver = DRIVER(SOCKLND, "tcp", "ksocklnd", 256, 8, 180);
static const struct lnet_lnd o2ib_driver = DRIVER(O2IBLND, "o2ib", "ko2iblnd", 256, 8, 180);
static struct lnet_lnd gni_driver = DRIVER(GNILND, "gni", "kgnilnd", 256, 16, -1);

void wire_open(void)
{
    wire = (struct wire){.latency = SIM_US};
    gni_driver.eager_receive = wire_eager;
    lnet_lnd_register(&tcp_driver);
    lnet_lnd_register(&o2ib_driver);
    lnet_lnd_register(&gni_driver);
}

void wire_close(void)
{
    while (!list_empty(&moving)) {
        struct transit *transit = list_first_entry(&moving, struct transit, on_wire);

        list_del(&transit->on_wire);
        free(transit);
    }
}

int wire_inject(lnet_nid_t to, const struct lnet_hdr *header, lnet_nid_t from)
{
    struct transit *transit = calloc(1, sizeof(*transit) + header->payload_length);
    struct lnet_ni *ni = find(to);
    int rc;

    assert_non_null(ni);
    transit->header = *header;
    lnet_host_lock(ni->node);
    rc = lnet_parse(ni, header, from, transit, false);
    lnet_host_unlock(ni->node);
    if (rc < 0) {
        wire.protocol_errors++;
        free(transit);
    }
    return rc;
}

/* Its driver needs no network. */
void wire_interface(struct lnet_interface *interface, unsigned node)
{
    (void)interface, (void)node;
}
