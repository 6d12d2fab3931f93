/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "core/export_reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- the tree ------------------------------------------------------------------------------- */

bool lnet_export_refuse(struct lnet_export_reader *reader, const yaml_node_t *at,
                        const char *format, ...)
{
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    *reader->error = lnet_text("%s:%zu: %s", reader->path, at->start_mark.line + 1, text);
    return false;
}

void lnet_export_warn(struct lnet_export_reader *reader, const yaml_node_t *at, const char *format,
                      ...)
{
    char text[512], whole[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    snprintf(whole, sizeof(whole), "%s:%zu: %s", reader->path, at->start_mark.line + 1, text);
    lnet_settings_add(reader->config, LNET_SETTING_WARNING, whole);
}

const char *lnet_export_scalar(const yaml_node_t *node)
{
    return node != NULL && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value
                                                          : NULL;
}

/* "route:" with nothing behind it. */
static bool is_nothing(const yaml_node_t *node)
{
    const char *text = lnet_export_scalar(node);

    return text != NULL && node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (*text == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0);
}

bool lnet_export_pairs(struct lnet_export_reader *reader, const yaml_node_t *map,
                       lnet_export_visit_pair *visit, void *argument)
{
    const yaml_node_pair_t *pair;

    if (is_nothing(map))
        return true;
    if (map->type != YAML_MAPPING_NODE)
        return lnet_export_refuse(reader, map, "names with values are needed here");
    for (pair = map->data.mapping.pairs.start; pair < map->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_document_get_node(&reader->document, pair->key);
        const yaml_node_t *value = yaml_document_get_node(&reader->document, pair->value);

        if (lnet_export_scalar(key) == NULL)
            return lnet_export_refuse(reader, map, "a name is needed here");
        if (!visit(reader, lnet_export_scalar(key), key, value, argument))
            return false;
    }
    return true;
}

bool lnet_export_items(struct lnet_export_reader *reader, const yaml_node_t *list,
                       lnet_export_visit_item *visit, void *argument)
{
    const yaml_node_item_t *item;

    if (is_nothing(list))
        return true;
    if (list->type != YAML_SEQUENCE_NODE)
        return lnet_export_refuse(reader, list, "a list is needed here");
    for (item = list->data.sequence.items.start; item < list->data.sequence.items.top; item++)
        if (!visit(reader, yaml_document_get_node(&reader->document, *item), argument))
            return false;
    return true;
}

bool lnet_export_number(struct lnet_export_reader *reader, const yaml_node_t *node, long *value)
{
    const char *text = lnet_export_scalar(node);
    char *end;

    if (text == NULL)
        return lnet_export_refuse(reader, node, "a number is needed here");
    errno = 0;
    *value = strtol(text, &end, 0);
    if (end == text || *end != '\0' || errno != 0 || *value < -1 || *value > UINT32_MAX)
        return lnet_export_refuse(reader, node, "\"%s\": a number is needed, or -1 for the default",
                                  text);
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

bool lnet_export_append(struct lnet_export_reader *reader, const yaml_node_t *at, char *list,
                        const char *separator, const char *text)
{
    size_t length = strlen(list);
    int more = snprintf(list + length, LNET_EXPORT_TEXT_MAX - length, "%s%s",
                        length > 0 ? separator : "", text);

    if (more < 0 || (size_t)more >= LNET_EXPORT_TEXT_MAX - length)
        return lnet_export_refuse(reader, at, "too much");
    return true;
}

/* A number that sets a parameter; -1: it stays as it is. */
static bool set_number(struct lnet_export_reader *reader, const char *parameter,
                       const yaml_node_t *value)
{
    long number = 0;

    if (!lnet_export_number(reader, value, &number))
        return false;
    if (number != -1)
        lnet_settings_add(reader->config, parameter, lnet_export_scalar(value));
    return true;
}

/* ---- route ------------------------------------------------------------------------------------
 */

struct route {
    const char *net, *gateway;
    long hops, priority;
};

static bool read_route_field(struct lnet_export_reader *reader, const char *key,
                             const yaml_node_t *at, const yaml_node_t *value, void *argument)
{
    struct route *route = argument;

    (void)at;
    if (strcmp(key, "net") == 0)
        route->net = lnet_export_scalar(value);
    else if (strcmp(key, "gateway") == 0)
        route->gateway = lnet_export_scalar(value);
    else if (strcmp(key, "hop") == 0 || strcmp(key, "hops") == 0)
        return lnet_export_number(reader, value, &route->hops);
    else if (strcmp(key, "priority") == 0)
        return lnet_export_number(reader, value, &route->priority);
    return true; /* state, type, health */
}

static bool read_route(struct lnet_export_reader *reader, const yaml_node_t *item, void *argument)
{
    struct route route = {.hops = -1};
    char text[256], hops[32] = "";

    (void)argument;
    if (!lnet_export_pairs(reader, item, read_route_field, &route))
        return false;
    if (route.net == NULL || libcfs_str2net(route.net) == LNET_NIDNET(LNET_NID_ANY))
        return lnet_export_refuse(reader, item, "a route needs a \"net\"");
    if (route.gateway == NULL || libcfs_str2nid(route.gateway) == LNET_NID_ANY)
        return lnet_export_refuse(reader, item, "a route needs a \"gateway\", which is a NID");
    if (route.hops != -1 && route.hops != UINT32_MAX) /* both say that it is not known */
        snprintf(hops, sizeof(hops), "%ld ", route.hops);
    snprintf(text, sizeof(text), "%s %s%s", route.net, hops, route.gateway);
    if (route.priority > 0)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), ":%ld", route.priority);
    return lnet_export_append(reader, item, reader->routes, "; ", text);
}

/* ---- routing, buffers, global -----------------------------------------------------------------
 */

static bool read_buffer(struct lnet_export_reader *reader, const char *key, const yaml_node_t *at,
                        const yaml_node_t *value, void *argument)
{
    static const struct name names[] = {{"tiny", "tiny_router_buffers"},
                                        {"small", "small_router_buffers"},
                                        {"large", "large_router_buffers"},
                                        {NULL, NULL}};
    const char *parameter = find(names, key);

    (void)argument;
    if (parameter == NULL)
        return lnet_export_refuse(reader, at, "\"%s\": there are tiny, small and large buffers",
                                  key);
    return set_number(reader, parameter, value);
}

static bool read_routing_field(struct lnet_export_reader *reader, const char *key,
                               const yaml_node_t *at, const yaml_node_t *value, void *argument)
{
    long number = 0;

    (void)at, (void)argument;
    if (strcmp(key, "enable") != 0)
        return true; /* the pools of a CPT */
    if (!lnet_export_number(reader, value, &number))
        return false;
    lnet_settings_add(reader->config, "forwarding", number != 0 ? "enabled" : "disabled");
    return true;
}

static bool read_routing(struct lnet_export_reader *reader, const yaml_node_t *item, void *argument)
{
    return lnet_export_pairs(reader, item, read_routing_field, argument);
}

static bool read_buffers(struct lnet_export_reader *reader, const yaml_node_t *item, void *argument)
{
    return lnet_export_pairs(reader, item, read_buffer, argument);
}

static bool read_global(struct lnet_export_reader *reader, const char *key, const yaml_node_t *at,
                        const yaml_node_t *value, void *argument)
{
    static const struct name names[] = {{"retry_count", "lnet_retry_count"},
                                        {"transaction_timeout", "lnet_transaction_timeout"},
                                        {"health_sensitivity", "lnet_health_sensitivity"},
                                        {"recovery_interval", "lnet_recovery_interval"},
                                        {"drop_asym_route", "lnet_drop_asym_route"},
                                        {"max_intf", "lnet_interfaces_max"},
                                        {"max_interfaces", "lnet_interfaces_max"},
                                        {"numa_range", "lnet_numa_range"},
                                        {NULL, NULL}};
    const char *parameter = find(names, key);
    long number = 0;

    (void)at, (void)argument;
    if (parameter != NULL)
        return set_number(reader, parameter, value);
    if (strcmp(key, "discovery") != 0)
        return true; /* of other releases */
    if (!lnet_export_number(reader, value, &number))
        return false;
    if (number != -1)
        lnet_settings_add(reader->config, "lnet_peer_discovery_disabled", number != 0 ? "0" : "1");
    return true;
}

/* Sections of one number, which stands there itself or behind a name of its own. */
static bool read_single_pair(struct lnet_export_reader *reader, const char *key,
                             const yaml_node_t *at, const yaml_node_t *value, void *argument)
{
    (void)key;
    return read_global(reader, argument, at, value, NULL);
}

static bool read_single(struct lnet_export_reader *reader, const char *name, const yaml_node_t *at,
                        const yaml_node_t *value)
{
    if (value->type == YAML_SCALAR_NODE && !is_nothing(value))
        return read_global(reader, name, at, value, NULL);
    return lnet_export_pairs(reader, value, read_single_pair, (void *)(uintptr_t)name);
}

static bool read_section(struct lnet_export_reader *reader, const char *key, const yaml_node_t *at,
                         const yaml_node_t *value, void *argument)
{
    (void)argument;
    if (strcmp(key, "net") == 0)
        return lnet_export_items(reader, value, lnet_export_net, NULL);
    if (strcmp(key, "ip2nets") == 0) {
        reader->config->by_address = true;
        return lnet_export_items(reader, value, lnet_export_ip2net, NULL);
    }
    if (strcmp(key, "route") == 0)
        return lnet_export_items(reader, value, read_route, NULL);
    if (strcmp(key, "peer") == 0)
        return lnet_export_items(reader, value, lnet_export_peer, NULL);
    if (strcmp(key, "routing") == 0 && value->type == YAML_SEQUENCE_NODE)
        return lnet_export_items(reader, value, read_routing, NULL);
    if (strcmp(key, "routing") == 0)
        return read_routing(reader, value, NULL);
    if (strcmp(key, "buffers") == 0 && value->type == YAML_SEQUENCE_NODE)
        return lnet_export_items(reader, value, read_buffers, NULL);
    if (strcmp(key, "buffers") == 0)
        return read_buffers(reader, value, NULL);
    if (strcmp(key, "global") == 0)
        return lnet_export_pairs(reader, value, read_global, NULL);
    if (strcmp(key, "discovery") == 0 || strcmp(key, "max_interfaces") == 0)
        return read_single(reader, key, at, value);
    if (strcmp(key, "numa") == 0)
        return read_single(reader, "numa_range", at, value);
    if (strcmp(key, "statistics") != 0 && strcmp(key, "udsp") != 0)
        lnet_export_warn(reader, at, "\"%s\" is skipped: lnetctl has no such section", key);
    return true;
}

/* All documents of the file. */
static bool read_documents(struct lnet_export_reader *reader, yaml_parser_t *parser)
{
    bool ok = true, empty = true, end = false;

    while (ok && !end) {
        const yaml_node_t *root;

        if (!yaml_parser_load(parser, &reader->document)) {
            *reader->error = lnet_text("%s:%zu: %s", reader->path, parser->problem_mark.line + 1,
                                       parser->problem != NULL ? parser->problem : "no YAML");
            return false;
        }
        root = yaml_document_get_root_node(&reader->document);
        end = root == NULL;
        if (!end) {
            empty = false;
            ok = lnet_export_pairs(reader, root, read_section, NULL);
        }
        yaml_document_delete(&reader->document);
    }
    if (ok && empty)
        *reader->error = lnet_text("%s: the file is empty", reader->path);
    return ok && !empty;
}

bool lnet_export_read(struct lnet_settings *config, const char *path,
                      const struct lnet_export_host *host, char **error)
{
    struct lnet_export_reader reader = {
        .config = config, .host = host, .path = path, .error = error};
    yaml_parser_t parser;
    FILE *file = fopen(path, "re");
    bool ok;

    if (file == NULL) {
        *error = lnet_text("%s: %s", path, strerror(errno));
        return false;
    }
    yaml_parser_initialize(&parser);
    yaml_parser_set_input_file(&parser, file);
    ok = read_documents(&reader, &parser);
    yaml_parser_delete(&parser);
    fclose(file);
    if (ok && reader.networks[0] != '\0')
        lnet_settings_add(config, "networks", reader.networks);
    if (ok && reader.networks[0] == '\0' && config->by_address) {
        *error = lnet_text("%s: ip2nets: no rule matches an address of the node", path);
        ok = false;
    }
    if (ok && reader.routes[0] != '\0')
        lnet_settings_add(config, "routes", reader.routes);
    return ok;
}
