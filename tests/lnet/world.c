/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Nodes, events and descriptors of the tests; see world.h. */
#include "wire.h"

struct seen seen[SEEN_MAX];
unsigned seen_count;
const struct lnet_process_id anybody = {LNET_NID_ANY, LNET_PID_ANY};

static struct lnet_node *nodes[WORLD_NODES];
static struct lnet_handle_eq queues[WORLD_NODES];
static bool has_queue[WORLD_NODES];
static unsigned current;
static const struct world *world;
static char panic[128];
static bool ended;

/* ---- nodes ----------------------------------------------------------------------------------- */

void on(unsigned node)
{
    current = node;
}

struct lnet_node *lnet_of(unsigned node)
{
    return nodes[node];
}

int (*world_fiber_node)(void);

static struct lnet_node *current_node(void)
{
    int node = world_fiber_node != NULL ? world_fiber_node() : -1;

    return nodes[node >= 0 ? (unsigned)node : current];
}

static void panicked(struct lnet_node *node, const char *text)
{
    (void)node;
    snprintf(panic, sizeof(panic), "%s", text);
}

const char *panic_of(unsigned node)
{
    return lnet_node_panic_text(nodes[node]);
}

lnet_nid_t tcp(unsigned node)
{
    return LNET_MKNID(LNET_MKNET(SOCKLND, 0), 0x0a000001 + node);
}
lnet_nid_t o2ib(unsigned node)
{
    return LNET_MKNID(LNET_MKNET(O2IBLND, 0), 0x0a010001 + node);
}
lnet_nid_t gni(unsigned node)
{
    return LNET_MKNID(LNET_MKNET(GNILND, 0), node);
}

struct lnet_process_id id_of(lnet_nid_t nid)
{
    return (struct lnet_process_id){nid, LNET_PID_LUSTRE};
}

struct lnet_counters counters(unsigned node)
{
    struct lnet_counters result;

    lnet_node_counters(nodes[node], &result);
    return result;
}

struct lnet_peer_ni *peer_of(unsigned node, lnet_nid_t nid)
{
    return lnet_peer_ni_find(nodes[node]->instance, nid);
}

struct lnet_ni *ni_of(unsigned node, lnet_nid_t nid)
{
    return lnet_ni_by_nid(nodes[node]->instance, nid);
}

void pass(sim_time_t time)
{
    sim_settle();
    sim_sleep_until(sim_local_time() + time);
}

static void make_node(unsigned number)
{
    struct lnet_interface interfaces[] = {
        {.name = "eth0", .lnd_type = SOCKLND, .address = 0x0a000001 + number},
        {.name = "eth1", .lnd_type = SOCKLND, .address = 0x0a020001 + number},
        {.name = "ib0", .lnd_type = O2IBLND, .address = 0x0a010001 + number},
        {.name = "ipogif0", .lnd_type = GNILND, .address = number},
    };
    struct lnet_setting settings[16];
    struct lnet_node_config config = {
        .number = number,
        .name = "node",
        .seed = world->seed != 0 ? world->seed : 1,
        .interfaces = interfaces,
        .interface_count = 4,
        .settings = settings,
    };
    char *error = NULL;
    unsigned i;

    for (i = 0; i < config.interface_count; i++)
        wire_interface(&interfaces[i], number);
    for (i = 0; i < 8 && world->settings[i].name != NULL; i++)
        settings[config.setting_count++] = world->settings[i];
    for (i = 0; i < 8 && world->own[number][i].name != NULL; i++)
        settings[config.setting_count++] = world->own[number][i];
    nodes[number] = lnet_node_create(&config, &error);
    if (nodes[number] == NULL)
        fail_msg("%s", error);
}

static void body(void *arg)
{
    unsigned i;

    (void)arg;
    for (i = 0; i < world->nodes && !world->not_started; i++) {
        on(i);
        assert_int_equal(LNetNIInit(LNET_PID_LUSTRE), 0);
    }
    on(A);
    world->body();
    pass(SIM_MS); /* what is under way arrives */
    for (i = 0; i < world->nodes; i++) {
        on(i);
        while (nodes[i] != NULL && nodes[i]->references > 0 && nodes[i]->state == LNET_RUNNING)
            assert_int_equal(LNetNIFini(), 0);
    }
    ended = true;
    sim_stop();
}

static void show(const char *text, void *arg)
{
    (void)arg;
    print_error("%s\n", text);
}

void world_run(const struct world *wanted)
{
    struct world copy = *wanted;
    struct sim_options options = {.seed = 1, .stack_bytes = 256 << 10};
    bool balanced;
    unsigned i;

    if (copy.nodes == 0)
        copy.nodes = 2;
    world = &copy;
    seen_count = 0;
    panic[0] = '\0';
    ended = false;
    memset(has_queue, 0, sizeof(has_queue));
    sim_init(&options);
    lnet_ledger_open();
    wire_open();
    lnet_sim_set_current(current_node);
    lnet_sim_set_panic(panicked);
    for (i = 0; i < copy.nodes; i++)
        make_node(i);
    sim_fiber_start(body, NULL, "test", 0);
    sim_run();
    balanced = sim_ledger_balance();
    if (!balanced && !copy.unbalanced)
        sim_ledger_for_each_violation(show, NULL);
    for (i = 0; i < copy.nodes; i++) {
        lnet_node_destroy(nodes[i]);
        nodes[i] = NULL;
    }
    wire_close();
    lnet_ledger_close();
    sim_fini();
    assert_true(ended);
    assert_true(balanced || copy.unbalanced);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void note(unsigned node, const struct lnet_event *event)
{
    if (seen_count == SEEN_MAX)
        return;
    seen[seen_count].node = node;
    seen[seen_count].at = sim_now();
    seen[seen_count++].event = *event;
}

#define CALLBACK(n)                                \
    static void callback_##n(struct lnet_event *e) \
    {                                              \
        note(n, e);                                \
    }
CALLBACK(0)
CALLBACK(1)
CALLBACK(2)
CALLBACK(3)
CALLBACK(4)
CALLBACK(5)
static const lnet_eq_handler_t callbacks[WORLD_NODES] = {callback_0, callback_1, callback_2,
                                                         callback_3, callback_4, callback_5};

struct lnet_handle_eq queue(void)
{
    if (!has_queue[current])
        assert_int_equal(LNetEQAlloc(0, callbacks[current], &queues[current]), 0);
    has_queue[current] = true;
    return queues[current];
}

void forget(void)
{
    seen_count = 0;
}

const struct lnet_event *event_of(unsigned node, enum lnet_event_kind kind, unsigned n)
{
    unsigned i;

    for (i = 0; i < seen_count; i++) {
        if (seen[i].node == node && seen[i].event.type == kind && n-- == 0)
            return &seen[i].event;
    }
    return NULL;
}

unsigned count_of(unsigned node, enum lnet_event_kind kind)
{
    unsigned i, count = 0;

    for (i = 0; i < seen_count; i++)
        count += seen[i].node == node && seen[i].event.type == kind;
    return count;
}

const char *kinds(void)
{
    static char text[64];
    unsigned i;

    for (i = 0; i < seen_count && i < sizeof(text) - 1; i++)
        text[i] = "?GPRASU"[seen[i].event.type];
    text[i] = '\0';
    return text;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

struct lnet_md md_of(void *start, unsigned length, int threshold, unsigned options)
{
    return (struct lnet_md){
        .start = start,
        .length = length,
        .threshold = threshold,
        .options = options,
        .user_ptr = start,
        .eq_handle = queue(),
    };
}

struct lnet_handle_me entry_at(unsigned portal, uint64_t bits, uint64_t ignore,
                               enum lnet_unlink unlink, enum lnet_ins_pos pos)
{
    struct lnet_handle_me me;

    assert_int_equal(LNetMEAttach(portal, anybody, bits, ignore, unlink, pos, &me), 0);
    return me;
}

struct lnet_handle_me entry(uint64_t bits, uint64_t ignore)
{
    return entry_at(PORTAL, bits, ignore, LNET_UNLINK, LNET_INS_AFTER);
}

struct lnet_handle_md attach(struct lnet_handle_me me, struct lnet_md md)
{
    struct lnet_handle_md handle;

    assert_int_equal(LNetMDAttach(me, md, LNET_UNLINK, &handle), 0);
    return handle;
}

struct lnet_handle_md post(uint64_t bits, void *start, unsigned length, int threshold,
                           unsigned options)
{
    return attach(entry(bits, 0), md_of(start, length, threshold, options));
}

struct lnet_handle_md bind_md(void *start, unsigned length, int threshold)
{
    struct lnet_handle_md handle;

    assert_int_equal(LNetMDBind(md_of(start, length, threshold, 0), LNET_UNLINK, &handle), 0);
    return handle;
}

void put(unsigned target, uint64_t bits, void *start, unsigned length)
{
    assert_int_equal(LNetPut(LNET_NID_ANY, bind_md(start, length, 1), LNET_NOACK_REQ,
                             id_of(tcp(target)), PORTAL, bits, 0, 0),
                     0);
}

void put_ack(unsigned target, uint64_t bits, void *start, unsigned length)
{
    assert_int_equal(LNetPut(LNET_NID_ANY, bind_md(start, length, 2), LNET_ACK_REQ,
                             id_of(tcp(target)), PORTAL, bits, 0, 0),
                     0);
}

void get(unsigned target, uint64_t bits, void *start, unsigned length)
{
    assert_int_equal(LNetGet(LNET_NID_ANY, bind_md(start, length, 2), id_of(tcp(target)), PORTAL,
                             bits, 0, false),
                     0);
}
