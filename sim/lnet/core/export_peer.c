/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The section `peer` of a file of lnetctl: peers with several NIDs, without discovery. */
#include "core/export_reader.h"

#include <stdio.h>
#include <strings.h>
#include <string.h>

struct peer {
    const char *primary;
    bool multi_rail;
    const yaml_node_t *nis;
    char text[LNET_EXPORT_TEXT_MAX]; /* the setting */
};

static bool read_field(struct lnet_export_reader *reader, const char *key, const yaml_node_t *at,
                       const yaml_node_t *value, void *argument)
{
    struct peer *peer = argument;
    const char *text = lnet_export_scalar(value);

    (void)reader, (void)at;
    if (strcmp(key, "primary nid") == 0)
        peer->primary = text;
    else if (strcmp(key, "Multi-Rail") == 0)
        peer->multi_rail = text == NULL || strcasecmp(text, "false") != 0;
    else if (strcmp(key, "peer ni") == 0)
        peer->nis = value;
    return true; /* peer state */
}

static bool add_nid(struct lnet_export_reader *reader, const yaml_node_t *at, struct peer *peer,
                    const char *nid)
{
    if (nid == NULL || libcfs_str2nid(nid) == LNET_NID_ANY)
        return lnet_export_refuse(reader, at, "a peer needs NIDs");
    return lnet_export_append(reader, at, peer->text, " ", nid);
}

static bool read_ni_field(struct lnet_export_reader *reader, const char *key, const yaml_node_t *at,
                          const yaml_node_t *value, void *argument)
{
    if (strcmp(key, "nid") != 0)
        return true; /* state, credits, statistics */
    return add_nid(reader, at, argument, lnet_export_scalar(value));
}

static bool read_ni(struct lnet_export_reader *reader, const yaml_node_t *item, void *argument)
{
    return lnet_export_pairs(reader, item, read_ni_field, argument);
}

bool lnet_export_peer(struct lnet_export_reader *reader, const yaml_node_t *item, void *argument)
{
    struct peer peer = {.multi_rail = true};

    (void)argument;
    if (!lnet_export_pairs(reader, item, read_field, &peer))
        return false;
    strcpy(peer.text, peer.multi_rail ? "multi-rail" : "single");
    if (peer.primary != NULL && !add_nid(reader, item, &peer, peer.primary))
        return false;
    if (peer.nis != NULL && !lnet_export_items(reader, peer.nis, read_ni, &peer))
        return false;
    if (strchr(peer.text, ' ') == NULL)
        return lnet_export_refuse(reader, item, "a peer needs a \"primary nid\"");
    lnet_settings_add(reader->config, LNET_SETTING_PEER, peer.text);
    return true;
}
