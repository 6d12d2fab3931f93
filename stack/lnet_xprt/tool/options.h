/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the commands of the tool share. */
#ifndef JACQUARD_M0_OPTIONS_H
#define JACQUARD_M0_OPTIONS_H

#include <stdbool.h>

#include "net/lnet/lnet.h"

/* Say on standard error what is wrong with the command line (2), or what went wrong (1); the exit
 * code. */
int m0_tool_refuse(const char *what, const char *why);
int m0_tool_fail(const char *what, int rc);
/* The argument of the option that getopt_long() has found; 0 or the exit code. */
int m0_tool_number(const char *option, unsigned long least, unsigned long most,
                   unsigned long *value);
/* The argument of --portal, with a warning about those that Lustre uses; 0 or the exit code. */
int m0_tool_portal(unsigned *portal);
/* Of the first network of the driver's host but the loopback; tmid -1: any. 0 or a negative errno.
 */
int m0_tool_address(unsigned portal, int tmid, char address[M0_NET_LNET_XEP_ADDR_LEN]);
/* SIGINT and SIGTERM, which no thread is to get: before any is started. */
void m0_tool_block_ends(void);
bool m0_tool_ends(void); /* waits up to a second for one */

/* The commands nettest and nettest-node; the first argument is the command. The exit code. */
int m0_tool_nettest(int argc, char **argv);

#endif
