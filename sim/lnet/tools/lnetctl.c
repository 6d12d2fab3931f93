/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* jacquard lnetctl: asks the control socket of a running node. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tools.h"

static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int client;

    if (strlen(path) >= sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client >= 0 && connect(client, (struct sockaddr *)&address, sizeof(address)) != 0) {
        int failure = errno;

        close(client);
        errno = failure;
        return -1;
    }
    return client;
}

/* The words as one line. False: they are too many. */
static bool join(const struct lnet_tool_options *options, char *line, size_t room)
{
    size_t length = 0;
    int i;

    for (i = 0; i < options->argument_count; i++) {
        int more =
            snprintf(line + length, room - length, "%s%s", i > 0 ? " " : "", options->arguments[i]);

        if (more < 0 || (size_t)more + 2 > room - length)
            return false;
        length += (size_t)more;
    }
    line[length] = '\n';
    line[length + 1] = '\0';
    return strchr(line, '\n') == line + length;
}

/* Reads the answer: its first line is "ok" or "error: TEXT". */
static int print_answer(FILE *answer, const char *path)
{
    char first[512], part[4096];
    size_t length;

    if (fgets(first, sizeof(first), answer) == NULL)
        return lnet_tool_refuse(path, "the node gave no answer; it answers its own user only");
    first[strcspn(first, "\n")] = '\0';
    if (strcmp(first, "ok") != 0)
        return lnet_tool_refuse("lnetctl",
                                strncmp(first, "error: ", 7) == 0 ? first + 7 : "no answer");
    while ((length = fread(part, 1, sizeof(part), answer)) > 0)
        fwrite(part, 1, length, stdout);
    return fflush(stdout) == 0 ? 0 : lnet_tool_refuse("standard output", strerror(errno));
}

int lnet_tool_ctl(const struct lnet_tool_options *options)
{
    const char *path = options->socket != NULL ? options->socket : getenv("JACQUARD_LNETCTL");
    char line[250];
    FILE *answer;
    int client, code;

    if (options->argument_count == 0)
        return lnet_tool_refuse("lnetctl", "words are needed, such as net show");
    if (path == NULL || *path == '\0')
        return lnet_tool_refuse("lnetctl", "--socket names the control socket of a node");
    if (!join(options, line, sizeof(line)))
        return lnet_tool_refuse("lnetctl", "these words are no command");
    client = connect_to(path);
    if (client < 0)
        return lnet_tool_refuse(path, strerror(errno));
    if (send(client, line, strlen(line), MSG_NOSIGNAL) != (ssize_t)strlen(line)) {
        code = lnet_tool_refuse(path, strerror(errno));
        close(client);
        return code;
    }
    answer = fdopen(client, "r");
    if (answer == NULL) {
        close(client);
        return lnet_tool_refuse(path, strerror(errno));
    }
    code = print_answer(answer, path);
    fclose(answer);
    return code;
}
