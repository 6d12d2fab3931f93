/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * LNet in an ordinary process, as liblnet has it: the process is one node, and talks socklnd's
 * protocol over real TCP. Besides these calls a program uses lnet/api.h alone. Jacquard's own.
 *
 * A program that does not call lnet_live_start gets the parameters of the environment variable
 * LNET_OPTIONS at its first LNetNIInit: "networks=tcp(127.0.0.2) accept_port=9988".
 */
#ifndef JACQUARD_LNET_LIVE_H
#define JACQUARD_LNET_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct lnet_live_parameter { /* of a kernel module: "networks", "ksocklnd.credits" */
    const char *name, *value;
};

/*
 * Makes the node; LNetNIInit then starts LNet on it. An interface in `networks` is a name such as
 * eth0 or an IPv4 address of this machine. False: *error is text that the caller frees. Not after
 * another lnet_live_start without lnet_live_stop.
 */
bool lnet_live_start(const struct lnet_live_parameter *parameters, uint32_t count, char **error);
/* The same with parameters as in LNET_OPTIONS: name=value, separated by blanks, or the lines of a
 * file for modprobe, "options lnet name=value"; blanks inside of quotes or brackets belong to the
 * value. */
bool lnet_live_start_text(const char *text, char **error);
/* The same with a file of `lnetctl export`, and more parameters, which count more. */
bool lnet_live_start_file(const char *path, const struct lnet_live_parameter *more, uint32_t count,
                          char **error);
/* Ends the node. No call of LNet is in progress. */
void lnet_live_stop(void);

/* Writes what this process sends and receives into a pcapng file, until lnet_live_capture_end or
 * lnet_live_stop. False: *error. */
bool lnet_live_capture(const char *path, char **error);
bool lnet_live_capture_end(char **error);

/*
 * Listens on a Unix socket for `jacquard lnetctl` of the same user, until lnet_live_control_end or
 * lnet_live_stop. After lnet_live_start; a socket that nobody listens to is replaced. False:
 * *error.
 */
bool lnet_live_control(const char *path, char **error);
void lnet_live_control_end(void);
/*
 * `call` is called by each thread that was in LNet, after it has released LNet's lock or before it
 * sleeps: for what callbacks of event queues put off, such as waking others. NULL: nothing.
 */
void lnet_live_set_unlocked(void (*call)(void));
/* One entry of what `lnetctl ping` prints for a NID, malloc'd; *status: 0 or a negative errno. */
char *lnet_live_ping(const char *nid, unsigned timeout_ms, int *status);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
