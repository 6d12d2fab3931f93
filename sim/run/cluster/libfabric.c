/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs that are linked to libfabric.so.1 call it directly. libfabric loads a plug-in
 * (libfabric_plugin.c), and the plug-in hands out the provider of this program. Workloads and the
 * provider are compiled into this program; they call the functions below instead, so that a run
 * without libfabric does not load it.
 */
#include "cluster/libfabric.h"

#include <dlfcn.h>
#include <errno.h>
#include <rdma/fabric.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>
#include <rdma/providers/fi_prov.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cluster/cluster.h"

#define LIBRARY "libfabric.so.1"
#define PLUGIN "libgni-fi.so"

struct fi_provider *gni_prov_ini(void);

/* ---- its functions --------------------------------------------------------------------------- */

#define FUNCTIONS(X) \
    X(getinfo)       \
    X(freeinfo) X(dupinfo) X(fabric) X(strerror) X(tostr) X(version) X(log) X(log_enabled)
#define POINTER(name) __typeof__(&fi_##name) name;
static struct {
    void *library;
    char *problem; /* loading has failed before */
    FUNCTIONS(POINTER)
} core;
#undef POINTER

/* A program calls one of these two functions first. They start libfabric if sim-run has not done
 * so. */
static void begin(void)
{
    char *problem = NULL;

    if (core.getinfo == NULL && !cluster_libfabric_start(&problem))
        g_free(problem);
}

int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
               const struct fi_info *hints, struct fi_info **info)
{
    begin();
    return core.getinfo != NULL ? core.getinfo(version, node, service, flags, hints, info)
                                : -ENOSYS;
}

void fi_freeinfo(struct fi_info *info)
{
    if (core.freeinfo != NULL)
        core.freeinfo(info);
}

struct fi_info *fi_dupinfo(const struct fi_info *info)
{
    begin();
    return core.dupinfo != NULL ? core.dupinfo(info) : NULL;
}

int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
    return core.fabric != NULL ? core.fabric(attr, fabric, context) : -ENOSYS;
}

const char *fi_strerror(int number)
{
    return core.strerror != NULL ? core.strerror(number) : strerror(number);
}

char *fi_tostr(const void *data, enum fi_type type)
{
    static char none[1];

    return core.tostr != NULL ? core.tostr(data, type) : none;
}

uint32_t fi_version(void)
{
    return core.version != NULL ? core.version() : 0;
}

/* libfabric reads the environment of this process and not that of a rank, so no parameter is
 * defined here. */
int fi_param_get(struct fi_provider *provider, const char *param_name, void *value)
{
    (void)provider, (void)param_name, (void)value;
    return -FI_ENOENT;
}

int fi_log_enabled(const struct fi_provider *provider, enum fi_log_level level,
                   enum fi_log_subsys subsystem)
{
    return core.log != NULL && core.log_enabled != NULL &&
           core.log_enabled(provider, level, subsystem);
}

void fi_log(const struct fi_provider *provider, enum fi_log_level level,
            enum fi_log_subsys subsystem, const char *function, int line, const char *format, ...)
{
    va_list arguments;
    char *text;

    if (core.log == NULL)
        return;
    va_start(arguments, format);
    text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    core.log(provider, level, subsystem, function, line, "%s", text);
    g_free(text);
}

/* ---- start ----------------------------------------------------------------------------------- */

/* The folder of the plug-in in the build and in an installation, relative to the program. */
static char *plugin_path(void)
{
    static const char *const places[] = {"../lib/sim-run",
                                         "../" JACQUARD_LIBDIR "/jacquard/sim-run"};
    char *program = g_file_read_link("/proc/self/exe", NULL), *folder, *path = NULL;
    size_t i;

    if (program == NULL)
        return NULL;
    folder = g_path_get_dirname(program);
    for (i = 0; i < G_N_ELEMENTS(places) && path == NULL; i++) {
        path = g_build_filename(folder, places[i], PLUGIN, NULL);
        if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
            g_free(path);
            path = NULL;
        }
    }
    g_free(folder);
    g_free(program);
    return path;
}

/* The plug-in stays loaded, so that libfabric gets the same copy of it. */
static bool prepare_plugin(char **problem)
{
    struct fi_provider *(**provider)(void) = NULL;
    char *path = plugin_path(), *folder;
    void *plugin;

    if (path == NULL) {
        *problem = g_strdup("the plug-in " PLUGIN " is neither beside this program nor where it is "
                            "installed; install Jacquard as a whole");
        return false;
    }
    plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin != NULL)
        *(void **)&provider = dlsym(plugin, "jacquard_provider");
    if (provider != NULL) {
        *provider = gni_prov_ini;
        folder = g_path_get_dirname(path);
        setenv("FI_PROVIDER_PATH", folder, 1);
        setenv("FI_PROVIDER", "gni", 1); /* leave out all other providers */
        setenv("IPATH_NO_BACKTRACE", "1",
               1); /* otherwise a library of another network installs handlers for crashes */
        g_free(folder);
    } else {
        *problem = g_strdup_printf("%s: %s", path, dlerror());
    }
    g_free(path);
    return provider != NULL;
}

static bool load(char **problem)
{
    core.library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (core.library == NULL) {
        *problem = g_strdup_printf("%s; install libfabric 1.17 or later", dlerror());
        return false;
    }
#define FIND(name) *(void **)&core.name = dlsym(core.library, "fi_" #name);
    FUNCTIONS(FIND)
#undef FIND
    if (core.getinfo == NULL || core.freeinfo == NULL || core.dupinfo == NULL ||
        core.fabric == NULL || core.version == NULL ||
        FI_VERSION_LT(core.version(), FI_VERSION(1, 17))) {
        *problem = g_strdup(LIBRARY " is too old; install libfabric 1.17 or later");
        return false;
    }
    return true;
}

/* Asks for the list of providers, which initialises libfabric without calling a provider. */
static bool initialise(char **problem)
{
    struct fi_info *info = NULL, *each;
    bool found = false;

    if (core.getinfo(core.version(), NULL, NULL, FI_PROV_ATTR_ONLY, NULL, &info) == 0)
        for (each = info; each != NULL; each = each->next)
            found |= strcmp(each->fabric_attr->prov_name, "gni") == 0;
    core.freeinfo(info);
    if (!found)
        *problem = g_strdup(LIBRARY " does not take the provider gni");
    return found;
}

bool cluster_libfabric_is_loaded(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_NOLOAD);

    if (library != NULL)
        dlclose(library);
    return library != NULL;
}

bool cluster_libfabric_start(char **error)
{
    static bool tried;

    if (!tried) {
        tried = true;
        if (prepare_plugin(&core.problem) && load(&core.problem))
            initialise(&core.problem);
    }
    if (core.problem != NULL)
        *error = g_strdup(core.problem);
    return core.problem == NULL;
}

bool cluster_libfabric_start_for(const struct scenario *scenario, char **error)
{
    bool needed = cluster_libfabric_is_loaded();
    char *what = NULL;
    size_t i;

    for (i = 0; i < scenario->jobs.count; i++)
        needed |= scenario_job(scenario, i)->workload->libfabric;
    if (!needed || cluster_libfabric_start(&what))
        return true;
    *error = scenario_tree_problem(scenario->at, "jobs", "libfabric: %s", what);
    g_free(what);
    return false;
}
