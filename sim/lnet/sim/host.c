/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The host of simulated nodes: fibers of one thread, so a lock is a record of who holds it. */
#include "core/internal.h"
#include "lnd/gni.h"
#include "lnd/o2ib.h"
#include "lnd/o2ib/verbs.h"
#include "lnd/tcp/sock.h"
#include "core/params.h"
#include "libcfs_host.h"
#include "lnet/api.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include "engine/finding.h"

static struct lnet_node *(*current_node)(void);
static struct lnet_node *calling_node; /* whose callback is called; NULL: none */
static const struct sim_fiber *calling_fiber; /* by this one; NULL: by an event */
static void (*on_panic)(struct lnet_node *node, const char *text);

static struct sim_finding_rule gap_rule = {
    .name = "lnet.fragment-gap",
    .summary = "A descriptor of LNet has a gap between two fragments of pages.",
    .severity = SIM_FINDING_WARNING,
};

static struct sim_finding_rule setting_rule = {
    .name = "lnet.setting-ignored",
    .summary = "A setting of LNet has no effect on a node.",
    .severity = SIM_FINDING_WARNING,
};
static const struct sim_wait down = {.text = "its node failed an assertion"};

struct waiter {
    struct list_head on_host;
    struct sim_fiber *fiber;
};

struct host {
    bool locked;
    const struct sim_fiber *holder; /* NULL: an event */
    struct list_head waiters;
    bool calling; /* the callback of an event queue, which can be left by: */
    jmp_buf exit_point;
    const struct sim_fiber
        *left; /* so: this fiber, whose call of the API ends in lnet_host_stay() */
};

void lnet_sim_register_drivers(void)
{
    lnet_lnd_register(&lnet_lnd_tcp);
    lnet_lnd_register(&lnet_lnd_o2ib);
    lnet_lnd_register(&lnet_lnd_gni);
}

/* When all nodes are gone: what their drivers shared. */
void lnet_sim_end(void)
{
    lnet_verbs_end();
    current_node = NULL;
    on_panic = NULL;
    libcfs_host_set(NULL);
}

void lnet_sim_set_panic(void (*panicked)(struct lnet_node *node, const char *text))
{
    on_panic = panicked;
}

struct lnet_node *lnet_host_current(void)
{
    return current_node != NULL ? current_node() : NULL;
}

void lnet_host_open(struct lnet_node *node)
{
    struct host *host = calloc(1, sizeof(*host));

    if (host == NULL)
        abort();
    INIT_LIST_HEAD(&host->waiters);
    node->host = host;
}

void lnet_host_close(struct lnet_node *node)
{
    free(node->host);
}

void lnet_host_lock(struct lnet_node *node)
{
    struct host *host = node->host;

    /* A fiber that was killed may have held it. */
    host->locked = true;
    host->calling = false;
    host->holder = sim_fiber_self();
}

void lnet_host_unlock(struct lnet_node *node)
{
    struct host *host = node->host;

    host->locked = false;
}

/* An event that calls a callback runs on no fiber of its own: a call of LNet from there comes from
 * the same place, too. */
bool lnet_host_locked_by_me(const struct lnet_node *node)
{
    const struct host *host = node->host;

    return host->locked && host->holder == sim_fiber_self();
}

void lnet_host_wait(struct lnet_node *node, sim_time_t deadline, const char *why)
{
    struct host *host = node->host;
    struct waiter waiter = {.fiber = sim_fiber_self()};
    struct sim_wait wait = {.text = why};

    assert(waiter.fiber != NULL);
    list_add_tail(&waiter.on_host, &host->waiters);
    host->locked = false;
    sim_wait_until(deadline, &wait);
    list_del(&waiter.on_host);
    host->locked = true;
    host->holder = waiter.fiber;
}

void lnet_host_wake(struct lnet_node *node)
{
    struct host *host = node->host;
    struct waiter *waiter;

    list_for_each_entry (waiter, &host->waiters, on_host)
        sim_wake(waiter->fiber);
}

void lnet_sim_register_findings(void)
{
    sim_finding_rule_register(&gap_rule);
    sim_finding_rule_register(&setting_rule);
}

void lnet_host_warn(struct lnet_node *node, enum lnet_warning warning, const char *text)
{
    sim_finding_record(warning == LNET_WARNING_GAP ? &gap_rule : &setting_rule, node->number, NULL,
                       "%s", text);
}

static void stop_node(struct lnet_node *node, const char *text, bool of_program)
{
    if (node->state == LNET_PANICKED)
        return;

    free(node->panic_text);
    node->panic_text = strdup(text);
    node->panic_of_program = of_program;
    node->state = LNET_PANICKED;
    node->silent = true;
    if (on_panic != NULL)
        on_panic(node, text);
}

void lnet_host_panic(struct lnet_node *node, const char *text)
{
    stop_node(node, text, false);
    if (on_panic != NULL && sim_fiber_self() != NULL)
        sim_wait_until(SIM_NEVER, &down); /* until the node's crash ends the fiber */
}

/* ---- callbacks, and what libcfs needs -------------------------------------------------------- */

void lnet_host_call(struct lnet_node *node, lnet_eq_handler_t callback, struct lnet_event *event)
{
    struct host *host = node->host;

    calling_node = node;
    calling_fiber = sim_fiber_self();
    host->calling = true;
    if (_setjmp(host->exit_point) == 0)
        callback(event);
    host->calling = false;
    calling_node = NULL;
}

void lnet_host_stay(struct lnet_node *node)
{
    const struct host *host = node->host;

    if (host->left != NULL && host->left == sim_fiber_self())
        sim_wait_until(SIM_NEVER, &down); /* until the node's crash ends the fiber */
}

struct lnet_node *lnet_host_of_caller(void)
{
    const struct sim_fiber *fiber = sim_fiber_self();

    if (calling_node != NULL && calling_fiber == fiber)
        return calling_node; /* drivers have fibers, too, which are no rank's */
    return fiber != NULL ? lnet_host_current() : NULL;
}

static struct libcfs_node **libcfs_slot(void)
{
    struct lnet_node *node = lnet_host_of_caller();

    return node != NULL ? &node->libcfs : NULL;
}

static const char *libcfs_parameter(const char *name)
{
    const struct lnet_node *node = lnet_host_of_caller();

    return node != NULL ? lnet_setting(node->settings, node->setting_count, "libcfs", name) : NULL;
}

static int libcfs_number(void)
{
    const struct lnet_node *node = lnet_host_of_caller();

    return node != NULL ? (int)node->number : -1;
}

/* A callback is left, so that LNet, which called it, comes to its end; a fiber waits for its own.
 */
static void libcfs_bug(const char *text)
{
    struct lnet_node *node = lnet_host_of_caller();
    const struct sim_fiber *fiber = sim_fiber_self();
    struct host *host;

    if (node == NULL || on_panic == NULL)
        return;

    host = node->host;
    stop_node(node, text, true);
    if (host->calling && host->locked && host->holder == fiber) {
        host->left = fiber;
        _longjmp(host->exit_point, 1);
    }
    if (fiber != NULL)
        sim_wait_until(SIM_NEVER, &down);
}

void lnet_sim_set_current(struct lnet_node *(*current)(void))
{
    static const struct libcfs_host host = {
        .slot = libcfs_slot,
        .parameter = libcfs_parameter,
        .now = sim_now,
        .bug = libcfs_bug,
        .control = lnet_module_control,
        .number = libcfs_number,
    };

    current_node = current;
    calling_node = NULL;
    libcfs_host_set(&host);
}

/* A simulated node has the interfaces that it was created with. */
bool lnet_host_interface(uint32_t lnd_type, const char *name, struct lnet_interface *interface)
{
    (void)lnd_type;
    (void)name;
    (void)interface;
    return false;
}
