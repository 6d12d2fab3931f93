/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "scenario/programs.h"

#include <dlfcn.h>
#include <glib.h>
#include <string.h>
#include "foreign/foreign.h"
#include "workload_table.h"

/*
 * A workload's source is the same text as a user's shared object; when it is compiled in, CMake
 * renames its jacquard_workload() and lists it in workload_table.h, which is generated.
 */
#define DECLARE(name) const struct workload *jacquard_workload_##name(void);
COMPILED_IN_WORKLOADS(DECLARE)
#undef DECLARE

extern const struct workload cluster_barrier_workload, cluster_raw_messages_workload;

#define ADD(name)                                                                              \
    programs[count++] = (struct program){                                                      \
        .workload = jacquard_workload_##name(),                                                \
        .any_network = g_str_has_prefix(#name, "lnet_") || g_str_has_prefix(#name, "mad_") ||  \
                       g_str_has_prefix(#name, "sisci_") || g_str_has_prefix(#name, "tcp_") || \
                       g_str_has_prefix(#name, "sbp_") || g_str_has_prefix(#name, "via_") ||   \
                       g_str_has_prefix(#name, "m0_"),                                         \
        .libfabric = g_str_has_prefix(#name, "fi_")};

static struct program programs[128];
static size_t count;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct program *)a)->workload->name,
                  ((const struct program *)b)->workload->name);
}

static void fill_once(void)
{
    if (count != 0)
        return;
    programs[count++] =
        (struct program){.workload = &cluster_barrier_workload, .any_network = true};
    programs[count++] =
        (struct program){.workload = &cluster_raw_messages_workload, .any_network = true};
    COMPILED_IN_WORKLOADS(ADD)
    qsort(programs, count, sizeof(programs[0]), by_name); /* names are unique */
}

void program_add(const struct workload *workload)
{
    fill_once();
    g_assert(count < G_N_ELEMENTS(programs));
    programs[count++].workload = workload;
    qsort(programs, count, sizeof(programs[0]), by_name);
}

size_t program_count(void)
{
    fill_once();
    return count;
}

const struct program *program_at(size_t index)
{
    return index < program_count() ? &programs[index] : NULL;
}

const struct program *program_find(const char *name)
{
    size_t i;

    for (i = 0; i < program_count(); i++) {
        if (strcmp(programs[i].workload->name, name) == 0)
            return &programs[i];
    }
    return NULL;
}

/* Its arguments are the scenario's argv: the program itself declares none. */
static struct program *open_foreign(const char *path, struct foreign_image *image)
{
    struct program *program = g_new0(struct program, 1);
    struct workload *workload = g_new0(struct workload, 1);

    workload->name = g_path_get_basename(path);
    workload->meaning = "a program with main()";
    workload->main = foreign_main;
    program->workload = workload;
    program->foreign = image;
    program->libfabric = foreign_image_uses_libfabric(image);
    program->any_network = !foreign_image_uses_ugni(image) && !program->libfabric;
    return program;
}

static void close_foreign(const struct program *program)
{
    foreign_image_close(program->foreign);
    g_free((void *)program->workload->name);
    g_free((void *)program->workload);
}

struct program *program_open(const char *path, char **error)
{
    struct foreign_image *image = foreign_image_open(path, error);
    const struct workload *(*entry)(void) = NULL;
    const struct workload *workload = NULL;
    struct program *program;
    void *object;

    if (image != NULL)
        return open_foreign(path, image);
    if (*error != NULL)
        return NULL;
    object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (object == NULL) {
        *error = g_strdup_printf("cannot be opened: %s; allowed: a shared object", dlerror());
        return NULL;
    }
    *(void **)&entry = dlsym(object, "jacquard_workload");
    if (entry != NULL)
        workload = entry();
    if (workload == NULL || workload->name == NULL || workload->main == NULL) {
        *error = g_strdup_printf(
            "%s has no workload; allowed: a shared object with WORKLOAD() of run/workload.h, or a "
            "program with main()",
            path);
        dlclose(object);
        return NULL;
    }
    program = g_new0(struct program, 1);
    program->workload = workload;
    program->object = object;
    return program;
}

void program_close(const struct program *program)
{
    if (program->object == NULL && program->foreign == NULL)
        return;
    if (program->foreign != NULL)
        close_foreign(program);
    else
        dlclose(program->object);
    g_free((void *)program);
}
