/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "diff.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <unistd.h>

void diff_run(int argc, char **argv, char **error)
{
    char *self = g_file_read_link("/proc/self/exe", NULL), *folder, *program;
    char **words;
    int i;

    if (self == NULL) {
        *error = g_strdup_printf("sim-run diff: /proc/self/exe: %s", g_strerror(errno));
        return;
    }
    folder = g_path_get_dirname(self);
    program = g_build_filename(folder, "jacquard", NULL);
    words = g_new0(char *, (gsize)argc + 3);
    words[0] = (char[]){"jacquard"};
    words[1] = (char[]){"trace"};
    for (i = 1; i < argc; i++) /* "diff" and what follows */
        words[i + 1] = argv[i];
    g_setenv("JACQUARD_TRACE_PROGRAM", "sim-run", TRUE);
    execv(program, words);
    *error = g_strdup_printf("sim-run diff: %s: %s", program, g_strerror(errno));
    g_free(words);
    g_free(program);
    g_free(folder);
    g_free(self);
}
