/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The LNet driver: adapters, links and the table. */
#include "driver/lnet.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINKS = 2, PORTAL = 48, PORTALS = 64, PROBE_MS = 500 };

/* ---- adapters -------------------------------------------------------------------------------- */

static size_t parameter(const char *name, long otherwise)
{
    long value = mad_parameter(name, otherwise);

    return value < 0 ? 0 : (size_t)value;
}

static struct mlnet_adapter *adapter_new(int size)
{
    struct mlnet_adapter *own = calloc(1, sizeof(*own));

    if (own == NULL)
        return NULL;
    own->ids = calloc((size_t)size, sizeof(*own->ids));
    if (own->ids == NULL) {
        free(own);
        return NULL;
    }
    port_mutex_init(&own->mutex);
    port_condition_init(&own->changed);
    port_semaphore_init(&own->events);
    own->portal = (unsigned)parameter("MAD_LNET_PORTAL", PORTAL);
    own->eager_max = parameter("MAD_LNET_EAGER_MAX", MLNET_FRAME_BYTES);
    own->probe_ns = parameter("MAD_LNET_PROBE_MS", PROBE_MS) * UINT64_C(1000000);
    return own;
}

/* The own NID in the network that the selector names, or the first one. */
static bool find_id(const char *selector, struct lnet_process_id *id)
{
    uint32_t network = selector != NULL ? libcfs_str2net(selector) : 0;

    for (unsigned i = 0; LNetGetId(i, id) == 0; i++)
        if (LNET_NETTYP(LNET_NIDNET(id->nid)) != LOLND &&
            (selector == NULL || LNET_NIDNET(id->nid) == network))
            return true;
    return false;
}

static int start(struct mlnet_adapter *own, const char *selector)
{
    if (own->portal == LNET_RESERVED_PORTAL || own->portal >= PORTALS)
        return MAD_EINVAL;
    own->started = LNetNIInit(LNET_PID_LUSTRE) >= 0;
    if (!own->started || !find_id(selector, &own->id))
        return MAD_ENOTSUP;
    own->queue_made = LNetEQAlloc(0, mad_lnet_callback, &own->queue) == 0;
    return own->queue_made ? MAD_OK : MAD_EDRIVER;
}

static int adapter_init(p_mad_adapter_t adapter)
{
    const mad_configuration_t *configuration = &adapter->driver->madeleine->configuration;
    struct mlnet_adapter *own = adapter_new(configuration->size);
    char text[128];
    int error;

    if (own == NULL)
        return MAD_ENOMEM;
    adapter->specific = own;
    port_at_wait(mad_lnet_describe);
    if (adapter->selector != NULL && libcfs_str2net(adapter->selector) == LNET_NIDNET(LNET_NID_ANY))
        return MAD_EINVAL;
    if (configuration->size > MLNET_RANKS_MAX)
        return MAD_ENOTSUP;
    error = start(own, adapter->selector);
    if (error != MAD_OK)
        return error;
    snprintf(text, sizeof(text), "lnet:v1:%s:%u", libcfs_nid2str(own->id.nid), own->id.pid);
    adapter->parameter = strdup(text);
    snprintf(text, sizeof(text), "LNET%d", adapter->id);
    adapter->name = strdup(text);
    return adapter->parameter != NULL && adapter->name != NULL ? MAD_OK : MAD_ENOMEM;
}

static void memory_free(struct mlnet_adapter *own)
{
    struct mlnet_slot *slot;
    struct mlnet_frame *frame;

    while ((slot = own->slots) != NULL) {
        own->slots = slot->next;
        free(slot);
    }
    while ((frame = own->frames) != NULL) {
        own->frames = frame->next;
        free(frame->bytes);
        free(frame);
    }
}

static int adapter_exit(p_mad_adapter_t adapter)
{
    struct mlnet_adapter *own = mad_lnet_adapter(adapter);

    if (own == NULL)
        return MAD_OK;
    mad_lnet_shared_close(own);
    assert(own->active == 0);
    if (own->queue_made)
        LNetEQFree(own->queue);
    if (own->started)
        LNetNIFini();
    memory_free(own);
    port_semaphore_destroy(&own->events);
    port_condition_destroy(&own->changed);
    port_mutex_destroy(&own->mutex);
    free(own->ids);
    free(own);
    return MAD_OK;
}

/* ---- links ----------------------------------------------------------------------------------- */

static int link_init(p_mad_link_t link)
{
    bool eager = link->id == 0;

    link->link_mode = eager ? mad_link_mode_buffer : mad_link_mode_buffer_group;
    link->buffer_mode = eager ? mad_buffer_mode_static : mad_buffer_mode_dynamic;
    link->group_mode = eager ? mad_group_mode_aggregate : mad_group_mode_split;
    return MAD_OK;
}

static p_mad_link_t choice(p_mad_connection_t connection, size_t length, mad_send_mode_t send_mode,
                           mad_receive_mode_t receive_mode)
{
    (void)send_mode, (void)receive_mode;
    return &connection
                ->link[length <= mad_lnet_adapter(connection->channel->adapter)->eager_max ? 0 : 1];
}

static int connection_init(p_mad_connection_t in, p_mad_connection_t out)
{
    in->nb_link = out->nb_link = LINKS;
    return mad_lnet_connection_init(in, out);
}

/* Its probes tell the sender. */
static void give_up(p_mad_connection_t in)
{
    struct mlnet_adapter *adapter = mad_lnet_adapter(in->channel->adapter);

    port_mutex_lock(&adapter->mutex);
    mad_lnet_give_up(mad_lnet_peer(in));
    port_mutex_unlock(&adapter->mutex);
}

const mad_driver_interface_t *mad_lnet_module_interface(void)
{
    static const mad_driver_interface_t table = {
        .abi_version = MAD_DRIVER_ABI,
        .adapter_init = adapter_init,
        .adapter_exit = adapter_exit,
        .channel_init = mad_lnet_channel_init,
        .channel_exit = mad_lnet_channel_exit,
        .connection_init = connection_init,
        .connection_exit = mad_lnet_connection_exit,
        .link_init = link_init,
        .before_open_channel = mad_lnet_prepare,
        .after_open_channel = mad_lnet_connect,
        .quiesce = mad_lnet_quiesce,
        .give_up = give_up,
        .choice = choice,
        .get_static_buffer = mad_lnet_get_static,
        .return_static_buffer = mad_lnet_return_static,
        .new_message = mad_lnet_new_message,
        .receive_message = mad_lnet_receive_message,
        .poll_message = mad_lnet_poll_message,
        .send_buffer = mad_entry_send_buffer,
        .receive_buffer = mad_entry_receive_buffer,
        .send_buffer_group = mad_entry_send_group,
        .receive_sub_buffer_group = mad_entry_receive_group,
        .send_static = mad_lnet_send_static,
        .receive_static = mad_lnet_receive_static,
        .send_list = mad_lnet_bulk_send,
        .receive_list = mad_lnet_bulk_receive,
    };

    return &table;
}
