/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The VIA driver: adapters, links and the table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"
#include "via.h"

enum { ALIGNMENT = 32, PROBE_MS = 500 };

/* Adapters must name a device, so there is none without a list of adapters. */
int mad_via_usable(void)
{
    return 0;
}

static int open_nic(struct mvia_adapter *own, const char *device)
{
    if (VipOpenNic(device, &own->nic) != VIP_SUCCESS) {
        own->nic = NULL;
        return MAD_ENOTSUP;
    }
    if (VipQueryNic(own->nic, &own->attributes) != VIP_SUCCESS ||
        VipErrorCallback(own->nic, own, mad_via_on_error) != VIP_SUCCESS ||
        VipCreatePtag(own->nic, &own->ptag) != VIP_SUCCESS)
        return MAD_EDRIVER;
    return own->attributes.MaxTransferSize >= MVIA_TRANSFER_MAX &&
                   own->attributes.MaxSegmentsPerDesc >= MVIA_SEGMENTS_MAX
               ? MAD_OK
               : MAD_ENOTSUP;
}

static int set_names(p_mad_adapter_t adapter, const struct mvia_adapter *own)
{
    char text[64] = "via:v1:";
    size_t used = strlen(text);

    for (unsigned i = 0; i < own->attributes.NicAddressLen && used + 3 < sizeof(text); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%02x",
                                 own->attributes.LocalNicAddress[i]);
    adapter->parameter = strdup(text);
    snprintf(text, sizeof(text), "VIA%d", adapter->id);
    adapter->name = strdup(text);
    return adapter->parameter != NULL && adapter->name != NULL ? MAD_OK : MAD_ENOMEM;
}

/* What messages need, so that they register nothing but the user's memory. */
static bool allocate(struct mvia_adapter *own)
{
    struct mvia_list *list = mad_via_list(own);

    if (list == NULL)
        return false;
    mad_via_list_free(own, list);
    return mad_via_reserve(own, MVIA_POOL);
}

static int adapter_init(p_mad_adapter_t adapter)
{
    struct mvia_adapter *own;
    int error;

    if (adapter->selector == NULL) {
        MAD_REPORT(MAD_EINVAL, "VIA adapter selector must not be NULL", NULL, -1);
        return MAD_EINVAL;
    }
    own = calloc(1, sizeof(*own));
    if (own == NULL)
        return MAD_ENOMEM;
    adapter->specific = own;
    port_mutex_init(&own->mutex);
    own->object = adapter;
    own->probe_ms = (VIP_ULONG)mad_parameter("MAD_VIA_PROBE_MS", PROBE_MS);
    own->force = mad_parameter("MAD_VIA_FORCE", 0);
    error = open_nic(own, adapter->selector);
    if (error == MAD_OK && !allocate(own))
        error = MAD_EDRIVER;
    return error == MAD_OK ? set_names(adapter, own) : error;
}

static int adapter_exit(p_mad_adapter_t adapter)
{
    struct mvia_adapter *own = mad_via_adapter(adapter);

    if (own == NULL)
        return MAD_OK;
    if (own->nic != NULL)
        VipCloseNic(own->nic); /* with all that belongs to it */
    mad_via_pool_free(own);
    port_mutex_destroy(&own->mutex);
    free(own);
    return MAD_OK;
}

static int link_init(p_mad_link_t link)
{
    bool credit = link->id == 0;

    link->link_mode = credit ? mad_link_mode_buffer : mad_link_mode_buffer_group;
    link->buffer_mode = credit ? mad_buffer_mode_static : mad_buffer_mode_dynamic;
    link->group_mode = credit ? mad_group_mode_aggregate : mad_group_mode_split;
    return MAD_OK;
}

static p_mad_link_t choice(p_mad_connection_t connection, size_t length, mad_send_mode_t send_mode,
                           mad_receive_mode_t receive_mode)
{
    const struct mvia_adapter *own = mad_via_adapter(connection->channel->adapter);

    (void)send_mode, (void)receive_mode;
    if (own->force >= 1 && own->force <= MVIA_LINKS)
        return &connection->link[own->force - 1];
    if (length <= MVIA_SHORT_MAX)
        return &connection->link[0];
    return &connection->link[length <= MVIA_TRANSFER_MAX ? 1 : 2];
}

void mad_via_register(p_mad_driver_t driver)
{
    static const mad_driver_interface_t table = {
        .abi_version = MAD_DRIVER_ABI,
        .adapter_init = adapter_init,
        .adapter_exit = adapter_exit,
        .channel_init = mad_via_channel_init,
        .channel_exit = mad_via_channel_exit,
        .connection_init = mad_via_connection_init,
        .connection_exit = mad_via_connection_exit,
        .link_init = link_init,
        .accept = mad_via_accept,
        .connect = mad_via_connect,
        .disconnect = mad_via_disconnect,
        .quiesce = mad_via_quiesce,
        .give_up = mad_via_give_up,
        .choice = choice,
        .get_static_buffer = mad_via_get_static,
        .return_static_buffer = mad_via_return_static,
        .new_message = mad_via_new_message,
        .receive_message = mad_via_receive_message,
        .poll_message = mad_via_poll_message,
        .send_buffer = mad_entry_send_buffer,
        .receive_buffer = mad_entry_receive_buffer,
        .send_buffer_group = mad_entry_send_group,
        .receive_sub_buffer_group = mad_entry_receive_group,
        .send_static = mad_via_send_static,
        .receive_static = mad_via_receive_static,
        .send_list = mad_via_send_list,
        .receive_list = mad_via_receive_list,
    };

    driver->interface = &table;
    driver->connection_type = mad_bidirectional_connection;
    driver->buffer_alignment = ALIGNMENT;
}
