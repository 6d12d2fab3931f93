/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* State machines and their configurations. */
#include "sm/sm.h"

#include "lib/errno.h"
#include "motr/magic.h"

static bool has_state(const struct m0_sm_conf *conf, uint32_t state)
{
    return state < conf->scf_nr_states && conf->scf_state[state].sd_name != NULL;
}

static const struct m0_sm_state_descr *state_of(const struct m0_sm *machine)
{
    return &machine->sm_conf->scf_state[machine->sm_state];
}

static bool allows(const struct m0_sm_conf *conf, uint32_t from, uint32_t to)
{
    return (conf->scf_state[from].sd_allowed & M0_BITS(to)) != 0;
}

/* ---- configurations -------------------------------------------------------------------------- */

static bool conf_invariant(const struct m0_sm_conf *conf)
{
    enum { FLAGS = M0_SDF_INITIAL | M0_SDF_FAILURE | M0_SDF_TERMINAL | M0_SDF_FINAL };
    uint64_t states = 0;
    uint32_t i;

    if (conf->scf_nr_states >= M0_SM_MAX_STATES)
        return false;
    for (i = 0; i < conf->scf_nr_states; i++)
        if (has_state(conf, i))
            states |= M0_BITS(i);
    for (i = 0; i < conf->scf_nr_states; i++) {
        const struct m0_sm_state_descr *descr = &conf->scf_state[i];

        if (!has_state(conf, i))
            continue;
        if ((descr->sd_flags & ~(uint32_t)FLAGS) != 0 || (descr->sd_allowed & ~states) != 0 ||
            ((descr->sd_flags & M0_SDF_TERMINAL) != 0 && descr->sd_allowed != 0))
            return false;
    }
    return true;
}

void m0_sm_conf_init(struct m0_sm_conf *conf)
{
    uint32_t i, to;

    M0_PRE(!m0_sm_conf_is_initialized(conf));
    M0_PRE(conf->scf_trans_nr > 0 && conf->scf_trans_nr <= INT8_MAX);
    M0_PRE(conf->scf_nr_states < M0_SM_MAX_STATES);
    for (i = 0; i < conf->scf_nr_states; i++)
        memset(conf->scf_state[i].sd_trans, -1, sizeof(conf->scf_state[i].sd_trans));
    for (i = 0; i < conf->scf_trans_nr; i++) {
        const struct m0_sm_trans_descr *trans = &conf->scf_trans[i];

        M0_ASSERT(allows(conf, trans->td_src, trans->td_tgt));
        conf->scf_state[trans->td_src].sd_trans[trans->td_tgt] = (int8_t)i;
    }
    for (i = 0; i < conf->scf_nr_states; i++)
        for (to = 0; to < conf->scf_nr_states; to++)
            M0_ASSERT(!allows(conf, i, to) || conf->scf_state[i].sd_trans[to] >= 0);
    conf->scf_magic = M0_SM_CONF_MAGIC;
}

void m0_sm_conf_fini(struct m0_sm_conf *conf)
{
    M0_PRE(m0_sm_conf_is_initialized(conf));
    conf->scf_magic = 0;
}

bool m0_sm_conf_is_initialized(const struct m0_sm_conf *conf)
{
    return conf->scf_magic == M0_SM_CONF_MAGIC;
}

void m0_sm_conf_extend(const struct m0_sm_state_descr *base, struct m0_sm_state_descr *sub,
                       uint32_t count)
{
    uint32_t i;

    for (i = 0; i < count; i++)
        if (sub[i].sd_name == NULL)
            sub[i] = base[i];
}

static struct m0_sm_trans_descr *find_trans(struct m0_sm_conf *conf,
                                            const struct m0_sm_trans_descr *trans)
{
    struct m0_sm_trans_descr *at, *room = NULL;

    for (at = conf->scf_trans; at < conf->scf_trans + conf->scf_trans_nr; at++) {
        if (at->td_cause == NULL)
            room = room == NULL ? at : room;
        else if (at->td_src == trans->td_src && at->td_tgt == trans->td_tgt)
            return at;
    }
    return room;
}

void m0_sm_conf_trans_extend(const struct m0_sm_conf *base, struct m0_sm_conf *sub)
{
    uint32_t i;

    for (i = 0; i < base->scf_trans_nr; i++) {
        struct m0_sm_trans_descr *place = find_trans(sub, &base->scf_trans[i]);

        M0_ASSERT(place != NULL);
        if (place->td_cause == NULL)
            *place = base->scf_trans[i];
    }
}

/* ---- machines -------------------------------------------------------------------------------- */

static bool state_invariant(const struct m0_sm *machine)
{
    const struct m0_sm_state_descr *descr = state_of(machine);

    return has_state(machine->sm_conf, machine->sm_state) &&
           (descr->sd_invariant == NULL || descr->sd_invariant(machine));
}

bool m0_sm_invariant(const struct m0_sm *machine)
{
    return machine->sm_invariant_chk_off ||
           (m0_sm_group_is_locked(machine->sm_grp) && state_invariant(machine));
}

void m0_sm_init(struct m0_sm *machine, const struct m0_sm_conf *conf, uint32_t state,
                struct m0_sm_group *group)
{
    M0_PRE(conf_invariant(conf));
    M0_PRE(has_state(conf, state) && (conf->scf_state[state].sd_flags & M0_SDF_INITIAL) != 0);
    *machine = (struct m0_sm){.sm_state = state,
                              .sm_id = m0_dummy_id_generate(),
                              .sm_conf = conf,
                              .sm_grp = group,
                              .sm_state_epoch = m0_time_now()};
    m0_chan_init(&machine->sm_chan, &group->s_lock);
    M0_POST(state_invariant(machine));
}

void m0_sm_fini(struct m0_sm *machine)
{
    M0_PRE((state_of(machine)->sd_flags & (M0_SDF_TERMINAL | M0_SDF_FINAL)) != 0);
    M0_PRE(machine->sm_invariant_chk_off || state_invariant(machine));
    m0_chan_fini(&machine->sm_chan);
}

uint64_t m0_sm_id_get(const struct m0_sm *machine)
{
    return machine->sm_id;
}

const char *m0_sm_conf_state_name(const struct m0_sm_conf *conf, int state)
{
    return state >= 0 && has_state(conf, (uint32_t)state) ? conf->scf_state[state].sd_name
                                                          : "invalid";
}

const char *m0_sm_state_name(const struct m0_sm *machine, int state)
{
    return m0_sm_conf_state_name(machine->sm_conf, state);
}

static void move(struct m0_sm *machine, int state, int32_t rc)
{
    const struct m0_sm_state_descr *from, *to;

    machine->sm_rc = rc;
    for (; state >= 0; m0_chan_broadcast(&machine->sm_chan)) {
        M0_PRE(has_state(machine->sm_conf, (uint32_t)state));
        M0_PRE(allows(machine->sm_conf, machine->sm_state, (uint32_t)state));
        from = state_of(machine);
        if (from->sd_ex != NULL)
            from->sd_ex(machine);
        machine->sm_state = (uint32_t)state;
        machine->sm_state_epoch = m0_time_now();
        M0_ASSERT(m0_sm_invariant(machine));
        to = state_of(machine);
        state = to->sd_in != NULL ? to->sd_in(machine) : M0_SM_BREAK;
    }
    M0_POST(m0_sm_invariant(machine));
}

void m0_sm_state_set(struct m0_sm *machine, int state)
{
    M0_PRE(m0_sm_invariant(machine));
    move(machine, state, 0);
}

void m0_sm_state_and_rc_set(struct m0_sm *machine, int state, int32_t rc)
{
    M0_PRE(m0_sm_invariant(machine));
    move(machine, state, rc);
}

void m0_sm_fail(struct m0_sm *machine, int state, int32_t rc)
{
    M0_PRE(rc != 0 && machine->sm_rc == 0);
    M0_PRE(m0_sm_invariant(machine));
    M0_PRE(state >= 0 && has_state(machine->sm_conf, (uint32_t)state));
    M0_PRE((machine->sm_conf->scf_state[state].sd_flags & M0_SDF_FAILURE) != 0);
    move(machine, state, rc);
}

void m0_sm_move(struct m0_sm *machine, int32_t rc, int state)
{
    if (rc == 0)
        m0_sm_state_set(machine, state);
    else
        m0_sm_fail(machine, state, rc);
}

int m0_sm_timedwait(struct m0_sm *machine, uint64_t states, m0_time_t deadline)
{
    struct m0_clink clink;
    int rc = 0;

    M0_PRE(m0_sm_invariant(machine));
    m0_clink_init(&clink, NULL);
    m0_clink_add(&machine->sm_chan, &clink);
    while (rc == 0 && (M0_BITS(machine->sm_state) & states) == 0) {
        if ((state_of(machine)->sd_flags & M0_SDF_TERMINAL) != 0) {
            rc = -ESRCH;
            continue;
        }
        m0_sm_group_unlock(machine->sm_grp);
        rc = m0_chan_timedwait(&clink, deadline) ? 0 : -ETIMEDOUT;
        m0_sm_group_lock(machine->sm_grp);
    }
    m0_clink_del(&clink);
    m0_clink_fini(&clink);
    return rc;
}
