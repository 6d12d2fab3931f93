/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "launch.h"

#define PROGRAM_TYPE "(aayaaymaymaymaymaymay)"
#define NODES_TYPE "a(umayaay)"
#define LAUNCH_TYPE "(ua" PROGRAM_TYPE "uybbay" NODES_TYPE ")"
#define VERSION 3u

void pmrun_program_free(gpointer data)
{
    struct pmrun_program *program = data;

    g_strfreev(program->argv);
    g_strfreev(program->environment);
    g_free(program->wdir);
    g_free(program->path);
    g_free(program->bind_to);
    g_free(program->map_by);
    g_free(program->membind);
    g_free(program);
}

void pmrun_node_settings_free(gpointer data)
{
    struct pmrun_node_settings *settings = data;

    g_free(settings->bind_to);
    g_strfreev(settings->variables);
    g_free(settings);
}

void pmrun_launch_free(struct pmrun_launch *launch)
{
    if (launch == NULL)
        return;
    g_ptr_array_unref(launch->programs);
    g_ptr_array_unref(launch->nodes);
    g_free(launch->libraries);
    g_free(launch);
}

static const struct pmrun_node_settings *settings_of(const struct pmrun_launch *launch,
                                                     uint32_t node)
{
    guint i;

    for (i = 0; i < launch->nodes->len; i++) {
        const struct pmrun_node_settings *settings = g_ptr_array_index(launch->nodes, i);

        if (settings->node == node)
            return settings;
    }
    return NULL;
}

const char *pmrun_launch_binding(const struct pmrun_launch *launch,
                                 const struct pmrun_program *program, uint32_t node)
{
    const struct pmrun_node_settings *settings = settings_of(launch, node);

    return settings != NULL && settings->bind_to != NULL ? settings->bind_to : program->bind_to;
}

char *const *pmrun_launch_variables(const struct pmrun_launch *launch, uint32_t node)
{
    static char *const none[] = {NULL};
    const struct pmrun_node_settings *settings = settings_of(launch, node);

    return settings != NULL && settings->variables != NULL ? settings->variables : none;
}

static GVariant *text(const char *of)
{
    return g_variant_new_maybe(G_VARIANT_TYPE_BYTESTRING,
                               of != NULL ? g_variant_new_bytestring(of) : NULL);
}

GBytes *pmrun_launch_pack(const struct pmrun_launch *launch)
{
    GVariantBuilder programs, nodes;
    GVariant *all;
    GBytes *bytes;
    guint i;

    g_variant_builder_init(&programs, G_VARIANT_TYPE("a" PROGRAM_TYPE));
    for (i = 0; i < launch->programs->len; i++) {
        const struct pmrun_program *program = g_ptr_array_index(launch->programs, i);

        g_variant_builder_add(
            &programs, "(@aay@aay@may@may@may@may@may)",
            g_variant_new_bytestring_array((const char *const *)program->argv, -1),
            g_variant_new_bytestring_array((const char *const *)program->environment, -1),
            text(program->wdir), text(program->path), text(program->bind_to), text(program->map_by),
            text(program->membind));
    }
    g_variant_builder_init(&nodes, G_VARIANT_TYPE(NODES_TYPE));
    for (i = 0; i < launch->nodes->len; i++) {
        const struct pmrun_node_settings *settings = g_ptr_array_index(launch->nodes, i);

        g_variant_builder_add(
            &nodes, "(u@may@aay)", settings->node, text(settings->bind_to),
            g_variant_new_bytestring_array((const char *const *)settings->variables,
                                           settings->variables != NULL ? -1 : 0));
    }
    all = g_variant_ref_sink(g_variant_new(
        "(u@a" PROGRAM_TYPE "uybb@ay@" NODES_TYPE ")", VERSION, g_variant_builder_end(&programs),
        launch->stdin_rank, (guchar)launch->port, launch->open_mpi, launch->fabric,
        g_variant_new_bytestring(launch->libraries != NULL ? launch->libraries : ""),
        g_variant_builder_end(&nodes)));
    bytes = g_variant_get_data_as_bytes(all);
    g_variant_unref(all);
    return bytes;
}

static char *take_text(GVariant *of)
{
    GVariant *value = g_variant_get_maybe(of);
    char *copy = value != NULL ? g_variant_dup_bytestring(value, NULL) : NULL;

    if (value != NULL)
        g_variant_unref(value);
    g_variant_unref(of);
    return copy;
}

static struct pmrun_program *read_program(GVariant *from)
{
    struct pmrun_program *program = g_new0(struct pmrun_program, 1);
    GVariant *argv = g_variant_get_child_value(from, 0),
             *environment = g_variant_get_child_value(from, 1);

    program->argv = g_variant_dup_bytestring_array(argv, NULL);
    program->environment = g_variant_dup_bytestring_array(environment, NULL);
    program->wdir = take_text(g_variant_get_child_value(from, 2));
    program->path = take_text(g_variant_get_child_value(from, 3));
    program->bind_to = take_text(g_variant_get_child_value(from, 4));
    program->map_by = take_text(g_variant_get_child_value(from, 5));
    program->membind = take_text(g_variant_get_child_value(from, 6));
    g_variant_unref(argv);
    g_variant_unref(environment);
    return program;
}

static struct pmrun_node_settings *read_settings(GVariant *from)
{
    struct pmrun_node_settings *settings = g_new0(struct pmrun_node_settings, 1);
    GVariant *variables = g_variant_get_child_value(from, 2);

    g_variant_get_child(from, 0, "u", &settings->node);
    settings->bind_to = take_text(g_variant_get_child_value(from, 1));
    settings->variables = g_variant_dup_bytestring_array(variables, NULL);
    g_variant_unref(variables);
    return settings;
}

struct pmrun_launch *pmrun_launch_unpack(const void *bytes, size_t length)
{
    GVariant *all = pmrun_message_read(LAUNCH_TYPE, bytes, length), *programs, *folder, *nodes;
    struct pmrun_launch *launch;
    gboolean good = TRUE;
    guint32 version;
    guchar port;
    gsize i;

    if (all == NULL)
        return NULL;
    launch = g_new0(struct pmrun_launch, 1);
    launch->programs = g_ptr_array_new_with_free_func(pmrun_program_free);
    launch->nodes = g_ptr_array_new_with_free_func(pmrun_node_settings_free);
    g_variant_get(all, "(u@a" PROGRAM_TYPE "uybb@ay@" NODES_TYPE ")", &version, &programs,
                  &launch->stdin_rank, &port, &launch->open_mpi, &launch->fabric, &folder, &nodes);
    launch->port = (enum pmrun_launch_port)port;
    launch->libraries = g_variant_dup_bytestring(folder, NULL);
    for (i = 0; i < g_variant_n_children(programs); i++) {
        GVariant *child = g_variant_get_child_value(programs, i);
        struct pmrun_program *program = read_program(child);

        g_variant_unref(child);
        g_ptr_array_add(launch->programs, program);
        good &= program->argv[0] != NULL;
    }
    for (i = 0; i < g_variant_n_children(nodes); i++) {
        GVariant *child = g_variant_get_child_value(nodes, i);

        g_ptr_array_add(launch->nodes, read_settings(child));
        g_variant_unref(child);
    }
    g_variant_unref(nodes);
    g_variant_unref(programs);
    g_variant_unref(folder);
    g_variant_unref(all);
    if (good && version == VERSION && launch->programs->len > 0 && port <= PMRUN_LAUNCH_PORT_DRAFT)
        return launch;
    pmrun_launch_free(launch);
    return NULL;
}

GVariant *pmrun_message_read(const char *type, const void *bytes, size_t length)
{
    GBytes *copy = g_bytes_new(bytes, length); /* aligned */
    GVariant *value =
        g_variant_ref_sink(g_variant_new_from_bytes(G_VARIANT_TYPE(type), copy, FALSE));

    g_bytes_unref(copy);
    if (g_variant_is_normal_form(value))
        return value;
    g_variant_unref(value);
    return NULL;
}
