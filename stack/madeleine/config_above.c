/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reads from a configuration the channels that lie above others: virtual and multiplexed ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_plan.h"

static bool name_is_used(const struct mad_plan *plan, const char *name)
{
    for (int i = 0; i < plan->virtual_count; i++)
        if (strcmp(plan->virtuals[i].name, name) == 0)
            return true;
    for (int i = 0; i < plan->channel_count; i++)
        if (strcmp(plan->channels[i].name, name) == 0)
            return true;
    for (int i = 0; i < plan->multiplexed_count; i++) {
        const struct mad_plan_multiplexed *channel = &plan->multiplexed[i];

        if (strcmp(channel->name, name) == 0)
            return true;
        for (int sub = 0; sub < channel->sub_count; sub++)
            if (strcmp(channel->subs[sub], name) == 0)
                return true;
    }
    return false;
}

static bool add_part(const struct mad_plan *plan, struct mad_plan_virtual *channel,
                     const struct mad_config *name)
{
    int i = 0;

    while (i < plan->channel_count &&
           (!mad_plan_is_text(name) || strcmp(plan->channels[i].name, name->text) != 0))
        i++;
    if (i == plan->channel_count)
        return mad_plan_refuse(plan, name, "expected the name of a channel", "");
    if (plan->channels[i].is_part || strlen(plan->channels[i].name) == MAD_PLAN_NAME_MAX)
        return mad_plan_refuse(plan, name,
                               plan->channels[i].is_part ? "it is in a virtual channel"
                                                         : "the name is too long for a part",
                               name->text);
    if (channel->count == MAD_PLAN_PARTS_MAX)
        return mad_plan_refuse(plan, name, "too many channels", "");
    plan->channels[i].is_part = true;
    channel->parts[channel->count++] = i;
    return true;
}

bool mad_plan_read_virtual(struct mad_plan *plan, const struct mad_config *map)
{
    static const char *const keys[] = {"name", "channels", NULL};
    struct mad_plan_virtual *channel = &plan->virtuals[plan->virtual_count];
    const struct mad_config *list, *each;
    char name[32];

    if (!mad_plan_check_keys(plan, map, keys) ||
        !mad_plan_read_name(plan, map, "name", name, sizeof(name)))
        return false;
    list = mad_config_find(map, "channels");
    if (list == NULL)
        return mad_plan_refuse(plan, map, "there is no", "channels");
    if (name_is_used(plan, name))
        return mad_plan_refuse(plan, map, "there are two channels of this name", name);
    if (plan->virtual_count == MAD_PLAN_VIRTUALS_MAX)
        return mad_plan_refuse(plan, map, "too many channels", "");
    snprintf(channel->name, sizeof(channel->name), "%s", name);
    plan->virtual_count++;
    for (each = mad_plan_first(list); each != NULL; each = mad_plan_next(list, each))
        if (!add_part(plan, channel, each))
            return false;
    return true;
}

/* A channel, or a virtual one, that carries no other. */
static bool add_rail(struct mad_plan *plan, struct mad_plan_multiplexed *channel,
                     const struct mad_config *name)
{
    bool *rail = NULL, part = false;

    for (int i = 0; i < plan->channel_count && mad_plan_is_text(name); i++)
        if (strcmp(plan->channels[i].name, name->text) == 0) {
            rail = &plan->channels[i].is_rail;
            part = plan->channels[i].is_part;
        }
    for (int i = 0; i < plan->virtual_count && mad_plan_is_text(name); i++)
        if (strcmp(plan->virtuals[i].name, name->text) == 0)
            rail = &plan->virtuals[i].is_rail;
    if (rail == NULL)
        return mad_plan_refuse(plan, name, "expected the name of a channel", "");
    if (part || *rail)
        return mad_plan_refuse(
            plan, name, part ? "it is in a virtual channel" : "it is in a multiplexed channel",
            name->text);
    if (channel->rail_count == MAD_PLAN_RAILS_MAX)
        return mad_plan_refuse(plan, name, "too many channels", "");
    *rail = true;
    snprintf(channel->rails[channel->rail_count++], sizeof(channel->rails[0]), "%s", name->text);
    return true;
}

static bool add_sub(struct mad_plan *plan, struct mad_plan_multiplexed *channel,
                    const struct mad_config *name)
{
    const char *key = "sub_channels";

    if (channel->sub_count == MAD_PLAN_SUBS_MAX)
        return mad_plan_refuse(plan, name, "too many channels", "");
    if (!mad_plan_is_name(name))
        return mad_plan_refuse(plan, name, "expected a name in", key);
    if (name_is_used(plan, name->text))
        return mad_plan_refuse(plan, name, "there are two channels of this name", name->text);
    snprintf(channel->subs[channel->sub_count++], sizeof(channel->subs[0]), "%s", name->text);
    return true;
}

static bool read_strategy(const struct mad_plan *plan, struct mad_plan_multiplexed *channel,
                          const struct mad_config *strategy)
{
    if (strategy == NULL)
        return true;
    channel->aggregate = mad_plan_is_text(strategy) && strcmp(strategy->text, "aggregate") == 0;
    return channel->aggregate ||
           (mad_plan_is_text(strategy) && strcmp(strategy->text, "default") == 0) ||
           mad_plan_refuse(plan, strategy, "the strategy is default or aggregate", "");
}

bool mad_plan_read_multiplexed(struct mad_plan *plan, const struct mad_config *map)
{
    static const char *const keys[] = {"name", "channels", "sub_channels", "strategy", NULL};
    struct mad_plan_multiplexed *channel = &plan->multiplexed[plan->multiplexed_count];
    const struct mad_config *list, *each;
    char name[32];

    if (!mad_plan_check_keys(plan, map, keys) ||
        !mad_plan_read_name(plan, map, "name", name, sizeof(name)))
        return false;
    list = mad_config_find(map, "channels");
    if (list == NULL)
        return mad_plan_refuse(plan, map, "there is no", "channels");
    if (name_is_used(plan, name))
        return mad_plan_refuse(plan, map, "there are two channels of this name", name);
    if (plan->multiplexed_count == MAD_PLAN_VIRTUALS_MAX)
        return mad_plan_refuse(plan, map, "too many channels", "");
    channel->subs = calloc(MAD_PLAN_SUBS_MAX, sizeof(*channel->subs));
    if (channel->subs == NULL)
        return mad_plan_no_memory(plan);
    snprintf(channel->name, sizeof(channel->name), "%s", name);
    plan->multiplexed_count++;
    for (each = mad_plan_first(list); each != NULL; each = mad_plan_next(list, each))
        if (!add_rail(plan, channel, each))
            return false;
    list = mad_config_find(map, "sub_channels");
    for (each = list != NULL ? mad_plan_first(list) : NULL; each != NULL;
         each = mad_plan_next(list, each))
        if (!add_sub(plan, channel, each))
            return false;
    return read_strategy(plan, channel, mad_config_find(map, "strategy"));
}
