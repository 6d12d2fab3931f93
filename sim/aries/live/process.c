/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The process: a process of the operating system on an emulated node. It is created by the first
 * call that needs it. Without JACQUARD_FABRIC the fabric is a private one, which is started only
 * when something attaches: a program that only asks for the address of the NIC starts no daemon.
 *
 * What the processes of a node must agree on are names of the fabric: the owner of each instance of
 * a communication domain, the owner of each block of memory descriptors, and the protection tag of
 * each cookie.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "backend.h"

#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "api/ce.h"
#include "api/comp_chan.h"
#include "api/datagram.h"
#include "nic/error_event.h"
#include "api/front.h"
#include "nic/mdd.h"
#include "nic/mem_handle.h"
#include "api/msgq.h"
#include "lock.h"

#define PTAG_FIRST 4u /* the driver assigns 4 … 127 by itself */
#define PTAGS 124u
#define PRIVATE_NODES 16u

struct aries_live aries_live;

/* ---- saying what is wrong -------------------------------------------------------------------- */

void aries_live_print_error(const char *why)
{
    char line[SHM_WHY_BYTES + 32];
    int length = snprintf(line, sizeof(line), "libugni: %s\n", why);

    if (write(STDERR_FILENO, line, (size_t)length) < 0)
        return; /* there is nobody to report this to */
}

static void killed(void *arg, const char *why)
{
    (void)arg;
    aries_live_print_error(why);
    aries_live_trace_end(); /* the trace shows what led to this */
    kill(getpid(), SIGKILL);
}

/* ---- the fabric as this process knows it ----------------------------------------------------- */

/* A dragonfly of so many nodes. Addresses are those of the emulated system. */
static struct net *make_net(uint32_t nodes, const char *preset, uint64_t seed,
                            const struct aries_params *params)
{
    struct net_config config;
    char *error = NULL;
    struct net *net;

    net_config_default(&config);
    config.fidelity = NET_F0;
    config.seed = seed;
    aries_params_to_net(params, &config);
    config.dragonfly.preset = preset != NULL && preset[0] != '\0' ? preset : NULL;
    if (!aries_live_faults_net(&config) && config.dragonfly.preset == NULL) {
        uint32_t routers = (nodes + 3) / 4;

        config.dragonfly.slots = MIN(routers, 16u);
        config.dragonfly.chassis = MIN((routers + 15) / 16, 6u);
        config.dragonfly.groups = (routers + 95) / 96;
    }
    net = net_create(&config, &error);
    if (net == NULL)
        aries_live_print_error(error != NULL ? error : "no network");
    free(error);
    return net;
}

static uint32_t number_of(const char *name, uint32_t otherwise)
{
    const char *text = getenv(name);

    return text != NULL && text[0] >= '0' && text[0] <= '9' ? (uint32_t)strtoul(text, NULL, 0)
                                                            : otherwise;
}

static void add_jobs(struct aries_fabric *fabric);

static bool make_fabric(uint32_t nodes, const char *preset, uint64_t seed, uint64_t own,
                        uint32_t node)
{
    char why[SHM_WHY_BYTES];
    struct aries_params *params;
    struct aries_fabric *fabric;

    params = aries_live_faults_params(why, sizeof(why));
    if (params == NULL) {
        aries_live_print_error(why);
        return false;
    }
    aries_live.net = make_net(nodes, preset, own, params);
    if (aries_live.net == NULL) {
        aries_params_free(params);
        return false;
    }
    sim_wall_init();
    fabric = aries_live.fabric = aries_fabric_create(aries_live.net, params, seed);
    aries_params_free(params);
    if (node >= fabric->nodes)
        node = 0;
    add_jobs(fabric);
    aries_live.routes = g_new0(struct aries_live_link **, fabric->nodes);
    aries_live.channels =
        g_new0(struct aries_live_link *, (size_t)fabric->nodes * fabric->timing.vces);
    aries_live.hw = &fabric->nics[node];
    aries_live.ready_tail = &aries_live.ready;
    aries_live.held_tail = &aries_live.held;
    aries_live.process =
        aries_process_create(fabric, node, number_of("JACQUARD_JOB", 0), (uint32_t)getpid(),
                             geteuid() == 0, NULL, killed, NULL);
    return true;
}

/* ---- jobs of the launcher -------------------------------------------------------------------- */

/* The next number of a list with colons; 0: none. */
static uint32_t next_number(const char **at)
{
    unsigned long number;
    char *end;

    if (*at == NULL || **at < '0' || **at > '9')
        return 0;
    number = strtoul(*at, &end, 0);
    *at = *end == ':' ? end + 1 : NULL;
    return number <= UINT32_MAX ? (uint32_t)number : 0;
}

/* The launcher configures jobs before the process starts, as on a Cray system: their protection
 * tags and cookies are in the environment. So these jobs are known before a domain attaches. */
static void add_jobs(struct aries_fabric *fabric)
{
    const char *ptags = getenv("PMI_GNI_PTAG"), *cookies = getenv("PMI_GNI_COOKIE");
    uint32_t ptag, cookie;

    while ((ptag = next_number(&ptags)) != 0 && (cookie = next_number(&cookies)) != 0)
        if (ptag < GNI_FIND_ALLOC_PTAG)
            aries_job_add(fabric, UINT32_MAX, 0, (uint8_t)ptag, cookie);
}

/* ---- joining --------------------------------------------------------------------------------- */

static bool instance_there(const struct aries_datagram_address *peer, const struct gni_nic *nic)
{
    const struct shm_key key = {peer->nic->node,
                                ARIES_LIVE_NAME_INSTANCE,
                                {(uint64_t)nic->cdm->cookie << 32 | peer->inst_id, nic->ptag}};
    struct shm_name found;

    return shm_lookup(aries_live.shm, &key, &found) != -ENOENT;
}

static void peer_gone(void *arg, struct shm_peer *peer)
{
    (void)arg;
    if (peer->user != NULL)
        aries_live_link_gone(peer->user);
    shm_drop(aries_live.shm, peer); /* frees its mapping and its descriptors */
    aries_datagrams_recheck(aries_live.fabric, instance_there);
    sim_wall.changes++;
}

static bool join(uint32_t node)
{
    const struct shm_options options = {
        .node = node,
        .segment_bytes = ARIES_LIVE_SEGMENT_BYTES,
        .events = {.gone = peer_gone},
    };
    char why[SHM_WHY_BYTES] = "";
    int result = shm_join(&options, &aries_live.shm, why);

    if (result != 0) {
        aries_live.shm = NULL;
        aries_live.failed = true;
        aries_live_print_error(why);
        return false;
    }
    aries_live.segment = shm_segment(aries_live.shm);
    return true;
}

static bool wants_fabric(void)
{
    const char *path = getenv("JACQUARD_FABRIC");

    return path != NULL && path[0] != '\0';
}

static void before_fork(void);
static void after_fork_parent(void);
static void after_fork_child(void);

/* Leaves a fabric whose scenario cannot be used. */
static void leave(void)
{
    shm_leave(aries_live.shm);
    aries_live.shm = NULL;
    aries_live.segment = NULL;
}

static bool begin(void)
{
    static bool registered;
    const struct shm_facts *facts;
    char why[SHM_WHY_BYTES];

    if (!registered) {
        registered = true;
        shm_expect_forks();
        pthread_atfork(before_fork, after_fork_parent, after_fork_child);
    }
    if (aries_live.abandoned != NULL) {
        shm_leave(aries_live.abandoned);
        aries_live.abandoned = NULL;
    }
    if (!wants_fabric())
        return make_fabric(number_of("JACQUARD_NODES", PRIVATE_NODES), getenv("JACQUARD_PRESET"), 1,
                           1, number_of("JACQUARD_NODE", 0));
    if (!join(SHM_NODE_ANY))
        return false;
    facts = shm_facts(aries_live.shm);
    if (!aries_live_faults_read(facts, why, sizeof(why))) {
        aries_live_print_error(why);
        leave();
        return false;
    }
    if (!make_fabric(facts->nodes, facts->preset, facts->seed, aries_live_faults_seed(facts),
                     shm_self(aries_live.shm)->node)) {
        leave();
        return false;
    }
    aries_live_faults_arm(facts);
    return true;
}

struct aries_process *aries_process_self(void)
{
    if (sim_unlikely(aries_live.process == NULL) && !aries_live.failed && !begin())
        aries_live.failed = true;
    return aries_live.process;
}

bool aries_live_joined(void)
{
    if (aries_live.shm != NULL)
        return true;
    return !aries_live.failed && join(aries_live.hw->node);
}

/* ---- forks ----------------------------------------------------------------------------------- */

static void before_fork(void)
{
    aries_live_enter();
}

static void after_fork_parent(void)
{
    aries_live_leave();
}

static void kill_handle(void *object)
{
    *(uint32_t *)object = 0;
}

/* The child is another process, which has joined nothing yet and owns nothing of its parent. Only
 * memory is changed here. */
static void after_fork_child(void)
{
    struct aries_objects *objects;
    struct aries_list *link, *inner;

    aries_live_lock_forked();
    aries_live_trace_forked();
    aries_live_watch_forked();
    if (aries_live.process == NULL)
        return;
    objects = aries_live.fabric->objects;
    for (link = aries_live.hw->attached.next; link != &aries_live.hw->attached; link = link->next) {
        struct gni_nic *nic = sim_container_of(link, struct gni_nic, nic_link);

        for (inner = nic->eps.next; inner != &nic->eps; inner = inner->next)
            sim_container_of(inner, struct gni_ep, nic_link)->magic = 0;
    }
    aries_handles_each(objects, kill_handle);
    sim_wall_fini(); /* faults and timers of the parent */
    aries_live = (struct aries_live){.abandoned = aries_live.shm};
}

/* ---- what the processes agree on ------------------------------------------------------------- */

static struct shm_key instance_key(const struct gni_nic *nic)
{
    return (struct shm_key){nic->hw->node,
                            ARIES_LIVE_NAME_INSTANCE,
                            {(uint64_t)nic->cdm->cookie << 32 | nic->cdm->inst_id, nic->ptag}};
}

bool aries_hw_attach(struct gni_nic *nic)
{
    const struct shm_key key = instance_key(nic);
    const struct shm_key tag = {0, ARIES_LIVE_NAME_PTAG, {nic->ptag, 0}};
    struct shm_name found;

    if (!aries_live_joined() || shm_claim(aries_live.shm, &key, 0, &found) != 0)
        return false;
    shm_claim_shared(aries_live.shm, &tag, nic->cdm->cookie, &found);
    nic->claimed = true;
    aries_live_trace_begin();
    aries_live.fabric->incarnation = aries_live_incarnation(shm_self(aries_live.shm)->slot,
                                                            shm_self(aries_live.shm)->generation);
    aries_live_helper_begin();
    return true;
}

void aries_hw_detach(struct gni_nic *nic)
{
    const struct shm_key key = instance_key(nic);
    const struct shm_key tag = {0, ARIES_LIVE_NAME_PTAG, {nic->ptag, 0}};

    if (!nic->claimed)
        return;
    shm_unclaim(aries_live.shm, &key);
    shm_unclaim(aries_live.shm, &tag);
}

/* Whether the tag is free or belongs to the cookie. */
static bool tag_fits(uint8_t ptag, uint32_t cookie)
{
    uint32_t of;

    return !aries_live_job_at(ptag, &of) || of == cookie;
}

bool aries_live_job_at(uint8_t ptag, uint32_t *cookie)
{
    const struct shm_key key = {0, ARIES_LIVE_NAME_PTAG, {ptag, 0}};
    struct shm_name found;

    if (aries_live.shm == NULL || shm_lookup(aries_live.shm, &key, &found) != 0)
        return false;
    *cookie = (uint32_t)found.value;
    return true;
}

/* The tag with which another process has attached for this cookie. GNI_FIND_ALLOC_PTAG: none. */
static uint8_t tag_of(uint32_t cookie)
{
    uint32_t ptag, of;

    for (ptag = 1; ptag < GNI_FIND_ALLOC_PTAG; ptag++)
        if (aries_live_job_at((uint8_t)ptag, &of) && of == cookie)
            return (uint8_t)ptag;
    return GNI_FIND_ALLOC_PTAG;
}

/* No launcher has configured the job: every process that knows the cookie may use it. */
struct aries_job *aries_hw_job(struct aries_nic *hw, uint8_t ptag, uint32_t cookie)
{
    uint32_t first = (uint32_t)(sim_mix(cookie) % PTAGS), i;

    if (ptag == GNI_FIND_ALLOC_PTAG)
        ptag = tag_of(cookie);
    for (i = 0; i < PTAGS && ptag == GNI_FIND_ALLOC_PTAG; i++)
        if (tag_fits((uint8_t)(PTAG_FIRST + (first + i) % PTAGS), cookie))
            ptag = (uint8_t)(PTAG_FIRST + (first + i) % PTAGS);
    return ptag != GNI_FIND_ALLOC_PTAG ? aries_job_add(hw->fabric, UINT32_MAX, 0, ptag, cookie)
                                       : NULL;
}

/* A free number in the blocks that this process has claimed. */
static bool find_mdh(const struct aries_mdd_table *table, uint32_t *index)
{
    uint32_t i;

    for (i = 0; i < ARIES_LIVE_MDDS; i++) {
        uint32_t mdh = (aries_live.mdh_hint + i) % ARIES_LIVE_MDDS,
                 block = mdh / ARIES_LIVE_MDH_BLOCK;

        if (!(aries_live.mdh_blocks[block / 64] >> block % 64 & 1)) {
            i += ARIES_LIVE_MDH_BLOCK - 1 - mdh % ARIES_LIVE_MDH_BLOCK;
            continue;
        }
        if (table == NULL || aries_mdd_at(table, mdh) == NULL) {
            *index = mdh;
            aries_live.mdh_hint = mdh + 1;
            return true;
        }
    }
    return false;
}

bool aries_hw_mdd(struct aries_nic *hw, uint8_t ptag, bool vmdh, uint32_t *index)
{
    /* Avoids the numbers of a process that died recently: others may still have its handles. */
    uint32_t first = hw->fabric->incarnation % ARIES_LIVE_MDH_BLOCKS;
    struct shm_key key = {hw->node, ARIES_LIVE_NAME_MDHS, {first, 0}};

    if (vmdh) {
        key.kind = ARIES_LIVE_NAME_VMDH;
        key.key[0] = (uint64_t)ptag << 16;
        if (*index != ARIES_MDD_ANY) {
            key.key[0] |= *index;
            return shm_claim(aries_live.shm, &key, 0, NULL) == 0;
        }
        if (shm_claim_free(aries_live.shm, &key, ARIES_LIVE_MDDS, 0) != 0)
            return false;
        *index = (uint32_t)(key.key[0] & 0xffff);
        return true;
    }
    if (find_mdh(hw->mdds, index))
        return true;
    if (shm_claim_free(aries_live.shm, &key, ARIES_LIVE_MDH_BLOCKS - first, 0) != 0) {
        key.key[0] = 0;
        if (first == 0 || shm_claim_free(aries_live.shm, &key, first, 0) != 0)
            return false;
    }
    aries_live.mdh_blocks[key.key[0] / 64] |= UINT64_C(1) << key.key[0] % 64;
    aries_live.mdh_hint = (uint32_t)key.key[0] * ARIES_LIVE_MDH_BLOCK;
    return find_mdh(hw->mdds, index);
}

void aries_hw_mdd_gone(struct aries_nic *hw, uint8_t ptag, bool vmdh, uint32_t index)
{
    const struct shm_key key = {hw->node, ARIES_LIVE_NAME_VMDH, {(uint64_t)ptag << 16 | index, 0}};

    if (vmdh)
        shm_unclaim(aries_live.shm, &key);
}

bool aries_hw_ce(struct aries_nic *hw, uint32_t *id)
{
    struct shm_key key = {hw->node, ARIES_LIVE_NAME_CE, {0, 0}};

    if (shm_claim_free(aries_live.shm, &key, hw->fabric->timing.vces, 0) != 0)
        return false;
    *id = (uint32_t)key.key[0];
    return true;
}

void aries_hw_ce_gone(struct aries_nic *hw, uint32_t id)
{
    const struct shm_key key = {hw->node, ARIES_LIVE_NAME_CE, {id, 0}};

    shm_unclaim(aries_live.shm, &key);
}

void aries_hw_fabric_init(struct aries_fabric *fabric)
{
    (void)fabric;
}

void aries_hw_fabric_fini(struct aries_fabric *fabric)
{
    (void)fabric;
}
