/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "scenario/file.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool refuse(char **error, const char *what)
{
    *error = g_strdup(what);
    return false;
}

/* A pipe is allowed as the standard input. */
static bool is_readable(int file, char **error)
{
    struct stat is, input;

    if (fstat(file, &is) != 0)
        return refuse(error, g_strerror(errno));
    if (S_ISREG(is.st_mode))
        return true;
    if (S_ISDIR(is.st_mode))
        return refuse(error, "is a folder; allowed: a file");
    if ((S_ISFIFO(is.st_mode) || S_ISSOCK(is.st_mode)) && fstat(STDIN_FILENO, &input) == 0 &&
        input.st_dev == is.st_dev && input.st_ino == is.st_ino)
        return true;
    return refuse(error, "is no regular file; allowed: a file, or a pipe on /dev/stdin");
}

static bool read_all(int file, uint64_t most, GString *into, char **error)
{
    char buffer[65536];
    ssize_t got;

    while ((got = read(file, buffer, sizeof(buffer))) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return refuse(error, g_strerror(errno));
        if (into->len + (size_t)got > most) {
            *error = g_strdup_printf("is too large; allowed: %" G_GUINT64_FORMAT " bytes", most);
            return false;
        }
        g_string_append_len(into, buffer, got);
    }
    return true;
}

/* O_NONBLOCK: does not wait for the writer of a pipe. O_NOCTTY: a terminal does not become the
 * controlling one. */
bool scenario_file_read(const char *path, uint64_t most, char **bytes, size_t *length, char **error)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), flags;
    GString *text;
    bool ok;

    if (file < 0)
        return refuse(error, g_strerror(errno));
    if (!is_readable(file, error)) {
        close(file);
        return false;
    }
    flags = fcntl(file, F_GETFL);
    fcntl(file, F_SETFL, flags & ~O_NONBLOCK);
    text = g_string_new(NULL);
    ok = read_all(file, most, text, error);
    close(file);
    *length = text->len;
    *bytes = g_string_free(text, !ok);
    return ok;
}

void scenario_file_place(const char *path, char **target, char **partial)
{
    char *real = realpath(path, NULL);
    struct stat is;
    bool replaced;

    *target = g_strdup(real != NULL ? real : path);
    *partial = NULL;
    free(real);
    /* A symbolic link without a target: writing creates the target. */
    replaced = lstat(*target, &is) != 0 || S_ISREG(is.st_mode);
    if (!replaced)
        return;
    *partial = g_strdup_printf("%s.partial-%d", *target, (int)getpid());
}

char *scenario_file_beside(const char *file, const char *path)
{
    char *folder, *full;

    if (g_path_is_absolute(path))
        return g_strdup(path);
    folder = g_path_get_dirname(file);
    full = g_build_filename(folder, path, NULL);
    g_free(folder);
    return full;
}
