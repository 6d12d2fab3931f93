/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Serves the files of cray/node_files.h for each rank's node. All other files are the host's. */
#define _GNU_SOURCE /* memfd_create, dlinfo, pthread_*_np */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cray/node_files.h"
#include "internal.h"
#include "cluster/cluster.h"

/* The content of such a file; false: it is another file. */
static bool content_of(const char *path, char *text)
{
    const struct rank *rank = foreign_self()->rank;
    struct net_coordinates at;

    if (!cray_node_file(path))
        return false;
    if (!net_coordinates(cluster_net(rank->job->cluster), rank->node, &at))
        memset(&at, 0, sizeof(at));
    cray_node_file_text(
        path, &(struct cray_place){rank->node, at.group, at.chassis, at.slot, at.node}, text);
    return true;
}

static int shim_open(const char *path, int flags, ...)
{
    char text[CRAY_NODE_FILE_BYTES];
    va_list more;
    int mode;

    if (content_of(path, text))
        return cray_node_file_open(text, flags);
    va_start(more, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0;
    va_end(more);
    return open(path, flags, mode);
}

static FILE *shim_fopen(const char *path, const char *mode)
{
    char text[CRAY_NODE_FILE_BYTES];

    return content_of(path, text) ? cray_node_file_stream(text, mode) : fopen(path, mode);
}

static int shim_access(const char *path, int how)
{
    char text[CRAY_NODE_FILE_BYTES];

    return content_of(path, text) ? cray_node_file_access(how) : access(path, how);
}

static int shim_stat(const char *path, struct stat *to)
{
    char text[CRAY_NODE_FILE_BYTES];
    int file, status;

    if (!content_of(path, text))
        return stat(path, to);
    file = cray_node_file_open(text, 0);
    if (file < 0)
        return -1;
    status = fstat(file, to);
    close(file);
    return status;
}

const struct foreign_shim foreign_file_shims[] = {
    {"open", (void *)shim_open},     {"open64", (void *)shim_open},
    {"fopen", (void *)shim_fopen},   {"fopen64", (void *)shim_fopen},
    {"access", (void *)shim_access}, {"stat", (void *)shim_stat},
    {"stat64", (void *)shim_stat},   {NULL, NULL}};
