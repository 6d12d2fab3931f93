/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Files by which programs for Cray systems recognise one and learn where they are. All others are
 * the host's. What is written into one of these is lost, as it goes to nobody.
 */
#define _GNU_SOURCE /* memfd_create, dlinfo, pthread_*_np */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foreign.h"
#include "internal.h"

/* The text of such a file; false: it is none. */
static bool content_of(const char *path, char *text, size_t size)
{
    const struct rank *rank = foreign_self()->rank;
    struct net_coordinates at;

    if (strcmp(path, "/proc/version") == 0) {
        snprintf(text, size, "Linux version 4.12.14-cray_ari_c (jacquard) #1 SMP\n");
    } else if (strcmp(path, "/proc/cray_xt/nid") == 0) {
        snprintf(text, size, "%u\n", rank->node);
    } else if (strcmp(path, "/proc/cray_xt/cname") == 0) {
        if (!net_coordinates(rank->job->cluster->net, rank->node, &at))
            memset(&at, 0, sizeof(at));
        snprintf(text, size, "c%u-0c%us%un%u\n", at.group, at.chassis, at.slot, at.node);
    } else if (strcmp(path, "/proc/job") == 0) {
        snprintf(text, size, "corespec 0 num_sys_cpus 0\n");
    } else if (g_str_has_prefix(path, "/proc/self/task/") &&
               g_str_has_suffix(path, "/task_is_app")) {
        snprintf(text, size, "1\n");
    } else if (strcmp(path, "/etc/opt/cray/release/clerelease") == 0) {
        snprintf(text, size, "6.0.UP07\n");
    } else {
        return false;
    }
    return true;
}

/* A file of its own each time: what one rank writes no other reads. */
static int open_content(const char *text, int flags)
{
    int file = memfd_create("cray", flags & O_CLOEXEC ? MFD_CLOEXEC : 0);

    if (file < 0)
        return -1;
    if (write(file, text, strlen(text)) != (ssize_t)strlen(text) || lseek(file, 0, SEEK_SET) != 0) {
        close(file);
        errno = EIO;
        return -1;
    }
    return file;
}

static int shim_open(const char *path, int flags, ...)
{
    char text[256];
    va_list more;
    int mode;

    if (content_of(path, text, sizeof(text)))
        return open_content(text, flags);
    va_start(more, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0;
    va_end(more);
    return open(path, flags, mode);
}

static FILE *shim_fopen(const char *path, const char *mode)
{
    char text[256];
    FILE *stream;
    int file;

    if (!content_of(path, text, sizeof(text)))
        return fopen(path, mode);
    file = open_content(text, 0);
    if (file < 0)
        return NULL;
    stream = fdopen(file, mode);
    if (stream == NULL)
        close(file);
    return stream;
}

static int shim_access(const char *path, int how)
{
    char text[256];

    return content_of(path, text, sizeof(text)) ? 0 : access(path, how);
}

static int shim_stat(const char *path, struct stat *to)
{
    char text[256];
    int file, status;

    if (!content_of(path, text, sizeof(text)))
        return stat(path, to);
    file = open_content(text, 0);
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
