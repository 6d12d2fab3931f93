/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the parts of export.c share: the tree of the file, and what they add to the settings. */
#ifndef JACQUARD_LNET_EXPORT_READER_H
#define JACQUARD_LNET_EXPORT_READER_H

#include <yaml.h>

#include "core/internal.h"
#include "lnet/export.h"

#define LNET_EXPORT_TEXT_MAX 4096 /* of networks and routes, as in the kernel */

struct lnet_export_reader {
    struct lnet_settings *config;
    const struct lnet_export_host *host;
    const char *path;
    yaml_document_t document;
    char **error;
    char networks[LNET_EXPORT_TEXT_MAX], routes[LNET_EXPORT_TEXT_MAX];
};

typedef bool lnet_export_visit_pair(struct lnet_export_reader *reader, const char *key,
                                    const yaml_node_t *at, const yaml_node_t *value,
                                    void *argument);
typedef bool lnet_export_visit_item(struct lnet_export_reader *reader, const yaml_node_t *item,
                                    void *argument);

/* False; the error is the text, with file and line. */
bool lnet_export_refuse(struct lnet_export_reader *reader, const yaml_node_t *at,
                        const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The node will say that a part of the file has no effect. */
void lnet_export_warn(struct lnet_export_reader *reader, const yaml_node_t *at, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));
const char *lnet_export_scalar(const yaml_node_t *node); /* NULL: it is none */
/* Nothing at all is an empty list, and has no pairs. */
bool lnet_export_pairs(struct lnet_export_reader *reader, const yaml_node_t *map,
                       lnet_export_visit_pair *visit, void *argument);
bool lnet_export_items(struct lnet_export_reader *reader, const yaml_node_t *list,
                       lnet_export_visit_item *visit, void *argument);
/* From -1, which means the default, to UINT32_MAX. */
bool lnet_export_number(struct lnet_export_reader *reader, const yaml_node_t *node, long *value);
/* Appends to networks or routes. */
bool lnet_export_append(struct lnet_export_reader *reader, const yaml_node_t *at, char *list,
                        const char *separator, const char *text);

/* One item of the sections. */
lnet_export_visit_item lnet_export_net, lnet_export_ip2net, lnet_export_peer;

#endif
