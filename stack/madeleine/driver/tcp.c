/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The TCP driver: adapters, links and the table. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"
#include "sock.h"
#include "tcp.h"

enum { ALIGNMENT = 32 };

int mad_tcp_usable(void)
{
#ifdef MAD_SIMULATED
    char text[32];

    return mad_sock_own_address(text, sizeof(text)) != NULL;
#else
    return 1;
#endif
}

static int adapter_init(p_mad_adapter_t adapter)
{
    struct tcp_adapter *own = calloc(1, sizeof(*own));
    char text[128], own_address[32];
    const char *address;
    unsigned port;

    if (own == NULL)
        return MAD_ENOMEM;
    own->listener = mad_tcp_listen(adapter->selector, &port);
    if (own->listener < 0) {
        free(own);
        return MAD_EDRIVER;
    }
    adapter->specific = own;
    address = adapter->selector != NULL ? adapter->selector
                                        : mad_sock_own_address(own_address, sizeof(own_address));
    if (address != NULL)
        snprintf(text, sizeof(text), "%.100s:%u", address, port);
    else
        snprintf(text, sizeof(text), "%u", port);
    adapter->parameter = strdup(text);
    snprintf(text, sizeof(text), "TCP%d", adapter->id);
    adapter->name = strdup(text);
    return adapter->parameter != NULL && adapter->name != NULL ? MAD_OK : MAD_ENOMEM;
}

static int adapter_exit(p_mad_adapter_t adapter)
{
    struct tcp_adapter *own = mad_tcp_adapter(adapter);

    if (own == NULL)
        return MAD_OK;
    for (unsigned i = 0; i < own->pending_count; i++)
        mad_sock_close(own->pending[i].fd);
    mad_sock_close(own->listener);
    free(own);
    return MAD_OK;
}

static int channel_init(p_mad_channel_t channel)
{
    int size = channel->adapter->driver->madeleine->configuration.size;
    struct tcp_channel *own = calloc(1, sizeof(*own));

    if (own == NULL)
        return MAD_ENOMEM;
    channel->specific = own;
    own->last_served = size - 1; /* rank 0 is the first */
    own->descriptors = calloc((size_t)size, sizeof(*own->descriptors));
    own->ranks = calloc((size_t)size, sizeof(*own->ranks));
    return own->descriptors != NULL && own->ranks != NULL ? MAD_OK : MAD_ENOMEM;
}

static int channel_exit(p_mad_channel_t channel)
{
    struct tcp_channel *own = channel->specific;

    if (own != NULL) {
        free(own->descriptors);
        free(own->ranks);
    }
    free(own);
    return MAD_OK;
}

static int connection_init(p_mad_connection_t in, p_mad_connection_t out)
{
    struct tcp_peer *peer = calloc(1, sizeof(*peer));

    if (peer == NULL)
        return MAD_ENOMEM;
    peer->fd = -1;
    in->specific = out->specific = peer;
    in->nb_link = out->nb_link = 1;
    return MAD_OK;
}

static int connection_exit(p_mad_connection_t in, p_mad_connection_t out)
{
    assert(in->specific == out->specific);
    mad_tcp_disconnect(in);
    free(in->specific);
    return MAD_OK;
}

/*
 * An EXPRESS block leaves at once, and CHEAPER blocks before it in the same system call. With
 * MAD_TCP_EAGER=1 every block leaves at once, as in the version of 2000. The bytes are the same.
 */
static int link_init(p_mad_link_t link)
{
    bool eager = mad_parameter("MAD_TCP_EAGER", 0) != 0;

    link->link_mode = eager ? mad_link_mode_buffer : mad_link_mode_buffer_group;
    link->buffer_mode = mad_buffer_mode_dynamic;
    link->group_mode = eager ? mad_group_mode_aggregate : mad_group_mode_split;
    return MAD_OK;
}

void mad_tcp_register(p_mad_driver_t driver)
{
    static const mad_driver_interface_t table = {
        .abi_version = MAD_DRIVER_ABI,
        .adapter_init = adapter_init,
        .adapter_exit = adapter_exit,
        .channel_init = channel_init,
        .channel_exit = channel_exit,
        .connection_init = connection_init,
        .connection_exit = connection_exit,
        .link_init = link_init,
        .accept = mad_tcp_accept_peer,
        .connect = mad_tcp_connect_peer,
        .after_open_channel = mad_tcp_handshake,
        .before_close_channel = mad_tcp_closing_handshake,
        .disconnect = mad_tcp_disconnect,
        .give_up = mad_tcp_give_up,
        .receive_message = mad_tcp_receive_message,
        .poll_message = mad_tcp_poll_message,
        .send_buffer = mad_tcp_send_buffer,
        .receive_buffer = mad_tcp_receive_buffer,
        .send_buffer_group = mad_tcp_send_group,
        .receive_sub_buffer_group = mad_tcp_receive_group,
    };

    driver->interface = &table;
    driver->connection_type = mad_bidirectional_connection;
    driver->buffer_alignment = ALIGNMENT;
}
