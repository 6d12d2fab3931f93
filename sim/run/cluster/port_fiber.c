/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The stacks' port on fibers: a process is a rank, a thread is one of its fibers. Fibers switch
 * only where they block, so a mutex stores its owner, and a condition counts signals. The record of
 * a thread, not the object, says that the thread waits: a thread may be cancelled, or its rank
 * killed, in any wait.
 */
#include <inttypes.h>
#include <string.h>

#include "cluster/port_fiber.h"
#include "engine/ledger.h"
#include "engine/trace.h"

/* ---- who calls ------------------------------------------------------------------------------- */

struct port_process *port_process_get(struct rank *rank)
{
    if (rank->port == NULL) {
        rank->port = g_new0(struct port_process, 1);
        rank->port->rank = rank;
    }
    return rank->port;
}

static struct rank *described; /* no fiber runs: for whom port_process_waits() asks the stacks */

/* For libcfs: constructors of a program run in its ranks, or before there are any. */
bool port_in_rank(void);
bool port_in_rank(void)
{
    return described == NULL && rank_self() != NULL;
}

struct port_process *port_self(void)
{
    struct rank *rank = described != NULL ? described : rank_self();

    g_assert(rank != NULL); /* stacks are called by ranks */
    return port_process_get(rank);
}

char *port_process_waits(struct rank *rank)
{
    char text[300] = "";

    if (rank->port == NULL || rank->port->at_wait == NULL)
        return NULL;
    described = rank;
    rank->port->at_wait(text, sizeof(text));
    described = NULL;
    return text[0] != '\0' ? g_strdup(text) : NULL;
}

struct port_thread *port_thread_new(struct port_process *self)
{
    struct port_thread *thread;

    for (thread = self->threads; thread != NULL; thread = thread->next)
        if (thread->over)
            break;
    if (thread == NULL) {
        thread = g_new0(struct port_thread, 1);
        thread->next = self->threads;
        self->threads = thread;
    } else {
        *thread = (struct port_thread){.next = thread->next};
    }
    thread->id = sim_new_ids(1);
    return thread;
}

struct port_thread *port_thread_self(void)
{
    struct sim_fiber *fiber = sim_fiber_self();
    struct port_thread *thread = sim_fiber_note(fiber);

    if (sim_unlikely(thread == NULL)) {
        thread = port_thread_new(port_self());
        thread->fiber = fiber;
        sim_fiber_set_note(fiber, thread);
    }
    return thread;
}

void port_process_free(struct rank *rank)
{
    struct port_thread *thread;

    if (rank->port == NULL)
        return;
    while ((thread = rank->port->threads) != NULL) {
        rank->port->threads = thread->next;
        g_free(thread);
    }
    g_free(rank->port); /* port_connections_end() has freed its connections */
    rank->port = NULL;
}

/* ---- locks and conditions -------------------------------------------------------------------- */

struct fiber_mutex {
    uint64_t locked, wanted; /* wanted: how many wait */
    uint64_t turn; /* of who came last */
    uint64_t next_turn; /* whose turn it is; 0: nobody's */
};
_Static_assert(sizeof(struct fiber_mutex) <= sizeof(struct port_mutex), "room for a mutex");

static struct fiber_mutex *native(struct port_mutex *mutex)
{
    return (struct fiber_mutex *)mutex->opaque;
}

void port_mutex_init(struct port_mutex *mutex)
{
    memset(mutex, 0, sizeof(*mutex));
}

void port_mutex_destroy(struct port_mutex *mutex)
{
    (void)mutex;
}

/* What a lock protects may be looked at by other threads: nobody changes it much before his time.
 */
#define SKEW (1000 * SIM_NS)

static void wait_turn(struct port_mutex *mutex)
{
    static const struct sim_wait wait = {.text = "a lock that another thread has"};
    struct port_thread *thread = port_thread_self();

    thread->turn = ++native(mutex)->turn;
    thread->wants = mutex;
    native(mutex)->wanted++;
    while (native(mutex)->next_turn != thread->turn)
        sim_wait_until(SIM_NEVER, &wait);
    native(mutex)->wanted--;
    native(mutex)->next_turn = 0;
    thread->wants = NULL;
}

void port_mutex_lock(struct port_mutex *mutex)
{
    if (sim_unlikely(sim_local_time() > sim_now() + SKEW))
        sim_settle();
    sim_catching_up();
    if (sim_unlikely(native(mutex)->locked))
        wait_turn(mutex);
    native(mutex)->locked = 1;
    sim_lock_begin();
}

bool port_mutex_trylock(struct port_mutex *mutex)
{
    sim_settle(); /* a lock that is taken now may be free then */
    if (native(mutex)->locked)
        return false;
    port_mutex_lock(mutex);
    return true;
}

/* Of the process's threads and `oldest`, the one that has waited longest. */
static struct port_thread *older(const struct port_process *process, const struct port_mutex *mutex,
                                 struct port_thread *oldest)
{
    struct port_thread *thread;

    for (thread = process->threads; thread != NULL; thread = thread->next)
        if (thread->wants == mutex && (oldest == NULL || thread->turn < oldest->turn))
            oldest = thread;
    return oldest;
}

/* A mutex of the host's kernel, which all processes on the host use. */
static struct port_thread *oldest_on_host(const struct rank *rank, const struct port_mutex *mutex)
{
    const struct cluster *cluster = rank->job->cluster;
    struct port_thread *oldest = NULL;
    size_t i, k;

    for (i = 0; i < cluster->job_count; i++)
        for (k = 0; k < cluster->jobs[i].rank_count; k++) {
            const struct rank *other = &cluster->jobs[i].ranks[k];

            if (other->node == rank->node && other->port != NULL)
                oldest = older(other->port, mutex, oldest);
        }
    return oldest;
}

/* It goes to who has waited longest: who gives it back and takes it again at once would always be
 * the first. */
static void pass_on(struct port_process *self, struct port_mutex *mutex)
{
    struct port_thread *oldest = older(self, mutex, NULL);

    if (oldest == NULL && native(mutex)->wanted > 0)
        oldest = oldest_on_host(self->rank, mutex);
    native(mutex)->locked = oldest != NULL;
    if (oldest == NULL)
        return;
    native(mutex)->next_turn = oldest->turn;
    sim_wake(oldest->fiber);
}

void port_mutex_unlock(struct port_mutex *mutex)
{
    sim_lock_end();
    if (sim_likely(native(mutex)->wanted == 0)) {
        native(mutex)->locked = 0;
        return;
    }
    sim_settle();
    pass_on(port_self(), mutex);
}

void port_turn_forget(struct port_process *self, struct port_thread *thread)
{
    struct port_mutex *mutex = thread->wants;

    thread->waits_for = NULL;
    thread->wants = NULL;
    if (mutex == NULL)
        return;
    native(mutex)->wanted--;
    if (native(mutex)->next_turn == thread->turn) {
        native(mutex)->next_turn = 0;
        pass_on(self, mutex);
    }
}

void port_condition_init(struct port_condition *condition)
{
    memset(condition, 0, sizeof(*condition));
}

void port_condition_destroy(struct port_condition *condition)
{
    (void)condition;
}

void port_condition_wait(struct port_condition *condition, struct port_mutex *mutex)
{
    static const struct sim_wait wait = {.text = "another thread (condition)"};
    struct port_thread *thread = port_thread_self();
    uint64_t signals = condition->opaque[0];

    port_mutex_unlock(mutex);
    thread->waits_for = condition;
    while (condition->opaque[0] == signals)
        sim_wait_until(SIM_NEVER, &wait);
    thread->waits_for = NULL;
    port_mutex_lock(mutex);
}

void port_condition_signal(struct port_condition *condition)
{
    port_condition_broadcast(condition);
}

void port_condition_broadcast(struct port_condition *condition)
{
    struct port_thread *thread = port_self()->threads;

    condition->opaque[0]++;
    if (thread == NULL)
        return;
    sim_settle();
    for (; thread != NULL; thread = thread->next)
        if (thread->waits_for == condition)
            sim_wake(thread->fiber);
}

/* ---- semaphores ------------------------------------------------------------------------------ */

/*
 * Events of the simulation raise semaphores, too. The record of a fiber stays valid when the fiber
 * has ended, so a semaphore may name one that was killed while it waited.
 */
struct fiber_semaphore {
    uint64_t count;
    struct sim_fiber *waiters[PORT_SEMAPHORE_WAITERS];
};
_Static_assert(sizeof(struct fiber_semaphore) <= sizeof(struct port_semaphore),
               "room for a semaphore");

static struct fiber_semaphore *native_semaphore(struct port_semaphore *semaphore)
{
    return (struct fiber_semaphore *)semaphore->opaque;
}

void port_semaphore_init(struct port_semaphore *semaphore)
{
    memset(semaphore, 0, sizeof(*semaphore));
}

void port_semaphore_destroy(struct port_semaphore *semaphore)
{
    (void)semaphore;
}

/* Whoever calls may hold a lock of a library: virtual time does not go on here. */
void port_semaphore_post(struct port_semaphore *semaphore)
{
    struct fiber_semaphore *self = native_semaphore(semaphore);
    unsigned i;

    self->count++;
    for (i = 0; i < PORT_SEMAPHORE_WAITERS; i++)
        if (self->waiters[i] != NULL)
            sim_wake(self->waiters[i]);
}

bool port_semaphore_wait(struct port_semaphore *semaphore, uint64_t nanoseconds)
{
    static const struct sim_wait wait = {.text = "a semaphore"};
    struct fiber_semaphore *self = native_semaphore(semaphore);
    sim_time_t now = sim_local_time(), deadline = SIM_NEVER;
    unsigned i;

    if (nanoseconds < (SIM_NEVER - now) / SIM_NS)
        deadline = now + nanoseconds * SIM_NS;
    for (i = 0; i < PORT_SEMAPHORE_WAITERS && self->waiters[i] != NULL; i++) {
    }
    g_assert(i < PORT_SEMAPHORE_WAITERS);
    self->waiters[i] = sim_fiber_self();
    sim_settle();
    while (self->count == 0 && sim_local_time() < deadline)
        sim_wait_until(deadline, &wait);
    self->waiters[i] = NULL;
    if (self->count == 0)
        return false;
    self->count--;
    return true;
}

/* ---- the process ----------------------------------------------------------------------------- */

uint64_t port_now(void)
{
    return sim_clock_read() / SIM_NS;
}

const char *port_getenv(const char *name)
{
    struct rank *rank = port_self()->rank;

    return rank->operations != NULL ? rank->operations->getenv(rank, name)
                                    : rank_variable(rank, name);
}

uint64_t port_process(void)
{
    const struct rank *rank = port_self()->rank;

    return (uint64_t)(rank->job - rank->job->cluster->jobs + 1) << 32 | rank->id;
}

void *port_thread_room(void)
{
    return port_thread_self()->room;
}

void **port_thread_pointer(void)
{
    return &port_thread_self()->pointer;
}

void port_exit(int status)
{
    rank_exit(port_self()->rank, status);
}

void port_panic(const char *text)
{
    enum { ABORTED = 134 }; /* as a shell reports it */
    struct rank *rank = rank_self();

    if (rank == NULL)
        g_error("%s", text); /* an event of the simulation, so no process's defect */
    rank_fail(rank, "%s", text);
    rank_exit(rank, ABORTED);
}

void **port_slot(enum port_slot slot)
{
    return &port_self()->slots[slot];
}

_Static_assert((int)CLUSTER_KERNEL_SLOTS == (int)PORT_HOST_SLOTS, "a slot for each");

void **port_host_slot(enum port_host_slot slot)
{
    const struct rank *rank = port_self()->rank;

    return &rank->job->cluster->nodes[rank->node].kernel[slot];
}

void port_at_release(void (*freeze)(uint64_t process), void (*release)(uint64_t process))
{
    port_self()->at_freeze = freeze;
    port_self()->at_release = release;
}

void port_process_freeze(struct rank *rank)
{
    rank->port->at_freeze(port_process());
    sim_settle();
}

bool port_process_releases(const struct rank *rank)
{
    return rank->port != NULL && rank->port->at_release != NULL &&
           !rank->job->cluster->nodes[rank->node].down;
}

void port_process_release(struct rank *rank)
{
    void (*release)(uint64_t process) = rank->port->at_release;

    rank->port->at_release = NULL;
    rank->released = true;
    release(port_process());
    sim_settle();
}

/* ---- books -------------------------------------------------------------------------------------
 * An entry is a count: of a process, or of the kernel of its node. A book is registered when
 * something begins in it.
 */

_Static_assert((int)CLUSTER_BOOKS == (int)PORT_BOOKS, "a book for each");
_Static_assert((int)CLUSTER_KERNEL_BOOKS == (int)PORT_BOOKS - (int)PORT_BOOK_KERNEL, "as many");

static const char *const names[PORT_BOOKS] = {
    [PORT_BOOK_M0_BUFFER] = "m0.buffer",
    [PORT_BOOK_M0_MESSAGE] = "m0.message",
    [PORT_BOOK_M0_DESCRIPTOR] = "m0.desc",
    [PORT_BOOK_M0_POOL] = "m0.pool",
    [PORT_BOOK_M0_SLOT] = "m0.slot",
    [PORT_BOOK_MAD_BLOCK] = "madeleine.block",
    [PORT_BOOK_MAD_BUFFER] = "madeleine.buffer",
    [PORT_BOOK_M0_PIN] = "m0.pin",
    [PORT_BOOK_M0_MACHINE] = "m0.machine",
};

static struct sim_ledger_book *book_of(struct cluster *cluster, enum port_book book)
{
    struct sim_ledger_book *found = &cluster->books[book];

    if (found->name == NULL)
        sim_ledger_book_register(found, names[book]);
    return found;
}

static void violate(const struct port_process *self, enum port_book book, const char *text)
{
    const struct rank *rank = self->rank;

    sim_ledger_violation(book_of(rank->job->cluster, book), "%s: %s.%u: %s", names[book],
                         rank->job->name, rank->id, text);
}

void port_book(enum port_book book, int64_t change)
{
    struct port_process *self = port_self();
    struct cluster *cluster = self->rank->job->cluster;
    struct sim_ledger_book *found = book_of(cluster, book);
    int64_t left;

    if (change > 0)
        sim_ledger_count(found, (uint64_t)change, 0);
    else
        sim_ledger_count(found, 0, (uint64_t)-change);
    if (book >= PORT_BOOK_KERNEL) {
        int32_t *booked = &cluster->nodes[self->rank->node].booked[book - PORT_BOOK_KERNEL];

        *booked += (int32_t)change;
        left = *booked;
    } else {
        self->booked[book] += change;
        left = self->booked[book];
    }
    if (left < 0)
        violate(self, book, "more have ended than have begun");
}

void port_book_count(enum port_book book, uint64_t opened, uint64_t delivered)
{
    sim_ledger_count(book_of(port_self()->rank->job->cluster, book), opened, delivered);
}

void port_book_close(enum port_book book)
{
    struct port_process *self = port_self();
    char text[64];

    if (self->booked[book] == 0)
        return;
    snprintf(text, sizeof(text), "%" PRId64 " are open at the end", self->booked[book]);
    violate(self, book, text);
}

void port_book_violation(enum port_book book, const char *text)
{
    violate(port_self(), book, text);
}

static void abandon(struct cluster *cluster, unsigned book, int64_t count)
{
    if (count > 0)
        sim_ledger_count_lost(&cluster->books[book], (uint64_t)count);
}

static void abandon_of_process(struct cluster *cluster, const struct port_process *process)
{
    unsigned book;

    for (book = 0; book < PORT_BOOK_KERNEL; book++)
        abandon(cluster, book, process->booked[book]);
}

/* A process that has not ended still has what it has of the kernel. */
static bool has_processes(const struct cluster *cluster, uint32_t node)
{
    size_t job;
    uint32_t i;

    for (job = 0; job < cluster->job_count; job++)
        for (i = 0; i < cluster->jobs[job].rank_count; i++) {
            const struct rank *rank = &cluster->jobs[job].ranks[i];

            if (rank->node == node && rank->port != NULL && rank->port->at_release != NULL)
                return true;
        }
    return false;
}

void port_books_end(struct cluster *cluster)
{
    uint32_t i;
    size_t job;

    port_pieces_end(cluster);
    for (job = 0; job < cluster->job_count; job++)
        for (i = 0; i < cluster->jobs[job].rank_count; i++)
            if (cluster->jobs[job].ranks[i].port != NULL)
                abandon_of_process(cluster, cluster->jobs[job].ranks[i].port);
    for (i = 0; i < cluster->node_count; i++) {
        const struct cluster_node *node = &cluster->nodes[i];
        unsigned book;

        for (book = 0; book < CLUSTER_KERNEL_BOOKS; book++)
            if (node->booked[book] > 0 && (node->down || has_processes(cluster, i)))
                abandon(cluster, PORT_BOOK_KERNEL + book, node->booked[book]);
    }
}

void port_node_boots(struct cluster *cluster, uint32_t node)
{
    struct cluster_node *at = &cluster->nodes[node];
    unsigned book;

    for (book = 0; book < CLUSTER_KERNEL_BOOKS; book++) {
        abandon(cluster, PORT_BOOK_KERNEL + book, at->booked[book]);
        at->booked[book] = 0;
    }
    memset(at->kernel, 0, sizeof(at->kernel));
}

/* ---- API calls ---------------------------------------------------------------------------------
 */

uintptr_t port_call_begin(const char *name)
{
    return sim_call_begin(name);
}

bool port_tracing(void)
{
    return sim_trace_on;
}

void port_trace_number(const char *name, uint64_t number)
{
    sim_trace_call_note(name, NULL, number);
}

void port_trace_text(const char *name, const char *text)
{
    sim_trace_call_note(name, text, 0);
}

void port_call_end(uintptr_t outer)
{
    sim_call_end(outer);
}
