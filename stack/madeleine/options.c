/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command line and the configuration file of the version of 2000. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session.h"

static const char *read_rank(const char *text, int *rank)
{
    char *end;
    long value;

    if (text == NULL)
        return "-rank option must be followed by the rank";
    errno = 0;
    value = strtol(text, &end, 10);
    if (errno != 0 || *end != '\0' || end == text || value < 0 || value > INT32_MAX)
        return "-rank option must be followed by a number";
    *rank = (int)value;
    return NULL;
}

/* The option at *at; *at is then its last argument. False: not one of the library. */
static bool read_option(int argc, char **argv, int *at, struct mad_command_line *line,
                        const char **wrong)
{
    const char *name = argv[*at], *value = *at + 1 < argc ? argv[*at + 1] : NULL;

    if (strcmp(name, "-master") == 0) {
        line->master = true;
        return true;
    }
    if (strcmp(name, "-slave") == 0) {
        line->slave = true;
        return true;
    }
    if (strcmp(name, "-rank") == 0)
        *wrong = read_rank(value, &line->rank);
    else if (strcmp(name, "-conf") == 0)
        *wrong = (line->directory = value) != NULL ? NULL : "-conf must be followed by a directory";
    else if (strcmp(name, "-device") == 0)
        *wrong = value != NULL ? NULL : "-device must be followed by a parameter";
    else if (strcmp(name, "-cwd") == 0)
        *wrong = value == NULL       ? "-cwd must be followed by a directory"
                 : chdir(value) != 0 ? "-cwd names a directory that cannot be entered"
                                     : NULL;
    else
        return false;
    line->devices += strcmp(name, "-device") == 0;
    (*at)++;
    return true;
}

const char *mad_command_line(int *argc, char **argv, struct mad_command_line *line)
{
    const char *wrong = NULL;
    int from, to = 1;

    *line = (struct mad_command_line){.rank = -1};
    if (argc == NULL || argv == NULL || *argc < 1)
        return NULL;
    for (from = 1; from < *argc && wrong == NULL; from++)
        if (!read_option(*argc, argv, &from, line, &wrong))
            argv[to++] = argv[from];
    if (wrong != NULL)
        return wrong;
    *argc = to;
    argv[to] = NULL;
    if (line->master && line->slave)
        return "-master and -slave exclude each other";
    if (line->master && line->rank > 0)
        return "invalid rank specified for master node";
    if (line->slave && line->rank == 0)
        return "invalid rank specified for slave node";
    return NULL;
}

/* ---- the configuration file ------------------------------------------------------------------ */

void mad_hosts_free(char **hosts, int count)
{
    for (int i = 0; hosts != NULL && i < count; i++)
        free(hosts[i]);
    free(hosts);
}

static char **read_hosts(FILE *file, int *count)
{
    char name[256], **hosts;
    int size = 0, i;

    if (fscanf(file, "%9d", &size) != 1 || size < 1)
        return NULL;
    hosts = calloc((size_t)size, sizeof(*hosts));
    for (i = 0; hosts != NULL && i < size; i++) {
        hosts[i] = fscanf(file, "%255s", name) == 1 ? strdup(name) : NULL;
        if (hosts[i] == NULL) {
            mad_hosts_free(hosts, i);
            return NULL;
        }
    }
    *count = size;
    return hosts;
}

char **mad_hosts_read(const char *path, int *count)
{
    FILE *file = fopen(path, "re");
    char **hosts = file != NULL ? read_hosts(file, count) : NULL;
    char text[MAD_TEXT_MAX];

    if (file != NULL)
        fclose(file);
    if (hosts == NULL) {
        snprintf(text, sizeof(text),
                 "%.200s: not a configuration file: a number of hosts and "
                 "their names",
                 path);
        MAD_REPORT(MAD_ECONFIG, text, NULL, -1);
    }
    return hosts;
}
