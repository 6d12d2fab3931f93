/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "report/output.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

static bool fail(char **error, const char *path, const char *what)
{
    *error = g_strdup_printf("%s: %s", path, what);
    return false;
}

/* True also when there is no such folder. */
static bool is_empty(const char *folder)
{
    GDir *directory = g_dir_open(folder, 0, NULL);
    bool empty;

    if (directory == NULL)
        return true;
    empty = g_dir_read_name(directory) == NULL;
    g_dir_close(directory);
    return empty;
}

bool report_output_begin(struct output *output, const char *folder, bool force, char **error)
{
    size_t length = strlen(folder);

    while (length > 1 && folder[length - 1] == '/')
        length--;
    output->folder = g_strndup(folder, length);
    output->partial = g_strdup_printf("%s.partial-%d", output->folder, (int)getpid());
    output->force = force;
    if (g_file_test(folder, G_FILE_TEST_EXISTS) && !g_file_test(folder, G_FILE_TEST_IS_DIR))
        fail(error, folder, "is not a folder; allowed: a new name");
    else if (!is_empty(folder) && !force)
        fail(error, folder, "holds files; allowed: a new or empty folder, or --force");
    else if (g_mkdir_with_parents(output->partial, 0777) != 0)
        fail(error, output->partial, g_strerror(errno));
    else
        return true;
    g_free(output->folder);
    g_free(output->partial);
    return false;
}

bool report_output_json(const char *path, const json_t *json, char **error)
{
    if (json_dump_file(json, path, JSON_INDENT(2)) == 0)
        return true;
    return fail(error, path, "cannot be written");
}

static bool write_member(const char *folder, const char *name, const json_t *json, char **error)
{
    char *path = g_build_filename(folder, name, NULL);
    bool ok = report_output_json(path, json, error);

    g_free(path);
    return ok;
}

bool report_output_write(const char *folder, const json_t *result, const struct tree *scenario,
                         char **error)
{
    char *path = g_build_filename(folder, "scenario.yaml", NULL),
         *yaml = scenario_tree_emit(scenario);
    GError *failure = NULL;
    bool ok = write_member(folder, "metrics.json", result, error) &&
              write_member(folder, "ledger.json", json_object_get(result, "ledger"), error);

    if (ok && !g_file_set_contents(path, yaml, -1, &failure)) {
        ok = fail(error, path, failure->message);
        g_error_free(failure);
    }
    g_free(yaml);
    g_free(path);
    return ok;
}

/* Moves each file into an existing folder. Files of the same name are replaced, others stay. */
static bool merge(const char *from, const char *to, char **error)
{
    GDir *directory = g_dir_open(from, 0, NULL);
    const char *name;
    bool ok = directory != NULL || fail(error, from, "cannot be read");

    while (ok && (name = g_dir_read_name(directory)) != NULL) {
        char *source = g_build_filename(from, name, NULL),
             *target = g_build_filename(to, name, NULL);

        if (g_file_test(target, G_FILE_TEST_IS_DIR) && g_file_test(source, G_FILE_TEST_IS_DIR))
            ok = merge(source, target, error);
        else if (g_rename(source, target) != 0)
            ok = fail(error, target, g_strerror(errno));
        g_free(source);
        g_free(target);
    }
    if (directory != NULL)
        g_dir_close(directory);
    if (ok)
        g_rmdir(from);
    return ok;
}

static void remove_tree(const char *folder)
{
    GDir *directory = g_dir_open(folder, 0, NULL);
    const char *name;

    while (directory != NULL && (name = g_dir_read_name(directory)) != NULL) {
        char *path = g_build_filename(folder, name, NULL);

        if (g_file_test(path, G_FILE_TEST_IS_DIR) && !g_file_test(path, G_FILE_TEST_IS_SYMLINK))
            remove_tree(path);
        else
            g_unlink(path);
        g_free(path);
    }
    if (directory != NULL)
        g_dir_close(directory);
    g_rmdir(folder);
}

bool report_output_commit(struct output *output, char **error)
{
    bool ok = true;

    if (!is_empty(output->folder))
        ok = merge(output->partial, output->folder, error);
    else if (g_rename(output->partial, output->folder) != 0) /* an empty folder is replaced */
        ok = fail(error, output->folder, g_strerror(errno));
    if (!ok)
        remove_tree(output->partial);
    g_free(output->folder);
    g_free(output->partial);
    return ok;
}

void report_output_abort(struct output *output)
{
    remove_tree(output->partial);
    g_free(output->folder);
    g_free(output->partial);
}
