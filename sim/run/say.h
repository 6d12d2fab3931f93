/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What sim-run prints. */
#ifndef JACQUARD_RUN_SAY_H
#define JACQUARD_RUN_SAY_H

#include <glib.h>
#include <jansson.h>

/* Prints a line on the standard error and frees it. Returns the exit code for bad input. */
int run_refuse(char *message);
/* Prints the text on the standard output and frees it. Returns `status`; another exit code and a
 * line on the standard error if it cannot be written. */
int run_say(GString *text, int status);
int run_say_json(json_t *json, int status);

#endif
