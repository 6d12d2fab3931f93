/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sm_cases.h"

#include "lib/errno.h"
#include "lib/memory.h"
#include "lib/thread.h"
#include "lib/vec.h"
#include "sm/sm.h"

#define EXPECT(condition)    \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)
#define MSEC ((m0_time_t)M0_TIME_ONE_MSEC)

/* ---- a connection, as a state machine -------------------------------------------------------- */

enum { IDLE, CONNECTING, ACTIVE, FAILED, CLOSED, STATES };
enum { POSTERS = 3, EACH = 200 };

/* Of a process, or of a rank: there are two of them in one program. */
struct fixture {
    struct m0_sm_group group;
    struct m0_sm machine;
    int entered[STATES], left[STATES];
    bool stopping;
    struct m0_sm_ast traps[POSTERS][EACH];
    struct m0_sm_ast_wait all;
    int ran, unlocked, called, order[4], places;
    bool connecting_seen;
    m0_time_t called_at;
};

static struct fixture *mine(void)
{
    static struct fixture fixtures[2];

    return &fixtures[port_process() % 2];
}

static int note_entry(struct m0_sm *self)
{
    mine()->entered[self->sm_state]++;
    return M0_SM_BREAK;
}

static void note_exit(struct m0_sm *self)
{
    mine()->left[self->sm_state]++;
}

static bool has_a_reason(const struct m0_sm *self)
{
    return self->sm_rc != 0;
}

static int close_at_once(struct m0_sm *self)
{
    mine()->entered[self->sm_state]++;
    return CLOSED;
}

static struct m0_sm_state_descr states[STATES] = {
    [IDLE] = {.sd_flags = M0_SDF_INITIAL | M0_SDF_FINAL,
              .sd_name = "idle",
              .sd_ex = note_exit,
              .sd_allowed = M0_BITS(CONNECTING, FAILED)},
    [CONNECTING] = {.sd_name = "connecting",
                    .sd_in = note_entry,
                    .sd_ex = note_exit,
                    .sd_allowed = M0_BITS(ACTIVE, FAILED)},
    [ACTIVE] = {.sd_name = "active",
                .sd_in = note_entry,
                .sd_ex = note_exit,
                .sd_allowed = M0_BITS(ACTIVE, FAILED, CLOSED)},
    [FAILED] = {.sd_flags = M0_SDF_FAILURE,
                .sd_name = "failed",
                .sd_in = close_at_once,
                .sd_invariant = has_a_reason,
                .sd_allowed = M0_BITS(CLOSED)},
    [CLOSED] = {.sd_flags = M0_SDF_TERMINAL, .sd_name = "closed", .sd_in = note_entry},
};
static struct m0_sm_trans_descr transitions[] = {
    {"connect", IDLE, CONNECTING},    {"refused", IDLE, FAILED},
    {"accepted", CONNECTING, ACTIVE}, {"no answer", CONNECTING, FAILED},
    {"request", ACTIVE, ACTIVE},      {"broken", ACTIVE, FAILED},
    {"closed", ACTIVE, CLOSED},       {"given up", FAILED, CLOSED},
};
static const struct m0_sm_conf connection = {.scf_name = "connection",
                                             .scf_nr_states = STATES,
                                             .scf_state = states,
                                             .scf_trans_nr = ARRAY_SIZE(transitions),
                                             .scf_trans = transitions};

static void begin(void)
{
    int i;

    for (i = 0; i < STATES; i++)
        mine()->entered[i] = mine()->left[i] = 0;
    m0_sm_group_init(&mine()->group);
    m0_sm_group_lock(&mine()->group);
    m0_sm_init(&mine()->machine, &connection, IDLE, &mine()->group);
}

static void end(void)
{
    m0_sm_fini(&mine()->machine);
    m0_sm_group_unlock(&mine()->group);
    m0_sm_group_fini(&mine()->group);
}

int m0_159_a_machine_goes_through_its_states(void)
{
    struct m0_sm_conf conf = connection;
    uint64_t first;

    EXPECT(!m0_sm_conf_is_initialized(&conf));
    m0_sm_conf_init(&conf);
    EXPECT(m0_sm_conf_is_initialized(&conf));
    EXPECT(states[ACTIVE].sd_trans[FAILED] == 5 && states[IDLE].sd_trans[ACTIVE] == -1);
    m0_sm_conf_fini(&conf);
    EXPECT(!m0_sm_conf_is_initialized(&conf));

    begin();
    first = m0_sm_id_get(&mine()->machine);
    EXPECT(m0_sm_group_is_locked(&mine()->group) && m0_sm_invariant(&mine()->machine));
    m0_sm_state_set(&mine()->machine, CONNECTING);
    EXPECT(mine()->machine.sm_state == CONNECTING && mine()->left[IDLE] == 1 &&
           mine()->entered[CONNECTING] == 1);
    m0_sm_move(&mine()->machine, 0, ACTIVE);
    m0_sm_state_set(&mine()->machine, ACTIVE);
    EXPECT(mine()->entered[ACTIVE] == 2 && mine()->left[ACTIVE] == 1);
    m0_sm_state_set(&mine()->machine, CLOSED);
    EXPECT(mine()->machine.sm_rc == 0 && mine()->machine.sm_state == CLOSED);
    EXPECT(m0_sm_state_name(&mine()->machine, ACTIVE)[0] == 'a');
    EXPECT(m0_sm_conf_state_name(&connection, 9)[0] == 'i');
    m0_sm_fini(&mine()->machine);
    m0_sm_init(&mine()->machine, &connection, IDLE, &mine()->group);
    EXPECT(m0_sm_id_get(&mine()->machine) != first);
    end();
    return 0;
}

int m0_159_states_that_lead_on(void)
{
    struct m0_clink clink;
    int events = 0;

    begin();
    m0_clink_init(&clink, NULL);
    m0_clink_add(&mine()->machine.sm_chan, &clink);
    m0_sm_state_set(&mine()->machine, CONNECTING);
    m0_sm_fail(&mine()->machine, FAILED, -ETIMEDOUT);
    EXPECT(mine()->machine.sm_state == CLOSED && mine()->machine.sm_rc == -ETIMEDOUT);
    EXPECT(mine()->entered[FAILED] == 1 && mine()->entered[CLOSED] == 1);
    while (m0_chan_trywait(&clink))
        events++;
    EXPECT(events == 3); /* of each transition */
    m0_clink_del(&clink);
    m0_clink_fini(&clink);
    end();
    return 0;
}

/* ---- other threads --------------------------------------------------------------------------- */

static void connect_later(int unused)
{
    (void)unused;
    m0_nanosleep(10 * MSEC, NULL);
    m0_sm_group_lock(&mine()->group);
    m0_sm_state_set(&mine()->machine, CONNECTING);
    m0_sm_group_unlock(&mine()->group);
    while (!__atomic_load_n(&mine()->connecting_seen, __ATOMIC_SEQ_CST))
        m0_nanosleep(10 * MSEC, NULL);
    m0_sm_group_lock(&mine()->group);
    m0_sm_fail(&mine()->machine, FAILED, -ECONNREFUSED);
    m0_sm_group_unlock(&mine()->group);
}

int m0_159_waiting_for_a_state(void)
{
    struct m0_thread thread = {.t_state = TS_PARKED};
    m0_time_t before = m0_time_now();

    begin();
    EXPECT(m0_sm_timedwait(&mine()->machine, M0_BITS(IDLE, ACTIVE), M0_TIME_NEVER) == 0);
    EXPECT(m0_sm_timedwait(&mine()->machine, M0_BITS(ACTIVE), m0_time_add(before, MSEC)) ==
           -ETIMEDOUT);
    EXPECT(m0_time_now() >= before + MSEC);
    EXPECT(M0_THREAD_INIT(&thread, int, NULL, &connect_later, 0, "connects") == 0);
    EXPECT(m0_sm_timedwait(&mine()->machine, M0_BITS(CONNECTING, ACTIVE), M0_TIME_NEVER) == 0);
    EXPECT(m0_sm_group_is_locked(&mine()->group));
    __atomic_store_n(&mine()->connecting_seen, true, __ATOMIC_SEQ_CST);
    EXPECT(m0_sm_timedwait(&mine()->machine, M0_BITS(ACTIVE), M0_TIME_NEVER) == -ESRCH);
    EXPECT(mine()->machine.sm_rc == -ECONNREFUSED);
    m0_sm_group_unlock(&mine()->group);
    m0_thread_join(&thread);
    m0_thread_fini(&thread);
    m0_sm_group_lock(&mine()->group);
    end();
    return 0;
}

/* The thread of a group: waits for traps, and runs them, until one ends it. */
static void serve(int unused)
{
    (void)unused;
    while (true) {
        m0_sm_group_lock(&mine()->group); /* runs what is there */
        if (mine()->stopping)
            break;
        m0_sm_group_unlock(&mine()->group);
        m0_chan_wait(&mine()->group.s_clink);
    }
    m0_sm_group_unlock(&mine()->group);
}

static void run(struct m0_sm_group *which, struct m0_sm_ast *ast)
{
    mine()->ran++;
    mine()->unlocked += !m0_sm_group_is_locked(which) || ast->sa_next != NULL;
    m0_sm_ast_wait_signal(&mine()->all);
}

static void post(int poster)
{
    int i;

    for (i = 0; i < EACH; i++) {
        mine()->traps[poster][i] = (struct m0_sm_ast){.sa_cb = run};
        m0_sm_ast_wait_post(&mine()->all, &mine()->group, &mine()->traps[poster][i]);
    }
}

static void stop(struct m0_sm_group *which, struct m0_sm_ast *ast)
{
    (void)which, (void)ast;
    mine()->stopping = true;
}

static int square(void *number)
{
    return m0_sm_group_is_locked(&mine()->group) ? *(int *)number * *(int *)number : -1;
}

int m0_159_traps_run_under_the_lock(void)
{
    struct m0_thread threads[POSTERS] = {{.t_state = TS_PARKED}}, server = {.t_state = TS_PARKED};
    struct m0_sm_ast last = {.sa_cb = stop};
    int i, seven = 7;

    m0_sm_group_init(&mine()->group);
    m0_sm_ast_wait_init(&mine()->all, &mine()->group.s_lock);
    mine()->ran = mine()->unlocked = 0;
    mine()->stopping = false;
    EXPECT(M0_THREAD_INIT(&server, int, NULL, &serve, 0, "serves") == 0);
    for (i = 0; i < POSTERS; i++)
        EXPECT(M0_THREAD_INIT(&threads[i], int, NULL, &post, i, "posts") == 0);
    for (i = 0; i < POSTERS; i++) {
        m0_thread_join(&threads[i]);
        m0_thread_fini(&threads[i]);
    }
    m0_mutex_lock(&mine()->group.s_lock); /* which runs nothing: the server does */
    m0_sm_ast_wait(&mine()->all);
    m0_sm_ast_wait_fini(&mine()->all);
    m0_mutex_unlock(&mine()->group.s_lock);
    EXPECT(mine()->ran == POSTERS * EACH && mine()->unlocked == 0);
    EXPECT(m0_sm_group_call(&mine()->group, square, &seven) == 49);
    m0_sm_ast_post(&mine()->group, &last);
    m0_thread_join(&server);
    m0_thread_fini(&server);
    m0_sm_group_fini(&mine()->group);
    return 0;
}

static void note_order(struct m0_sm_group *which, struct m0_sm_ast *ast)
{
    (void)which;
    mine()->order[mine()->places++] = (int)(uintptr_t)ast->sa_datum;
}

int m0_159_the_last_trap_runs_first(void)
{
    struct m0_sm_ast asts[4];
    uintptr_t i;

    m0_sm_group_init(&mine()->group);
    m0_sm_group_lock_rec(&mine()->group, true);
    m0_sm_group_lock_rec(&mine()->group, true);
    mine()->places = 0;
    for (i = 0; i < 4; i++) {
        asts[i] = (struct m0_sm_ast){.sa_cb = note_order, .sa_datum = (void *)i};
        m0_sm_ast_post(&mine()->group, &asts[i]);
    }
    m0_sm_ast_cancel(&mine()->group, &asts[3]); /* the first of the queue, and one in it */
    m0_sm_ast_cancel(&mine()->group, &asts[1]);
    m0_sm_ast_cancel(&mine()->group, &asts[1]);
    m0_sm_asts_run(&mine()->group);
    EXPECT(mine()->places == 2 && mine()->order[0] == 2 && mine()->order[1] == 0);
    m0_sm_ast_post(&mine()->group, &asts[1]);
    m0_sm_group_unlock_rec(&mine()->group, true);
    EXPECT(m0_sm_group_is_locked(&mine()->group) && mine()->places == 2);
    m0_sm_group_unlock_rec(&mine()->group, true);
    EXPECT(!m0_sm_group_is_locked(&mine()->group) && mine()->places == 3);
    m0_sm_group_fini(&mine()->group);
    return 0;
}

/* ---- timers ---------------------------------------------------------------------------------- */

static void on_timer(struct m0_sm_timer *timer)
{
    mine()->called += m0_sm_group_is_locked(timer->tr_grp);
    mine()->called_at = m0_time_now();
}

/* Gives the group's lock away until its clink has an event, as the group's thread does. */
static void run_next(void)
{
    m0_sm_group_unlock(&mine()->group);
    m0_chan_wait(&mine()->group.s_clink);
    m0_sm_group_lock(&mine()->group);
}

int m0_159_a_timer_of_a_group(void)
{
    struct m0_sm_timer timer, other, unused;
    m0_time_t deadline = m0_time_from_now(0, 5 * MSEC);

    mine()->called = 0;
    m0_sm_group_init(&mine()->group);
    m0_sm_timer_init(&timer);
    m0_sm_timer_init(&other);
    m0_sm_timer_init(&unused);
    m0_sm_group_lock(&mine()->group);
    EXPECT(m0_sm_timer_start(&timer, &mine()->group, on_timer, deadline) == 0);
    EXPECT(m0_sm_timer_start(&other, &mine()->group, on_timer, m0_time_from_now(1000, 0)) == 0);
    EXPECT(m0_sm_timer_is_armed(&timer) && !m0_sm_timer_is_armed(&unused));
    while (mine()->called == 0)
        run_next();
    EXPECT(mine()->called == 1 && mine()->called_at >= deadline && !m0_sm_timer_is_armed(&timer));
    m0_sm_timer_cancel(&timer);
    EXPECT(m0_sm_timer_is_armed(&other));
    m0_sm_timer_cancel(&other);
    EXPECT(!m0_sm_timer_is_armed(&other));
    m0_sm_timer_fini(&timer);
    m0_sm_timer_fini(&other);

    /* One that has expired, but whose function has not run. */
    m0_sm_timer_init(&timer);
    EXPECT(m0_sm_timer_start(&timer, &mine()->group, on_timer, M0_TIME_IMMEDIATELY) == 0);
    m0_chan_wait(&mine()->group.s_clink);
    m0_sm_timer_cancel(&timer);
    m0_sm_group_unlock(&mine()->group);
    EXPECT(mine()->called == 1);
    m0_sm_timer_fini(&timer);
    m0_sm_timer_fini(&unused);
    m0_sm_group_fini(&mine()->group);
    return 0;
}

int m0_159_a_state_that_takes_too_long(void)
{
    struct m0_sm_timeout late, ended;
    m0_time_t deadline = m0_time_from_now(0, 5 * MSEC);

    begin();
    m0_sm_timeout_init(&ended);
    m0_sm_state_set(&mine()->machine, CONNECTING);
    EXPECT(m0_sm_timeout_arm(&mine()->machine, &ended, m0_time_from_now(1000, 0), ACTIVE, 0) == 0);
    EXPECT(m0_sm_timeout_is_armed(&ended));
    m0_sm_state_set(&mine()->machine, ACTIVE);
    EXPECT(!m0_sm_timeout_is_armed(&ended));
    m0_sm_timeout_fini(&ended);

    m0_sm_timeout_init(&late);
    EXPECT(m0_sm_timeout_arm(&mine()->machine, &late, deadline, CLOSED, M0_BITS(ACTIVE)) == 0);
    m0_sm_state_set(&mine()->machine, ACTIVE);
    EXPECT(m0_sm_timeout_is_armed(&late));
    while (mine()->machine.sm_state == ACTIVE)
        run_next();
    EXPECT(mine()->machine.sm_state == CLOSED && m0_time_now() >= deadline);
    EXPECT(!m0_sm_timeout_is_armed(&late));
    m0_sm_timeout_fini(&late);
    end();
    return 0;
}

int m0_159_descriptions_are_extended(void)
{
    struct m0_sm_state_descr more[STATES + 1] = {
        [ACTIVE] = {.sd_name = "busy", .sd_allowed = M0_BITS(CLOSED, STATES)},
        [STATES] = {.sd_name = "moving", .sd_allowed = M0_BITS(ACTIVE)},
    };
    struct m0_sm_trans_descr room[ARRAY_SIZE(transitions) + 2] = {
        [1] = {"moves", ACTIVE, STATES}, [4] = {"ends", ACTIVE, CLOSED}};
    struct m0_sm_conf conf = {.scf_nr_states = STATES + 1,
                              .scf_state = more,
                              .scf_trans_nr = ARRAY_SIZE(room),
                              .scf_trans = room};
    unsigned i, ends = 0, filled = 0;

    m0_sm_conf_extend(states, more, STATES);
    EXPECT(more[IDLE].sd_name[0] == 'i' && more[ACTIVE].sd_name[0] == 'b');
    m0_sm_conf_trans_extend(&connection, &conf);
    for (i = 0; i < ARRAY_SIZE(room); i++) {
        filled += room[i].td_cause != NULL;
        ends += room[i].td_cause != NULL && room[i].td_src == ACTIVE && room[i].td_tgt == CLOSED;
    }
    EXPECT(filled == ARRAY_SIZE(transitions) + 1 && ends == 1);
    EXPECT(room[4].td_cause[0] == 'e' && room[0].td_tgt == CONNECTING && room[2].td_src == IDLE);
    return 0;
}

/* ---- vectors --------------------------------------------------------------------------------- */

int m0_159_extents_are_walked_and_joined(void)
{
    static const m0_bindex_t from[] = {100, 120, 200, 205, 300};
    static const m0_bcount_t bytes[] = {20, 10, 50, 10, 1};
    struct m0_ivec_cursor cursor;
    struct m0_indexvec vec;
    unsigned i;

    EXPECT(m0_indexvec_alloc(&vec, 5) == 0 && vec.iv_vec.v_nr == 5);
    for (i = 0; i < 5; i++) {
        vec.iv_index[i] = from[i];
        vec.iv_vec.v_count[i] = bytes[i];
    }
    m0_ivec_cursor_init(&cursor, &vec);
    EXPECT(m0_ivec_cursor_index(&cursor) == 100 && m0_ivec_cursor_step(&cursor) == 20);
    EXPECT(m0_ivec_cursor_conti(&cursor, 1000) == 130 && m0_ivec_cursor_conti(&cursor, 125) == 125);
    EXPECT(!m0_ivec_cursor_move(&cursor, 25) && m0_ivec_cursor_index(&cursor) == 125);
    EXPECT(!m0_ivec_cursor_move_to(&cursor, 127) && m0_ivec_cursor_index(&cursor) == 127);
    EXPECT(!m0_ivec_cursor_move_to(&cursor, 150) && m0_ivec_cursor_index(&cursor) == 200);
    EXPECT(m0_ivec_cursor_move_to(&cursor, 301));

    EXPECT(m0_indexvec_pack(&vec) == 2 && vec.iv_vec.v_nr == 3);
    EXPECT(vec.iv_index[0] == 100 && vec.iv_vec.v_count[0] == 30);
    EXPECT(vec.iv_index[1] == 200 && vec.iv_vec.v_count[1] == 50);
    EXPECT(vec.iv_index[2] == 300 && vec.iv_vec.v_count[2] == 1);
    m0_indexvec_free(&vec);
    m0_indexvec_free(&vec);
    EXPECT(vec.iv_index == NULL && vec.iv_vec.v_nr == 0);
    return 0;
}

int m0_159_pages_with_a_place(void)
{
    enum { PAGE = M0_0VEC_ALIGN };
    char *memory = m0_alloc_aligned(3 * PAGE, M0_0VEC_SHIFT);
    void *two[] = {memory, memory + PAGE};
    m0_bcount_t counts[] = {PAGE, 100};
    struct m0_bufvec bufvec = {.ov_vec = {.v_nr = 2, .v_count = counts}, .ov_buf = two};
    m0_bindex_t indices[] = {7, 70, 700};
    struct m0_buf page;
    struct m0_0vec vec;
    int i;

    EXPECT(memory != NULL && m0_0vec_init(&vec, 2) == 0);
    EXPECT(vec.z_bvec.ov_vec.v_nr == 2 && vec.z_bvec.ov_buf[1] == NULL && vec.z_count == 0);
    for (i = 0; i < 2; i++) {
        page = (struct m0_buf){.b_nob = PAGE, .b_addr = memory + i * PAGE};
        EXPECT(m0_0vec_cbuf_add(&vec, &page, &indices[i]) == 0);
    }
    EXPECT(m0_0vec_cbuf_add(&vec, &page, &indices[2]) == -EMSGSIZE);
    EXPECT(vec.z_count == 2 * PAGE && vec.z_last_buf_idx == 2 && vec.z_index[1] == 70);
    EXPECT(vec.z_bvec.ov_buf[1] == memory + PAGE && m0_vec_count(&vec.z_bvec.ov_vec) == 2 * PAGE);
    m0_0vec_fini(&vec);

    EXPECT(m0_0vec_init(&vec, 3) == 0);
    m0_0vec_bvec_init(&vec, &bufvec, indices);
    EXPECT(vec.z_bvec.ov_buf[0] == memory && vec.z_bvec.ov_vec.v_count[1] == 100);
    EXPECT(vec.z_index[0] == 7 && vec.z_bvec.ov_buf[2] == NULL);
    m0_0vec_fini(&vec);
    EXPECT(vec.z_index == NULL && vec.z_bvec.ov_buf == NULL);
    m0_free_aligned(memory, 3 * PAGE, M0_0VEC_SHIFT);
    return 0;
}

int m0_159_memory_in_segments_is_compared(void)
{
    struct m0_bufvec a, b;
    struct m0_bufvec_cursor at, other;
    char text[] = "fabric and storage", back[sizeof(text)] = "";

    EXPECT(m0_bufvec_alloc(&a, 5, 4) == 0 && m0_bufvec_alloc(&b, 3, 7) == 0);
    m0_bufvec_cursor_init(&at, &a);
    EXPECT(m0_data_to_bufvec_copy(&at, text, sizeof(text)) == 0);
    EXPECT(m0_data_to_bufvec_copy(&at, text, sizeof(text)) == -EFAULT); /* one byte is left */
    m0_bufvec_cursor_init(&at, &a);
    EXPECT(m0_bufvec_to_data_copy(&at, back, sizeof(back)) == 0);
    EXPECT(memcmp(back, text, sizeof(text)) == 0);
    EXPECT(m0_bufvec_to_data_copy(&at, back, sizeof(back)) == -EFAULT);

    m0_bufvec_cursor_init(&other, &b);
    EXPECT(m0_data_to_bufvec_copy(&other, text, sizeof(text)) == 0);
    ((char *)b.ov_buf[1])[3] = 'z'; /* byte 10 */
    m0_bufvec_cursor_init(&at, &a);
    m0_bufvec_cursor_init(&other, &b);
    EXPECT(m0_bufvec_cursor_prefix(&at, &other) == 10);
    m0_bufvec_cursor_init(&at, &a);
    m0_bufvec_cursor_init(&other, &b);
    EXPECT(m0_bufvec_cursor_cmp(&at, &other) < 0);
    m0_bufvec_cursor_init(&at, &a);
    m0_bufvec_cursor_move(&at, 19); /* "f", of the second copy */
    m0_bufvec_cursor_init(&other, &b);
    EXPECT(m0_bufvec_cursor_cmp(&at, &other) < 0);
    m0_bufvec_cursor_init(&at, &a);
    m0_bufvec_cursor_move(&at, 19);
    m0_bufvec_cursor_init(&other, &b);
    EXPECT(m0_bufvec_cursor_prefix(&at, &other) == 1);
    m0_bufvec_cursor_init(&at, &a);
    m0_bufvec_cursor_init(&other, &a);
    EXPECT(m0_bufvec_cursor_cmp(&at, &other) == 0);
    m0_bufvec_free(&a);
    m0_bufvec_free(&b);
    return 0;
}
