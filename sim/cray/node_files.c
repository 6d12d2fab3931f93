/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE /* memfd_create */
#include "cray/node_files.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERSION "/proc/version"
#define NID "/proc/cray_xt/nid"
#define CNAME "/proc/cray_xt/cname"
#define JOB "/proc/job"
#define RELEASE "/etc/opt/cray/release/clerelease"
#define TASKS "/proc/self/task/"
#define IS_APP "/task_is_app"

static bool is_app(const char *path)
{
    size_t length = strlen(path);

    return strncmp(path, TASKS, strlen(TASKS)) == 0 && length > strlen(TASKS) + strlen(IS_APP) &&
           strcmp(path + length - strlen(IS_APP), IS_APP) == 0;
}

bool cray_node_file(const char *path)
{
    static const char *const paths[] = {VERSION, NID, CNAME, JOB, RELEASE};
    size_t i;

    if (strncmp(path, "/proc/", 6) != 0 && strncmp(path, "/etc/opt/cray/", 14) != 0)
        return false;
    for (i = 0; i < sizeof(paths) / sizeof(*paths); i++)
        if (strcmp(path, paths[i]) == 0)
            return true;
    return is_app(path);
}

void cray_node_file_text(const char *path, const struct cray_place *place,
                         char text[CRAY_NODE_FILE_BYTES])
{
    const size_t size = CRAY_NODE_FILE_BYTES;

    if (strcmp(path, VERSION) == 0)
        snprintf(text, size, "Linux version 4.12.14-cray_ari_c (jacquard) #1 SMP\n");
    else if (strcmp(path, NID) == 0)
        snprintf(text, size, "%u\n", place->nid);
    else if (strcmp(path, CNAME) == 0)
        snprintf(text, size, "c%u-0c%us%un%u\n", place->group, place->chassis, place->slot,
                 place->node);
    else if (strcmp(path, JOB) == 0)
        snprintf(text, size, "corespec 0 num_sys_cpus 0\n");
    else if (strcmp(path, RELEASE) == 0)
        snprintf(text, size, "6.0.UP07\n");
    else
        snprintf(text, size, "1\n");
    assert(strchr(text, '\n') != NULL); /* nothing was cut off */
}

int cray_node_file_open(const char *text, int flags)
{
    int file = memfd_create("cray", flags & O_CLOEXEC ? MFD_CLOEXEC : 0);

    if (file < 0)
        return -1;
    if (write(file, text, strlen(text)) == (ssize_t)strlen(text) && lseek(file, 0, SEEK_SET) == 0 &&
        fchmod(file, 0444) == 0)
        return file;
    close(file);
    errno = EIO;
    return -1;
}

FILE *cray_node_file_stream(const char *text, const char *mode)
{
    int file = cray_node_file_open(text, strchr(mode, 'e') != NULL ? O_CLOEXEC : 0);
    FILE *stream = file >= 0 ? fdopen(file, mode) : NULL;

    if (file >= 0 && stream == NULL)
        close(file);
    return stream;
}

int cray_node_file_access(int how)
{
    if (!(how & (W_OK | X_OK)))
        return 0;
    errno = EACCES;
    return -1;
}
