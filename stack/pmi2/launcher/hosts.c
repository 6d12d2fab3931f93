/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE /* gethostname */
#include "hosts.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLOTS_MAX 1000000
#define TEXT_MAX (16u << 20) /* of a file of hosts or of options */

static void host_free(gpointer data)
{
    struct pmrun_host *host = data;

    g_free(host->name);
    g_free(host->user);
    g_free(host->binding);
    g_strfreev(host->variables);
    g_free(host);
}

GPtrArray *pmrun_hosts_new(void)
{
    return g_ptr_array_new_with_free_func(host_free);
}

/* Names go into the command lines of launchers: nothing there may look like an option or a shell's.
 */
static gboolean name_is_good(const char *name, size_t length)
{
    size_t i;

    if (length == 0 || length > 255 || name[0] == '-')
        return FALSE;
    for (i = 0; i < length; i++)
        if (!g_ascii_isalnum(name[i]) && strchr("-._%:[]", name[i]) == NULL)
            return FALSE;
    return TRUE;
}

/* `name` or `name:slots`; an address with colons is written in brackets. */
static struct pmrun_host *parse_host(const char *text, GError **error)
{
    const char *bracket = text[0] == '[' ? strchr(text, ']') : NULL;
    const char *colon = strchr(bracket != NULL ? bracket : text, ':');
    size_t length = colon != NULL ? (size_t)(colon - text) : strlen(text);
    guint64 slots = 1;
    struct pmrun_host *host;

    if (!name_is_good(text, length)) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
                    "\"%s\" is no host; write name or name:slots", text);
        return NULL;
    }
    if (colon != NULL && !g_ascii_string_to_unsigned(colon + 1, 10, 1, SLOTS_MAX, &slots, NULL)) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
                    "\"%s\": slots are a number from 1 to %d, as in node7:4", text, SLOTS_MAX);
        return NULL;
    }
    host = g_new0(struct pmrun_host, 1);
    host->name = bracket != NULL ? g_strndup(text + 1, (gsize)(bracket - text - 1))
                                 : g_strndup(text, length);
    host->slots = (uint32_t)slots;
    return host;
}

GPtrArray *pmrun_hosts_parse_list(const char *text, GError **error)
{
    GPtrArray *hosts = pmrun_hosts_new();
    char **names = g_strsplit(text, ",", -1), **name;
    struct pmrun_host *host;

    for (name = names; *name != NULL; name++) {
        host = parse_host(g_strstrip(*name), error);
        if (host == NULL)
            goto bad;
        g_ptr_array_add(hosts, host);
    }
    g_strfreev(names);
    if (hosts->len > 0)
        return hosts;
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "the list of hosts is empty");
    g_ptr_array_unref(hosts);
    return NULL;
bad:
    g_strfreev(names);
    g_ptr_array_unref(hosts);
    return NULL;
}

/* A line of a host file, without comment and not empty. */
static struct pmrun_host *parse_line(char *line, GError **error)
{
    char **words = g_strsplit_set(line, " \t", -1), **word;
    struct pmrun_host *host = parse_host(words[0], error);

    for (word = words + 1; host != NULL && *word != NULL; word++) {
        if (**word == '\0')
            continue;
        if (g_str_has_prefix(*word, "user=") && name_is_good(*word + 5, strlen(*word + 5))) {
            g_free(host->user);
            host->user = g_strdup(*word + 5);
        } else if (g_str_has_prefix(*word, "binding=")) {
            g_free(host->binding);
            host->binding = g_strdup(*word + 8);
        } else {
            g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
                        "\"%s\" is not understood; user=NAME and binding=WHAT are", *word);
            g_clear_pointer((gpointer *)&host, host_free);
        }
    }
    g_strfreev(words);
    return host;
}

/* A device may never end. A pipe may: a shell's <(command). */
gboolean pmrun_hosts_read_text(const char *path, char **text, GError **error)
{
    FILE *file = NULL;
    struct stat is;
    GString *got;
    char line[4096];
    size_t part;

    if (stat(path, &is) == 0 && !S_ISREG(is.st_mode) && !S_ISFIFO(is.st_mode)) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "%s: is no regular file", path);
        return FALSE;
    }
    file = fopen(path, "re");
    if (file == NULL) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "%s: %s", path, g_strerror(errno));
        return FALSE;
    }
    got = g_string_new(NULL);
    while (got->len <= TEXT_MAX && (part = fread(line, 1, sizeof(line), file)) > 0)
        g_string_append_len(got, line, (gssize)part);
    fclose(file);
    if (got->len > TEXT_MAX) {
        g_string_free(got, TRUE);
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "%s: is too large; allowed: 16 MiB",
                    path);
        return FALSE;
    }
    *text = g_string_free(got, FALSE);
    return TRUE;
}

GPtrArray *pmrun_hosts_read_file(const char *path, GError **error)
{
    GPtrArray *hosts;
    char *text, **lines;
    guint i;

    if (!pmrun_hosts_read_text(path, &text, error))
        return NULL;
    hosts = pmrun_hosts_new();
    lines = g_strsplit(text, "\n", -1);
    g_free(text);
    for (i = 0; lines[i] != NULL; i++) {
        struct pmrun_host *host;

        *strchrnul(lines[i], '#') = '\0';
        if (*g_strstrip(lines[i]) == '\0')
            continue;
        host = parse_line(lines[i], error);
        if (host == NULL) {
            g_prefix_error(error, "%s:%u: ", path, i + 1);
            break;
        }
        g_ptr_array_add(hosts, host);
    }
    if (lines[i] == NULL && hosts->len == 0)
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "%s: no host in it", path);
    if (lines[i] != NULL || hosts->len == 0)
        g_clear_pointer(&hosts, g_ptr_array_unref);
    g_strfreev(lines);
    return hosts;
}

/* `3(x2),1` of SLURM_TASKS_PER_NODE, for so many nodes. */
static gboolean slurm_slots(const char *text, GPtrArray *hosts)
{
    guint at = 0;

    while (at < hosts->len) {
        char *end;
        guint64 slots = g_ascii_strtoull(text, &end, 10), repeat = 1;

        if (end == text || slots < 1 || slots > SLOTS_MAX)
            return FALSE;
        if (g_str_has_prefix(end, "(x")) {
            repeat = g_ascii_strtoull(end + 2, &end, 10);
            if (*end++ != ')')
                return FALSE;
        }
        while (repeat-- > 0 && at < hosts->len)
            ((struct pmrun_host *)g_ptr_array_index(hosts, at++))->slots = (uint32_t)slots;
        if (*end != ',')
            return at == hosts->len;
        text = end + 1;
    }
    return TRUE;
}

/* Slurm's own program expands a list like n[1-3,07]. */
static char *slurm_names(const char *list, GError **error)
{
    const char *argv[] = {"scontrol", "show", "hostnames", list, NULL};
    char *names = NULL;
    int status;

    if (!g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL,
                      NULL, NULL, &names, NULL, &status, error) ||
        !g_spawn_check_wait_status(status, error)) {
        g_free(names);
        g_prefix_error(error, "the nodes of the allocation: scontrol show hostnames %s: ", list);
        return NULL;
    }
    return g_strdelimit(g_strstrip(names), "\n", ',');
}

GPtrArray *pmrun_hosts_of_allocation(GError **error)
{
    const char *list = g_getenv("SLURM_JOB_NODELIST"), *slots = g_getenv("SLURM_TASKS_PER_NODE");
    GPtrArray *hosts;
    char *names;

    if (list == NULL || g_getenv("SLURM_JOB_ID") == NULL)
        return NULL;
    names = slurm_names(list, error);
    if (names == NULL)
        return NULL;
    hosts = pmrun_hosts_parse_list(names, error);
    g_free(names);
    if (slots == NULL)
        slots = g_getenv("SLURM_JOB_CPUS_PER_NODE");
    if (hosts != NULL && slots != NULL && !slurm_slots(slots, hosts)) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
                    "tasks per node \"%s\" of the allocation are not understood; give --hosts",
                    slots);
        g_clear_pointer(&hosts, g_ptr_array_unref);
    }
    return hosts;
}

GPtrArray *pmrun_hosts_local(void)
{
    GPtrArray *hosts = pmrun_hosts_new();
    struct pmrun_host *host = g_new0(struct pmrun_host, 1);
    char name[256] = "";

    gethostname(name, sizeof(name) - 1);
    host->name = g_strdup(*name != '\0' ? name : "localhost");
    host->slots = 1;
    g_ptr_array_add(hosts, host);
    return hosts;
}

uint32_t pmrun_hosts_slots(const GPtrArray *hosts)
{
    uint64_t sum = 0;
    guint i;

    for (i = 0; i < hosts->len; i++)
        sum += ((const struct pmrun_host *)g_ptr_array_index(hosts, i))->slots;
    return (uint32_t)MIN(sum, UINT32_MAX);
}

void pmrun_hosts_place(const GPtrArray *hosts, uint32_t per_node, uint32_t ranks, uint32_t *node_of)
{
    uint32_t rank = 0, node, i;

    while (rank < ranks)
        for (node = 0; node < hosts->len && rank < ranks; node++) {
            const struct pmrun_host *host = g_ptr_array_index(hosts, node);
            uint32_t slots = per_node != 0 ? per_node : host->slots;

            for (i = 0; i < slots && rank < ranks; i++)
                node_of[rank++] = node;
        }
}

static gboolean same_address(const struct sockaddr *a, const struct sockaddr *b)
{
    if (a->sa_family != b->sa_family)
        return FALSE;
    if (a->sa_family == AF_INET)
        return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)b)->sin_addr.s_addr;
    return a->sa_family == AF_INET6 &&
           memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
                  &((const struct sockaddr_in6 *)b)->sin6_addr, sizeof(struct in6_addr)) == 0;
}

gboolean pmrun_host_is_local(const char *name)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL, *at;
    struct ifaddrs *own = NULL, *interface;
    char host[256] = "";
    gboolean local = FALSE;

    if (g_ascii_strcasecmp(name, "localhost") == 0)
        return TRUE;
    gethostname(host, sizeof(host) - 1);
    if (g_ascii_strcasecmp(name, host) == 0)
        return TRUE;
    if (getaddrinfo(name, NULL, &hints, &found) != 0)
        return FALSE;
    if (getifaddrs(&own) == 0)
        for (at = found; at != NULL && !local; at = at->ai_next)
            for (interface = own; interface != NULL && !local; interface = interface->ifa_next)
                local =
                    interface->ifa_addr != NULL && same_address(at->ai_addr, interface->ifa_addr);
    freeifaddrs(own);
    freeaddrinfo(found);
    return local;
}
