/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The GNI driver: adapters, links and the table. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gni.h"
#include "session.h"

enum {
    ALIGNMENT = 64,
    LINKS = 3,
    /*
     * Where the curve of SMSG meets that of BTE, in steps of a frame; FMA is slower than one of
     * them at every size, since both sides have to register memory for it, too.
     */
    SMSG_MAX = 12 * MGNI_FRAME_BYTES, /* bytes of a block */
    BTE_MIN = SMSG_MAX, /* the longest block of FMA: none is */
    PROBE_MS = 500,
    RX_ENTRIES_LEAST = 1024,
    RX_ENTRIES_MOST = 65536,
    RANK_BITS = 20
};
#define INSTANCES UINT32_C(0x4D000000) /* of this library in a job */

/* ---- adapters -------------------------------------------------------------------------------- */

/* The first number of "16:80". */
static bool first_number(const char *text, unsigned long *number)
{
    char *end;

    if (text == NULL)
        return false;
    errno = 0;
    *number = strtoul(text, &end, 0);
    return errno == 0 && end != text && (*end == '\0' || *end == ':');
}

int mad_gni_usable(void)
{
    return port_getenv("PMI_GNI_COOKIE") != NULL;
}

static bool credentials(struct mgni_adapter *own, uint32_t device)
{
    unsigned long cookie, ptag;

    if (!first_number(port_getenv("PMI_GNI_COOKIE"), &cookie) || cookie > UINT32_MAX)
        return false;
    own->cookie = (uint32_t)cookie;
    if (!first_number(port_getenv("PMI_GNI_PTAG"), &ptag))
        return GNI_GetPtag((int)device, own->cookie, &own->ptag) == GNI_RC_SUCCESS;
    own->ptag = (uint8_t)ptag;
    return ptag <= UINT8_MAX;
}

static gni_return_t attach_as(struct mgni_adapter *own, uint32_t device, uint32_t modes)
{
    gni_return_t rc = GNI_CdmCreate(own->instance, own->ptag, own->cookie,
                                    modes | GNI_CDM_MODE_ERR_NO_KILL, &own->cdm);

    if (rc != GNI_RC_SUCCESS)
        return rc;
    rc = GNI_CdmAttach(own->cdm, device, &own->address, &own->nic);
    if (rc != GNI_RC_SUCCESS) {
        GNI_CdmDestroy(own->cdm);
        own->cdm = NULL;
    }
    return rc;
}

static int attach(struct mgni_adapter *own, uint32_t device, int size)
{
    unsigned entries = (unsigned)size * MGNI_CREDITS * 4; /* messages, and returns of credits */
    gni_return_t rc = attach_as(own, device, 0);

    if (rc == GNI_RC_ERROR_RESOURCE) /* more processes on the node than FMA descriptors */
        rc = attach_as(own, device, GNI_CDM_MODE_FMA_SHARED);
    if (entries < RX_ENTRIES_LEAST)
        entries = RX_ENTRIES_LEAST;
    if (entries > RX_ENTRIES_MOST)
        entries = RX_ENTRIES_MOST;
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_CqCreate(own->nic, 2 * MGNI_SENDS_MAX + 64 * MGNI_PUTS, 0, GNI_CQ_NOBLOCK, NULL,
                          NULL, &own->tx);
    if (rc == GNI_RC_SUCCESS)
        rc = GNI_CqCreate(own->nic, entries, 0, GNI_CQ_NOBLOCK, NULL, NULL, &own->rx);
    return rc == GNI_RC_SUCCESS ? MAD_OK : rc == GNI_RC_NO_MATCH ? MAD_ENOTSUP : MAD_EDRIVER;
}

static size_t parameter(const char *name, long otherwise)
{
    long value = mad_parameter(name, otherwise);

    return value < 0 ? 0 : (size_t)value;
}

static struct mgni_adapter *adapter_new(int size)
{
    struct mgni_adapter *own = calloc(1, sizeof(*own));
    unsigned i;

    if (own == NULL)
        return NULL;
    own->addresses = calloc((size_t)size, sizeof(*own->addresses));
    if (own->addresses == NULL) {
        free(own);
        return NULL;
    }
    port_mutex_init(&own->mutex);
    for (i = 0; i < MGNI_SENDS_MAX; i++)
        own->sends[i].next = i + 1;
    own->smsg_max = parameter("MAD_GNI_SMSG_MAX", SMSG_MAX);
    own->bte_min = parameter("MAD_GNI_BTE_MIN", BTE_MIN);
    own->probe_ns = parameter("MAD_GNI_PROBE_MS", PROBE_MS) * UINT64_C(1000000);
    return own;
}

static int adapter_init(p_mad_adapter_t adapter)
{
    const mad_configuration_t *configuration = &adapter->driver->madeleine->configuration;
    struct mgni_adapter *own = adapter_new(configuration->size);
    unsigned long device = 0;
    char text[128];
    int error;

    if (own == NULL)
        return MAD_ENOMEM;
    adapter->specific = own;
    port_at_wait(mad_gni_describe);
    if (adapter->selector != NULL && !first_number(adapter->selector, &device))
        return MAD_EINVAL;
    if (device > INT32_MAX || configuration->size > 1 << RANK_BITS ||
        adapter->id >= 1 << (24 - RANK_BITS) || !credentials(own, (uint32_t)device))
        return MAD_ENOTSUP;
    own->instance =
        INSTANCES | (uint32_t)adapter->id << RANK_BITS | (uint32_t)configuration->local_host_id;
    error = attach(own, (uint32_t)device, configuration->size);
    if (error != MAD_OK)
        return error;
    snprintf(text, sizeof(text), "gni:v1:%x:%u:%u:%x", own->address, own->instance, own->ptag,
             own->cookie);
    adapter->parameter = strdup(text);
    snprintf(text, sizeof(text), "GNI%d", adapter->id);
    adapter->name = strdup(text);
    return adapter->parameter != NULL && adapter->name != NULL ? MAD_OK : MAD_ENOMEM;
}

static int adapter_exit(p_mad_adapter_t adapter)
{
    struct mgni_adapter *own = mad_gni_adapter(adapter);
    struct mgni_frame *frame;

    if (own == NULL)
        return MAD_OK;
    if (own->cdm != NULL)
        GNI_CdmDestroy(own->cdm); /* with all that belongs to it */
    for (unsigned i = 0; i < MGNI_SENDS_MAX; i++)
        free(own->sends[i].frame);
    while ((frame = own->frames) != NULL) {
        own->frames = frame->next;
        free(frame);
    }
    port_mutex_destroy(&own->mutex);
    free(own->addresses);
    free(own);
    return MAD_OK;
}

/* ---- links ----------------------------------------------------------------------------------- */

static int link_init(p_mad_link_t link)
{
    bool mailbox = link->id == 0;

    link->link_mode = mailbox ? mad_link_mode_buffer : mad_link_mode_buffer_group;
    link->buffer_mode = mailbox ? mad_buffer_mode_static : mad_buffer_mode_dynamic;
    link->group_mode = mailbox ? mad_group_mode_aggregate : mad_group_mode_split;
    return MAD_OK;
}

static p_mad_link_t choice(p_mad_connection_t connection, size_t length, mad_send_mode_t send_mode,
                           mad_receive_mode_t receive_mode)
{
    const struct mgni_adapter *own = mad_gni_adapter(connection->channel->adapter);

    (void)send_mode, (void)receive_mode;
    if (length <= own->smsg_max)
        return &connection->link[0];
    return &connection->link[length <= own->bte_min ? 1 : 2];
}

static int connection_init(p_mad_connection_t in, p_mad_connection_t out)
{
    in->nb_link = out->nb_link = LINKS;
    return mad_gni_connection_init(in, out);
}

void mad_gni_register(p_mad_driver_t driver)
{
    static const mad_driver_interface_t table = {
        .abi_version = MAD_DRIVER_ABI,
        .adapter_init = adapter_init,
        .adapter_exit = adapter_exit,
        .channel_init = mad_gni_channel_init,
        .channel_exit = mad_gni_channel_exit,
        .connection_init = connection_init,
        .connection_exit = mad_gni_connection_exit,
        .link_init = link_init,
        .before_open_channel = mad_gni_publish,
        .after_open_channel = mad_gni_connect,
        .quiesce = mad_gni_quiesce,
        .give_up = mad_gni_give_up,
        .before_close_channel = mad_gni_drain,
        .choice = choice,
        .get_static_buffer = mad_gni_get_static,
        .return_static_buffer = mad_gni_return_static,
        .new_message = mad_gni_new_message,
        .receive_message = mad_gni_receive_message,
        .poll_message = mad_gni_poll_message,
        .send_buffer = mad_entry_send_buffer,
        .receive_buffer = mad_entry_receive_buffer,
        .send_buffer_group = mad_entry_send_group,
        .receive_sub_buffer_group = mad_entry_receive_group,
        .send_static = mad_gni_send_static,
        .receive_static = mad_gni_receive_static,
        .send_list = mad_gni_put,
        .receive_list = mad_gni_accept,
    };

    driver->interface = &table;
    driver->connection_type = mad_bidirectional_connection;
    driver->buffer_alignment = ALIGNMENT;
}
