/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The environment of the processes of a live fabric: the path of the fabric, the libraries of this
 * build, and the variables that a launcher on a Cray system exports. The credentials are those of
 * the first job of a scenario; there are two, as with ALPS.
 */
#include <string.h>
#include <unistd.h>

#include "live/live_fabric.h"

#define PTAG 16u
#define COOKIE 0x4a510001u
#define NODE_FILES "jacquard/libjacquard-node.so"

struct variables {
    GString *text;
    bool machine;
};

static void variable(const struct variables *to, bool weak, const char *name, const char *value)
{
    char *quoted;

    if (to->machine) {
        g_string_append_printf(to->text, "%s %s=%s\n", weak ? "default" : "set", name, value);
        return;
    }
    quoted = g_shell_quote(value);
    g_string_append_printf(to->text, "export %s=%s\n", name, quoted);
    g_free(quoted);
}

/* ---- libraries ------------------------------------------------------------------------------- */

/* The path in the build or in the installation of this program; NULL: in neither. */
static char *library(const char *built, const char *installed)
{
    char *self = g_file_read_link("/proc/self/exe", NULL),
         *folder = g_path_get_dirname(self != NULL ? self : "."), *path = NULL;
    const char *const places[] = {built, installed};
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(places) && path == NULL; i++) {
        char *joined = g_build_filename(folder, "..", places[i], NULL);

        path = g_canonicalize_filename(joined, NULL);
        g_free(joined);
        if (!g_file_test(path, G_FILE_TEST_EXISTS))
            g_clear_pointer(&path, g_free);
    }
    g_free(folder);
    g_free(self);
    return path;
}

static void libraries(const struct variables *to)
{
    char *provider = library("lib/libfabric", JACQUARD_LIBDIR "/libfabric"),
         *ugni = library("lib", JACQUARD_LIBDIR),
         *pmi = library("lib/pmi", JACQUARD_LIBDIR "/jacquard/pmi");
    const char *before = g_getenv("LD_LIBRARY_PATH");
    char *path = g_strjoin(":", ugni, pmi, before != NULL && *before != '\0' ? before : NULL, NULL);

    if (provider != NULL)
        variable(to, false, "FI_PROVIDER_PATH", provider);
    variable(to, true, "FI_PROVIDER", "gni");
    variable(to, false, "LD_LIBRARY_PATH", path);
    g_free(path);
    g_free(pmi);
    g_free(ugni);
    g_free(provider);
}

/* ---- files ----------------------------------------------------------------------------------- */

/*
 * The loader splits LD_PRELOAD at blanks and colons and knows no quotes. A library with such a path
 * gets a symbolic link beside the socket; NULL: the socket's path has blanks or colons, too.
 */
static char *preloadable(char *library, const char *socket)
{
    char *name = NULL;

    if (strpbrk(library, " :") == NULL)
        return library;
    if (strpbrk(socket, " :") == NULL) {
        name = live_fabric_environment_link(socket);
        unlink(name); /* of a fabric that was killed */
        if (symlink(library, name) != 0)
            g_clear_pointer(&name, g_free);
    }
    g_free(library);
    return name;
}

/* The files of a Cray node (sim/cray/preload.c). A sanitized program refuses to start if another
 * library is loaded before its runtime, although that does no harm here. */
static void files(const struct variables *to, const struct cluster *cluster, const char *socket)
{
    const char *before = g_getenv("LD_PRELOAD"), *wanted = g_getenv("JACQUARD_NODE_FILES");
    char *node = library("lib/" NODE_FILES, JACQUARD_LIBDIR "/" NODE_FILES), *all, text[32];
    struct net_coordinates last;

    if (node != NULL)
        node = preloadable(node, socket);
    if (node == NULL || g_strcmp0(wanted, "no") == 0 ||
        !net_coordinates(cluster_net(cluster), cluster->scenario->endpoints - 1, &last)) {
        g_free(node);
        return;
    }
    g_snprintf(text, sizeof(text), "%ux%u", last.chassis + 1, last.slot + 1);
    variable(to, false, "JACQUARD_GROUP", text);
    all = before != NULL && *before != '\0' ? g_strjoin(":", before, node, NULL) : g_strdup(node);
    variable(to, false, "LD_PRELOAD", all);
    variable(to, true, "ASAN_OPTIONS", "verify_asan_link_order=0");
    g_free(all);
    g_free(node);
}

/* ---- Open MPI -------------------------------------------------------------------------------- */

/*
 * Debian's Open MPI does not select libfabric by itself, nor what one-sided communication over it
 * needs. Its shared-memory transport would bypass the fabric, and leaves files behind unless its
 * own launcher removes them.
 */
static void open_mpi(const struct variables *to, const struct scenario *scenario)
{
    variable(to, true, "OMPI_MCA_btl", "self");
    variable(to, true, "OMPI_MCA_pml", "cm");
    variable(to, true, "OMPI_MCA_mtl", "ofi");
    variable(to, true, "OMPI_MCA_osc", "pt2pt");
    /* With manual progress a lost message is sent again when its process polls. In MPI_Finalize
     * Open MPI waits for the process manager alone, and the message's receiver would wait for ever.
     */
    if (scenario->faults.count > 0)
        variable(to, true, "OMPI_MCA_mtl_ofi_data_progress", "auto");
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void node(const struct cluster *cluster, GString *text, uint32_t nid, uint64_t slots)
{
    g_string_append_printf(
        text, "node nid%05u %" G_GUINT64_FORMAT " JACQUARD_NODE=%u PMI_GNI_LOC_ADDR=%u\n", nid,
        slots, nid, aries_nic_address(cluster_aries(cluster), nid));
}

/* The nodes of the jobs, in their order; without jobs, all nodes with one rank each. */
static void nodes(const struct cluster *cluster, GString *text)
{
    const struct scenario *scenario = cluster->scenario;
    uint32_t nid;
    size_t j, i;

    for (j = 0; j < scenario->jobs.count; j++) {
        const struct scenario_job *job = scenario_job(scenario, j);

        for (i = 0; i < job->nodes.count; i++)
            node(cluster, text, job->nodes.nodes[i], job->ranks_per_node);
    }
    for (nid = 0; scenario->jobs.count == 0 && nid < scenario->endpoints; nid++)
        node(cluster, text, nid, 1);
}

char *live_fabric_environment_link(const char *socket)
{
    return g_strconcat(socket, ".node.so", NULL);
}

GString *live_fabric_environment(const struct cluster *cluster, const char *socket, bool machine)
{
    struct variables to = {g_string_new(NULL), machine};
    char text[64];

    variable(&to, false, "JACQUARD_FABRIC", socket);
    variable(&to, false, "JACQUARD_FABRIC_STARTED", socket);
    libraries(&to);
    files(&to, cluster, socket);
    g_snprintf(text, sizeof(text), "%u:%u", PTAG, PTAG + JOBS_MAX);
    variable(&to, false, "PMI_GNI_PTAG", text);
    g_snprintf(text, sizeof(text), "%u:%u", COOKIE, COOKIE + 1);
    variable(&to, false, "PMI_GNI_COOKIE", text);
    variable(&to, false, "PMI_GNI_DEV_ID", "0");
    g_snprintf(text, sizeof(text), "%u,%u", COOKIE, COOKIE + 1);
    variable(&to, false, "CRAY_COOKIES", text);
    variable(&to, false, "CRAY_NUM_COOKIES", "2");
    open_mpi(&to, cluster->scenario);
    if (machine) {
        nodes(cluster, to.text);
        g_string_append_c(to.text, '\n');
    } else {
        g_string_append_printf(to.text,
                               "# %s: %u nodes; a process is on node 0 unless "
                               "JACQUARD_NODE says which. Ctrl-C ends the fabric.\n",
                               cluster->scenario->name, cluster->scenario->endpoints);
    }
    return to.text;
}
