/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A session that a configuration describes: its adapters, its channels, and looking them up. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "session.h"

/* The file of 2000 begins with the number of hosts. */
bool mad_plan_is_meant(const char *file)
{
    FILE *stream = fopen(file, "re");
    int c = ' ';

    if (stream == NULL)
        return false;
    while (c != EOF && isspace(c))
        c = fgetc(stream);
    fclose(stream);
    return c != EOF && !isdigit(c);
}

/* Networks that a channel uses, or all if there are no channels. */
static bool is_adapter(const struct mad_plan *plan, int network)
{
    return plan->networks[network].used || plan->channel_count == 0;
}

p_mad_adapter_set_t mad_plan_adapters(const struct mad_plan *plan,
                                      const struct mad_driver_entry *drivers)
{
    char list[4096], text[MAD_TEXT_MAX];
    size_t used = 0;

    list[0] = '\0';
    for (int i = 0; i < plan->network_count; i++) {
        const struct mad_plan_network *network = &plan->networks[i];

        if (is_adapter(plan, i) && used < sizeof(list))
            used +=
                (size_t)snprintf(list + used, sizeof(list) - used, "%s%s%s%s", used != 0 ? "," : "",
                                 network->driver, network->selector != NULL ? ":" : "",
                                 network->selector != NULL ? network->selector : "");
    }
    if (used != 0 && used < sizeof(list))
        return mad_adapter_set_parse(list, drivers);
    snprintf(text, sizeof(text), "%.200s: there are no networks", plan->file);
    MAD_REPORT(MAD_ECONFIG, text, NULL, -1);
    return NULL;
}

static int adapter_of(const struct mad_plan *plan, int network)
{
    int adapter = 0;

    for (int i = 0; i < network; i++)
        adapter += is_adapter(plan, i);
    return adapter;
}

static p_mad_channel_t find_channel(p_mad_madeleine_t madeleine, const char *name)
{
    p_mad_channel_t channel = madeleine->channel;

    while (channel != NULL && strcmp(channel->name, name) != 0)
        channel = channel->next;
    return channel;
}

static bool open_virtual(p_mad_madeleine_t madeleine, const struct mad_plan *plan,
                         const struct mad_plan_virtual *description)
{
    p_mad_channel_t parts[MAD_PLAN_PARTS_MAX];

    for (int i = 0; i < description->count; i++)
        parts[i] = find_channel(madeleine, plan->channels[description->parts[i]].name);
    return mad_open_virtual_channel(madeleine, description->name, description->count, parts) !=
           NULL;
}

static bool open_multiplexed(p_mad_madeleine_t madeleine,
                             const struct mad_plan_multiplexed *description)
{
    p_mad_channel_t rails[MAD_PLAN_RAILS_MAX];
    const char *names[256];

    for (int i = 0; i < description->rail_count; i++)
        rails[i] = find_channel(madeleine, description->rails[i]);
    for (int i = 0; i < description->sub_count; i++)
        names[i] = description->subs[i];
    return mad_open_multiplexed_channel(madeleine, description->name, description->rail_count,
                                        rails, description->sub_count, names,
                                        description->aggregate ? mad_strategy_aggregate
                                                               : mad_strategy_default) != NULL;
}

bool mad_plan_open(p_mad_madeleine_t madeleine, const struct mad_plan *plan)
{
    for (int i = 0; i < plan->channel_count; i++) {
        const struct mad_plan_channel *channel = &plan->channels[i];

        if (mad_open_for_members(madeleine, channel->name, adapter_of(plan, channel->network),
                                 channel->member, channel->check) == NULL)
            return false;
    }
    for (int i = 0; i < plan->virtual_count; i++)
        if (!open_virtual(madeleine, plan, &plan->virtuals[i]))
            return false;
    for (int i = 0; i < plan->multiplexed_count; i++)
        if (!open_multiplexed(madeleine, &plan->multiplexed[i]))
            return false;
    return true;
}

p_mad_channel_t mad_get_channel(p_mad_madeleine_t madeleine, char *name)
{
    p_mad_channel_t channel =
        madeleine != NULL && name != NULL ? find_channel(madeleine, name) : NULL;
    char text[MAD_TEXT_MAX];

    if (channel != NULL && mad_channel_full(channel)->part_of == NULL &&
        mad_channel_full(channel)->rail_of == NULL &&
        mad_channel_has(channel, madeleine->configuration.local_host_id))
        return channel;
    snprintf(text, sizeof(text), "mad_get_channel: this process has no channel %.32s",
             name != NULL ? name : "");
    MAD_REPORT(MAD_EINVAL, text, NULL, -1);
    return NULL;
}
