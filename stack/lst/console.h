/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files of the console share. */
#ifndef LST_CONSOLE_H
#define LST_CONSOLE_H

#include "internal.h"

struct lst_group {
    struct list_head on_console;
    char name[LST_NAME_BYTES];
    struct lnet_process_id *ids;
    uint32_t count;
};

struct lst_console_batch {
    struct list_head on_console;
    char name[LST_NAME_BYTES];
    uint64_t id;
};

struct lst_console {
    struct lst_node *node;
    struct lst_session_id id;
    char name[LST_NAME_BYTES];
    uint32_t features;
    bool force;
    struct list_head groups, batches;
    uint64_t next_batch;
};

struct lst_group *lst_console_group(struct lst_console *console, const char *name); /* NULL: none */
/* Finds or makes. NULL: no memory, or the name is too long. */
struct lst_console_batch *lst_console_batch(struct lst_console *console, const char *name);
/* One RPC for each node of a group. NULL: no memory. */
struct lst_rpc *lst_console_rpcs(const struct lst_group *group);
int lst_console_ask(struct lst_console *console, struct lst_rpc *rpcs, uint32_t count,
                    enum lst_type type, enum lst_service service);

#endif
