/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "variables.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "process.h"

__attribute__((format(printf, 2, 3))) static void add(GPtrArray *to, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    g_ptr_array_add(to, g_strdup_vprintf(format, arguments));
    va_end(arguments);
}

#define NODES_TEXT_MAX 65536u /* Linux takes 128 KiB in one variable */

/* The number of an emulated node. -1: it has none. */
static gint64 emulated_node(const struct pmrun_launch *launch, uint32_t node)
{
    static const char name[] = "JACQUARD_NODE=";
    char *const *variable;

    for (variable = pmrun_launch_variables(launch, node); *variable != NULL; variable++)
        if (g_str_has_prefix(*variable, name))
            return (gint64)g_ascii_strtoull(*variable + strlen(name), NULL, 10);
    return -1;
}

/* The emulated node of each rank, in their order: `NODE*COUNT` ranks on one, or `FIRST-LAST`, one
 * rank on each. For ALPS, which passes it to every process. */
static void add_nodes_of_ranks(GPtrArray *to, const struct pmrun_launch *launch,
                               const struct pmi2_job_info *info)
{
    GString *text = g_string_new("JACQUARD_RANK_NODES=");
    uint32_t rank, run;
    gboolean known = TRUE;

    for (rank = 0; rank < info->size && known; rank += run) {
        gint64 first = emulated_node(launch, info->node_of[rank]), step = 0;

        if (rank + 1 < info->size)
            step = emulated_node(launch, info->node_of[rank + 1]) - first;
        for (run = 1; (step == 0 || step == 1) && rank + run < info->size &&
                      emulated_node(launch, info->node_of[rank + run]) == first + run * step;
             run++)
            ;
        g_string_append_printf(text, rank > 0 ? ",%" PRId64 : "%" PRId64, first);
        if (run > 1)
            g_string_append_printf(text, step == 0 ? "*%" PRId64 : "-%" PRId64,
                                   step == 0 ? (gint64)run : first + run - 1);
        known = first >= 0 && text->len < NODES_TEXT_MAX;
    }
    if (known)
        g_ptr_array_add(to, g_string_free(text, FALSE));
    else
        g_string_free(text, TRUE);
}

static GPtrArray *common_of(const struct pmrun_launch *launch, const struct pmi2_job_info *info,
                            uint32_t node, uint32_t local_count, const char *host, const char *port)
{
    GPtrArray *common = g_ptr_array_new_with_free_func(g_free);
    char *const *variable;

    if (port == NULL) {
        add(common, "PMI_FD=%d", PMRUN_PROCESS_PMI_FD);
        add(common, "PMI_SIZE=%u", info->size);
    } else {
        add(common, "PMI_PORT=%s", port);
        add(common, "PMI_JOBID=%s", info->id);
        add(common, "PMI_KEY_FD=%d", PMRUN_PROCESS_KEY_FD);
    }
    if (info->spawner != NULL)
        add(common, "PMI_SPAWNED=1");
    add(common, "PMI_LOCAL_SIZE=%u", local_count);
    add(common, "MPI_LOCALNRANKS=%u", local_count);
    if (info->universe >= 0)
        add(common, "PMI_UNIVERSE_SIZE=%" PRId64, info->universe);
    add(common, "MPIR_CVAR_CH3_INTERFACE_HOSTNAME=%s", host);
    add(common, "GFORTRAN_UNBUFFERED_PRECONNECTED=y");
    if (launch->open_mpi) {
        /* Shared memory is named after it, so it differs between the jobs of a machine. Open MPI
         * 4.1 gets lost if it has more than 15 bits. */
        add(common, "FLUX_JOB_ID=%u",
            1 + (unsigned)((g_ascii_strtoull(info->id, NULL, 10) +
                            g_ascii_strtoull(strchr(info->id, '.') + 1, NULL, 10)) %
                           32767));
        add(common, "FLUX_PMI_LIBRARY_PATH=%s/libpmi.so.0", launch->libraries);
    }
    for (variable = pmrun_launch_variables(launch, node); *variable != NULL; variable++)
        add(common, "%s", *variable);
    if (launch->fabric) {
        add(common, "PMI_NO_FORK=1");
        add_nodes_of_ranks(common, launch, info);
    }
    return common;
}

static gboolean is_set_by(const GPtrArray *common, const char *variable)
{
    size_t length = strcspn(variable, "=");
    guint i;

    for (i = 0; i < common->len; i++) {
        const char *own = g_ptr_array_index(common, i);

        if (strncmp(own, variable, length) == 0 && own[length] == '=')
            return TRUE;
    }
    return FALSE;
}

/*
 * Where there are more ranks of Open MPI than processors: those that wait yield, as its own
 * launcher has them do; on a fabric they also do without threads for progress, which would take
 * processors from other ranks.
 */
static void add_for_crowd(GPtrArray *all, const struct pmrun_launch *launch, char **environment)
{
    static char settings[][48] = {"OMPI_MCA_mpi_yield_when_idle=1",
                                  "OMPI_MCA_mtl_ofi_control_progress=manual",
                                  "OMPI_MCA_mtl_ofi_data_progress=manual"};
    guint count = launch->fabric ? G_N_ELEMENTS(settings) : 1, i;

    for (i = 0; i < count; i++) {
        char *name = g_strndup(settings[i], strcspn(settings[i], "="));

        if (g_environ_getenv(environment, name) == NULL)
            g_ptr_array_add(all, settings[i]);
        g_free(name);
    }
}

void pmrun_variables_init(struct pmrun_variables *variables, const struct pmrun_launch *launch,
                          const struct pmi2_job_info *info, uint32_t node, uint32_t local_count,
                          const char *host, const char *port)
{
    guint p, i;

    variables->programs = launch->programs->len;
    variables->of_program = g_new0(GPtrArray *, variables->programs);
    variables->common = common_of(launch, info, node, local_count, host, port);
    variables->fabric = launch->fabric;
    variables->port = port;
    for (p = 0; p < variables->programs; p++) {
        const struct pmrun_program *program = g_ptr_array_index(launch->programs, p);
        GPtrArray *all = g_ptr_array_new();
        char **variable;

        for (variable = program->environment; *variable != NULL; variable++)
            if (!is_set_by(variables->common, *variable))
                g_ptr_array_add(all, *variable);
        if (launch->open_mpi &&
            (launch->fabric ? info->size : local_count) > g_get_num_processors())
            add_for_crowd(all, launch, program->environment);
        for (i = 0; i < variables->common->len; i++)
            g_ptr_array_add(all, g_ptr_array_index(variables->common, i));
        variables->of_program[p] = all;
    }
}

void pmrun_variables_clear(struct pmrun_variables *variables)
{
    guint p;

    for (p = 0; p < variables->programs; p++)
        g_ptr_array_unref(variables->of_program[p]);
    g_free(variables->of_program);
    if (variables->common != NULL)
        g_ptr_array_unref(variables->common);
}

#define OWN 6
#define OWN_BYTES 32 /* name, =, ten digits */

char **pmrun_variables_of_rank(const struct pmrun_variables *variables, guint program,
                               uint32_t rank, uint32_t local)
{
    const struct {
        const char *name;
        uint32_t value;
        gboolean wanted;
    } own[OWN] = {
        {"PMI_RANK", rank, variables->port == NULL},
        {"PMI_ID", rank, variables->port != NULL},
        {"PMI_LOCAL_RANK", local, TRUE},
        {"MPI_LOCALRANKID", local, TRUE},
        {"PMI_FORK_RANK", rank, variables->fabric},
        {"ALPS_APP_PE", rank, variables->fabric},
    };
    const GPtrArray *common = variables->of_program[program];
    char **all = g_malloc((common->len + OWN + 1) * sizeof(char *) + OWN * OWN_BYTES);
    char *text = (char *)(all + common->len + OWN + 1);
    guint count = common->len, i;

    memcpy(all, common->pdata, common->len * sizeof(char *));
    for (i = 0; i < OWN; i++, text += OWN_BYTES) {
        if (!own[i].wanted)
            continue;
        snprintf(text, OWN_BYTES, "%s=%u", own[i].name, own[i].value);
        all[count++] = text;
    }
    all[count] = NULL;
    return all;
}
