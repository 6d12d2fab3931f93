/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * State machines: a machine is in one of up to 64 states, which its configuration describes. The
 * machines of a group have one lock. Other threads ask a group to call a function under its lock,
 * by asynchronous system traps (AST). m0_net itself uses the lock of a group only; programs above
 * it use the rest.
 */
#ifndef M0_SM_SM_H
#define M0_SM_SM_H

#include "lib/atomic.h"
#include "lib/chan.h"
#include "lib/mutex.h"
#include "lib/timer.h"

struct m0_sm;
struct m0_sm_group;

/* ---- groups ---------------------------------------------------------------------------------- */

struct m0_sm_ast {
    void (*sa_cb)(struct m0_sm_group *group, struct m0_sm_ast *ast); /* the group is locked */
    void *sa_datum; /* the user's */
    struct m0_sm_ast *sa_next; /* NULL: it is not posted */
    struct m0_sm *sa_mach;
};

struct m0_sm_group {
    struct m0_mutex s_lock;
    unsigned int s_nesting; /* of m0_sm_group_lock_rec() */
    struct m0_clink
        s_clink; /* has an event for each posted AST: a thread waits for it, and runs them */
    struct m0_sm_ast *s_forkq; /* posted, the last one first */
    struct m0_chan s_chan; /* of s_clink */
    void *s_addb2; /* not used here */
};

void m0_sm_group_init(struct m0_sm_group *group);
void m0_sm_group_fini(struct m0_sm_group *group); /* pre: no AST is posted, not locked */
/* These two also run what is posted. */
void m0_sm_group_lock(struct m0_sm_group *group);
void m0_sm_group_unlock(struct m0_sm_group *group);
bool m0_sm_group_is_locked(const struct m0_sm_group *group); /* by the calling thread */
/* As often as the thread likes; what is posted runs at the first lock if `runast`. */
void m0_sm_group_lock_rec(struct m0_sm_group *group, bool runast);
void m0_sm_group_unlock_rec(struct m0_sm_group *group, bool runast);

/* From any thread, with the group locked or not. The last one that is posted runs first. pre: it is
 * not posted */
void m0_sm_ast_post(struct m0_sm_group *group, struct m0_sm_ast *ast);
void m0_sm_asts_run(struct m0_sm_group *group); /* pre: locked */
void m0_sm_ast_cancel(struct m0_sm_group *group, struct m0_sm_ast *ast); /* pre: locked */
/* Lets the group's thread call the function, and returns its result. pre: not locked */
int m0_sm_group_call(struct m0_sm_group *group, int (*function)(void *), void *data);

/* Counts ASTs that are posted through it, so that somebody can wait until all have run. */
struct m0_sm_ast_wait {
    bool aw_allowed; /* to post more */
    struct m0_atomic64 aw_active; /* posted, and not run yet */
    struct m0_chan aw_chan;
};
void m0_sm_ast_wait_init(struct m0_sm_ast_wait *wait, struct m0_mutex *guard);
void m0_sm_ast_wait_fini(struct m0_sm_ast_wait *wait); /* pre: guard held, none is active */
void m0_sm_ast_wait_post(struct m0_sm_ast_wait *wait, struct m0_sm_group *group,
                         struct m0_sm_ast *ast);
void m0_sm_ast_wait_signal(struct m0_sm_ast_wait *wait); /* each AST's last call; pre: guard held */
void m0_sm_ast_wait(struct m0_sm_ast_wait *wait); /* no more are allowed then; pre: guard held */

/* ---- machines -------------------------------------------------------------------------------- */

enum { M0_SM_MAX_STATES = 64 };
enum m0_sm_return { M0_SM_BREAK = -1 }; /* of sd_in: the machine stays in the state */
enum m0_sm_state_descr_flags {
    M0_SDF_INITIAL = 1 << 0, /* a machine may begin in it */
    M0_SDF_FAILURE = 1 << 1, /* sm_rc says why */
    M0_SDF_TERMINAL = 1 << 2, /* no other one follows; the machine may end */
    M0_SDF_FINAL = 1 << 3, /* the machine may end */
};

struct m0_sm_state_descr {
    uint32_t sd_flags;
    const char *sd_name; /* NULL: there is no such state */
    int (*sd_in)(struct m0_sm *machine); /* when it is entered: the state to go on to, or < 0 */
    void (*sd_ex)(struct m0_sm *machine); /* when it is left */
    bool (*sd_invariant)(const struct m0_sm *machine);
    uint64_t sd_allowed; /* the states that may follow: a bit for each */
    int8_t sd_trans[M0_SM_MAX_STATES]; /* by m0_sm_conf_init(): places in scf_trans, or -1 */
};

struct m0_sm_trans_descr {
    const char *td_cause;
    uint32_t td_src, td_tgt;
};

struct m0_sm_conf {
    uint64_t scf_magic;
    const char *scf_name;
    uint32_t scf_nr_states; /* < 64 */
    struct m0_sm_state_descr *scf_state;
    uint32_t scf_trans_nr;
    struct m0_sm_trans_descr *scf_trans;
    uint64_t scf_addb2_key, scf_addb2_id, scf_addb2_counter; /* not used here */
};

struct m0_sm {
    uint32_t sm_state;
    uint64_t sm_id;
    const struct m0_sm_conf *sm_conf;
    struct m0_sm_group *sm_grp;
    m0_time_t sm_state_epoch; /* when the state was entered */
    void *sm_addb2_stats; /* not used here */
    struct m0_chan sm_chan; /* is broadcast after each transition; guard: the group's lock */
    int32_t sm_rc; /* of a failure */
    bool sm_invariant_chk_off; /* invariants are not checked */
};

/* Checks that scf_trans and sd_allowed say the same. pre: it is not initialised */
void m0_sm_conf_init(struct m0_sm_conf *conf);
void m0_sm_conf_fini(struct m0_sm_conf *conf);
bool m0_sm_conf_is_initialized(const struct m0_sm_conf *conf);
/* States that `sub` does not have are those of `base`. */
void m0_sm_conf_extend(const struct m0_sm_state_descr *base, struct m0_sm_state_descr *sub,
                       uint32_t count);
/* Transitions of `base` that `sub` does not have take its places without a td_cause. */
void m0_sm_conf_trans_extend(const struct m0_sm_conf *base, struct m0_sm_conf *sub);

/* pre: the state is an initial one */
void m0_sm_init(struct m0_sm *machine, const struct m0_sm_conf *conf, uint32_t state,
                struct m0_sm_group *group);
void m0_sm_fini(struct m0_sm *machine); /* pre: locked; the state is a final or terminal one */
bool m0_sm_invariant(const struct m0_sm *machine);
uint64_t m0_sm_id_get(const struct m0_sm *machine);
const char *m0_sm_state_name(const struct m0_sm *machine, int state);
const char *m0_sm_conf_state_name(const struct m0_sm_conf *conf, int state);

/*
 * Leave the state, and enter the next one and those that its sd_in names. pre: the group is locked,
 * and each transition is allowed; of a failure also: rc is not 0, and sm_rc was 0.
 */
void m0_sm_state_set(struct m0_sm *machine, int state);
void m0_sm_state_and_rc_set(struct m0_sm *machine, int state, int32_t rc);
void m0_sm_fail(struct m0_sm *machine, int state, int32_t rc);
void m0_sm_move(struct m0_sm *machine, int32_t rc, int state); /* a failure if rc is not 0 */
/*
 * Waits, without the lock meanwhile, for a state of the set. 0; -ESRCH: another terminal state;
 * -ETIMEDOUT. pre: the group is locked
 */
int m0_sm_timedwait(struct m0_sm *machine, uint64_t states, m0_time_t deadline);

/* ---- timers ---------------------------------------------------------------------------------- */

/* Calls a function once under the group's lock, by an AST. */
struct m0_sm_timer {
    struct m0_sm_group *tr_grp;
    struct m0_timer tr_timer;
    struct m0_sm_ast tr_ast;
    void (*tr_cb)(struct m0_sm_timer *timer);
    int tr_state;
};
void m0_sm_timer_init(struct m0_sm_timer *timer);
void m0_sm_timer_fini(struct m0_sm_timer *timer); /* pre: it is not armed */
/* 0, or why there is no thread for it. pre: the group is locked; started for the first time */
int m0_sm_timer_start(struct m0_sm_timer *timer, struct m0_sm_group *group,
                      void (*function)(struct m0_sm_timer *timer), m0_time_t deadline);
void m0_sm_timer_cancel(struct m0_sm_timer *timer); /* pre: the group is locked; started */
bool m0_sm_timer_is_armed(const struct m0_sm_timer *timer);

/* Moves a machine to a state when the time comes. */
struct m0_sm_timeout {
    struct m0_sm_timer st_timer;
    struct m0_clink st_clink;
    int st_state;
    uint64_t st_bitmask;
};
void m0_sm_timeout_init(struct m0_sm_timeout *timeout);
void m0_sm_timeout_fini(struct m0_sm_timeout *timeout); /* pre: the group is locked, not armed */
/* Any transition before, unless to a state of the set `ignored`, ends it. pre: the group is locked
 */
int m0_sm_timeout_arm(struct m0_sm *machine, struct m0_sm_timeout *timeout, m0_time_t deadline,
                      int state, uint64_t ignored);
bool m0_sm_timeout_is_armed(const struct m0_sm_timeout *timeout);

#endif
