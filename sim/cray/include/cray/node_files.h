/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The files by which programs recognise a Cray system and learn their position in it. Data written
 * to one of these files is lost. All functions may be called from any thread; only the one that
 * opens a stream allocates.
 */
#ifndef JACQUARD_CRAY_NODE_FILES_H
#define JACQUARD_CRAY_NODE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CRAY_NODE_FILE_BYTES 128 /* more than the longest text */

struct cray_place { /* of a node; its name is c<group>-0c<chassis>s<slot>n<node> */
    uint32_t nid, group, chassis, slot, node;
};

bool cray_node_file(const char *path); /* whether it is one of these files */
/* The text of such a file on that node. */
void cray_node_file_text(const char *path, const struct cray_place *place,
                         char text[CRAY_NODE_FILE_BYTES]);
/* As open(), fopen() and access() of a file with that text; each opens one of its own. */
int cray_node_file_open(const char *text, int flags);
FILE *cray_node_file_stream(const char *text, const char *mode);
int cray_node_file_access(int how);

#endif
