/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "lnet/export.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "core/internal.h"

#define LIST_TEXT_MAX 4096 /* of networks and routes, as in the kernel */

struct reader {
    struct lnet_settings *config;
    const struct lnet_export_host *host;
    const char *path;
    yaml_document_t document;
    char **error;
    char networks[LIST_TEXT_MAX], routes[LIST_TEXT_MAX];
};

void lnet_settings_add(struct lnet_settings *config, const char *name, const char *value)
{
    struct lnet_setting *settings =
        realloc(config->settings, (config->count + 1) * sizeof(*settings));

    if (settings == NULL)
        abort();
    settings[config->count].name = strdup(name);
    settings[config->count].value = strdup(value);
    config->settings = settings;
    config->count++;
}

void lnet_settings_free(struct lnet_settings *config)
{
    uint32_t i;

    for (i = 0; i < config->count; i++) {
        free((char *)config->settings[i].name);
        free((char *)config->settings[i].value);
    }
    free(config->settings);
    *config = (struct lnet_settings){0};
}

/* ---- the tree ---------------------------------------------------------------------------------
 */

static bool refuse(struct reader *reader, const yaml_node_t *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool refuse(struct reader *reader, const yaml_node_t *at, const char *format, ...)
{
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    *reader->error = lnet_text("%s:%zu: %s", reader->path, at->start_mark.line + 1, text);
    return false;
}

static const char *scalar(const yaml_node_t *node)
{
    return node != NULL && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value
                                                          : NULL;
}

static bool for_each_pair(struct reader *reader, const yaml_node_t *map,
                          bool (*visit)(struct reader *reader, const char *key,
                                        const yaml_node_t *at, const yaml_node_t *value,
                                        void *argument),
                          void *argument)
{
    const yaml_node_pair_t *pair;

    if (map->type != YAML_MAPPING_NODE)
        return refuse(reader, map, "names with values are needed here");
    for (pair = map->data.mapping.pairs.start; pair < map->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_document_get_node(&reader->document, pair->key);
        const yaml_node_t *value = yaml_document_get_node(&reader->document, pair->value);

        if (scalar(key) == NULL)
            return refuse(reader, map, "a name is needed here");
        if (!visit(reader, scalar(key), key, value, argument))
            return false;
    }
    return true;
}

static bool for_each_item(struct reader *reader, const yaml_node_t *list,
                          bool (*visit)(struct reader *reader, const yaml_node_t *item,
                                        void *argument),
                          void *argument)
{
    const yaml_node_item_t *item;

    if (list->type != YAML_SEQUENCE_NODE)
        return refuse(reader, list, "a list is needed here");
    for (item = list->data.sequence.items.start; item < list->data.sequence.items.top; item++)
        if (!visit(reader, yaml_document_get_node(&reader->document, *item), argument))
            return false;
    return true;
}

static bool read_number(struct reader *reader, const yaml_node_t *node, long minimum, long *value)
{
    const char *text = scalar(node);
    char *end;

    if (text == NULL)
        return refuse(reader, node, "a number is needed here");
    errno = 0;
    *value = strtol(text, &end, 0);
    if (end == text || *end != '\0' || errno != 0 || *value < minimum || *value > INT_MAX)
        return refuse(reader, node, "\"%s\": a number of at least %ld is needed", text, minimum);
    return true;
}

/* A name in the file, and the parameter that it sets. */
struct name {
    const char *key, *parameter;
};

static const char *find(const struct name *names, const char *key)
{
    for (; names->key != NULL; names++)
        if (strcmp(names->key, key) == 0)
            return names->parameter;
    return NULL;
}

static bool append(struct reader *reader, const yaml_node_t *at, char *list, const char *separator,
                   const char *text)
{
    size_t length = strlen(list);
    int more =
        snprintf(list + length, LIST_TEXT_MAX - length, "%s%s", length > 0 ? separator : "", text);

    if (more < 0 || (size_t)more >= LIST_TEXT_MAX - length)
        return refuse(reader, at, "too much");
    return true;
}

/* ---- net --------------------------------------------------------------------------------------
 */

struct net {
    const char *type;
    const char *nid, *interface; /* of the NI at hand */
    const yaml_node_t *nis;
};

static const char *module_of(const char *type)
{
    switch (LNET_NETTYP(libcfs_str2net(type))) {
    case O2IBLND:
        return "ko2iblnd";
    case GNILND:
        return "kgnilnd";
    default:
        return "ksocklnd";
    }
}

/* Whether the host has an interface of this name for networks of this type. */
static bool has_interface(const struct reader *reader, const char *type, const char *name)
{
    uint32_t i;

    for (i = 0; i < reader->host->interface_count; i++)
        if (strcmp(reader->host->interfaces[i].name, name) == 0 &&
            reader->host->interfaces[i].lnd_type == LNET_NETTYP(libcfs_str2net(type)))
            return true;
    return false;
}

static bool read_tunable(struct reader *reader, const char *key, const yaml_node_t *at,
                         const yaml_node_t *value, void *argument)
{
    static const char *const names[] = {"peer_timeout", "peer_credits", "peer_buffer_credits",
                                        "credits"};
    const struct net *net = argument;
    char parameter[64];
    long number = 0;
    size_t i;

    (void)at;
    for (i = 0; i < sizeof(names) / sizeof(*names) && strcmp(names[i], key) != 0; i++)
        ;
    if (i == sizeof(names) / sizeof(*names))
        return true; /* of one driver only, or a state */
    if (!read_number(reader, value, 0, &number))
        return false;
    snprintf(parameter, sizeof(parameter), "%s.%s", module_of(net->type), key);
    lnet_settings_add(reader->config, parameter, scalar(value));
    return true;
}

static bool read_interface(struct reader *reader, const char *key, const yaml_node_t *at,
                           const yaml_node_t *value, void *argument)
{
    struct net *net = argument;

    (void)key;
    if (scalar(value) == NULL)
        return refuse(reader, at, "the name of an interface is needed");
    net->interface = scalar(value);
    return true;
}

static bool read_ni_field(struct reader *reader, const char *key, const yaml_node_t *at,
                          const yaml_node_t *value, void *argument)
{
    struct net *net = argument;

    (void)at;
    if (strcmp(key, "nid") == 0)
        net->nid = scalar(value);
    else if (strcmp(key, "interfaces") == 0)
        return for_each_pair(reader, value, read_interface, net);
    else if (strcmp(key, "tunables") == 0)
        return for_each_pair(reader, value, read_tunable, net);
    return true; /* status, statistics, CPTs */
}

static bool read_ni(struct reader *reader, const yaml_node_t *item, void *argument)
{
    struct net *net = argument;
    char text[128];

    net->nid = net->interface = NULL;
    if (!for_each_pair(reader, item, read_ni_field, net))
        return false;
    if (!reader->host->tcp_only) {
        if (net->interface != NULL && has_interface(reader, net->type, net->interface))
            snprintf(text, sizeof(text), "%s(%s)", net->type, net->interface);
        else
            snprintf(text, sizeof(text), "%s", net->type);
    } else if (net->nid != NULL) { /* the address says more than the name of an interface */
        lnet_nid_t nid = libcfs_str2nid(net->nid);

        if (nid == LNET_NID_ANY || LNET_NIDNET(nid) != libcfs_str2net(net->type))
            return refuse(reader, item, "\"%s\" is no NID of %s", net->nid, net->type);
        snprintf(text, sizeof(text), "%s(%.*s)", net->type, (int)strcspn(net->nid, "@"), net->nid);
    } else if (net->interface != NULL) {
        snprintf(text, sizeof(text), "%s(%s)", net->type, net->interface);
    } else {
        snprintf(text, sizeof(text), "%s", net->type);
    }
    return append(reader, item, reader->networks, ",", text);
}

static bool read_net_field(struct reader *reader, const char *key, const yaml_node_t *at,
                           const yaml_node_t *value, void *argument)
{
    struct net *net = argument;

    (void)reader, (void)at;
    if (strcmp(key, "net type") == 0 || strcmp(key, "net") == 0)
        net->type = scalar(value);
    else if (strcmp(key, "local NI(s)") == 0)
        net->nis = value;
    return true;
}

static bool read_net(struct reader *reader, const yaml_node_t *item, void *argument)
{
    struct net net = {0};
    uint32_t id;

    (void)argument;
    if (!for_each_pair(reader, item, read_net_field, &net))
        return false;
    id = net.type != NULL ? libcfs_str2net(net.type) : LNET_NIDNET(LNET_NID_ANY);
    if (id == LNET_NIDNET(LNET_NID_ANY))
        return refuse(reader, item, "\"net type\" names no network");
    if (LNET_NETTYP(id) == LOLND)
        return true;
    if (reader->host->tcp_only && LNET_NETTYP(id) != SOCKLND)
        return refuse(reader, item, "%s: a live process has networks of type tcp only", net.type);
    if (net.nis == NULL)
        return append(reader, item, reader->networks, ",", net.type);
    return for_each_item(reader, net.nis, read_ni, &net);
}

/* ---- route ------------------------------------------------------------------------------------
 */

struct route {
    const char *net, *gateway;
    long hops, priority;
};

static bool read_route_field(struct reader *reader, const char *key, const yaml_node_t *at,
                             const yaml_node_t *value, void *argument)
{
    struct route *route = argument;

    (void)at;
    if (strcmp(key, "net") == 0)
        route->net = scalar(value);
    else if (strcmp(key, "gateway") == 0)
        route->gateway = scalar(value);
    else if (strcmp(key, "hop") == 0 || strcmp(key, "hops") == 0)
        return read_number(reader, value, -1, &route->hops);
    else if (strcmp(key, "priority") == 0)
        return read_number(reader, value, 0, &route->priority);
    return true; /* state, type, health */
}

static bool read_route(struct reader *reader, const yaml_node_t *item, void *argument)
{
    struct route route = {.hops = -1};
    char text[256], hops[32] = "";

    (void)argument;
    if (!for_each_pair(reader, item, read_route_field, &route))
        return false;
    if (route.net == NULL || libcfs_str2net(route.net) == LNET_NIDNET(LNET_NID_ANY))
        return refuse(reader, item, "a route needs a \"net\"");
    if (route.gateway == NULL || libcfs_str2nid(route.gateway) == LNET_NID_ANY)
        return refuse(reader, item, "a route needs a \"gateway\", which is a NID");
    if (route.hops != -1)
        snprintf(hops, sizeof(hops), "%ld ", route.hops);
    snprintf(text, sizeof(text), "%s %s%s", route.net, hops, route.gateway);
    if (route.priority > 0)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), ":%ld", route.priority);
    return append(reader, item, reader->routes, "; ", text);
}

/* ---- routing, buffers, global -----------------------------------------------------------------
 */

static bool read_buffer(struct reader *reader, const char *key, const yaml_node_t *at,
                        const yaml_node_t *value, void *argument)
{
    static const struct name names[] = {{"tiny", "tiny_router_buffers"},
                                        {"small", "small_router_buffers"},
                                        {"large", "large_router_buffers"},
                                        {NULL, NULL}};
    const char *parameter = find(names, key);
    long number = 0;

    (void)argument;
    if (parameter == NULL)
        return refuse(reader, at, "\"%s\": there are tiny, small and large buffers", key);
    if (!read_number(reader, value, 0, &number))
        return false;
    lnet_settings_add(reader->config, parameter, scalar(value));
    return true;
}

static bool read_routing_field(struct reader *reader, const char *key, const yaml_node_t *at,
                               const yaml_node_t *value, void *argument)
{
    long number = 0;

    (void)at, (void)argument;
    if (strcmp(key, "enable") != 0)
        return true; /* the pools of a CPT */
    if (!read_number(reader, value, 0, &number))
        return false;
    lnet_settings_add(reader->config, "forwarding", number != 0 ? "enabled" : "disabled");
    return true;
}

static bool read_routing(struct reader *reader, const yaml_node_t *item, void *argument)
{
    return for_each_pair(reader, item, read_routing_field, argument);
}

static bool read_buffers(struct reader *reader, const yaml_node_t *item, void *argument)
{
    return for_each_pair(reader, item, read_buffer, argument);
}

static bool read_global(struct reader *reader, const char *key, const yaml_node_t *at,
                        const yaml_node_t *value, void *argument)
{
    static const struct name names[] = {{"retry_count", "lnet_retry_count"},
                                        {"transaction_timeout", "lnet_transaction_timeout"},
                                        {"health_sensitivity", "lnet_health_sensitivity"},
                                        {"recovery_interval", "lnet_recovery_interval"},
                                        {"drop_asym_route", "lnet_drop_asym_route"},
                                        {"max_intf", "lnet_interfaces_max"},
                                        {"numa_range", "lnet_numa_range"},
                                        {NULL, NULL}};
    const char *parameter = find(names, key);
    long number = 0;

    (void)at, (void)argument;
    if (parameter == NULL && strcmp(key, "discovery") != 0)
        return true; /* of other releases */
    if (!read_number(reader, value, 0, &number))
        return false;
    if (parameter != NULL)
        lnet_settings_add(reader->config, parameter, scalar(value));
    else
        lnet_settings_add(reader->config, "lnet_peer_discovery_disabled", number != 0 ? "0" : "1");
    return true;
}

static bool read_section(struct reader *reader, const char *key, const yaml_node_t *at,
                         const yaml_node_t *value, void *argument)
{
    (void)argument;
    if (strcmp(key, "net") == 0)
        return for_each_item(reader, value, read_net, NULL);
    if (strcmp(key, "route") == 0)
        return for_each_item(reader, value, read_route, NULL);
    if (strcmp(key, "routing") == 0 && value->type == YAML_SEQUENCE_NODE)
        return for_each_item(reader, value, read_routing, NULL);
    if (strcmp(key, "routing") == 0)
        return read_routing(reader, value, NULL);
    if (strcmp(key, "buffers") == 0 && value->type == YAML_SEQUENCE_NODE)
        return for_each_item(reader, value, read_buffers, NULL);
    if (strcmp(key, "buffers") == 0)
        return read_buffers(reader, value, NULL);
    if (strcmp(key, "global") == 0)
        return for_each_pair(reader, value, read_global, NULL);
    if (strcmp(key, "peer") == 0 || strcmp(key, "statistics") == 0 || strcmp(key, "numa") == 0 ||
        strcmp(key, "udsp") == 0)
        return true; /* peers are found when they are needed */
    return refuse(reader, at, "\"%s\" is no part of an lnetctl export", key);
}

bool lnet_export_read(struct lnet_settings *config, const char *path,
                      const struct lnet_export_host *host, char **error)
{
    struct reader reader = {.config = config, .host = host, .path = path, .error = error};
    const yaml_node_t *root;
    yaml_parser_t parser;
    FILE *file = fopen(path, "re");
    bool ok = false;

    if (file == NULL) {
        *error = lnet_text("%s: %s", path, strerror(errno));
        return false;
    }
    yaml_parser_initialize(&parser);
    yaml_parser_set_input_file(&parser, file);
    if (!yaml_parser_load(&parser, &reader.document)) {
        *error = lnet_text("%s:%zu: %s", path, parser.problem_mark.line + 1,
                           parser.problem != NULL ? parser.problem : "no YAML");
    } else {
        root = yaml_document_get_root_node(&reader.document);
        if (root == NULL)
            *error = lnet_text("%s: the file is empty", path);
        else
            ok = for_each_pair(&reader, root, read_section, NULL);
        yaml_document_delete(&reader.document);
    }
    yaml_parser_delete(&parser);
    fclose(file);
    if (ok && reader.networks[0] != '\0')
        lnet_settings_add(config, "networks", reader.networks);
    if (ok && reader.routes[0] != '\0')
        lnet_settings_add(config, "routes", reader.routes);
    return ok;
}
