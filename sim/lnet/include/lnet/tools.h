/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The commands lnetd, lnet and lnetctl of `jacquard`, as a library: a program adds what its lnetd
 * does for others while the node runs. See docs/lnet.md.
 */
#ifndef JACQUARD_LNET_TOOLS_H
#define JACQUARD_LNET_TOOLS_H

#include <stdbool.h>

/* What uses the node of lnetd. It has options of its own, each with a value. */
struct lnet_tools_service {
    const char *usage; /* lines about the options */
    const char *const *options; /* their names, without "--"; the last one is NULL */
    /* A value of the option with that index; it may be changed. 0, or an exit code after a message.
     */
    int (*set)(unsigned option, char *value);
    /* The node runs. False: *what is the option that cannot be carried out, and *error says why;
     * the caller frees it. */
    bool (*start)(const char **what, char **error);
    void (*stop)(void); /* before the node stops; also if nothing was to be started */
};

/* The program's main(): argv[1] is the command. `service` may be NULL. Returns the exit code. */
int lnet_tools_main(int argc, char **argv, const struct lnet_tools_service *service);
/* Prints "jacquard: WHAT: WHY"; returns 2, the exit code of a command that cannot be executed. */
int lnet_tool_refuse(const char *what, const char *why);
/* The number that is the option's value. 0, or an exit code after a message. */
int lnet_tool_number(const char *option, const char *text, double minimum, double maximum,
                     double *value);

#endif
