/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Turns a configuration into a session: networks become adapters, channels are opened. A
 * process is a host and a number on it; ranks are handed out in the order in which channels name
 * them.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_plan.h"

enum { NETWORKS_MAX = 64, CHANNELS_MAX = 255, PROCESSES_MAX = 4096 };

struct slot {
    const char *host; /* of a tree, or NULL: only its rank is known */
    long number;
};

struct maker {
    struct mad_plan *plan;
    mad_plan_reader reader;
    struct slot *slots; /* by rank */
    int room;
};

bool mad_plan_refuse(const struct mad_plan *plan, const struct mad_config *at, const char *text,
                     const char *name)
{
    snprintf(plan->error, MAD_CONFIG_ERROR_MAX, "%.120s:%d:%d: %s%s%.64s", plan->file, at->line,
             at->column, text, name[0] != '\0' ? ": " : "", name);
    return false;
}

bool mad_plan_no_memory(const struct mad_plan *plan)
{
    snprintf(plan->error, MAD_CONFIG_ERROR_MAX, "%.120s: not enough memory", plan->file);
    return false;
}

bool mad_plan_check_keys(const struct mad_plan *plan, const struct mad_config *map,
                         const char *const *keys)
{
    const struct mad_config *each;

    if (map->kind != MAD_CONFIG_MAP)
        return mad_plan_refuse(plan, map, "expected { … }", "");
    for (each = map->first; each != NULL; each = each->next) {
        const char *const *key = keys;

        while (*key != NULL && strcmp(*key, each->key) != 0)
            key++;
        if (*key == NULL)
            return mad_plan_refuse(plan, each, "unknown name", each->key);
        if (mad_config_find(map, each->key) != each)
            return mad_plan_refuse(plan, each, "the name comes twice", each->key);
    }
    return true;
}

bool mad_plan_is_text(const struct mad_config *object)
{
    return (object->kind == MAD_CONFIG_ID && object->modifier == NULL) ||
           object->kind == MAD_CONFIG_STRING;
}

static bool is_channel_name(const char *text)
{
    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++)
        if (!isalnum((unsigned char)*text) && *text != '_' && *text != '-')
            return false;
    return true;
}

bool mad_plan_is_name(const struct mad_config *object)
{
    return mad_plan_is_text(object) && strlen(object->text) <= MAD_PLAN_NAME_MAX &&
           is_channel_name(object->text);
}

bool mad_plan_read_name(const struct mad_plan *plan, const struct mad_config *map, const char *key,
                        char *name, size_t size)
{
    const struct mad_config *entry = mad_config_find(map, key);

    if (entry == NULL)
        return mad_plan_refuse(plan, map, "there is no", key);
    if (!mad_plan_is_name(entry) || strlen(entry->text) >= size)
        return mad_plan_refuse(plan, entry, "expected a short name of letters, digits, `_` and `-`",
                               "");
    snprintf(name, size, "%s", entry->text);
    return true;
}

const struct mad_config *mad_plan_first(const struct mad_config *object)
{
    return object->kind == MAD_CONFIG_LIST ? object->first : object;
}

const struct mad_config *mad_plan_next(const struct mad_config *list,
                                       const struct mad_config *object)
{
    return list->kind == MAD_CONFIG_LIST ? object->next : NULL;
}

/* ---- networks -------------------------------------------------------------------------------- */

static bool read_parameters(struct mad_plan *plan, const struct mad_plan_network *network,
                            const struct mad_config *map)
{
    const struct mad_config *each;
    char text[96], *at;
    int count = 0;

    if (map->kind != MAD_CONFIG_MAP)
        return mad_plan_refuse(plan, map, "expected { … }", "");
    while (plan->parameters[count] != NULL)
        count++;
    for (each = map->first; each != NULL; each = each->next) {
        char **larger;

        if (each->kind != MAD_CONFIG_INTEGER || strlen(each->key) > MAD_PLAN_NAME_MAX)
            return mad_plan_refuse(plan, each, "expected a number", "");
        snprintf(text, sizeof(text), "MAD_%s_%s=%ld", network->driver, each->key, each->low);
        for (at = text; *at != '='; at++)
            *at = *at == '-' || *at == '.' ? '_' : (char)toupper((unsigned char)*at);
        larger = realloc(plan->parameters, (size_t)(count + 2) * sizeof(char *));
        if (larger == NULL)
            return mad_plan_no_memory(plan);
        plan->parameters = larger;
        plan->parameters[count] = strdup(text);
        plan->parameters[count + 1] = NULL;
        if (plan->parameters[count++] == NULL)
            return mad_plan_no_memory(plan);
    }
    return true;
}

static bool check_topology(const struct mad_plan *plan, const struct mad_config *topology)
{
    static const char *const keys[] = {"type", NULL};
    char type[32];

    if (!mad_plan_check_keys(plan, topology, keys) ||
        !mad_plan_read_name(plan, topology, "type", type, sizeof(type)))
        return false;
    return strcmp(type, "full") == 0 ||
           mad_plan_refuse(plan, topology, "the topology is not full", type);
}

static bool check_hosts(const struct mad_plan *plan, const struct mad_config *hosts)
{
    static const char *const keys[] = {"name", "parameter", NULL};
    const struct mad_config *each, *name;

    for (each = mad_plan_first(hosts); each != NULL; each = mad_plan_next(hosts, each)) {
        if (each->kind != MAD_CONFIG_MAP) {
            if (!mad_plan_is_text(each))
                return mad_plan_refuse(plan, each, "expected a host", "");
            continue;
        }
        if (!mad_plan_check_keys(plan, each, keys))
            return false;
        name = mad_config_find(each, "name");
        if (name == NULL || !mad_plan_is_text(name))
            return mad_plan_refuse(plan, each, "the host has no name", "");
    }
    return true;
}

static int find_network(const struct mad_plan *plan, const char *name)
{
    for (int i = 0; i < plan->network_count; i++)
        if (strcmp(plan->networks[i].name, name) == 0)
            return i;
    return -1;
}

static bool read_network(struct mad_plan *plan, const struct mad_config *map)
{
    static const char *const keys[] = {"name",      "hosts",  "dev",      "mandatory_loader",
                                       "parameter", "params", "topology", "optional_loader",
                                       "adapter",   NULL};
    struct mad_plan_network network = {.hosts = NULL};
    const struct mad_config *entry;

    if (!mad_plan_check_keys(plan, map, keys) ||
        !mad_plan_read_name(plan, map, "name", network.name, sizeof(network.name)) ||
        !mad_plan_read_name(plan, map, "dev", network.driver, sizeof(network.driver)))
        return false;
    if (find_network(plan, network.name) >= 0)
        return mad_plan_refuse(plan, map, "there are two networks of this name", network.name);
    if (plan->network_count == NETWORKS_MAX)
        return mad_plan_refuse(plan, map, "too many networks", "");
    network.hosts = mad_config_find(map, "hosts");
    if (network.hosts == NULL)
        return mad_plan_refuse(plan, map, "there is no", "hosts");
    if (!check_hosts(plan, network.hosts))
        return false;
    entry = mad_config_find(map, "topology");
    if (entry != NULL && !check_topology(plan, entry))
        return false;
    entry = mad_config_find(map, "adapter");
    if (entry != NULL && !mad_plan_is_text(entry))
        return mad_plan_refuse(plan, entry, "expected a selector", "");
    network.selector = entry != NULL ? strdup(entry->text) : NULL;
    plan->networks[plan->network_count++] = network;
    if (entry != NULL && network.selector == NULL)
        return mad_plan_no_memory(plan);
    entry = mad_config_find(map, "params");
    return entry == NULL || read_parameters(plan, &network, entry);
}

static bool read_networks(struct mad_plan *plan, const struct mad_config *list)
{
    const struct mad_config *each;

    for (each = mad_plan_first(list); each != NULL; each = mad_plan_next(list, each))
        if (!read_network(plan, each))
            return false;
    return true;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The tree belongs to the plan. NULL: refused. */
static const struct mad_config *read_file(struct maker *maker, const char *file)
{
    struct mad_plan *plan = maker->plan;
    const int trees = sizeof(plan->trees) / sizeof(plan->trees[0]);
    size_t length;
    char *text;

    if (plan->tree_count == trees) {
        snprintf(plan->error, MAD_CONFIG_ERROR_MAX, "%.200s: too many files are included", file);
        return NULL;
    }
    text = maker->reader(file, &length, plan->error);
    if (text == NULL)
        return NULL;
    plan->trees[plan->tree_count] = mad_config_parse(text, length, file, plan->error);
    free(text);
    return plan->trees[plan->tree_count] != NULL ? plan->trees[plan->tree_count++] : NULL;
}

/* Relative to the folder of the file that includes it. */
static bool include_file(struct maker *maker, const struct mad_config *name)
{
    static const char *const keys[] = {"networks", NULL};
    struct mad_plan *plan = maker->plan;
    const char *includer = plan->file, *slash = strrchr(includer, '/');
    const struct mad_config *tree, *list;
    char path[4096];
    bool good;

    if (!mad_plan_is_text(name))
        return mad_plan_refuse(plan, name, "expected the name of a file", "");
    snprintf(path, sizeof(path), "%.*s%s",
             slash != NULL && name->text[0] != '/' ? (int)(slash + 1 - includer) : 0, includer,
             name->text);
    tree = read_file(maker, path);
    if (tree == NULL)
        return false;
    plan->file = path;
    list = mad_config_find(tree, "networks");
    good = mad_plan_check_keys(plan, tree, keys) &&
           (list != NULL || mad_plan_refuse(plan, tree, "there is no", "networks")) &&
           read_networks(plan, list);
    plan->file = includer;
    return good;
}

/* ---- channels and processes ------------------------------------------------------------------ */

static bool reserve_rank(struct maker *maker, int rank)
{
    struct slot *larger;

    if (rank >= maker->room) {
        int room = rank < 32 ? 64 : 2 * rank;

        larger = realloc(maker->slots, (size_t)room * sizeof(*larger));
        if (larger == NULL)
            return mad_plan_no_memory(maker->plan);
        memset(larger + maker->room, 0, (size_t)(room - maker->room) * sizeof(*larger));
        maker->slots = larger;
        maker->room = room;
    }
    if (rank >= maker->plan->size)
        maker->plan->size = rank + 1;
    return true;
}

static bool add_member(struct maker *maker, struct mad_plan_channel *channel,
                       const struct mad_config *at, int rank)
{
    if (rank >= PROCESSES_MAX)
        return mad_plan_refuse(maker->plan, at, "too many processes", "");
    if (!reserve_rank(maker, rank))
        return false;
    if (channel->member[rank])
        return mad_plan_refuse(maker->plan, at, "a process is in the channel twice", "");
    channel->member[rank] = true;
    return true;
}

/* The rank of a process, or the first rank that no process has. `guess`: where it may be. */
static int find_slot(const struct maker *maker, const char *host, long number, int guess)
{
    int size = maker->plan->size;

    for (int i = 0; i < size; i++) {
        int rank = (guess + i) % size;
        const struct slot *slot = &maker->slots[rank];

        if (slot->number == number && slot->host != NULL && strcmp(slot->host, host) == 0)
            return rank;
    }
    return size;
}

static bool add_slots(struct maker *maker, struct mad_plan_channel *channel,
                      const struct mad_config *at, const char *host, long first, long last)
{
    int rank = 0;

    for (long number = first; number <= last; number++) {
        rank = find_slot(maker, host, number, rank);
        if (!add_member(maker, channel, at, rank))
            return false;
        maker->slots[rank] = (struct slot){host, number};
    }
    return true;
}

static bool network_has(const struct mad_plan_network *network, const char *host)
{
    const struct mad_config *each, *name;

    for (each = mad_plan_first(network->hosts); each != NULL;
         each = mad_plan_next(network->hosts, each)) {
        name = each->kind == MAD_CONFIG_MAP ? mad_config_find(each, "name") : each;
        if (strcmp(name->text, host) == 0)
            return true;
    }
    return false;
}

static bool is_number(const struct mad_config *object)
{
    return object->kind == MAD_CONFIG_INTEGER || object->kind == MAD_CONFIG_RANGE;
}

static bool add_host(struct maker *maker, struct mad_plan_channel *channel,
                     const struct mad_config *host)
{
    const struct mad_plan_network *network = &maker->plan->networks[channel->network];
    const struct mad_config *each;

    if (host->kind != MAD_CONFIG_ID && host->kind != MAD_CONFIG_STRING)
        return mad_plan_refuse(maker->plan, host, "expected a host", "");
    if (!network_has(network, host->text))
        return mad_plan_refuse(maker->plan, host, "the host is not in the network", host->text);
    if (host->modifier == NULL)
        return add_slots(maker, channel, host, host->text, 0, 0);
    if (!host->brackets)
        return mad_plan_refuse(maker->plan, host, "expected [ ] with numbers of processes", "");
    for (each = host->modifier; each != NULL; each = each->next)
        if (!is_number(each))
            return mad_plan_refuse(maker->plan, each, "expected a number", "");
        else if (!add_slots(maker, channel, each, host->text, each->low, each->high))
            return false;
    return true;
}

static bool add_ranks(struct maker *maker, struct mad_plan_channel *channel,
                      const struct mad_config *object)
{
    if (!is_number(object))
        return mad_plan_refuse(maker->plan, object, "expected a rank", "");
    for (long rank = object->low; rank <= object->high; rank++) {
        if (rank >= PROCESSES_MAX)
            return mad_plan_refuse(maker->plan, object, "too many processes", "");
        if (!add_member(maker, channel, object, (int)rank))
            return false;
    }
    return true;
}

static bool add_members(struct maker *maker, struct mad_plan_channel *channel,
                        const struct mad_config *map)
{
    const struct mad_config *hosts = mad_config_find(map, "hosts");
    const struct mad_config *ranks = mad_config_find(map, "ranks"), *list, *each;

    list = hosts != NULL ? hosts : ranks;
    if (list == NULL || (hosts != NULL && ranks != NULL))
        return mad_plan_refuse(maker->plan, map, "expected either hosts or ranks", "");
    for (each = mad_plan_first(list); each != NULL; each = mad_plan_next(list, each))
        if (!(hosts != NULL ? add_host(maker, channel, each) : add_ranks(maker, channel, each)))
            return false;
    return true;
}

static bool read_channel(struct maker *maker, const struct mad_config *map)
{
    static const char *const keys[] = {"name", "net", "hosts", "ranks", "check", NULL};
    struct mad_plan *plan = maker->plan;
    struct mad_plan_channel *channel = &plan->channels[plan->channel_count];
    const struct mad_config *check;
    char network[32];

    if (!mad_plan_check_keys(plan, map, keys))
        return false;
    if (plan->channel_count == CHANNELS_MAX)
        return mad_plan_refuse(plan, map, "too many channels", "");
    if (!mad_plan_read_name(plan, map, "name", channel->name, sizeof(channel->name)) ||
        !mad_plan_read_name(plan, map, "net", network, sizeof(network)))
        return false;
    for (int i = 0; i < plan->channel_count; i++)
        if (strcmp(plan->channels[i].name, channel->name) == 0)
            return mad_plan_refuse(plan, map, "there are two channels of this name", channel->name);
    channel->network = find_network(plan, network);
    if (channel->network < 0)
        return mad_plan_refuse(plan, map, "there is no network of this name", network);
    plan->networks[channel->network].used = true;
    check = mad_config_find(map, "check");
    if (check != NULL && (check->kind != MAD_CONFIG_INTEGER || check->low > 2))
        return mad_plan_refuse(plan, check, "the check level is 0, 1 or 2", "");
    channel->check = check != NULL ? (int)check->low : -1;
    channel->member = calloc(PROCESSES_MAX, sizeof(bool));
    plan->channel_count++;
    return channel->member != NULL ? add_members(maker, channel, map) : mad_plan_no_memory(plan);
}

static bool read_application_networks(struct maker *maker, const struct mad_config *map)
{
    static const char *const keys[] = {"include", "channels", "vchannels", "xchannels", NULL};
    struct mad_plan *plan = maker->plan;
    const struct mad_config *entry, *each;

    if (!mad_plan_check_keys(plan, map, keys))
        return false;
    entry = mad_config_find(map, "include");
    for (each = entry != NULL ? mad_plan_first(entry) : NULL; each != NULL;
         each = mad_plan_next(entry, each))
        if (!include_file(maker, each))
            return false;
    entry = mad_config_find(map, "channels");
    for (each = entry != NULL ? mad_plan_first(entry) : NULL; each != NULL;
         each = mad_plan_next(entry, each))
        if (!read_channel(maker, each))
            return false;
    entry = mad_config_find(map, "vchannels");
    for (each = entry != NULL ? mad_plan_first(entry) : NULL; each != NULL;
         each = mad_plan_next(entry, each))
        if (!mad_plan_read_virtual(plan, each))
            return false;
    entry = mad_config_find(map, "xchannels");
    for (each = entry != NULL ? mad_plan_first(entry) : NULL; each != NULL;
         each = mad_plan_next(entry, each))
        if (!mad_plan_read_multiplexed(plan, each))
            return false;
    return true;
}

static bool read_application(struct maker *maker, const struct mad_config *tree)
{
    static const char *const top[] = {"application", "networks", NULL};
    static const char *const keys[] = {"name", "flavor", "networks", NULL};
    struct mad_plan *plan = maker->plan;
    const struct mad_config *application = mad_config_find(tree, "application");
    const struct mad_config *networks = mad_config_find(tree, "networks");

    if (!mad_plan_check_keys(plan, tree, top) ||
        (networks != NULL && !read_networks(plan, networks)))
        return false;
    if (application == NULL)
        return mad_plan_refuse(plan, tree, "there is no", "application");
    if (!mad_plan_check_keys(plan, application, keys))
        return false;
    networks = mad_config_find(application, "networks");
    if (networks == NULL)
        return mad_plan_refuse(plan, application, "there is no", "networks");
    return read_application_networks(maker, networks);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool name_hosts(struct maker *maker)
{
    struct mad_plan *plan = maker->plan;

    plan->hosts = calloc((size_t)plan->size + 1, sizeof(char *));
    for (int rank = 0; plan->hosts != NULL && rank < plan->size; rank++) {
        const char *host = maker->slots[rank].host;

        plan->hosts[rank] = strdup(host != NULL ? host : "");
        if (plan->hosts[rank] == NULL)
            return mad_plan_no_memory(plan);
    }
    return plan->hosts != NULL || mad_plan_no_memory(plan);
}

static bool make(struct maker *maker, const char *file)
{
    struct mad_plan *plan = maker->plan;
    const struct mad_config *tree = read_file(maker, file);

    plan->networks = calloc(NETWORKS_MAX, sizeof(*plan->networks));
    plan->channels = calloc(CHANNELS_MAX + 1, sizeof(*plan->channels));
    plan->virtuals = calloc(MAD_PLAN_VIRTUALS_MAX + 1, sizeof(*plan->virtuals));
    plan->multiplexed = calloc(MAD_PLAN_VIRTUALS_MAX + 1, sizeof(*plan->multiplexed));
    plan->parameters = calloc(1, sizeof(char *));
    if (plan->networks == NULL || plan->channels == NULL || plan->virtuals == NULL ||
        plan->multiplexed == NULL || plan->parameters == NULL)
        return mad_plan_no_memory(plan);
    return tree != NULL && read_application(maker, tree) && name_hosts(maker);
}

struct mad_plan *mad_plan_make(const char *file, mad_plan_reader reader, char *error)
{
    struct mad_plan *plan = calloc(1, sizeof(*plan));
    struct maker maker = {.plan = plan, .reader = reader};
    bool good;

    if (plan == NULL) {
        snprintf(error, MAD_CONFIG_ERROR_MAX, "not enough memory");
        return NULL;
    }
    plan->file = file;
    plan->error = error;
    good = make(&maker, file);
    free(maker.slots);
    if (good)
        return plan;
    mad_plan_free(plan);
    return NULL;
}
