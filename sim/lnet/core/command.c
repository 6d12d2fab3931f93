/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Commands of lnetctl (2.12) that change a node: words and options as there. */
#define _GNU_SOURCE
#include "core/ni.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 32
#define TEXT_MAX 512

/* The options of a command; a member that was not given is NULL. */
struct options {
    const char *net, *interface, *nid, *gateway, *hop, *priority, *primary;
    const char *peer_timeout, *peer_credits, *peer_buffer_credits, *credits;
    const char *single; /* "non_mr", which has no value */
};

static const struct {
    const char *name;
    size_t member;
    bool has_value;
} known[] = {
    {"net", offsetof(struct options, net), true},
    {"if", offsetof(struct options, interface), true},
    {"nid", offsetof(struct options, nid), true},
    {"gateway", offsetof(struct options, gateway), true},
    {"hop", offsetof(struct options, hop), true},
    {"priority", offsetof(struct options, priority), true},
    {"prim_nid", offsetof(struct options, primary), true},
    {"peer-timeout", offsetof(struct options, peer_timeout), true},
    {"peer-credits", offsetof(struct options, peer_credits), true},
    {"peer-buffer-credits", offsetof(struct options, peer_buffer_credits), true},
    {"credits", offsetof(struct options, credits), true},
    {"non_mr", offsetof(struct options, single), false},
};

/* ---- values ---------------------------------------------------------------------------------- */

/* NULL text: `otherwise`. */
static bool number(const char *text, int least, int otherwise, int *value)
{
    char *end;
    long all;

    *value = otherwise;
    if (text == NULL)
        return true;
    all = strtol(text, &end, 10);
    if (end == text || *end != '\0' || all < least || all > 1 << 24)
        return false;
    *value = (int)all;
    return true;
}

static bool net_of(const char *text, uint32_t *net)
{
    *net = text != NULL ? libcfs_str2net(text) : LNET_NIDNET(LNET_NID_ANY);
    return *net != LNET_NIDNET(LNET_NID_ANY);
}

/* NULL: LNET_NID_ANY. */
static bool nid_of(const char *text, lnet_nid_t *nid)
{
    *nid = text != NULL ? libcfs_str2nid(text) : LNET_NID_ANY;
    return text == NULL || *nid != LNET_NID_ANY;
}

/* ---- commands: 0 or a negative errno --------------------------------------------------------- */

static int net_add(struct lnet_node *node, const struct options *options)
{
    struct lnet_ioctl_config_lnd_cmn_tunables tunables = {0};
    uint32_t net;
    char *text;
    int rc;

    if (!net_of(options->net, &net) || options->interface == NULL ||
        !number(options->peer_timeout, 0, -1, &tunables.lct_peer_timeout) ||
        !number(options->peer_credits, 0, -1, &tunables.lct_peer_tx_credits) ||
        !number(options->peer_buffer_credits, 0, -1, &tunables.lct_peer_rtr_credits) ||
        !number(options->credits, 0, -1, &tunables.lct_max_tx_credits))
        return -EINVAL;
    text = lnet_text("%s(%s)", options->net, options->interface);
    rc = text != NULL ? lnet_net_add(node, text, &tunables) : -ENOMEM;
    free(text);
    return rc;
}

/* --if names the NI on that network. */
static int net_delete(struct lnet_node *node, const struct options *options)
{
    const struct lnet_net *local;
    const struct lnet_ni *ni;
    uint32_t net;

    if (!net_of(options->net, &net))
        return -EINVAL;
    if (options->interface == NULL)
        return lnet_net_delete(node, net);
    local = lnet_net_by_id(node->instance, net);
    if (local == NULL)
        return -ENOENT;
    list_for_each_entry (ni, &local->nis, on_net) {
        if (ni->lnd->type != LOLND && strcmp(ni->interface.name, options->interface) == 0)
            return lnet_ni_delete(node, ni->nid);
    }
    return -ENOENT;
}

static int route_change(struct lnet_node *node, const struct options *options, bool add)
{
    struct lnet_ioctl_config_data config = {.cfg_hdr.ioc_len = sizeof(config)};
    int hop, priority;
    lnet_nid_t gateway;

    if (!net_of(options->net, &config.cfg_net) || options->gateway == NULL ||
        !nid_of(options->gateway, &gateway) || !number(options->hop, 1, -1, &hop) ||
        !number(options->priority, 0, 0, &priority))
        return -EINVAL;
    config.cfg_nid = gateway;
    config.cfg_config_u.cfg_route.rtr_hop = (uint32_t)hop;
    config.cfg_config_u.cfg_route.rtr_priority = (uint32_t)priority;
    return lnet_node_control(node, add ? IOC_LIBCFS_ADD_ROUTE : IOC_LIBCFS_DEL_ROUTE, &config);
}

static int route_add(struct lnet_node *node, const struct options *options)
{
    return route_change(node, options, true);
}

static int route_delete(struct lnet_node *node, const struct options *options)
{
    return route_change(node, options, false);
}

/* --nid is a list; without it the peer itself. */
static int peer_change(struct lnet_node *node, const struct options *options, bool add)
{
    char text[TEXT_MAX], *rest = text, *word;
    lnet_nid_t primary, nid;
    int rc = 0;

    if (options->primary == NULL || !nid_of(options->primary, &primary) ||
        (options->nid != NULL && strlen(options->nid) >= sizeof(text)))
        return -EINVAL;
    if (add)
        rc = lnet_peer_add(node, primary, LNET_NID_ANY, options->single == NULL);
    else if (options->nid == NULL)
        return lnet_peer_delete(node, primary, LNET_NID_ANY);
    if (options->nid == NULL)
        return rc;
    lnet_copy_text(text, sizeof(text), options->nid);
    while (rc == 0 && (word = strsep(&rest, ",")) != NULL) {
        if (!nid_of(word, &nid))
            return -EINVAL;
        rc = add ? lnet_peer_add(node, primary, nid, options->single == NULL)
                 : lnet_peer_delete(node, primary, nid);
    }
    return rc;
}

static int peer_add(struct lnet_node *node, const struct options *options)
{
    return peer_change(node, options, true);
}

static int peer_delete(struct lnet_node *node, const struct options *options)
{
    return peer_change(node, options, false);
}

static const struct command {
    const char *object, *verb;
    int (*run)(struct lnet_node *node, const struct options *options);
    const char *options; /* that it takes, each between blanks */
} commands[] = {
    {"net", "add", net_add, " net if peer-timeout peer-credits peer-buffer-credits credits "},
    {"net", "del", net_delete, " net if "},
    {"route", "add", route_add, " net gateway hop priority "},
    {"route", "del", route_delete, " net gateway "},
    {"peer", "add", peer_add, " prim_nid nid non_mr "},
    {"peer", "del", peer_delete, " prim_nid nid "},
};

/* ---- words ----------------------------------------------------------------------------------- */

static bool takes(const struct command *command, const char *option)
{
    char word[64];

    snprintf(word, sizeof(word), " %s ", option);
    return strstr(command->options, word) != NULL;
}

/* "--net tcp1" or "--net=tcp1"; the texts are in `words`. */
static bool parse(const struct command *command, char **words, unsigned count,
                  struct options *options)
{
    unsigned i, k;

    for (i = 0; i < count; i++) {
        char *name = words[i], *value;

        if (strncmp(name, "--", 2) != 0)
            return false;
        name += 2;
        value = strchr(name, '=');
        if (value != NULL)
            *value++ = '\0';
        for (k = 0; k < sizeof(known) / sizeof(known[0]); k++) {
            if (strcmp(known[k].name, name) == 0)
                break;
        }
        if (k == sizeof(known) / sizeof(known[0]) || !takes(command, name) ||
            (value != NULL && !known[k].has_value))
            return false;
        if (known[k].has_value && value == NULL)
            value = i + 1 < count ? words[++i] : NULL;
        if (known[k].has_value && value == NULL)
            return false;
        *(const char **)((char *)options + known[k].member) = known[k].has_value ? value : name;
    }
    return true;
}

/* NULL: the words are no command. They are cut up. */
static const struct command *find(char *text, struct options *options)
{
    char *words[WORDS_MAX], *word;
    unsigned count = 0, i;

    memset(options, 0, sizeof(*options));
    while ((word = strsep(&text, " ")) != NULL) {
        if (*word == '\0')
            continue;
        if (count == WORDS_MAX)
            return NULL;
        words[count++] = word;
    }
    for (i = 0; count >= 2 && i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(commands[i].object, words[0]) == 0 && strcmp(commands[i].verb, words[1]) == 0)
            return parse(&commands[i], words + 2, count - 2, options) ? &commands[i] : NULL;
    }
    return NULL;
}

bool lnet_command_known(const char *words)
{
    struct options options;
    char *text = strdup(words);
    bool good = text != NULL && find(text, &options) != NULL;

    free(text);
    return good;
}

int lnet_node_command(struct lnet_node *node, const char *words)
{
    struct options options;
    char *text = strdup(words);
    const struct command *command = text != NULL ? find(text, &options) : NULL;
    int rc = -EINVAL;

    if (command != NULL) {
        lnet_host_lock(node);
        rc = node->state == LNET_RUNNING ? command->run(node, &options) : -ENETDOWN;
        lnet_host_unlock(node);
    }
    free(text);
    return rc;
}
