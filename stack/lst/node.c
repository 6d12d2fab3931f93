/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A process as a test node: its event queue and its worker thread. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

void lst_parameters_default(struct lst_parameters *parameters)
{
    *parameters = (struct lst_parameters){
        .rpc_timeout_s = 64, .session_timeout_s = 100, .request_buffers = 256};
}

void lst_message_swap(struct lst_message *message)
{
    uint8_t *bytes = (uint8_t *)message;
    size_t i;

    /* All fields of the messages that nodes of two byte orders exchange here have 32 bits, or 64 at
     * a multiple of 32: the words are swapped, and the halves of those with 64. */
    for (i = 0; i < 6; i++)
        __swab32s((__u32 *)(void *)(bytes + 4 * i));
    if (message->type % 2 == 0)
        __swab64s((__u64 *)(void *)(bytes + 24));
    else
        __swab32s((__u32 *)(void *)(bytes + 24));
}

/* ---- the worker ------------------------------------------------------------------------------ */

/* Handles the slots that have ended, in the order of their events. */
static void handle_ended(struct lst_node *node)
{
    struct lst_slot *slot = __atomic_exchange_n(&node->ended, NULL, __ATOMIC_ACQUIRE),
                    *in_order = NULL;

    while (slot != NULL) {
        struct lst_slot *next = slot->next;

        slot->next = in_order;
        in_order = slot;
        slot = next;
    }
    while (in_order != NULL) {
        slot = in_order;
        in_order = slot->next;
        slot->active = false;
        node->slots_active--;
        slot->ended(slot);
    }
}

static void send_asked(struct lst_node *node)
{
    struct list_head asked;

    INIT_LIST_HEAD(&asked);
    port_mutex_lock(&node->lock);
    list_splice_init(&node->asked, &asked);
    port_mutex_unlock(&node->lock);
    while (!list_empty(&asked)) {
        struct lst_rpc *rpc = list_first_entry(&asked, struct lst_rpc, on_node);

        list_del_init(&rpc->on_node);
        lst_rpc_start(rpc, rpc->request.type);
    }
}

static void stop(struct lst_node *node)
{
    struct lst_rpc *rpc, *next;

    node->stopped = true;
    lst_session_remove(node);
    list_for_each_entry_safe (rpc, next, &node->rpcs, on_node)
        lst_rpc_abort(rpc, -ESHUTDOWN);
    lst_services_stop(node);
}

static void work(void *argument)
{
    struct lst_node *node = argument;
    uint64_t next = UINT64_MAX;

    while (!node->stopped || node->slots_active > 0) {
        uint64_t now = port_now(), wait = UINT64_MAX;

        if (next != UINT64_MAX)
            wait = next > now ? next - now : 0;
        port_semaphore_wait(&node->work, wait);
        handle_ended(node);
        send_asked(node);
        if (node->stopping && !node->stopped)
            stop(node);
        now = port_now();
        next = lst_rpc_expire(node, now);
        if (node->session.exists) {
            lst_session_expire(node, now);
            if (next > now + 10 * LST_NANOSECONDS)
                next = now + 10 * LST_NANOSECONDS;
        }
    }
}

/* ---- requests of the console ----------------------------------------------------------------- */

struct batch_of_rpcs {
    uint32_t left;
    struct lst_node *node;
};

static void asked_done(struct lst_rpc *rpc)
{
    struct batch_of_rpcs *all = rpc->owner;

    if (--all->left == 0)
        port_semaphore_post(&all->node->answer);
}

void lst_node_send_all(struct lst_node *node, struct lst_rpc *rpcs, uint32_t count,
                       const enum lst_type *types)
{
    struct batch_of_rpcs all = {count, node};
    uint32_t i;

    if (count == 0)
        return;
    port_mutex_lock(&node->lock);
    for (i = 0; i < count; i++) {
        rpcs[i].node = node;
        rpcs[i].owner = &all;
        rpcs[i].done = asked_done;
        rpcs[i].request.type = types[i];
        INIT_LIST_HEAD(&rpcs[i].on_node);
        list_add_tail(&rpcs[i].on_node, &node->asked);
    }
    port_mutex_unlock(&node->lock);
    port_semaphore_post(&node->work);
    port_semaphore_wait(&node->answer, UINT64_MAX);
}

/* ---- start and stop -------------------------------------------------------------------------- */

static void init(struct lst_node *node, const struct lst_parameters *parameters)
{
    uint32_t i;

    node->parameters = *parameters;
    port_semaphore_init(&node->work);
    port_semaphore_init(&node->answer);
    port_mutex_init(&node->lock);
    INIT_LIST_HEAD(&node->asked);
    INIT_LIST_HEAD(&node->rpcs);
    for (i = 0; i < LST_SERVICES; i++)
        INIT_LIST_HEAD(&node->services[i]);
    INIT_LIST_HEAD(&node->session.batches);
    /* Fresh after a restart, too: replies to the instance before do not match. */
    node->next_bits = (port_now() / LST_NANOSECONDS + 1) << 48;
}

static void destroy(struct lst_node *node)
{
    uint32_t i;

    lst_session_free(node);
    for (i = 0; i < LST_SERVICES; i++)
        while (!list_empty(&node->services[i])) {
            struct lst_server_rpc *rpc =
                list_first_entry(&node->services[i], struct lst_server_rpc, on_service);

            list_del(&rpc->on_service);
            if (rpc->bulk_memory != NULL)
                lst_pages_free(rpc->bulk_memory, rpc->bulk_bytes);
            free(rpc);
        }
    port_semaphore_destroy(&node->work);
    port_semaphore_destroy(&node->answer);
    port_mutex_destroy(&node->lock);
    free(node);
}

struct lst_node *lst_node_start(const struct lst_parameters *parameters, int *error)
{
    struct lst_node *node = calloc(1, sizeof(*node));

    *error = -ENOMEM;
    if (node == NULL)
        return NULL;
    init(node, parameters);
    *error = LNetNIInit(LNET_PID_LUSTRE);
    if (*error < 0) {
        destroy(node);
        return NULL;
    }
    *error = LNetEQAlloc(0, lst_slot_callback(), &node->eq);
    if (*error == 0)
        *error = lst_services_start(node);
    if (*error == 0) {
        node->worker = port_thread_start("lst", work, node);
        if (node->worker == NULL)
            *error = -EAGAIN;
    }
    if (*error == 0)
        return node;
    node->stopping = true;
    lst_services_stop(node);
    work(node); /* takes the last events */
    LNetEQFree(node->eq);
    LNetNIFini();
    destroy(node);
    return NULL;
}

int lst_node_stop(struct lst_node *node)
{
    int rc;

    port_mutex_lock(&node->lock);
    node->stopping = true;
    port_mutex_unlock(&node->lock);
    port_semaphore_post(&node->work);
    port_thread_join(node->worker);
    rc = LNetEQFree(node->eq);
    LNetNIFini();
    destroy(node);
    return rc;
}
