/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "environment.h"

#include <string.h>

void pmrun_environment_rules_clear(struct pmrun_environment_rules *rules)
{
    g_strfreev(rules->list);
    if (rules->set != NULL)
        g_ptr_array_unref(rules->set);
    *rules = (struct pmrun_environment_rules){PMRUN_INHERIT_DEFAULT};
}

void pmrun_environment_rules_set(struct pmrun_environment_rules *rules, const char *name,
                                 const char *value)
{
    if (rules->set == NULL)
        rules->set = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(rules->set, g_strconcat(name, "=", value, NULL));
}

static gboolean of_outer_launcher(const char *variable)
{
    static const char *const prefixes[] = {"PMI_",      "PMI2_",        "PMIX_", "HYDI_", "HYDRA_",
                                           "MPI_LOCAL", "MPI_UNIVERSE", "FLUX_", "PMRUN_"};
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(prefixes); i++)
        if (g_str_has_prefix(variable, prefixes[i]))
            return TRUE;
    return FALSE;
}

static gboolean is_in_list(const char *variable, char **list)
{
    size_t length = strcspn(variable, "=");

    for (; list != NULL && *list != NULL; list++)
        if (strlen(*list) == length && strncmp(*list, variable, length) == 0)
            return TRUE;
    return FALSE;
}

static char **put(char **environment, const char *assignment)
{
    const char *equal = strchr(assignment, '=');
    char *name = g_strndup(assignment, (gsize)(equal - assignment));

    environment = g_environ_setenv(environment, name, equal + 1, TRUE);
    g_free(name);
    return environment;
}

static char **put_all(char **environment, const struct pmrun_environment_rules *rules)
{
    guint i;

    for (i = 0; rules->set != NULL && i < rules->set->len; i++)
        environment = put(environment, g_ptr_array_index(rules->set, i));
    return environment;
}

char **pmrun_environment_make(char *const *inherited, const struct pmrun_environment_rules *all,
                              const struct pmrun_environment_rules *own)
{
    const struct pmrun_environment_rules *deciding =
        own->inherit != PMRUN_INHERIT_DEFAULT ? own : all;
    GPtrArray *kept = g_ptr_array_new();
    char **environment;

    for (; deciding->inherit != PMRUN_INHERIT_NONE && *inherited != NULL; inherited++)
        if (strchr(*inherited, '=') != NULL && !of_outer_launcher(*inherited) &&
            (deciding->inherit != PMRUN_INHERIT_LIST || is_in_list(*inherited, deciding->list)))
            g_ptr_array_add(kept, g_strdup(*inherited));
    g_ptr_array_add(kept, NULL);
    environment = (char **)g_ptr_array_free(kept, FALSE);
    return put_all(put_all(environment, all), own);
}
