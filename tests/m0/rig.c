/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Machines, buffers and events of the tests; see rig.h. */
#include "rig.h"

#include "lib/memory.h"

struct completion completions[COMPLETIONS_MAX];
unsigned completion_count;
void (*on_completion)(const struct m0_net_buffer_event *event);
uint32_t rig_net = SOCKLND;
struct m0_net_domain *rig_other_domain;
bool rig_synchronous;

static void (*current_test)(void);
static struct m0_net_domain domains[WORLD_NODES];
static struct machine *machines;
static struct m0_net_buffer *buffers[BUFFERS_MAX];

/* ---- the world ------------------------------------------------------------------------------- */

static void free_all(void)
{
    unsigned i;

    while (machines != NULL)
        machine_free(machines);
    for (i = 0; i < BUFFERS_MAX; i++)
        if (buffers[i] != NULL)
            buffer_free(buffers[i]);
    for (i = 0; i < WORLD_NODES; i++)
        if (domains[i].nd_xprt != NULL) {
            host(i);
            m0_net_domain_fini(&domains[i]);
        }
    m0_net_fini();
}

/* Each test keeps the ledger's books of m0_net. */
static void check_books(void)
{
    unsigned book;

    for (book = 0; book < PORT_BOOKS; book++)
        if (port_test_booked(book) != 0)
            fail_msg("book %u: %d are open", book, (int)port_test_booked(book));
    if (port_test_violations != 0)
        fail_msg("%s", port_test_violation);
}

static void body(void)
{
    port_test_begin();
    world_fiber_node = port_test_node;
    host(A);
    forget_completions();
    on_completion = NULL;
    memset(domains, 0, sizeof(domains));
    machines = NULL;
    memset(buffers, 0, sizeof(buffers));
    rig_flavour_begin();
    assert_int_equal(m0_net_init(), 0);
    current_test();
    if (port_test_panic[0] == '\0') { /* else objects are broken */
        free_all();
        rig_flavour_end();
        check_books();
    }
    world_fiber_node = NULL;
}

/* Of the address sanitizer, where there is one. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

bool rig_routed; /* even nodes are on tcp, odd ones on o2ib, and the last one joins them */

static void set(struct lnet_setting *settings, const char *networks, const char *routes)
{
    settings[0] = (struct lnet_setting){"networks", networks};
    if (routes != NULL)
        settings[1] = (struct lnet_setting){"routes", routes};
}

/* RIG_NETWORK: the network of simulated drivers that the test is on instead of its own. */
static void choose_network(struct world *world, const char *network)
{
    static const struct {
        const char *name;
        uint32_t net;
    } networks[] = {
        {"tcp", SOCKLND}, {"o2ib", O2IBLND}, {"gni", GNILND}, {"lo", LOLND}, {"routed", SOCKLND}};
    unsigned i = 0;

    while (strcmp(networks[i].name, network) != 0)
        i++;
    rig_net = networks[i].net;
    rig_routed = strcmp(network, "routed") == 0;
    lnet_sim_register_drivers();
    if (!rig_routed)
        return;
    world->nodes = WORLD_NODES;
    for (i = 0; i < F; i++)
        if (i % 2 == 0)
            set(world->own[i], "tcp(eth0)", "o2ib 10.0.0.6@tcp");
        else
            set(world->own[i], "o2ib(ib0)", "tcp 10.1.0.6@o2ib");
    set(world->own[F], "tcp(eth0),o2ib(ib0)", NULL);
    world->own[F][1] = (struct lnet_setting){"forwarding", "enabled"};
    world->settings[0] = (struct lnet_setting){"live_router_check_interval", "1"};
    world->settings[1] = (struct lnet_setting){"dead_router_check_interval", "1"};
}

void rig_run(void (*test)(void), const struct world *world)
{
    struct world copy = *world;
    const char *delivery = getenv("RIG_DELIVERY"), *network = getenv("RIG_NETWORK");

    if (network != NULL)
        choose_network(&copy, network);

    current_test = test;
    rig_synchronous = delivery != NULL && strcmp(delivery, "synchronous") == 0;
    port_test_panic[0] = '\0';
    if (copy.settings[0].name == NULL)
        copy.settings[0] = (struct lnet_setting){"networks", rig_net == O2IBLND  ? "o2ib(ib0)"
                                                             : rig_net == GNILND ? "gni"
                                                                                 : "tcp(eth0)"};
    copy.body = body;
    /* A process that violates a condition ends without freeing its memory. */
    if (copy.unbalanced && __lsan_disable != NULL)
        __lsan_disable();
    world_run(&copy);
    if (copy.unbalanced && __lsan_enable != NULL)
        __lsan_enable();
}

void host(unsigned node)
{
    if (rig_net == LOLND) /* of which each node has one of its own */
        node = A;
    on(node);
    port_test_set_node((int)node);
}

lnet_nid_t nid_of(unsigned node)
{
    if (rig_net == LOLND)
        return LNET_NID_LO_0;
    if (rig_routed)
        return node % 2 == 0 ? tcp(node) : o2ib(node);
    return rig_net == O2IBLND ? o2ib(node) : rig_net == GNILND ? gni(node) : tcp(node);
}

const char *address_at(unsigned node, unsigned portal, int tmid)
{
    static char texts[16][80];
    static unsigned next;
    char *text = texts[next++ % 16], number[16] = "*";

    if (rig_flavour == RIG_MEMORY) {
        snprintf(text, 80, "10.0.0.%u:%d", node + 1, 1000 + tmid);
        return text;
    }
    if (tmid >= 0)
        snprintf(number, sizeof(number), "%d", tmid);
    snprintf(text, 80, "%s:12345:%u:%s", libcfs_nid2str(nid_of(node)), portal, number);
    return text;
}

const char *address(unsigned node, int tmid)
{
    return address_at(node, PORTAL_M0, tmid);
}

struct m0_net_domain *domain(unsigned node)
{
    if (rig_other_domain != NULL)
        return rig_other_domain;
    if (domains[node].nd_xprt == NULL) {
        host(node);
        assert_int_equal(m0_net_domain_init(&domains[node], rig_xprt), 0);
        rig_domain(&domains[node]);
    }
    return &domains[node];
}

/* ---- machines -------------------------------------------------------------------------------- */

/* From STARTED on, until the machine is about to stop; the rest of the events is then delivered by
 * the machine itself. */
static void application_main(void *argument)
{
    struct machine *machine = argument;
    struct m0_clink clink;

    m0_clink_init(&clink, NULL);
    m0_clink_add_lock(&machine->wake, &clink);
    while (machine->tm.ntm_state == M0_NET_TM_STARTED) {
        m0_net_buffer_event_notify(&machine->tm, &machine->wake);
        m0_chan_wait(&clink);
        if (machine->tm.ntm_state == M0_NET_TM_STARTED)
            m0_net_buffer_event_deliver_all(&machine->tm);
    }
    m0_clink_del_lock(&clink);
    m0_clink_fini(&clink);
}

static void application_end(struct machine *machine)
{
    if (machine->application == NULL)
        return;
    m0_chan_signal_lock(&machine->wake);
    port_thread_join(machine->application);
    m0_chan_fini_lock(&machine->wake);
    m0_mutex_fini(&machine->guard);
    machine->application = NULL;
}

static void application_begin(struct machine *machine)
{
    m0_mutex_init(&machine->guard);
    m0_chan_init(&machine->wake, &machine->guard);
    machine->application = port_thread_start("application", application_main, machine);
}

static void on_state(const struct m0_net_tm_event *event)
{
    struct machine *machine = container_of(event->nte_tm, struct machine, tm);

    if (event->nte_type != M0_NET_TEV_STATE_CHANGE)
        return;
    assert_int_equal(machine->tm.ntm_state, event->nte_next_state);
    machine->states++;
    machine->last = event->nte_next_state;
    machine->status = event->nte_status;
    machine->on_worker = port_thread_self()->run != NULL;
    machine->processors = port_thread_self()->processors;
    if (event->nte_ep != NULL) {
        assert_ptr_equal(event->nte_ep, event->nte_tm->ntm_ep);
        snprintf(machine->started_as, sizeof(machine->started_as), "%s", event->nte_ep->nep_addr);
    }
    if (rig_synchronous && machine->last == M0_NET_TM_STARTED && !machine->tm.ntm_bev_auto_deliver)
        application_begin(machine);
    if (machine->on_state != NULL)
        machine->on_state(machine);
}
static const struct m0_net_tm_callbacks tm_callbacks = {.ntc_event_cb = on_state};

struct machine *machine(unsigned node)
{
    struct machine *machine = calloc(1, sizeof(*machine));

    machine->node = node;
    machine->tm.ntm_callbacks = &tm_callbacks;
    host(node);
    assert_int_equal(m0_net_tm_init(&machine->tm, domain(node)), 0);
    if (rig_synchronous)
        assert_int_equal(m0_net_buffer_event_deliver_synchronously(&machine->tm), 0);
    machine->next = machines;
    machines = machine;
    return machine;
}

void machine_wait(struct machine *machine, enum m0_net_tm_state state)
{
    unsigned i;

    for (i = 0; i < 100000 && machine->last != state; i++)
        pass(SIM_MS);
    assert_int_equal(machine->last, state);
}

int machine_start(struct machine *machine, const char *where)
{
    unsigned before = machine->states, i;
    int rc;

    host(machine->node);
    rc = m0_net_tm_start(&machine->tm, where);
    if (rc != 0)
        return rc;
    for (i = 0; i < 100000 && machine->states == before; i++)
        pass(SIM_US);
    assert_int_equal(machine->states, before + 1);
    return machine->status;
}

struct machine *machine_up_at(unsigned node, const char *where)
{
    struct machine *result = machine(node);

    assert_int_equal(machine_start(result, where), 0);
    assert_int_equal(result->tm.ntm_state, M0_NET_TM_STARTED);
    return result;
}

struct machine *machine_up(unsigned node, int tmid)
{
    return machine_up_at(node, address(node, tmid));
}

void machine_stop(struct machine *machine, bool abort)
{
    host(machine->node);
    assert_int_equal(m0_net_tm_stop(&machine->tm, abort), 0);
    machine_wait(machine, M0_NET_TM_STOPPED);
}

void machine_free(struct machine *machine)
{
    struct machine **link = &machines;

    host(machine->node);
    if (machine->tm.ntm_state == M0_NET_TM_STARTED)
        machine_stop(machine, true);
    application_end(machine);
    m0_net_tm_fini(&machine->tm);
    while (*link != machine)
        link = &(*link)->next;
    *link = machine->next;
    free(machine);
}

struct m0_net_end_point *end_point(struct machine *machine, const char *where)
{
    struct m0_net_end_point *ep = NULL;

    host(machine->node);
    assert_int_equal(m0_net_end_point_create(&ep, &machine->tm, where), 0);
    return ep;
}

struct m0_net_qstats stats(struct machine *machine, enum m0_net_queue_type qtype)
{
    struct m0_net_qstats result;

    assert_int_equal(m0_net_tm_stats_get(&machine->tm, qtype, &result, false), 0);
    return result;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void note(const struct m0_net_buffer_event *event)
{
    struct m0_net_buffer *nb = event->nbe_buffer;
    struct completion *entry = &completions[completion_count];

    assert_true(completion_count < COMPLETIONS_MAX);
    *entry = (struct completion){
        .nb = nb,
        .qtype = nb->nb_qtype,
        .status = event->nbe_status,
        .length = event->nbe_length,
        .offset = event->nbe_offset,
        .time = event->nbe_time,
        .flags = nb->nb_flags,
        .msgs = nb->nb_msgs_received,
        .never = nb->nb_timeout == M0_TIME_NEVER,
        .thread = port_thread_self(),
        .processors = port_thread_self()->processors,
        .at = sim_local_time(),
    };
    if (event->nbe_ep != NULL)
        snprintf(entry->ep, sizeof(entry->ep), "%s", event->nbe_ep->nep_addr);
    completion_count++;
    if (on_completion != NULL)
        on_completion(event);
}
const struct m0_net_buffer_callbacks rig_callbacks = {
    .nbc_cb = {note, note, note, note, note, note}};

void wait_completions(unsigned count)
{
    unsigned i;

    for (i = 0; i < 1000 && completion_count < count; i++)
        pass(10 * SIM_US);
    for (i = 0; i < 100000 && completion_count < count; i++)
        pass(SIM_MS);
    assert_int_equal(completion_count, count);
}

const struct completion *completion_of(const struct m0_net_buffer *nb, unsigned n)
{
    unsigned i;

    for (i = 0; i < completion_count; i++)
        if (completions[i].nb == nb && n-- == 0)
            return &completions[i];
    return NULL;
}

unsigned count_completions(const struct m0_net_buffer *nb)
{
    unsigned i, count = 0;

    for (i = 0; i < completion_count; i++)
        count += completions[i].nb == nb;
    return count;
}

void forget_completions(void)
{
    completion_count = 0;
}

/* ---- buffers --------------------------------------------------------------------------------- */

struct m0_net_buffer *buffer(unsigned node, size_t bytes)
{
    struct m0_net_buffer *nb = calloc(1, sizeof(*nb));
    uint32_t segments = (uint32_t)((bytes + 4095) / 4096);
    unsigned i = 0;

    assert_int_equal(m0_bufvec_alloc_aligned(&nb->nb_buffer, segments, 4096, 12), 0);
    nb->nb_buffer.ov_vec.v_count[segments - 1] = bytes - 4096 * (size_t)(segments - 1);
    host(node);
    assert_int_equal(m0_net_buffer_register(nb, domain(node)), 0);
    nb->nb_callbacks = &rig_callbacks;
    nb->nb_app_private = (void *)(uintptr_t)node;
    while (buffers[i] != NULL)
        i++;
    assert_true(i < BUFFERS_MAX);
    buffers[i] = nb;
    return nb;
}

void buffer_free(struct m0_net_buffer *nb)
{
    unsigned i;

    host((unsigned)(uintptr_t)nb->nb_app_private);
    m0_net_desc_free(&nb->nb_desc);
    m0_net_buffer_deregister(nb, nb->nb_dom);
    m0_bufvec_free_aligned(&nb->nb_buffer, 12);
    for (i = 0; i < BUFFERS_MAX; i++)
        if (buffers[i] == nb)
            buffers[i] = NULL;
    free(nb);
}

uint8_t *at(struct m0_net_buffer *nb, size_t offset)
{
    return (uint8_t *)nb->nb_buffer.ov_buf[offset / 4096] + offset % 4096;
}

static uint8_t color(unsigned seed, size_t i)
{
    return (uint8_t)(seed * 131 + i * 7 + i / 253 + 1);
}

void paint(struct m0_net_buffer *nb, size_t offset, size_t bytes, unsigned seed)
{
    size_t i;

    for (i = 0; i < bytes; i++)
        *at(nb, offset + i) = color(seed, i);
}

void expect_paint(struct m0_net_buffer *nb, size_t offset, size_t bytes, unsigned seed)
{
    size_t i;

    for (i = 0; i < bytes; i++)
        if (*at(nb, offset + i) != color(seed, i))
            fail_msg("byte %zu of %zu at %zu differs", i, bytes, offset);
}

int add(struct machine *machine, struct m0_net_buffer *nb)
{
    host(machine->node);
    return m0_net_buffer_add(nb, &machine->tm);
}

int receive(struct machine *machine, struct m0_net_buffer *nb, size_t min, unsigned max)
{
    nb->nb_qtype = M0_NET_QT_MSG_RECV;
    nb->nb_ep = NULL;
    nb->nb_min_receive_size = min;
    nb->nb_max_receive_msgs = max;
    return add(machine, nb);
}

int send_to(struct machine *machine, struct m0_net_buffer *nb, size_t bytes, const char *where)
{
    struct m0_net_end_point *ep = end_point(machine, where);
    int rc;

    nb->nb_qtype = M0_NET_QT_MSG_SEND;
    nb->nb_length = bytes;
    nb->nb_ep = ep;
    rc = add(machine, nb);
    m0_net_end_point_put(ep); /* the buffer has its own reference */
    return rc;
}

int passive(struct machine *machine, struct m0_net_buffer *nb, enum m0_net_queue_type qtype,
            size_t bytes)
{
    m0_net_desc_free(&nb->nb_desc);
    nb->nb_qtype = qtype;
    nb->nb_length = bytes;
    return add(machine, nb);
}

int active(struct machine *machine, struct m0_net_buffer *nb, enum m0_net_queue_type qtype,
           size_t bytes, const struct m0_net_buf_desc *desc)
{
    m0_net_desc_free(&nb->nb_desc);
    assert_int_equal(m0_net_desc_copy(desc, &nb->nb_desc), 0);
    nb->nb_qtype = qtype;
    nb->nb_length = bytes;
    return add(machine, nb);
}
