/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Idle transfer machines in one domain. */
#include "m0/machines.h"

#include <stdlib.h>

#include "lib/errno.h"
#include "lib/memory.h"
#include "lib/string.h"
#include "net/net.h"

struct m0_machines {
    struct m0_net_domain dom;
    struct m0_mutex lock; /* of the next three */
    struct m0_cond changed;
    uint32_t settled; /* machines that have started, or stopped, or failed */
    int status; /* of the first one that failed */
    uint32_t count; /* that m0_net_tm_init() took */
    struct m0_net_transfer_mc *tm;
};

static struct m0_machines *owner(const struct m0_net_transfer_mc *tm)
{
    return container_of(tm->ntm_dom, struct m0_machines, dom);
}

static void on_event(const struct m0_net_tm_event *event)
{
    struct m0_machines *machines = owner(event->nte_tm);

    if (event->nte_type != M0_NET_TEV_STATE_CHANGE)
        return;
    m0_mutex_lock(&machines->lock);
    machines->settled++;
    if (event->nte_next_state == M0_NET_TM_FAILED && machines->status == 0)
        machines->status = event->nte_status;
    m0_cond_signal(&machines->changed);
    m0_mutex_unlock(&machines->lock);
}

static const struct m0_net_tm_callbacks tm_callbacks = {.ntc_event_cb = on_event};

/* Waits until so many machines have changed their state. The status of the first that failed. */
static int await_settled(struct m0_machines *machines, uint32_t count)
{
    m0_mutex_lock(&machines->lock);
    while (machines->settled < count)
        m0_cond_wait(&machines->changed);
    machines->settled = 0;
    m0_mutex_unlock(&machines->lock);
    return machines->status;
}

static int start_all(struct m0_machines *machines, const char *address, uint32_t count)
{
    uint32_t started = 0;
    int rc = 0, status;

    while (rc == 0 && machines->count < count) {
        struct m0_net_transfer_mc *tm = &machines->tm[machines->count];

        tm->ntm_callbacks = &tm_callbacks;
        rc = m0_net_tm_init(tm, &machines->dom);
        if (rc != 0)
            break;
        machines->count++;
        rc = m0_net_tm_start(tm, address);
        if (rc == 0)
            started++;
    }
    status = await_settled(machines, started);
    return rc != 0 ? rc : status;
}

struct m0_machines *m0_machines_open(const struct m0_net_xprt *xprt, const char *address,
                                     uint32_t count, int *error)
{
    struct m0_machines *machines;

    *error = -ENOMEM;
    M0_ALLOC_PTR(machines);
    if (machines == NULL)
        return NULL;
    M0_ALLOC_ARR(machines->tm, count);
    if (machines->tm == NULL)
        goto memory;
    *error = m0_net_domain_init(&machines->dom, xprt);
    if (*error != 0)
        goto memory;
    m0_mutex_init(&machines->lock);
    m0_cond_init(&machines->changed, &machines->lock);
    *error = start_all(machines, address, count);
    if (*error == 0)
        return machines;
    m0_machines_close(machines);
    return NULL;
memory:
    m0_free(machines->tm);
    m0_free(machines);
    return NULL;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

uint32_t m0_machines_distinct(const struct m0_machines *machines)
{
    const char **address;
    uint32_t i, distinct = 0;

    M0_ALLOC_ARR(address, machines->count);
    if (address == NULL)
        return 0;
    for (i = 0; i < machines->count; i++)
        address[i] = machines->tm[i].ntm_ep->nep_addr;
    qsort(address, machines->count, sizeof(*address), by_text);
    for (i = 0; i < machines->count; i++)
        distinct += i == 0 || strcmp(address[i - 1], address[i]) != 0;
    m0_free(address);
    return distinct;
}

int m0_machines_close(struct m0_machines *machines)
{
    uint32_t i, stopping = 0;
    int rc = 0, status;

    machines->status = 0;
    for (i = 0; i < machines->count; i++) {
        if (machines->tm[i].ntm_state != M0_NET_TM_STARTED)
            continue;
        status = m0_net_tm_stop(&machines->tm[i], false);
        if (status == 0)
            stopping++;
        else if (rc == 0)
            rc = status;
    }
    status = await_settled(machines, stopping);
    for (i = 0; i < machines->count; i++)
        m0_net_tm_fini(&machines->tm[i]);
    m0_net_domain_fini(&machines->dom);
    m0_cond_fini(&machines->changed);
    m0_mutex_fini(&machines->lock);
    m0_free(machines->tm);
    m0_free(machines);
    return rc != 0 ? rc : status;
}
