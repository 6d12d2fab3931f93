/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random sequences of calls on four nodes (C is a router between A, B on tcp and D on o2ib), with
 * failing and vanishing messages, rules, delayed messages, and nodes that stop and start. Whatever
 * happens: each descriptor has exactly one event that says unlinked, and it is the last; at the end
 * all credits are back, no message is left, and the ledger balances.
 */
#include "sequence.h"

#include "engine/random.h"
#include "world.h"

#define DESCRIPTORS_MAX 20000

struct tracked {
    unsigned node;
    bool finished;
    bool attached;
    struct lnet_handle_md handle;
};

static struct tracked tracked[DESCRIPTORS_MAX];
static unsigned tracked_count;
static struct sim_random dice;
static struct lnet_handle_eq queues[4];
static char memory[4096], data[4096];
static uint64_t seed;
static const uint8_t *input; /* decides instead of the dice; NULL: it does not */
static size_t input_left;

struct sequence_counts sequence_counts;

static uint32_t roll(uint32_t sides)
{
    uint32_t value = 0, left = sides;

    if (input == NULL)
        return (uint32_t)sim_random_below(&dice, sides);
    while (left > 1 && input_left > 0) {
        value = value << 8 | *input++;
        input_left--;
        left = (left + 255) / 256;
    }
    return value % sides;
}

static void on_event(struct lnet_event *event)
{
    struct tracked *mine = event->md.user_ptr;

    if (mine->finished)
        fail_msg("seed %lu: descriptor %u has an event after its last one", (unsigned long)seed,
                 (unsigned)(mine - tracked));
    mine->finished = event->unlinked != 0;
    sequence_counts.failures += event->status != 0;
    sequence_counts.unlinks += event->type == LNET_EVENT_UNLINK;
}

static lnet_nid_t nid_of(unsigned node)
{
    if (node == D)
        return o2ib(D);

    return roll(12) == 0 ? LNET_NID_LO_0 : tcp(node);
}

static bool running(unsigned node)
{
    return lnet_node_running(lnet_of(node));
}

static struct tracked *new_tracked(unsigned node, struct lnet_md *md)
{
    struct tracked *mine = &tracked[tracked_count];

    if (tracked_count == DESCRIPTORS_MAX)
        return NULL;
    tracked_count++;
    *mine = (struct tracked){.node = node};
    *md = (struct lnet_md){.start = memory,
                           .length = roll(5) == 0 ? roll(4000) : roll(100),
                           .threshold = roll(6) == 0 ? LNET_MD_THRESH_INF : 1 + (int)roll(4),
                           .user_ptr = mine,
                           .eq_handle = queues[node]};
    return mine;
}

static void post_something(unsigned node)
{
    struct lnet_md md;
    struct lnet_handle_me me;
    struct tracked *mine = new_tracked(node, &md);

    if (mine == NULL)
        return;
    mine->attached = true;
    md.options = 1 + roll(3);
    md.options |= roll(2) == 0 ? LNET_MD_TRUNCATE : 0;
    md.options |= roll(3) == 0 ? LNET_MD_MANAGE_REMOTE : 0;
    md.options |= roll(8) == 0 ? LNET_MD_ACK_DISABLE : 0;
    if (md.options & LNET_MD_OP_PUT && roll(3) == 0) {
        md.options |= LNET_MD_MAX_SIZE;
        md.max_size = (int)roll(md.length + 1);
    }
    assert_int_equal(LNetMEAttach(PORTAL + roll(2), anybody, roll(3), roll(4) == 0 ? 3 : 0,
                                  LNET_UNLINK, (enum lnet_ins_pos)roll(3), &me),
                     0);
    assert_int_equal(LNetMDAttach(me, md, roll(4) != 0 ? LNET_UNLINK : LNET_RETAIN, &mine->handle),
                     0);
}

static void request(unsigned node)
{
    struct lnet_process_id target = id_of(nid_of(roll(4)));
    lnet_nid_t self = roll(20) == 0 ? nid_of(roll(4)) : LNET_NID_ANY;
    struct lnet_md md;
    struct tracked *mine = new_tracked(node, &md);
    int rc;

    if (mine == NULL)
        return;
    md.start = data;
    sequence_counts.messages++;
    assert_int_equal(LNetMDBind(md, roll(5) != 0 ? LNET_UNLINK : LNET_RETAIN, &mine->handle), 0);
    if (roll(3) == 0)
        rc = LNetGet(self, mine->handle, target, PORTAL + roll(2), roll(3), roll(50), false);
    else
        rc = LNetPut(self, mine->handle, roll(2) == 0 ? LNET_ACK_REQ : LNET_NOACK_REQ, target,
                     PORTAL + roll(2), roll(3), roll(50), roll(1000));
    if (rc != 0)
        assert_int_equal(LNetMDUnlink(mine->handle), 0);
}

static void unlink_something(unsigned node)
{
    struct tracked *mine = tracked_count > 0 ? &tracked[roll(tracked_count)] : NULL;
    int rc;

    if (mine == NULL || mine->node != node)
        return;
    rc = LNetMDUnlink(mine->handle);
    assert_true(rc == 0 || rc == -ENOENT);
}

static void change_the_wire(void)
{
    static const enum lnet_msg_hstatus healths[] = {
        LNET_MSG_STATUS_LOCAL_DROPPED, LNET_MSG_STATUS_LOCAL_ERROR, LNET_MSG_STATUS_REMOTE_DROPPED,
        LNET_MSG_STATUS_REMOTE_TIMEOUT, LNET_MSG_STATUS_OK};

    wire.hold = roll(2) == 0;
    if (!wire.hold)
        wire_release(1000000);
    wire.swallow = roll(6) == 0;
    wire.fail = roll(4);
    wire.fail_status = -EIO;
    wire.fail_health = healths[roll(5)];
    wire.latency = 1 + roll(5) * SIM_US;
}

static void change_rules(void)
{
    struct lnet_fault_attr attr = {.fa_src = LNET_NID_ANY, .fa_dst = LNET_NID_ANY};
    struct libcfs_ioctl_data control = {.ioc_inllen1 = sizeof(attr), .ioc_inlbuf1 = (char *)&attr};

    switch (roll(4)) {
    case 0:
        attr.u.drop.da_rate = 1 + roll(5);
        attr.u.drop.da_health_error_mask = roll(2) == 0 ? HSTATUS_RANDOM : 0;
        control.ioc_flags = LNET_CTL_DROP_ADD;
        break;
    case 1:
        attr.u.delay.la_rate = 1 + roll(5);
        attr.u.delay.la_latency = 1;
        control.ioc_flags = LNET_CTL_DELAY_ADD;
        break;
    default:
        attr.fa_src = attr.fa_dst = 0;
        control.ioc_flags = roll(2) == 0 ? LNET_CTL_DROP_DEL : LNET_CTL_DELAY_DEL;
        break;
    }
    assert_int_equal(LNetCtl(IOC_LIBCFS_LNET_FAULT, &control), 0);
}

static void open_queue(unsigned node)
{
    assert_int_equal(LNetEQAlloc(0, on_event, &queues[node]), 0);
    if (roll(2) == 0)
        assert_int_equal(LNetSetLazyPortal(PORTAL), 0);
}

static void stop_and_start(unsigned node)
{
    unsigned i;

    sequence_counts.stops++;
    assert_int_equal(LNetNIFini(), 0);
    for (i = 0; i < tracked_count; i++)
        assert_true(tracked[i].node != node || tracked[i].finished);
    assert_int_equal(counters(node).lct_common.lcc_msgs_alloc, 0);
    assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    open_queue(node);
}

static void step(void)
{
    unsigned node = roll(4);

    on(node);
    switch (roll(40)) {
    case 0:
        change_the_wire();
        break;
    case 1:
        change_rules();
        break;
    case 2:
        if (roll(2) == 0)
            LNetSetLazyPortal(PORTAL);
        else
            LNetClearLazyPortal(PORTAL);
        break;
    case 3:
        pass(roll(20) == 0 ? 3 * SIM_S : roll(100) * SIM_US);
        break;
    case 4:
        if (roll(10) == 0)
            stop_and_start(node);
        break;
    case 5:
    case 6:
    case 7:
        unlink_something(node);
        break;
    case 8:
    case 9:
    case 10:
    case 11:
    case 12:
    case 13:
    case 14:
        post_something(node);
        break;
    default:
        request(node);
        break;
    }
    if (roll(3) == 0)
        wire_release(roll(3));
}

static void quiet_down(void)
{
    struct lnet_fault_attr attr = {.fa_src = 0};
    struct libcfs_ioctl_data control = {.ioc_inllen1 = sizeof(attr), .ioc_inlbuf1 = (char *)&attr};
    unsigned node, i;

    wire.swallow = wire.hold = false;
    wire.fail = 0;
    wire_release(1000000);
    for (node = 0; node < 4; node++) {
        on(node);
        control.ioc_flags = LNET_CTL_DROP_DEL;
        assert_int_equal(LNetCtl(IOC_LIBCFS_LNET_FAULT, &control), 0);
        control.ioc_flags = LNET_CTL_DELAY_DEL;
        assert_int_equal(LNetCtl(IOC_LIBCFS_LNET_FAULT, &control), 0);
        assert_int_equal(LNetClearLazyPortal(PORTAL), 0);
    }
    pass(30 * SIM_S); /* resent messages, trackers */
    for (i = 0; i < tracked_count; i++) {
        on(tracked[i].node);
        if (!tracked[i].finished)
            assert_int_equal(LNetMDUnlink(tracked[i].handle), 0);
    }
    pass(SIM_S + SIM_S / 2); /* to a time at which no ping of a router is under way */
    for (i = 0; i < tracked_count; i++)
        assert_true(tracked[i].finished);
}

static void credits_are_back(unsigned node)
{
    struct lnet_instance *instance = lnet_of(node)->instance;
    const struct lnet_peer *peer;
    const struct lnet_peer_ni *peer_ni;
    const struct lnet_ni *ni;
    uint32_t i;

    for (i = 1; (ni = lnet_ni_by_index(instance, i)) != NULL; i++)
        assert_int_equal(ni->tx_credits, ni->credits);
    list_for_each_entry (peer, &instance->peers, on_node) {
        list_for_each_entry (peer_ni, &peer->nis, on_peer) {
            assert_int_equal(peer_ni->tx_queued_bytes, 0);
            assert_int_equal(peer_ni->tx_credits, peer_ni->net != NULL ? 3 : 0);
            assert_int_equal(peer_ni->router_credits, peer_ni->net != NULL ? 3 : 0);
        }
    }
    for (i = 0; instance->pools != NULL && i < LNET_POOLS; i++)
        assert_int_equal(instance->pools[i].credits, instance->pools[i].total);
}

static void sequence(void)
{
    unsigned i;

    sim_random_init(&dice, seed, "sequence", 0);
    tracked_count = 0;
    for (i = 0; i < 4; i++) {
        on(i);
        open_queue(i);
    }
    for (i = 0; i < 2000 && (input == NULL || input_left > 0); i++)
        step();
    quiet_down();
    for (i = 0; i < 4; i++) {
        assert_true(running(i));
        credits_are_back(i);
    }
}

void sequence_run(uint64_t of_seed, const uint8_t *bytes, size_t length)
{
    seed = of_seed;
    input = bytes;
    input_left = length;
    world_run(&(struct world){
        .nodes = 4,
        .seed = seed,
        .settings = {{"lnet_transaction_timeout", "5"},
                     {"ksocklnd.peer_credits", "3"},
                     {"ko2iblnd.peer_credits", "3"},
                     {"ksocklnd.credits", "7"},
                     {"router_buffers_exact", "1"},
                     {"small_router_buffers", "2"},
                     {"live_router_check_interval", "2"}},
        .own = {{{"routes", "o2ib 10.0.0.3@tcp"}},
                {{"routes", "o2ib 10.0.0.3@tcp"}},
                {{"networks", "tcp(eth0),o2ib"}, {"forwarding", "enabled"}},
                {{"networks", "o2ib"}, {"routes", "tcp 10.1.0.3@o2ib"}}},
        .body = sequence,
    });
}
