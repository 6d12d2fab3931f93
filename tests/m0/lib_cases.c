/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "lib_cases.h"

#include "lib/arith.h"
#include "lib/bitmap.h"
#include "lib/chan.h"
#include "lib/cond.h"
#include "lib/errno.h"
#include "lib/finject.h"
#include "lib/memory.h"
#include "lib/refs.h"
#include "lib/string.h"
#include "lib/thread.h"
#include "lib/time.h"
#include "lib/tlist.h"
#include "lib/vec.h"

#define EXPECT(condition)    \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)
#define MSEC M0_TIME_ONE_MSEC

/* ---- lists ----------------------------------------------------------------------------------- */

struct item {
    int value;
    struct m0_list_link link;
    struct m0_tlink tlink;
    uint64_t magic;
};

int lists_keep_order(void)
{
    struct m0_list list, other;
    struct item items[4], *item, *next;
    int i, sum = 0;

    m0_list_init(&list);
    m0_list_init(&other);
    for (i = 0; i < 4; i++) {
        items[i].value = i;
        m0_list_link_init(&items[i].link);
    }
    m0_list_add(&list, &items[1].link);
    m0_list_add(&list, &items[0].link);
    m0_list_add_tail(&list, &items[3].link);
    m0_list_add_before(&items[3].link, &items[2].link);
    EXPECT(m0_list_length(&list) == 4 && m0_list_invariant(&list));
    m0_list_for_each_entry(&list, item, struct item, link) sum = sum * 10 + item->value;
    EXPECT(sum == 123);
    EXPECT(m0_list_first(&list) == &items[0].link && m0_list_contains(&list, &items[2].link));
    m0_list_move_tail(&other, &items[0].link);
    EXPECT(!m0_list_contains(&list, &items[0].link) && m0_list_length(&other) == 1);
    m0_list_for_each_entry_safe(&list, item, next, struct item, link) m0_list_del(&item->link);
    EXPECT(m0_list_is_empty(&list) && !m0_list_link_is_in(&items[1].link));
    m0_list_del(&items[0].link);
    m0_list_link_fini(&items[0].link);
    m0_list_fini(&list);
    m0_list_fini(&other);
    return 0;
}

M0_TL_DESCR_DEFINE(item, "items", static, struct item, tlink, magic, 0x3311177, 0x3322277);
M0_TL_DEFINE(item, static, struct item);

int typed_lists_check_and_iterate(void)
{
    struct m0_tl list;
    struct item items[4], *item;
    int i, order = 0;

    M0_SET_ARR0(items);
    item_tlist_init(&list);
    for (i = 0; i < 4; i++) {
        items[i].value = i + 1;
        item_tlink_init_at_tail(&items[i], &list);
    }
    EXPECT(item_tlist_invariant(&list) && item_tlist_length(&list) == 4);
    EXPECT(m0_tl_forall(item, it, &list, it->value > 0));
    EXPECT(!m0_tl_forall(item, it, &list, it->value > 1));
    EXPECT(m0_tl_exists(item, it, &list, it->value == 4));
    EXPECT(m0_tl_find(item, it, &list, it->value == 3) == &items[2]);
    EXPECT(m0_tl_fold(item, it, sofar, &list, 0, sofar + it->value) == 10);
    EXPECT(m0_tl_reduce(item, it, &list, 0, +it->value) == 10);
    EXPECT(item_tlist_next(&list, &items[3]) == NULL && item_tlist_prev(&list, &items[0]) == NULL);
    m0_tl_for(item, &list, item)
    { /* the body may remove the object */
        order = order * 10 + item->value;
        if (item->value % 2 == 0)
            item_tlist_del(item);
    }
    m0_tl_endfor;
    EXPECT(order == 1234 && item_tlist_length(&list) == 2);
    EXPECT(!item_tlink_is_in(&items[1]) && !item_tlist_remove(&items[1]));
    item_tlist_move_tail(&list, &items[0]);
    EXPECT(item_tlist_head(&list) == &items[2] && item_tlist_tail(&list) == &items[0]);
    items[2].magic++;
    EXPECT(!item_tlist_invariant(&list));
    items[2].magic--;
    order = 0;
    m0_tl_teardown(item, &list, item) order = order * 10 + item->value;
    EXPECT(order == 31);
    for (i = 0; i < 4; i++)
        item_tlink_fini(&items[i]);
    item_tlist_fini(&list);
    return 0;
}

void m0_lib_break_a_precondition(void)
{
    struct m0_tl list;
    struct item item = {.value = 1};

    item_tlist_init(&list);
    item_tlink_init_at(&item, &list);
    item_tlist_fini(&list); /* not empty */
}

/* ---- data ------------------------------------------------------------------------------------ */

int bitmaps_find_first_bits(void)
{
    struct m0_bitmap map, copy;
    size_t i;

    EXPECT(m0_bitmap_init(&map, 130) == 0 && m0_bitmap_init(&copy, 200) == 0);
    EXPECT(m0_bitmap_ffs(&map) == -1 && m0_bitmap_ffz(&map) == 0);
    m0_bitmap_set(&map, 129, true);
    EXPECT(m0_bitmap_ffs(&map) == 129 && m0_bitmap_get(&map, 129) && !m0_bitmap_get(&map, 128));
    for (i = 0; i < 130; i++)
        m0_bitmap_set(&map, i, true);
    EXPECT(m0_bitmap_ffz(&map) == -1 && m0_bitmap_set_nr(&map) == 130);
    m0_bitmap_set(&map, 65, false);
    EXPECT(m0_bitmap_ffz(&map) == 65);
    m0_bitmap_set(&copy, 199, true);
    m0_bitmap_copy(&copy, &map);
    EXPECT(m0_bitmap_set_nr(&copy) == 129 && m0_bitmap_ffz(&copy) == 65);
    m0_bitmap_fini(&map);
    m0_bitmap_fini(&copy);
    return 0;
}

int vectors_are_walked_and_copied(void)
{
    struct m0_bufvec a, b, packed;
    struct m0_bufvec_cursor ca, cb;
    char text[100], back[100];
    uint32_t i;

    for (i = 0; i < sizeof(text); i++)
        text[i] = (char)(i * 7);
    EXPECT(m0_bufvec_alloc(&a, 10, 10) == 0 && m0_vec_count(&a.ov_vec) == 100);
    EXPECT(m0_bufvec_alloc_aligned(&b, 4, 30, M0_SEG_SHIFT) == 0);
    for (i = 0; i < 4; i++)
        EXPECT(m0_addr_is_aligned(b.ov_buf[i], M0_SEG_SHIFT));
    EXPECT(m0_bufvec_alloc_aligned_packed(&packed, 3, 4096, 12) == 0);
    EXPECT(packed.ov_buf[2] == (char *)packed.ov_buf[0] + 8192);
    m0_bufvec_cursor_init(&ca, &a);
    EXPECT(m0_bufvec_cursor_step(&ca) == 10);
    EXPECT(m0_bufvec_cursor_copyto(&ca, text, 100) == 100 && m0_bufvec_cursor_move(&ca, 0));
    m0_bufvec_cursor_init(&ca, &a);
    m0_bufvec_cursor_init(&cb, &b);
    EXPECT(m0_bufvec_cursor_copy(&cb, &ca, 1000) == 100); /* the source ends first */
    m0_bufvec_cursor_init(&cb, &b);
    EXPECT(m0_bufvec_cursor_copyfrom(&cb, back, 100) == 100 && memeq(text, back, 100));
    m0_bufvec_cursor_init(&cb, &b);
    EXPECT(!m0_bufvec_cursor_move(&cb, 30)); /* the first of the second segment */
    EXPECT(m0_bufvec_cursor_addr(&cb) == b.ov_buf[1] && *(char *)b.ov_buf[1] == text[30]);
    EXPECT(m0_bufvec_cursor_move(&cb, 1) == false && m0_bufvec_cursor_step(&cb) == 29);
    EXPECT(!m0_bufvec_cursor_align(&cb, 4));
    EXPECT((uintptr_t)m0_bufvec_cursor_addr(&cb) % 4 == 0 && m0_bufvec_cursor_step(&cb) == 26);
    EXPECT(m0_bufvec_cursor_move(&cb, 1000));
    m0_bufvec_free(&a);
    m0_bufvec_free(&a); /* no effect */
    m0_bufvec_free_aligned(&b, M0_SEG_SHIFT);
    m0_bufvec_free_aligned_packed(&packed, 12);
    EXPECT(a.ov_buf == NULL && b.ov_vec.v_nr == 0);
    return 0;
}

int times_saturate(void)
{
    m0_time_t began = m0_time_now();

    EXPECT(M0_MKTIME(2, 5) == 2000000005u && m0_time_seconds(M0_MKTIME(2, 5)) == 2);
    EXPECT(m0_time_nanoseconds(M0_MKTIME(2, 5)) == 5);
    EXPECT(m0_time_add(M0_TIME_NEVER, 1) == M0_TIME_NEVER);
    EXPECT(m0_time_add(M0_TIME_NEVER - 1, 5) == M0_TIME_NEVER);
    EXPECT(m0_time_sub(M0_TIME_NEVER, 7) == M0_TIME_NEVER && m0_time_sub(9, 7) == 2);
    EXPECT(m0_nanosleep(2 * MSEC, NULL) == 0);
    EXPECT(m0_time_now() - began >= 2 * MSEC);
    EXPECT(min3(3, 1, 2) == 1 && max3(3, 1, 2) == 3 && M0_IN(3, (1, 2, 3)) && !M0_IN(4, (1, 2)));
    EXPECT(m0_align(5, 4) == 8 && m0_log2(9) == 3 && m0_round_up(10, 3) == 12);
    EXPECT(ergo(false, began == 0) && equi(1, 2) && m0_forall(i, 4, i < 4) &&
           m0_exists(i, 4, i == 3));
    return 0;
}

static int released;

static void release(struct m0_ref *ref)
{
    released++;
}

int references_release_once(void)
{
    struct m0_ref ref;

    released = 0;
    m0_ref_init(&ref, 1, release);
    m0_ref_get(&ref);
    m0_ref_put(&ref);
    EXPECT(released == 0 && m0_ref_read(&ref) == 1);
    m0_ref_put(&ref);
    EXPECT(released == 1);
    return 0;
}

/* ---- waiting --------------------------------------------------------------------------------- */

struct shared {
    struct m0_mutex mutex;
    struct m0_cond cond;
    struct m0_chan chan;
    int turn, order, seen;
};

static void shared_init(struct shared *shared)
{
    M0_SET0(shared);
    m0_mutex_init(&shared->mutex);
    m0_cond_init(&shared->cond, &shared->mutex);
    m0_chan_init(&shared->chan, &shared->mutex);
}

static void shared_fini(struct shared *shared)
{
    m0_chan_fini_lock(&shared->chan);
    m0_cond_fini(&shared->cond);
    m0_mutex_fini(&shared->mutex);
}

static void try_mutex(struct shared *shared)
{
    shared->seen = m0_mutex_is_locked(&shared->mutex) ? 1 : 2;
    shared->order = m0_mutex_trylock(&shared->mutex);
}

int a_mutex_is_locked_for_its_owner_only(void)
{
    struct m0_thread thread = {.t_state = TS_PARKED};
    struct shared shared;

    shared_init(&shared);
    EXPECT(m0_mutex_is_not_locked(&shared.mutex));
    m0_mutex_lock(&shared.mutex);
    EXPECT(m0_mutex_is_locked(&shared.mutex));
    EXPECT(M0_THREAD_INIT(&thread, struct shared *, NULL, try_mutex, &shared, "try") == 0);
    EXPECT(m0_thread_join(&thread) == 0);
    m0_thread_fini(&thread);
    EXPECT(shared.seen == 2 && shared.order == -EBUSY);
    m0_mutex_unlock(&shared.mutex);
    EXPECT(m0_mutex_trylock(&shared.mutex) == 0 && m0_mutex_is_locked(&shared.mutex));
    m0_mutex_unlock(&shared.mutex);
    shared_fini(&shared);
    return 0;
}

static void wait_in_turn(struct shared *shared)
{
    int mine;

    m0_mutex_lock(&shared->mutex);
    mine = ++shared->turn;
    m0_cond_wait(&shared->cond);
    shared->order = shared->order * 10 + mine;
    m0_mutex_unlock(&shared->mutex);
}

int conditions_time_out_and_wake_in_order(void)
{
    struct m0_thread threads[3];
    struct shared shared;
    m0_time_t began;
    int i;

    shared_init(&shared);
    M0_SET_ARR0(threads);
    m0_mutex_lock(&shared.mutex);
    began = m0_time_now();
    EXPECT(!m0_cond_timedwait(&shared.cond, began + 3 * MSEC));
    EXPECT(m0_time_now() >= began + 3 * MSEC && m0_mutex_is_locked(&shared.mutex));
    m0_mutex_unlock(&shared.mutex);
    for (i = 0; i < 3; i++) {
        EXPECT(M0_THREAD_INIT(&threads[i], struct shared *, NULL, wait_in_turn, &shared, "wait%d",
                              i) == 0);
        for (m0_mutex_lock(&shared.mutex); shared.turn <= i; m0_mutex_lock(&shared.mutex)) {
            m0_mutex_unlock(&shared.mutex);
            m0_nanosleep(MSEC / 10, NULL);
        }
        m0_mutex_unlock(&shared.mutex);
    }
    m0_mutex_lock(&shared.mutex);
    m0_cond_signal(&shared.cond); /* the first one */
    m0_mutex_unlock(&shared.mutex);
    m0_thread_join(&threads[0]);
    EXPECT(shared.order == 1);
    m0_mutex_lock(&shared.mutex);
    m0_cond_broadcast(&shared.cond);
    m0_mutex_unlock(&shared.mutex);
    m0_thread_join(&threads[1]);
    m0_thread_join(&threads[2]);
    EXPECT(shared.order == 123 || shared.order == 132);
    shared_fini(&shared);
    return 0;
}

int events_between_add_and_wait_are_counted(void)
{
    struct m0_clink clink;
    struct shared shared;
    m0_time_t began;

    shared_init(&shared);
    m0_clink_init(&clink, NULL);
    m0_clink_add_lock(&shared.chan, &clink);
    EXPECT(m0_clink_is_armed(&clink) && m0_chan_has_waiters(&shared.chan));
    m0_chan_signal_lock(&shared.chan);
    m0_chan_broadcast_lock(&shared.chan);
    m0_chan_wait(&clink);
    EXPECT(m0_chan_trywait(&clink) && !m0_chan_trywait(&clink));
    began = m0_time_now();
    EXPECT(!m0_chan_timedwait(&clink, began + MSEC) && m0_time_now() >= began + MSEC);
    m0_clink_del_lock(&clink);
    m0_chan_signal_lock(&shared.chan); /* nobody listens */
    EXPECT(!m0_chan_trywait(&clink));
    clink.cl_is_oneshot = true;
    m0_clink_add_lock(&shared.chan, &clink);
    m0_chan_broadcast_lock(&shared.chan);
    EXPECT(m0_chan_trywait(&clink) && !m0_clink_is_armed(&clink));
    m0_clink_fini(&clink);
    shared_fini(&shared);
    return 0;
}

int signals_go_round_and_broadcasts_to_all(void)
{
    struct m0_clink clinks[3];
    struct shared shared;
    int i;

    shared_init(&shared);
    for (i = 0; i < 3; i++) {
        m0_clink_init(&clinks[i], NULL);
        m0_clink_add_lock(&shared.chan, &clinks[i]);
    }
    EXPECT(!m0_chan_is_locked(&shared.chan));
    m0_chan_lock(&shared.chan);
    EXPECT(m0_chan_is_locked(&shared.chan) && m0_mutex_is_locked(&shared.mutex));
    m0_chan_unlock(&shared.chan);
    for (i = 0; i < 5; i++) {
        m0_chan_signal_lock(&shared.chan);
        EXPECT(m0_chan_trywait(&clinks[i % 3]));
        EXPECT(m0_forall(j, 3, !m0_chan_trywait(&clinks[j])));
    }
    m0_chan_broadcast_lock(&shared.chan);
    for (i = 0; i < 3; i++) {
        EXPECT(m0_chan_trywait(&clinks[i]));
        m0_clink_del_lock(&clinks[i]);
        m0_clink_fini(&clinks[i]);
    }
    shared_fini(&shared);
    return 0;
}

struct counted {
    struct m0_clink clink;
    struct m0_mutex *guard;
    int calls;
    bool consume;
};

static bool count_call(struct m0_clink *clink)
{
    struct counted *counted = container_of(clink, struct counted, clink);

    counted->calls += m0_mutex_is_locked(counted->guard) ? 1 : 100;
    return counted->consume;
}

int callbacks_consume_or_leave_pending(void)
{
    struct counted counted = {.consume = true};
    struct shared shared;

    shared_init(&shared);
    counted.guard = &shared.mutex;
    m0_clink_init(&counted.clink, count_call);
    m0_clink_add_lock(&shared.chan, &counted.clink);
    m0_chan_signal_lock(&shared.chan);
    EXPECT(counted.calls == 1 && !m0_chan_trywait(&counted.clink));
    counted.consume = false;
    m0_chan_signal_lock(&shared.chan);
    EXPECT(counted.calls == 2 && m0_chan_trywait(&counted.clink));
    m0_clink_del_lock(&counted.clink);
    m0_clink_fini(&counted.clink);
    shared_fini(&shared);
    return 0;
}

static void announce_later(struct shared *shared)
{
    m0_nanosleep(2 * MSEC, NULL);
    m0_chan_broadcast_lock(&shared->chan);
}

int groups_gather_pending_events(void)
{
    struct m0_thread thread = {.t_state = TS_PARKED};
    struct shared one, two;
    struct m0_clink head, member;

    shared_init(&one);
    shared_init(&two);
    m0_clink_init(&head, NULL);
    m0_clink_attach(&member, &head, NULL);
    m0_clink_add_lock(&one.chan, &head);
    m0_clink_add_lock(&two.chan, &member);
    m0_chan_signal_lock(&one.chan);
    m0_chan_signal_lock(&two.chan);
    EXPECT(m0_chan_trywait(&head) && m0_chan_trywait(&head) && !m0_chan_trywait(&head));
    EXPECT(M0_THREAD_INIT(&thread, struct shared *, NULL, announce_later, &two, "later") == 0);
    m0_chan_wait(&member); /* the group's */
    EXPECT(!m0_chan_trywait(&head));
    m0_thread_join(&thread);
    m0_clink_del_lock(&member);
    m0_clink_del_lock(&head);
    m0_clink_fini(&member);
    m0_clink_fini(&head);
    shared_fini(&one);
    shared_fini(&two);
    return 0;
}

/* ---- threads --------------------------------------------------------------------------------- */

struct worker {
    struct m0_thread thread;
    struct m0_thread *self;
    const struct m0_bitmap *processors;
    int refusal, ran, confined;
    bool allowed[2];
};

static int prepare(struct worker *worker)
{
    worker->ran = 1;
    return worker->refusal;
}

static void work(struct worker *worker)
{
    worker->self = m0_thread_self();
    worker->ran++;
    if (worker->processors == NULL)
        return;
    worker->confined = m0_thread_confine(&worker->thread, worker->processors);
    worker->allowed[0] = port_thread_allowed(0);
    worker->allowed[1] = port_processors() > 1 && port_thread_allowed(1);
}

int threads_start_and_end(void)
{
    struct worker worker = {.ran = 0};

    EXPECT(M0_THREAD_INIT(&worker.thread, struct worker *, prepare, work, &worker, "w%d", 1) == 0);
    EXPECT(worker.thread.t_state == TS_RUNNING && worker.ran >= 1);
    EXPECT(m0_thread_join(&worker.thread) == 0 && worker.thread.t_state == TS_PARKED);
    m0_thread_fini(&worker.thread);
    EXPECT(worker.ran == 2 && worker.self == &worker.thread && m0_thread_self() == NULL);
    EXPECT(m0_streq(worker.thread.t_namebuf, "w1"));
    worker = (struct worker){.refusal = -EIO};
    EXPECT(M0_THREAD_INIT(&worker.thread, struct worker *, prepare, work, &worker, "w") == -EIO);
    EXPECT(worker.ran == 1 && worker.thread.t_state == TS_PARKED);
    return 0;
}

static int confine(struct worker *worker, struct m0_bitmap *set)
{
    *worker = (struct worker){.processors = set, .confined = 1};
    if (M0_THREAD_INIT(&worker->thread, struct worker *, NULL, work, worker, "c") != 0)
        return 1;
    m0_thread_join(&worker->thread);
    return worker->confined;
}

int confinement_needs_an_existing_processor(void)
{
    struct worker worker;
    struct m0_bitmap set;

    EXPECT(m0_bitmap_init(&set, 100000) == 0);
    EXPECT(confine(&worker, &set) == -EINVAL);
    m0_bitmap_set(&set, 99999, true);
    EXPECT(confine(&worker, &set) == -EINVAL && worker.allowed[0]);
    m0_bitmap_set(&set, 0, true);
    EXPECT(confine(&worker, &set) == 0 && worker.allowed[0] && !worker.allowed[1]);
    m0_bitmap_fini(&set);
    return 0;
}

static bool fails(void)
{
    return M0_FI_ENABLED("here");
}

int failures_are_injected_as_armed(void)
{
    void *memory;

    EXPECT(!fails());
    m0_fi_enable_once("fails", "here");
    EXPECT(fails() && !fails());
    m0_fi_enable_off_n_on_m("fails", "here", 2, 1);
    EXPECT(!fails() && !fails() && fails() && !fails() && !fails() && fails());
    m0_fi_enable("fails", "here");
    EXPECT(fails() && fails());
    m0_fi_disable("fails", "here");
    EXPECT(!fails());
    m0_fi_enable_once("m0_alloc", "fail_allocation");
    memory = m0_alloc(8);
    EXPECT(memory == NULL);
    memory = m0_alloc(8);
    EXPECT(memory != NULL && m0_is_zeroed(memory, 8));
    m0_free0(&memory);
    EXPECT(memory == NULL);
    return 0;
}
