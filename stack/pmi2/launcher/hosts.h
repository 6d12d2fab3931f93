/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where processes run: hosts as the user lists them, and the node of each rank. A node is one entry
 * of the list: a host that is listed again is another node.
 */
#ifndef JACQUARD_PMRUN_HOSTS_H
#define JACQUARD_PMRUN_HOSTS_H

#include <glib.h>
#include <stdint.h>

struct pmrun_host {
    char *name;
    uint32_t slots; /* at least 1 */
    char *user; /* to log in as; NULL: the same */
    char *binding; /* instead of --bind-to; NULL: none */
    char **variables; /* "NAME=value" of its processes; NULL: none */
};

GPtrArray *pmrun_hosts_new(void); /* empty; it frees its elements */
/* `a:2,b,c:3`: an array of struct pmrun_host, which frees its elements. NULL: *error. */
GPtrArray *pmrun_hosts_parse_list(const char *text, GError **error);
/* All of a file that a user names. g_free *text. */
gboolean pmrun_hosts_read_text(const char *path, char **text, GError **error);
/* A host file: one `name[:slots] [user=name] [binding=...]` a line, # begins a comment. */
GPtrArray *pmrun_hosts_read_file(const char *path, GError **error);
/* The hosts that a batch system (Slurm) lists in the environment; NULL without *error: there is
 * none. */
GPtrArray *pmrun_hosts_of_allocation(GError **error);
GPtrArray *pmrun_hosts_local(void); /* this machine, one slot */

uint32_t pmrun_hosts_slots(const GPtrArray *hosts); /* of all together */
/*
 * node_of[0..ranks): fills each host's slots (or `per_node`, unless 0) in order, and begins again
 * when all are full.
 */
void pmrun_hosts_place(const GPtrArray *hosts, uint32_t per_node, uint32_t ranks,
                       uint32_t *node_of);
/* Is it this machine: its name, localhost, or an address of it. */
gboolean pmrun_host_is_local(const char *name);

#endif
