/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The sections `net` and `ip2nets` of a file of lnetctl. */
#include "core/export_reader.h"

#include <stdio.h>
#include <string.h>

/* An NI, or what stands for one: in files up to Lustre 2.9 a network is its own only NI. */
struct fields {
    const char *type, *nid;
    const yaml_node_t *nis, *interfaces, *ranges, *tunables, *lnd_tunables;
};

static bool read_field(struct lnet_export_reader *reader, const char *key, const yaml_node_t *at,
                       const yaml_node_t *value, void *argument)
{
    struct fields *fields = argument;

    (void)reader, (void)at;
    if (strcmp(key, "net type") == 0 || strcmp(key, "net") == 0 || strcmp(key, "net-spec") == 0)
        fields->type = lnet_export_scalar(value);
    else if (strcmp(key, "nid") == 0)
        fields->nid = lnet_export_scalar(value);
    else if (strcmp(key, "local NI(s)") == 0)
        fields->nis = value;
    else if (strcmp(key, "interfaces") == 0)
        fields->interfaces = value;
    else if (strcmp(key, "ip-range") == 0)
        fields->ranges = value;
    else if (strcmp(key, "tunables") == 0)
        fields->tunables = value;
    else if (strcmp(key, "lnd tunables") == 0)
        fields->lnd_tunables = value;
    return true; /* status, statistics, CPTs */
}

/* ---- tunables -------------------------------------------------------------------------------- */

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

static bool set(struct lnet_export_reader *reader, const char *type, const char *name,
                const yaml_node_t *value)
{
    char parameter[64];
    long number = 0;

    if (!lnet_export_number(reader, value, &number))
        return false;
    snprintf(parameter, sizeof(parameter), "%s.%s", module_of(type), name);
    if (number != -1)
        lnet_settings_add(reader->config, parameter, lnet_export_scalar(value));
    return true;
}

static bool read_tunable(struct lnet_export_reader *reader, const char *key, const yaml_node_t *at,
                         const yaml_node_t *value, void *argument)
{
    static const char *const names[] = {"peer_timeout", "peer_credits", "peer_buffer_credits",
                                        "credits"};
    size_t i;

    (void)at;
    for (i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(names[i], key) == 0)
            return set(reader, argument, key, value);
    return true; /* a state */
}

/* Of those of ko2iblnd the driver of a simulation has two; for other drivers none has an effect. */
static bool read_lnd_tunable(struct lnet_export_reader *reader, const char *key,
                             const yaml_node_t *at, const yaml_node_t *value, void *argument)
{
    static const char *const others[] = {"map_on_demand",     "fmr_pool_size", "fmr_cache",
                                         "fmr_flush_trigger", "ntx",           "conns_per_peer"};
    const char *type = argument;
    size_t i;

    if (LNET_NETTYP(libcfs_str2net(type)) == O2IBLND) {
        if (strcmp(key, "peercredits_hiw") == 0)
            return set(reader, type, "peer_credits_hiw", value);
        if (strcmp(key, "concurrent_sends") == 0)
            return set(reader, type, key, value);
    }
    for (i = 0; i < sizeof(others) / sizeof(*others) && strcmp(others[i], key) != 0; i++)
        ;
    if (i == sizeof(others) / sizeof(*others))
        lnet_export_warn(reader, at, "\"%s\" is skipped: no tunable of %s", key, type);
    return true;
}

static bool read_tunables(struct lnet_export_reader *reader, const struct fields *fields,
                          const char *type)
{
    void *argument = (void *)(uintptr_t)type;

    return (fields->tunables == NULL ||
            lnet_export_pairs(reader, fields->tunables, read_tunable, argument)) &&
           (fields->lnd_tunables == NULL ||
            lnet_export_pairs(reader, fields->lnd_tunables, read_lnd_tunable, argument));
}

/* ---- net ------------------------------------------------------------------------------------- */

/* "eth0" of "eth0[0,1]", which names CPU partitions. NULL: no interface of this host. */
static const struct lnet_interface *interface_of(const struct lnet_export_reader *reader,
                                                 const char *type, const char *name)
{
    const struct lnet_export_host *host = reader->host;
    size_t length = strcspn(name, "[");
    uint32_t i;

    for (i = 0; i < host->interface_count; i++)
        if (strncmp(host->interfaces[i].name, name, length) == 0 &&
            host->interfaces[i].name[length] == '\0' &&
            host->interfaces[i].lnd_type == LNET_NETTYP(libcfs_str2net(type)))
            return &host->interfaces[i];
    return NULL;
}

static bool read_interface(struct lnet_export_reader *reader, const char *key,
                           const yaml_node_t *at, const yaml_node_t *value, void *argument)
{
    const char *type = argument, *name = lnet_export_scalar(value);
    char text[128];

    (void)key;
    if (name == NULL)
        return lnet_export_refuse(reader, at, "the name of an interface is needed");
    if (reader->host->tcp_only || interface_of(reader, type, name) != NULL)
        snprintf(text, sizeof(text), "%s(%s)", type, name);
    else
        snprintf(text, sizeof(text), "%s", type);
    return lnet_export_append(reader, at, reader->networks, ",", text);
}

static bool add_ni(struct lnet_export_reader *reader, const yaml_node_t *item,
                   const struct fields *ni, const char *type)
{
    char text[128];

    if (!read_tunables(reader, ni, type))
        return false;
    if (reader->host->tcp_only && ni->nid != NULL) {
        /* The address says more than the name of an interface. */
        lnet_nid_t nid = libcfs_str2nid(ni->nid);

        if (nid == LNET_NID_ANY || LNET_NIDNET(nid) != libcfs_str2net(type))
            return lnet_export_refuse(reader, item, "\"%s\" is no NID of %s", ni->nid, type);
        snprintf(text, sizeof(text), "%s(%.*s)", type, (int)strcspn(ni->nid, "@"), ni->nid);
        return lnet_export_append(reader, item, reader->networks, ",", text);
    }
    if (ni->interfaces != NULL && ni->interfaces->type == YAML_MAPPING_NODE)
        return lnet_export_pairs(reader, ni->interfaces, read_interface, (void *)(uintptr_t)type);
    return lnet_export_append(reader, item, reader->networks, ",", type);
}

static bool read_ni(struct lnet_export_reader *reader, const yaml_node_t *item, void *argument)
{
    struct fields ni = {0};

    return lnet_export_pairs(reader, item, read_field, &ni) && add_ni(reader, item, &ni, argument);
}

static bool read_type(struct lnet_export_reader *reader, const yaml_node_t *item,
                      const struct fields *fields, const char *key)
{
    uint32_t id = fields->type != NULL ? libcfs_str2net(fields->type) : LNET_NIDNET(LNET_NID_ANY);

    if (id == LNET_NIDNET(LNET_NID_ANY))
        return lnet_export_refuse(reader, item, "\"%s\" names no network", key);
    if (reader->host->tcp_only && LNET_NETTYP(id) != SOCKLND && LNET_NETTYP(id) != LOLND)
        return lnet_export_refuse(reader, item, "%s: a live process has networks of type tcp only",
                                  fields->type);
    return true;
}

bool lnet_export_net(struct lnet_export_reader *reader, const yaml_node_t *item, void *argument)
{
    struct fields net = {0};

    (void)argument;
    if (!lnet_export_pairs(reader, item, read_field, &net) ||
        !read_type(reader, item, &net, "net type"))
        return false;
    if (LNET_NETTYP(libcfs_str2net(net.type)) == LOLND)
        return true;
    if (net.nis == NULL)
        return add_ni(reader, item, &net, net.type);
    /* Lustre 2.10 and 2.11 have the tunables of all NIs here. */
    return read_tunables(reader, &net, net.type) &&
           lnet_export_items(reader, net.nis, read_ni, (void *)(uintptr_t)net.type);
}

/* ---- ip2nets --------------------------------------------------------------------------------- */

struct rule {
    const char *type;
    const struct lnet_interface *candidate;
    bool matches, refused; /* an address of `ip-range`; an interface that the node lacks */
    const yaml_node_t *ranges;
};

static bool match_range(struct lnet_export_reader *reader, const char *key, const yaml_node_t *at,
                        const yaml_node_t *value, void *argument)
{
    struct rule *rule = argument;
    const char *text = lnet_export_scalar(value);
    LIST_HEAD(expressions);

    (void)key;
    if (text == NULL ||
        cfs_ip_addr_parse((char *)(uintptr_t)text, (int)strlen(text), &expressions) != 0)
        return lnet_export_refuse(reader, at, "\"ip-range\": a pattern of addresses is needed");
    if (rule->candidate != NULL)
        rule->matches |= cfs_ip_addr_match(rule->candidate->address, &expressions) != 0;
    cfs_ip_addr_free(&expressions);
    return true;
}

/* Whether the candidate has an address of the ranges; without ranges each has. */
static bool match(struct lnet_export_reader *reader, struct rule *rule,
                  const struct lnet_interface *candidate)
{
    rule->candidate = candidate;
    rule->matches = rule->ranges == NULL;
    return rule->ranges == NULL || lnet_export_pairs(reader, rule->ranges, match_range, rule);
}

static bool match_interface(struct lnet_export_reader *reader, const char *key,
                            const yaml_node_t *at, const yaml_node_t *value, void *argument)
{
    struct rule *rule = argument;
    const char *name = lnet_export_scalar(value);

    (void)key;
    if (name == NULL)
        return lnet_export_refuse(reader, at, "the name of an interface is needed");
    if (!match(reader, rule, interface_of(reader, rule->type, name)))
        return false;
    rule->refused |= rule->candidate == NULL || !rule->matches;
    return true;
}

static bool has_entry(char *networks, const char *text)
{
    size_t length = strlen(text);

    while (*networks != '\0') {
        char *end = lnet_config_comma(networks);

        if (end == NULL)
            return false;
        if ((size_t)(end - networks) == length && memcmp(networks, text, length) == 0)
            return true;
        networks = *end != '\0' ? end + 1 : end;
    }
    return false;
}

static bool add_interface(struct lnet_export_reader *reader, const char *key, const yaml_node_t *at,
                          const yaml_node_t *value, void *argument)
{
    const char *type = argument;
    char text[128];

    (void)key;
    snprintf(text, sizeof(text), "%s(%s)", type, lnet_export_scalar(value));
    return has_entry(reader->networks, text) ||
           lnet_export_append(reader, at, reader->networks, ",", text);
}

/* The first interface that suits. */
static bool choose(struct lnet_export_reader *reader, const yaml_node_t *item, struct rule *rule,
                   bool *found)
{
    const struct lnet_export_host *host = reader->host;
    char text[128];
    uint32_t i;

    *found = false;
    if (!match(reader, rule, NULL)) /* the patterns, also on a node that none is for */
        return false;
    for (i = 0; i < host->interface_count && !*found; i++) {
        if (host->interfaces[i].lnd_type != LNET_NETTYP(libcfs_str2net(rule->type)))
            continue;
        if (!match(reader, rule, &host->interfaces[i]))
            return false;
        *found = rule->matches;
        snprintf(text, sizeof(text), "%s(%s)", rule->type, host->interfaces[i].name);
    }
    return !*found || has_entry(reader->networks, text) ||
           lnet_export_append(reader, item, reader->networks, ",", text);
}

/*
 * Named interfaces become NIs if the node has all of them, with addresses of `ip-range` where that
 * is given. Without names it is the first interface with such an address.
 */
bool lnet_export_ip2net(struct lnet_export_reader *reader, const yaml_node_t *item, void *argument)
{
    struct fields fields = {0};
    struct rule rule = {0};
    bool found = false;

    (void)argument;
    if (!lnet_export_pairs(reader, item, read_field, &fields) ||
        !read_type(reader, item, &fields, "net-spec"))
        return false;
    rule.type = fields.type;
    rule.ranges = fields.ranges;
    if (fields.interfaces == NULL || fields.interfaces->type != YAML_MAPPING_NODE) {
        if (!choose(reader, item, &rule, &found))
            return false;
    } else {
        if (!lnet_export_pairs(reader, fields.interfaces, match_interface, &rule))
            return false;
        found = !rule.refused;
        if (found && !lnet_export_pairs(reader, fields.interfaces, add_interface,
                                        (void *)(uintptr_t)fields.type))
            return false;
    }
    return !found || read_tunables(reader, &fields, fields.type);
}
