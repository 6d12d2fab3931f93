/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* `jacquard lnetd` with the driver of m0_net: the program of all commands of LNet, above both. */
#include <string.h>

#include "lnet/tools.h"
#include "m0/daemon.h"

enum { SOCKET, BOUNDS };

static const char *const names[] = {"m0", "m0-bounds", NULL};
static const char *path; /* NULL: no processes of m0_net */
static struct m0_daemon_options bounds;

/* "domains=256,machines=8" */
static int read_bounds(char *text)
{
    static const char *const parts[] = {"domains", "machines", "buffers", "slots", "pages"};
    uint32_t *const bound[] = {&bounds.max_files, &bounds.max_tms, &bounds.max_bufs,
                               &bounds.max_bevs, &bounds.max_pages};
    enum { PARTS = sizeof(parts) / sizeof(parts[0]) };
    char *part, *rest = NULL;
    double number;
    size_t i;

    for (part = strtok_r(text, ",", &rest); part != NULL; part = strtok_r(NULL, ",", &rest)) {
        size_t length = strcspn(part, "=");

        for (i = 0; i < PARTS; i++)
            if (strncmp(part, parts[i], length) == 0 && parts[i][length] == '\0')
                break;
        if (i == PARTS || part[length] == '\0')
            return lnet_tool_refuse(part, "there are domains, machines, buffers, slots and pages, "
                                          "each with =N");
        if (lnet_tool_number("--m0-bounds", part + length + 1, 1, 1e9, &number) != 0)
            return 2;
        *bound[i] = (uint32_t)number;
    }
    return 0;
}

static int set(unsigned option, char *value)
{
    if (option == BOUNDS)
        return read_bounds(value);
    path = value;
    return 0;
}

static bool start(const char **what, char **error)
{
    *what = "--m0";
    *error = path != NULL ? m0_daemon_start(path, &bounds) : NULL;
    return *error == NULL;
}

static const struct lnet_tools_service m0 = {
    .usage =
        "  --m0 PATH            lnetd: the Unix socket for processes of m0_net\n"
        "  --m0-bounds LIST     lnetd: domains=256,machines=N,buffers=N,slots=N,pages=N: of all "
        "processes, of a\n"
        "                       domain, event slots of a machine, pinned pages of a domain\n",
    .options = names,
    .set = set,
    .start = start,
    .stop = m0_daemon_stop,
};

int main(int argc, char **argv)
{
    return lnet_tools_main(argc, argv, &m0);
}
