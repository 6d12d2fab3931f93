/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What servers of one launch send each other besides PMI: how the processes of a job are started,
 * as the `launch` bytes of pmi2_job_info, and messages between the root and the nodes. GVariants in
 * the byte order of the machine; whatever is not in normal form is refused.
 */
#ifndef JACQUARD_PMRUN_LAUNCH_H
#define JACQUARD_PMRUN_LAUNCH_H

#include <glib.h>
#include <stdint.h>
#include <sys/types.h>

#define PMRUN_NO_RANK UINT32_MAX

struct pmrun_program {
    char **argv; /* the name first */
    char **environment;
    char *wdir, *path; /* NULL: not given */
    char *bind_to, *map_by, *membind;
};
void pmrun_program_free(gpointer program);

struct pmrun_node_settings { /* what is different on a node */
    uint32_t node;
    char *bind_to; /* of a host file: instead of the programs'; NULL: theirs */
    char **variables; /* "NAME=value" of its processes; NULL: none */
};
void pmrun_node_settings_free(gpointer settings);

enum pmrun_launch_port {
    PMRUN_LAUNCH_NO_PORT,
    PMRUN_LAUNCH_PORT_USER,
    PMRUN_LAUNCH_PORT_CHALLENGE,
    PMRUN_LAUNCH_PORT_DRAFT
};

struct pmrun_launch {
    GPtrArray *programs; /* struct pmrun_program, one for each executable of the job */
    uint32_t stdin_rank; /* PMRUN_NO_RANK: none */
    enum pmrun_launch_port port; /* how processes reach PMI */
    gboolean open_mpi;
    gboolean fabric; /* processes get their rank as on a Cray system */
    char *libraries; /* folder of our libpmi, or "" */
    GPtrArray *nodes; /* struct pmrun_node_settings */
};
/* What the processes of a program are bound to on a node; NULL: nothing. */
const char *pmrun_launch_binding(const struct pmrun_launch *launch,
                                 const struct pmrun_program *program, uint32_t node);
/* "NAME=value" of a node's processes; never NULL. */
char *const *pmrun_launch_variables(const struct pmrun_launch *launch, uint32_t node);
GBytes *pmrun_launch_pack(const struct pmrun_launch *launch);
struct pmrun_launch *pmrun_launch_unpack(const void *bytes, size_t length); /* NULL: malformed */
void pmrun_launch_free(struct pmrun_launch *launch);

/* Between pmrun and a node's pmproxy. */
enum pmrun_message {
    PMRUN_MESSAGE_STARTED = 1, /* up */
    PMRUN_MESSAGE_ENDED, /* up */
    PMRUN_MESSAGE_OUTPUT, /* up */
    PMRUN_MESSAGE_INPUT_CONSUMED, /* up: the input sent before was taken */
    PMRUN_MESSAGE_WARNING, /* up: text for the user */
    PMRUN_MESSAGE_LOST, /* up: servers of nodes [first, last) are gone */
    PMRUN_MESSAGE_SIGNAL, /* down */
    PMRUN_MESSAGE_PAUSE, /* down: output shall wait, or may come again */
    PMRUN_MESSAGE_INPUT, /* down */
};
#define PMRUN_STARTED_TYPE "(sa(uiis))" /* job; rank, pid, errno, failed step */
#define PMRUN_ENDED_TYPE "(suiii)" /* job, rank, pid, wait status, PMI state */
#define PMRUN_OUTPUT_TYPE "(suyay)" /* job, rank, stream, bytes */
#define PMRUN_SIGNAL_TYPE "(sui)" /* job, rank or PMRUN_NO_RANK, signal */
#define PMRUN_INPUT_TYPE "(suay)" /* job, rank, bytes; none: the end */
#define PMRUN_TEXT_TYPE "s"
#define PMRUN_LOST_TYPE "(uu)"
#define PMRUN_PAUSE_TYPE "b"
/* NULL: not in normal form. g_variant_unref(). */
GVariant *pmrun_message_read(const char *type, const void *bytes, size_t length);

#endif
