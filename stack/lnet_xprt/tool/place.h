/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Where the driver is that the tool's processes use: in a daemon, or in the kernel. */
#ifndef JACQUARD_M0_PLACE_H
#define JACQUARD_M0_PLACE_H

struct m0_tool_place {
    const char *program; /* "jacquard m0" */
    const char *usage; /* of its option, and of commands that only it has */
    const char *option; /* without "--"; its value is a path */
    const char *missing; /* without the option, and without: */
    const char *(*standard)(void);
    int (*begin)(const char *path); /* 0 or a negative errno */
    int (*show)(const char *path); /* prints what the driver holds; NULL: it cannot */
};
extern const struct m0_tool_place m0_tool_place;

#endif
