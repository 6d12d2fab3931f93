/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files of the console share. */
#ifndef LST_CONSOLE_H
#define LST_CONSOLE_H

#include "internal.h"

struct lst_group {
    struct list_head on_console;
    char name[LST_NAME_BYTES];
    struct lnet_process_id *ids; /* of the active nodes */
    uint32_t count;
    struct lst_member *others; /* that are not in the session */
    uint32_t other_count;
    uint32_t tests; /* that use the group */
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
/* All active nodes of all groups, each once. NULL: no memory. */
struct lst_group *lst_console_all_nodes(struct lst_console *console);
void lst_console_group_free(struct lst_group *group); /* which is in no list */
/* One RPC for each active node of a group. NULL: no memory. */
struct lst_rpc *lst_console_rpcs(const struct lst_group *group);
int lst_console_ask(struct lst_console *console, struct lst_rpc *rpcs, uint32_t count,
                    enum lst_type type, enum lst_service service);

#endif
