/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parameters `networks`, `ip2nets` and `routes`, and whether a configuration can work. */
#define _GNU_SOURCE
#include "core/internal.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/nidstr.h"
#include "lnet/export.h"

#define TEXT_MAX 4096 /* of a parameter */
#define BLANKS " \t\n\v\f\r"

char *lnet_text(const char *format, ...)
{
    char *text;
    va_list arguments;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    return text;
}

void lnet_copy_text(char *to, size_t size, const char *from)
{
    size_t length = strlen(from);

    assert(length < size);
    memcpy(to, from, length + 1);
}

static int refuse(char **error, char *text)
{
    *error = text;
    return -EINVAL;
}

static const char *setting(const struct lnet_node *node, const char *name)
{
    const char *text = lnet_setting(node->settings, node->setting_count, "lnet", name);

    return text != NULL ? text : "";
}

/* ---- networks -------------------------------------------------------------------------------- */

/* Removes blanks around a text, in place. */
static char *trim(char *text)
{
    size_t length;

    while (isspace((unsigned char)*text))
        text++;
    length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    return text;
}

char *lnet_config_comma(char *text)
{
    int depth = 0;

    for (; *text != '\0' && (depth > 0 || *text != ','); text++) {
        if (*text == '(' || *text == '[')
            depth++;
        else if (*text == ')' || *text == ']')
            depth--;
        if (depth < 0)
            return NULL;
    }
    return depth == 0 ? text : NULL;
}

/* "eth0[0,1],eth1": CPU partitions are accepted, and there is one. */
static int parse_interfaces(char *text, struct lnet_config_net *net, char **error)
{
    while (*text != '\0') {
        char *end = lnet_config_comma(text), *next, *name, *brackets;

        if (end == NULL)
            return refuse(error, lnet_text("networks: brackets do not match"));
        next = *end == '\0' ? end : end + 1;
        *end = '\0';
        brackets = strchr(text, '[');
        if (brackets != NULL)
            *brackets = '\0';
        name = trim(text);
        if (*name == '\0' || strlen(name) >= sizeof(net->interfaces[0]))
            return refuse(error, lnet_text("networks: bad name of an interface: \"%s\"", name));
        if (net->interface_count == sizeof(net->interfaces) / sizeof(net->interfaces[0]))
            return refuse(error, lnet_text("networks: too many interfaces"));
        lnet_copy_text(net->interfaces[net->interface_count++], sizeof(net->interfaces[0]), name);
        text = next;
    }
    return 0;
}

/* Cuts "(...)" or "[...]" off at *text, and blanks behind it. NULL: its end is missing. */
static char *parse_brackets(char **text, const char *close)
{
    char *inside = *text + 1, *end = strpbrk(inside, close);

    if (end == NULL)
        return NULL;
    **text = *end = '\0';
    *text = end + 1 + strspn(end + 1, BLANKS);
    return inside;
}

/* "tcp(eth0,eth1)[0]". Words behind that are skipped, as in the kernel. */
static int parse_net(char *text, struct lnet_config_net *net, char **error)
{
    char *name = text + strspn(text, BLANKS), *rest = name + strcspn(name, BLANKS ":()[],");
    char *end = rest, *interfaces = NULL, *whole = text;

    memset(net, 0, sizeof(*net));
    rest += strspn(rest, BLANKS);
    if (*rest == '(') {
        interfaces = parse_brackets(&rest, ")");
        if (interfaces == NULL)
            return refuse(error, lnet_text("networks: brackets do not match: \"%s\"", whole));
    }
    if (*rest == '[' && parse_brackets(&rest, "]") == NULL)
        return refuse(error, lnet_text("networks: brackets do not match: \"%s\"", whole));
    if (*rest != '\0' && strchr(":()[]", *rest) != NULL)
        return refuse(error, lnet_text("networks: \"%s\" does not belong there", rest));
    net->more_words = *rest != '\0';
    *end = '\0';
    net->id = libcfs_str2net(name);
    if (net->id == LNET_NIDNET(LNET_NID_ANY))
        return refuse(error, lnet_text("networks: \"%s\" is not a network", name));
    return interfaces != NULL ? parse_interfaces(interfaces, net, error) : 0;
}

/* Adds the interfaces of a network that was named before to it. */
static bool merge(struct lnet_config_net *nets, uint32_t count)
{
    uint32_t i, j;

    for (i = 0; i < count; i++) {
        if (nets[i].id != nets[count].id)
            continue;
        nets[i].more_words |= nets[count].more_words;
        for (j = 0; j < nets[count].interface_count && nets[i].interface_count < 16; j++)
            lnet_copy_text(nets[i].interfaces[nets[i].interface_count++],
                           sizeof(nets[i].interfaces[0]), nets[count].interfaces[j]);
        return true;
    }
    return false;
}

int lnet_config_parse(char *text, struct lnet_config_net **nets, uint32_t *count, char **error)
{
    int rc = 0;

    *nets = NULL;
    *count = 0;
    while (rc == 0 && *text != '\0') {
        char *end = lnet_config_comma(text), *next;
        struct lnet_config_net *more;

        if (end == NULL)
            return refuse(error, lnet_text("networks: brackets do not match: \"%s\"", text));
        if (text[strspn(text, BLANKS)] == '\0')
            break; /* behind the last comma */
        next = *end == '\0' ? end : end + 1;
        *end = '\0';
        more = realloc(*nets, (*count + 1) * sizeof(**nets));
        if (more == NULL)
            return -ENOMEM;
        *nets = more;
        rc = parse_net(text, &more[*count], error);
        if (rc == 0 && LNET_NETTYP(more[*count].id) != LOLND && !merge(more, *count))
            ++*count;
        text = next;
    }
    return rc;
}

int lnet_config_networks(const struct lnet_node *node, struct lnet_config_net **nets,
                         uint32_t *count, char **error)
{
    const char *networks = setting(node, "networks"), *ip2nets = setting(node, "ip2nets");
    char text[TEXT_MAX], rules[TEXT_MAX];

    *nets = NULL;
    *count = 0;
    if (*networks != '\0' && *ip2nets != '\0')
        return refuse(error, lnet_text("networks, ip2nets: only one of the two may be given"));
    if (strlen(networks) >= sizeof(text) || strlen(ip2nets) >= sizeof(text) / 2)
        return refuse(error, lnet_text("networks, ip2nets: the text is too long"));
    if (*ip2nets != '\0') {
        lnet_copy_text(rules, sizeof(rules), ip2nets);
        if (lnet_config_ip2nets(node, rules, text, sizeof(text), error) != 0)
            return -EINVAL;
    } else {
        lnet_copy_text(text, sizeof(text), *networks != '\0' ? networks : "tcp");
    }
    return lnet_config_parse(text, nets, count, error);
}

/* ---- whether it can work --------------------------------------------------------------------- */

static lnet_nid_t nid_of(uint32_t net, const struct lnet_interface *interface)
{
    return LNET_MKNID(net, interface->address);
}

static bool check_nis(const struct lnet_node *node, const struct lnet_config_net *nets,
                      uint32_t count, lnet_nid_t *nids, uint32_t *nid_count, char **error)
{
    uint32_t i, j, k;

    for (i = 0; i < count; i++) {
        uint32_t type = LNET_NETTYP(nets[i].id);

        if (lnet_lnd_find(type) == NULL) {
            *error = lnet_text("networks: there is no driver for %s", libcfs_net2str(nets[i].id));
            return false;
        }
        for (j = 0; j < nets[i].interface_count || j == 0; j++) {
            const char *name = nets[i].interface_count > 0 ? nets[i].interfaces[j] : NULL;
            const struct lnet_interface *interface = lnet_interface_find(node, type, name);
            lnet_nid_t nid;

            if (interface == NULL) {
                *error = lnet_text("networks: the node has no interface %s for %s",
                                   name != NULL ? name : "", libcfs_net2str(nets[i].id));
                return false;
            }
            nid = nid_of(nets[i].id, interface);
            for (k = 0; k < *nid_count; k++) {
                if (nids[k] == nid) {
                    *error =
                        lnet_text("networks: two interfaces have the NID %s", libcfs_nid2str(nid));
                    return false;
                }
            }
            nids[(*nid_count)++] = nid;
        }
    }
    return true;
}

static bool is_local_net(const struct lnet_config_net *nets, uint32_t count, uint32_t id)
{
    uint32_t i;

    for (i = 0; i < count; i++) {
        if (nets[i].id == id)
            return true;
    }
    return false;
}

static bool is_own(const lnet_nid_t *nids, uint32_t count, lnet_nid_t nid)
{
    uint32_t i;

    for (i = 0; i < count; i++) {
        if (nids[i] == nid)
            return true;
    }
    return false;
}

/*
 * As when LNet starts: `routes` may be one text for all machines. A route to a local network is
 * skipped, and so is one whose gateway is on a network that the node has no interface on. The
 * latter may also be a mistake.
 */
static bool check_routes(struct lnet_node *node, const struct lnet_config_net *nets,
                         uint32_t net_count, const lnet_nid_t *nids, uint32_t nid_count,
                         char **error)
{
    struct lnet_config_route *routes;
    uint32_t count, i;
    int rc = lnet_config_routes(node, &routes, &count, error);

    for (i = 0; rc == 0 && i < count; i++) {
        uint32_t local = LNET_NIDNET(routes[i].gateway);
        char *text;

        if (is_own(nids, nid_count, routes[i].gateway))
            continue; /* this node is the router */
        if (local == routes[i].net) {
            rc = refuse(
                error, lnet_text("routes: %s by %s: the gateway is on the network that it is a "
                                 "gateway to",
                                 libcfs_net2str(routes[i].net), libcfs_nid2str(routes[i].gateway)));
        } else if (!is_local_net(nets, net_count, routes[i].net) &&
                   !is_local_net(nets, net_count, local)) {
            text = lnet_text("routes: %s by %s is skipped: the node has no interface on the "
                             "network of the gateway",
                             libcfs_net2str(routes[i].net), libcfs_nid2str(routes[i].gateway));
            lnet_host_warn(node, LNET_WARNING_SETTING, text);
            free(text);
        }
    }
    free(routes);
    return rc == 0;
}

/* The values of drivers' parameters. */
static bool check_drivers(const struct lnet_node *node, const struct lnet_config_net *nets,
                          uint32_t count, char **error)
{
    uint32_t i;
    bool good = true;

    for (i = 0; i < count && good; i++) {
        struct lnet_ni ni = {.lnd = lnet_lnd_find(LNET_NETTYP(nets[i].id))};

        good = lnet_ni_tunables(node, &ni, error);
        free(ni.driver_values);
    }
    return good;
}

/* Warns of settings without an effect, and of what the reader of a file has found. */
static void warn(struct lnet_node *node, const struct lnet_config_net *nets, uint32_t count)
{
    uint32_t i;

    for (i = 0; i < count; i++) {
        char *text;

        if (!nets[i].more_words)
            continue;
        text = lnet_text("networks: words behind %s are skipped: commas separate networks",
                         libcfs_net2str(nets[i].id));
        lnet_host_warn(node, LNET_WARNING_SETTING, text);
        free(text);
    }
    for (i = 0; i < node->setting_count; i++) {
        const struct lnet_setting *setting = &node->settings[i];
        char *text;

        if (strcmp(setting->name, LNET_SETTING_WARNING) == 0) {
            lnet_host_warn(node, LNET_WARNING_SETTING, setting->value);
        } else if (!lnet_param_known(setting->name)) {
            text = lnet_text("%s: there is no such parameter", setting->name);
            lnet_host_warn(node, LNET_WARNING_SETTING, text);
            free(text);
        }
    }
}

bool lnet_config_check(struct lnet_node *node, char **error)
{
    struct lnet_config_net *nets;
    uint32_t count, nid_count = 0, i, nis = 1;
    lnet_nid_t *nids;
    bool good = lnet_config_networks(node, &nets, &count, error) == 0;

    for (i = 0; i < count; i++)
        nis += nets[i].interface_count + 1;
    nids = calloc(nis, sizeof(nids[0]));
    good = good && nids != NULL && check_nis(node, nets, count, nids, &nid_count, error) &&
           check_drivers(node, nets, count, error) &&
           check_routes(node, nets, count, nids, nid_count, error);
    if (good)
        warn(node, nets, count);
    free(nids);
    free(nets);
    return good;
}
