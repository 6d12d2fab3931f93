/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "plan.h"

#include <string.h>
#include <unistd.h>

#define RANKS_MAX 1000000u

void pmrun_plan_clear(struct pmrun_launch_plan *plan)
{
    pmrun_launch_free(plan->launch);
    g_free(plan->node_of);
    g_free(plan->app_size);
}

static GPtrArray *settings_of(const GPtrArray *hosts)
{
    GPtrArray *nodes = g_ptr_array_new_with_free_func(pmrun_node_settings_free);
    guint node;

    for (node = 0; node < hosts->len; node++) {
        const struct pmrun_host *host = g_ptr_array_index(hosts, node);
        struct pmrun_node_settings *settings;

        if (host->binding == NULL && host->variables == NULL)
            continue;
        settings = g_new(struct pmrun_node_settings, 1);
        *settings =
            (struct pmrun_node_settings){node, g_strdup(host->binding), g_strdupv(host->variables)};
        g_ptr_array_add(nodes, settings);
    }
    return nodes;
}

static struct pmrun_launch *launch_of(const struct pmrun_options *options, const GPtrArray *hosts,
                                      const char *libraries)
{
    struct pmrun_launch *launch = g_new0(struct pmrun_launch, 1);

    launch->nodes = settings_of(hosts);
    launch->programs = g_ptr_array_new_with_free_func(pmrun_program_free);
    launch->stdin_rank = PMRUN_NO_RANK;
    launch->port = !options->tcp_port                      ? PMRUN_LAUNCH_NO_PORT
                   : options->auth == PMRUN_AUTH_USER      ? PMRUN_LAUNCH_PORT_USER
                   : options->auth == PMRUN_AUTH_CHALLENGE ? PMRUN_LAUNCH_PORT_CHALLENGE
                                                           : PMRUN_LAUNCH_PORT_DRAFT;
    launch->open_mpi = options->open_mpi;
    launch->fabric = options->fabric;
    launch->libraries = g_strdup(libraries);
    return launch;
}

/* The default working directory of programs: that of pmrun, if a launcher on other machines starts
 * elsewhere.
 */
static char *folder_of(const char *wdir, gboolean several)
{
    char *here, *folder;

    if (wdir != NULL && g_path_is_absolute(wdir))
        return g_strdup(wdir);
    if (wdir == NULL && !several)
        return NULL;
    here = g_get_current_dir();
    folder = wdir != NULL ? g_build_filename(here, wdir, NULL) : g_strdup(here);
    g_free(here);
    return folder;
}

static void add_program(struct pmrun_launch *launch, const struct pmrun_options *options,
                        char **argv, const char *wdir, const char *path, char **environment,
                        gboolean several)
{
    struct pmrun_program *program = g_new0(struct pmrun_program, 1);

    program->argv = g_strdupv(argv);
    program->environment = environment;
    program->wdir = folder_of(wdir, several);
    program->path = g_strdup(path);
    program->bind_to = g_strdup(options->bind_to);
    program->map_by = g_strdup(options->map_by);
    program->membind = g_strdup(options->membind);
    g_ptr_array_add(launch->programs, program);
}

gboolean pmrun_plan_command_line(struct pmrun_launch_plan *plan,
                                 const struct pmrun_options *options, const GPtrArray *hosts,
                                 const char *libraries)
{
    uint64_t size = 0;
    char **inherited = g_get_environ();
    guint i;

    *plan = (struct pmrun_launch_plan){.launch = launch_of(options, hosts, libraries)};
    plan->app_size = g_new(uint32_t, options->executables->len);
    for (i = 0; i < options->executables->len; i++) {
        const struct pmrun_executable *own = g_ptr_array_index(options->executables, i);

        plan->app_size[i] = own->processes != 0      ? own->processes
                            : options->per_node != 0 ? hosts->len * options->per_node
                                                     : pmrun_hosts_slots(hosts);
        size += plan->app_size[i];
        add_program(plan->launch, options, own->argv, own->wdir, own->path,
                    pmrun_environment_make(inherited, &options->environment, &own->environment),
                    hosts->len > 1);
    }
    g_strfreev(inherited);
    if (size > RANKS_MAX) {
        pmrun_plan_clear(plan);
        return FALSE;
    }
    plan->size = (uint32_t)size;
    plan->launch->stdin_rank =
        options->stdin_rank < plan->size ? options->stdin_rank : PMRUN_NO_RANK;
    plan->node_of = g_new(uint32_t, plan->size);
    pmrun_hosts_place(hosts, options->per_node, plan->size, plan->node_of);
    return TRUE;
}

/* ---- spawn ------------------------------------------------------------------------------------
 */

static const char *info_value(const struct pmi2_command *command, const char *key)
{
    uint32_t i;

    for (i = 0; i < command->info_count; i++)
        if (strcmp(command->info[i].key, key) == 0)
            return command->info[i].value;
    return NULL;
}

/* Nodes of the launch that have one of these names, a name as often as it is listed. */
static gboolean nodes_named(const GPtrArray *hosts, const GPtrArray *wanted, GArray *nodes)
{
    guint i, node;
    gboolean found = TRUE;

    for (i = 0; i < wanted->len; i++) {
        const struct pmrun_host *want = g_ptr_array_index(wanted, i);
        guint before = nodes->len;

        for (node = 0; node < hosts->len; node++) {
            const struct pmrun_host *host = g_ptr_array_index(hosts, node);
            uint32_t slot;

            if (g_ascii_strcasecmp(host->name, want->name) != 0)
                continue;
            for (slot = 0; slot < want->slots; slot++)
                g_array_append_val(nodes, node);
            break;
        }
        found &= nodes->len > before;
    }
    return found;
}

static gboolean place(struct pmrun_launch_plan *plan, const struct pmi2_command *command,
                      const struct pmrun_options *options, const GPtrArray *hosts, uint32_t first,
                      const char **reason)
{
    const char *list = info_value(command, "host"), *file = info_value(command, "hostfile");
    GPtrArray *wanted = NULL;
    GArray *nodes;
    gboolean good;
    uint32_t i;

    if (list == NULL)
        list = info_value(command, "hosts");
    if (list == NULL && file == NULL) {
        pmrun_hosts_place(hosts, options->per_node, command->processes, plan->node_of + first);
        return TRUE;
    }
    wanted = list != NULL ? pmrun_hosts_parse_list(list, NULL) : pmrun_hosts_read_file(file, NULL);
    *reason = wanted == NULL ? "malformed_hosts" : "host_not_of_this_launch";
    if (wanted == NULL)
        return FALSE;
    nodes = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    good = nodes_named(hosts, wanted, nodes);
    for (i = 0; good && i < command->processes; i++)
        plan->node_of[first + i] = g_array_index(nodes, uint32_t, i % nodes->len);
    g_array_unref(nodes);
    g_ptr_array_unref(wanted);
    return good;
}

static void add_spawned(struct pmrun_launch_plan *plan, const struct pmi2_command *command,
                        const struct pmrun_options *options, gboolean several)
{
    static const struct pmrun_environment_rules none = {PMRUN_INHERIT_DEFAULT};
    char **inherited = g_get_environ();
    GPtrArray *argv = g_ptr_array_new();
    uint32_t i;

    g_ptr_array_add(argv, (char *)command->name);
    for (i = 0; i < command->argc; i++)
        g_ptr_array_add(argv, (char *)command->argv[i]);
    g_ptr_array_add(argv, NULL);
    add_program(plan->launch, options, (char **)argv->pdata, info_value(command, "wdir"),
                info_value(command, "path"),
                pmrun_environment_make(inherited, &options->environment, &none), several);
    g_ptr_array_unref(argv);
    g_strfreev(inherited);
}

gboolean pmrun_plan_spawn(struct pmrun_launch_plan *plan, const struct pmi2_spawn *spawn,
                          const struct pmrun_options *options, const GPtrArray *hosts,
                          const char *libraries, const char **reason)
{
    uint32_t i;

    *plan = (struct pmrun_launch_plan){.launch = launch_of(options, hosts, libraries)};
    plan->node_of = g_new0(uint32_t, spawn->processes);
    plan->app_size = g_new0(uint32_t, spawn->command_count);
    for (i = 0; i < spawn->command_count; i++) {
        const struct pmi2_command *command = &spawn->commands[i];

        if (!place(plan, command, options, hosts, plan->size, reason)) {
            pmrun_plan_clear(plan);
            return FALSE;
        }
        plan->app_size[i] = command->processes;
        plan->size += command->processes;
        add_spawned(plan, command, options, hosts->len > 1);
    }
    return TRUE;
}
