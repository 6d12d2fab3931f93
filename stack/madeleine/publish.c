/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What drivers tell each other about a channel while it opens. */
#include <stdio.h>

#include "session.h"

static struct mad_boot *boot_of(p_mad_channel_t channel)
{
    return ((struct mad_session *)channel->adapter->driver->madeleine)->boot;
}

int mad_channel_publish(p_mad_channel_t channel, const char *text)
{
    struct mad_boot *boot = boot_of(channel);
    char key[MAD_KEY_MAX];

    snprintf(key, sizeof(key), "mad.c.%s.%d", channel->name, boot->rank);
    return boot->ops->put(boot, key, text);
}

int mad_channel_parameter(p_mad_channel_t channel, ntbx_host_id_t rank, char *text, size_t size)
{
    struct mad_boot *boot = boot_of(channel);
    char key[MAD_KEY_MAX];
    int error;

    snprintf(key, sizeof(key), "mad.c.%s.%d", channel->name, rank);
    error = boot->ops->get(boot, rank, key, text, size);
    return error == MAD_OK && text[0] == '\0' ? MAD_EBOOT : error;
}

void mad_quiesce(p_mad_madeleine_t madeleine)
{
    for (p_mad_channel_t channel = madeleine->channel; channel != NULL; channel = channel->next)
        if (channel->adapter->driver->interface->quiesce != NULL)
            channel->adapter->driver->interface->quiesce(channel);
}
