/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "books_cases.h"

#include "lib/semaphore.h"
#include "net/buffer_pool.h"
#include "net/bulk_mem.h"
#include "port/port.h"

#define EXPECT(condition)    \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

enum { BUFFERS = 2, BYTES = 4096 };

static void on_pool(struct m0_net_buffer_pool *pool)
{
    (void)pool;
}

static const struct m0_net_buffer_pool_ops pool_ops = {on_pool, on_pool};

static void on_buffer(const struct m0_net_buffer_event *event)
{
    (void)event;
}

static const struct m0_net_buffer_callbacks buffer_callbacks = {
    .nbc_cb = {on_buffer, on_buffer, on_buffer, on_buffer, on_buffer, on_buffer}};

struct process {
    struct m0_net_domain dom;
    struct m0_net_buffer_pool pool;
    struct m0_net_buffer *buffers[BUFFERS];
    struct m0_net_transfer_mc tm; /* in it */
    struct m0_semaphore changed;
};

static void on_state(const struct m0_net_tm_event *event)
{
    if (event->nte_type == M0_NET_TEV_STATE_CHANGE)
        m0_semaphore_up(&container_of(event->nte_tm, struct process, tm)->changed);
}

static const struct m0_net_tm_callbacks tm_callbacks = {.ntc_event_cb = on_state};

/* A machine, and buffers that were taken from a pool. */
static int begin(struct process *process)
{
    unsigned i;

    *process =
        (struct process){.pool = {.nbp_ops = &pool_ops}, .tm = {.ntm_callbacks = &tm_callbacks}};
    m0_semaphore_init(&process->changed, 0);
    EXPECT(m0_net_domain_init(&process->dom, &m0_net_bulk_mem_xprt) == 0);
    EXPECT(m0_net_buffer_pool_init(&process->pool, &process->dom, 0, 1, BYTES, 0, 12, false) == 0);
    m0_net_buffer_pool_lock(&process->pool);
    EXPECT(m0_net_buffer_pool_provision(&process->pool, BUFFERS) == BUFFERS);
    for (i = 0; i < BUFFERS; i++) {
        process->buffers[i] =
            m0_net_buffer_pool_get(&process->pool, (uint32_t)M0_BUFFER_ANY_COLOUR);
        process->buffers[i]->nb_callbacks = &buffer_callbacks;
    }
    m0_net_buffer_pool_unlock(&process->pool);
    EXPECT(m0_net_tm_init(&process->tm, &process->dom) == 0);
    EXPECT(m0_net_tm_start(&process->tm, "127.0.0.1:1700") == 0);
    m0_semaphore_down(&process->changed);
    EXPECT(process->tm.ntm_state == M0_NET_TM_STARTED);
    return 0;
}

static void put(struct process *process, unsigned i)
{
    m0_net_buffer_pool_lock(&process->pool);
    m0_net_buffer_pool_put(&process->pool, process->buffers[i], (uint32_t)M0_BUFFER_ANY_COLOUR);
    m0_net_buffer_pool_unlock(&process->pool);
    process->buffers[i] = NULL;
}

static int end(struct process *process)
{
    unsigned i;

    EXPECT(m0_net_tm_stop(&process->tm, true) == 0);
    m0_semaphore_down(&process->changed);
    m0_net_tm_fini(&process->tm);
    for (i = 0; i < BUFFERS; i++)
        if (process->buffers[i] != NULL)
            put(process, i);
    m0_net_buffer_pool_fini(&process->pool);
    m0_net_domain_fini(&process->dom);
    m0_semaphore_fini(&process->changed);
    m0_net_fini();
    return 0;
}

static int queue_all(struct process *process)
{
    unsigned i;

    for (i = 0; i < BUFFERS; i++) {
        struct m0_net_buffer *nb = process->buffers[i];

        nb->nb_qtype = M0_NET_QT_MSG_RECV;
        nb->nb_min_receive_size = BYTES;
        nb->nb_max_receive_msgs = 1;
        EXPECT(m0_net_buffer_add(nb, &process->tm) == 0);
    }
    return 0;
}

int everything_ends(void)
{
    struct process process;

    EXPECT(begin(&process) == 0);
    EXPECT(queue_all(&process) == 0);
    return end(&process);
}

/* In these cases the process says that it has ended m0_net, and has not; it ends then. */
int a_buffer_is_kept_from_its_pool(void)
{
    struct process process;

    EXPECT(begin(&process) == 0);
    put(&process, 0);
    m0_net_fini();
    return 0;
}

int buffers_are_queued_at_the_end(void)
{
    struct process process;

    EXPECT(begin(&process) == 0);
    EXPECT(queue_all(&process) == 0);
    m0_net_fini();
    return 0;
}

int a_passive_buffer_is_never_used(void)
{
    struct process process;
    struct m0_net_buffer *nb;

    EXPECT(begin(&process) == 0);
    nb = process.buffers[0];
    nb->nb_qtype = M0_NET_QT_PASSIVE_BULK_RECV;
    EXPECT(m0_net_buffer_add(nb, &process.tm) == 0);
    m0_net_fini();
    return 0;
}

/* ---- defects --------------------------------------------------------------------------------- */

int a_page_stays_pinned(void)
{
    port_book(PORT_BOOK_M0_PIN, 1);
    return 0;
}

int a_machine_stays_in_the_driver(void)
{
    port_book(PORT_BOOK_M0_MACHINE, 1);
    return 0;
}

int a_buffer_has_two_final_events(void)
{
    struct process process;

    EXPECT(begin(&process) == 0);
    EXPECT(queue_all(&process) == 0);
    port_book(PORT_BOOK_M0_BUFFER, -1); /* the first one's */
    return end(&process);
}

/* A message that came into a buffer, whose event the transport keeps. */
int an_event_is_not_delivered(void)
{
    struct process process;

    EXPECT(begin(&process) == 0);
    EXPECT(queue_all(&process) == 0);
    port_book(PORT_BOOK_M0_MESSAGE, 1);
    return end(&process);
}

int an_event_is_delivered_twice(void)
{
    struct process process;

    EXPECT(begin(&process) == 0);
    EXPECT(queue_all(&process) == 0);
    port_book(PORT_BOOK_M0_MESSAGE, 1);
    port_book(PORT_BOOK_M0_MESSAGE, -1);
    port_book(PORT_BOOK_M0_MESSAGE, -1);
    return end(&process);
}

/* A buffer's reservation that its final event does not end, and one that two events end. */
int slots_stay_reserved(void)
{
    struct process process;

    EXPECT(begin(&process) == 0);
    port_book(PORT_BOOK_M0_SLOT, 2);
    return end(&process);
}

int slots_are_released_twice(void)
{
    struct process process;

    EXPECT(begin(&process) == 0);
    port_book(PORT_BOOK_M0_SLOT, 2);
    port_book(PORT_BOOK_M0_SLOT, -2);
    port_book(PORT_BOOK_M0_SLOT, -2);
    return end(&process);
}
