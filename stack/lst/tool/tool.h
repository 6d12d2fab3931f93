/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * jacquard lst: the console of lnet_selftest as a program, and test nodes for it; see docs/lnet.md.
 *
 *   main.c      options, the test node, the loop that reads commands
 *   session.c   commands about sessions, groups and batches
 *   test.c      add_test, run, stop, query
 *   stat.c      stat and show_error
 *   nids.c      lists of NIDs
 */
#ifndef LST_TOOL_H
#define LST_TOOL_H

#include <lst/lst.h>

struct lst_tool {
    struct lst_node *node;
    struct lst_console *console; /* NULL: no session */
    char session[LST_NAME_BYTES];
    uint32_t timeout_s; /* the session ends when no command came for so long */
    bool force, over;
};

/* An argument of a command is wrong. Prints "lst: WHAT: WHY"; returns 1. */
int lst_tool_refuse(const char *what, const char *why);
/* A call of the console returned an error. Prints nothing for 0 and more. Returns 0 or 1. */
int lst_tool_check(const char *what, int rc);
/* Waits; the session is kept alive meanwhile. */
void lst_tool_sleep(struct lst_tool *tool, double seconds);

/* The value of an option of the form "--name value" or "--name=value" at words[*at], which is moved
 * behind it. NULL: it is another word. */
const char *lst_tool_option(char **words, int count, int *at, const char *name);
/* Whether words[*at] is the option `name`, which has no value; *at is moved behind it. */
bool lst_tool_flag(char **words, int count, int *at, const char *name);
/* A whole number from minimum to maximum. False: an error was printed. */
bool lst_tool_number(const char *what, const char *text, long minimum, long maximum, long *value);

/* A growing list of nodes. */
struct lst_tool_ids {
    struct lnet_process_id *id;
    uint32_t count;
};
/* Adds what "10.0.0.[1-9/2]@tcp" names. False: an error was printed. */
bool lst_tool_ids_add(struct lst_tool_ids *ids, const char *text);
/* Adds the nodes of a group; `states`: of which states. -ENOENT. */
int lst_tool_ids_group(struct lst_tool *tool, struct lst_tool_ids *ids, const char *group,
                       unsigned states);

/* Commands: words[0] is the name. They return an exit code: 0, or 1 after an error was printed. */
int lst_tool_new_session(struct lst_tool *tool, char **words, int count);
int lst_tool_end_session(struct lst_tool *tool, char **words, int count);
int lst_tool_show_session(struct lst_tool *tool, char **words, int count);
int lst_tool_ping(struct lst_tool *tool, char **words, int count);
int lst_tool_add_group(struct lst_tool *tool, char **words, int count);
int lst_tool_del_group(struct lst_tool *tool, char **words, int count);
int lst_tool_update_group(struct lst_tool *tool, char **words, int count);
int lst_tool_list_group(struct lst_tool *tool, char **words, int count);
int lst_tool_add_batch(struct lst_tool *tool, char **words, int count);
int lst_tool_list_batch(struct lst_tool *tool, char **words, int count);
int lst_tool_add_test(struct lst_tool *tool, char **words, int count);
int lst_tool_run(struct lst_tool *tool, char **words, int count);
int lst_tool_stop(struct lst_tool *tool, char **words, int count);
int lst_tool_query(struct lst_tool *tool, char **words, int count);
int lst_tool_stat(struct lst_tool *tool, char **words, int count);
int lst_tool_show_error(struct lst_tool *tool, char **words, int count);

#endif
