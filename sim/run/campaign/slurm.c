/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "campaign/slurm.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_TASKS 200u
#define TASK_FLUSH_MS 5000
#define BATCH_PREFIX "batch-"

/* ---- chunks: which runs a task does ---------------------------------------------------------- */

/* The next ranges [first, last] without a result, `size` runs together. NULL: there are none. */
static json_t *next_chunk(const struct campaign_plan *plan, const uint8_t *done, uint64_t *at,
                          uint64_t size)
{
    json_t *chunk = json_array();
    uint64_t count = 0, first;

    while (count < size && *at < plan->size) {
        if (done[*at]) {
            ++*at;
            continue;
        }
        for (first = *at; *at < plan->size && !done[*at] && count < size; ++*at)
            count++;
        json_array_append_new(chunk, json_pack("[I,I]", (json_int_t)first, (json_int_t)(*at - 1)));
    }
    if (count != 0)
        return chunk;
    json_decref(chunk);
    return NULL;
}

static json_t *chunks_of(const struct campaign_slurm *slurm, const struct campaign_plan *plan,
                         const uint8_t *done)
{
    json_t *chunks = json_array(), *chunk;
    uint64_t missing = 0, size = slurm->chunk, at;

    for (at = 0; at < plan->size; at++)
        missing += !done[at];
    if (size == 0)
        size = MAX((missing + DEFAULT_TASKS - 1) / DEFAULT_TASKS, 1);
    for (at = 0; (chunk = next_chunk(plan, done, &at, size)) != NULL;)
        json_array_append_new(chunks, chunk);
    return chunks;
}

/* Writes a JSON file that appears whole. False: *error. */
static bool write_json(const char *path, const json_t *json, char **error)
{
    char *text = json_dumps(json, JSON_COMPACT);
    GError *failure = NULL;
    bool ok = g_file_set_contents(path, text, -1, &failure);

    if (!ok) {
        *error = g_strdup(failure->message);
        g_error_free(failure);
    }
    free(text);
    return ok;
}

/* A name that no other submission of this campaign has. */
static char *chunks_path(const struct campaign_store *store)
{
    return g_strdup_printf("%s/chunks-%s-%d-%" PRId64 ".json", store->folder, g_get_host_name(),
                           (int)getpid(), g_get_real_time());
}

/* ---- submitting ------------------------------------------------------------------------------ */

static char *quoted_command(const struct campaign_plan *plan, const struct campaign_slurm *slurm,
                            const char *chunks, uint64_t base)
{
    char *program = g_file_read_link("/proc/self/exe", NULL);
    char *file = g_canonicalize_filename(plan->file, NULL);
    char *full = g_canonicalize_filename(chunks, NULL);
    char *words[] = {g_shell_quote(program != NULL ? program : "sim-run"), g_shell_quote(file),
                     g_shell_quote(full)};
    char *command =
        g_strdup_printf("exec %s campaign %s --task %s --task-base %" PRIu64 " --jobs %u", words[0],
                        words[1], words[2], base, slurm->processes);
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(words); i++)
        g_free(words[i]);
    g_free(full);
    g_free(file);
    g_free(program);
    return command;
}

/* Runs a program. False: *error; *output (g_free) is what it printed. */
static bool run_program(char **words, char **output, char **error)
{
    GError *failure = NULL;
    char *errors = NULL;
    int status = 0;
    bool ok = g_spawn_sync(NULL, words, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, output, &errors,
                           &status, &failure);

    if (ok && status == 0) {
        g_free(errors);
        return true;
    }
    if (failure != NULL) {
        *error = g_strdup_printf("%s: %s", words[0], failure->message);
        g_error_free(failure);
    } else {
        g_strdelimit(g_strstrip(errors), "\n", ';');
        *error = g_strdup_printf("%s: %s", words[0], errors[0] != '\0' ? errors : "failed");
    }
    g_free(errors);
    g_free(*output);
    *output = NULL;
    return false;
}

static void add_word(GPtrArray *words, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void add_word(GPtrArray *words, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    g_ptr_array_add(words, g_strdup_vprintf(format, arguments));
    va_end(arguments);
}

/* One array of `count` tasks, whose first chunk is `base`. */
static bool submit_array(const struct campaign_slurm *slurm, const struct campaign_plan *plan,
                         struct campaign_store *store, const char *chunks, uint64_t base,
                         uint64_t count, char **error)
{
    GPtrArray *words = g_ptr_array_new_with_free_func(g_free);
    char *command = quoted_command(plan, slurm, chunks, base), *output = NULL;
    char *folder = g_canonicalize_filename(store->folder, NULL);
    char *const *option;
    bool ok;

    add_word(words, "sbatch");
    add_word(words, "--parsable");
    add_word(words, "--job-name=%s", plan->name);
    add_word(words, "--array=0-%" PRIu64, count - 1);
    add_word(words, "--ntasks=1");
    add_word(words, "--cpus-per-task=%u", slurm->processes);
    add_word(words, "--requeue");
    add_word(words, "--open-mode=append");
    add_word(words, "--output=%s/slurm-%%A_%%a.log", folder);
    if (slurm->partition != NULL)
        add_word(words, "--partition=%s", slurm->partition);
    for (option = slurm->options; option != NULL && *option != NULL; option++)
        add_word(words, "%s", *option);
    add_word(words, "--wrap=%s", command);
    g_ptr_array_add(words, NULL);
    ok = run_program((char **)words->pdata, &output, error);
    if (ok) {
        output[strcspn(output, ";\n")] = '\0'; /* "12" or "12;cluster" */
        ok = campaign_store_add_job(store, output, error);
    }
    g_free(output);
    g_free(folder);
    g_free(command);
    g_ptr_array_free(words, TRUE);
    return ok;
}

bool campaign_slurm_submit(const struct campaign_slurm *slurm, const struct campaign_plan *plan,
                           struct campaign_store *store, const uint8_t *done, uint64_t *tasks,
                           char **error)
{
    json_t *chunks = chunks_of(slurm, plan, done), *file;
    char *path = chunks_path(store);
    uint64_t base;
    bool ok;

    *tasks = json_array_size(chunks);
    file = json_pack("{s:s,s:o}", "campaign", plan->digest, "chunks", chunks);
    if (g_mkdir_with_parents(store->folder, 0777) != 0) {
        *error = g_strdup_printf("%s: %s", store->folder, g_strerror(errno));
        ok = false;
    } else {
        ok = *tasks == 0 || write_json(path, file, error);
    }
    for (base = 0; ok && base < *tasks; base += CAMPAIGN_ARRAY_MAX)
        ok = submit_array(slurm, plan, store, path, base, MIN(*tasks - base, CAMPAIGN_ARRAY_MAX),
                          error);
    json_decref(file);
    g_free(path);
    return ok;
}

bool campaign_slurm_active(struct campaign_store *store, uint64_t *tasks, char **error)
{
    json_t *jobs = NULL;
    GString *list = g_string_new(NULL);
    char *output = NULL, *what = NULL,
         *words[] = {g_strdup("squeue"), g_strdup("-h"), g_strdup("-r"), g_strdup("-o"),
                     g_strdup("%A"),     g_strdup("-j"), NULL,           NULL};
    const json_t *job;
    const char *at;
    size_t i;
    bool ok = campaign_store_jobs(store, &jobs, error);

    *tasks = 0;
    json_array_foreach (jobs, i, job)
        g_string_append_printf(list, "%s%s", i != 0 ? "," : "", json_string_value(job));
    if (ok && list->len != 0) {
        words[6] = g_strdup(list->str);
        ok = run_program(words, &output, &what);
        for (at = ok ? output : ""; *at != '\0'; at++)
            *tasks += *at == '\n';
        /* Slurm forgets jobs some minutes after their end. */
        if (!ok && strstr(what, "Invalid job id") != NULL)
            ok = true;
        else if (!ok)
            *error = g_steal_pointer(&what);
    }
    for (i = 0; words[i] != NULL; i++)
        g_free(words[i]);
    g_free(what);
    g_free(output);
    g_string_free(list, TRUE);
    json_decref(jobs);
    return ok;
}

/* ---- a task ---------------------------------------------------------------------------------- */

struct task {
    const struct campaign_plan *plan;
    const struct campaign_version *version;
    char *folder, *name;
    unsigned batches;
};

static bool write_batch(void *arg, const json_t *records, char **error)
{
    struct task *task = arg;
    char *path =
        g_strdup_printf("%s/" BATCH_PREFIX "%s-%u.json", task->folder, task->name, task->batches++);
    json_t *batch = json_pack("{s:s,s:s,s:O}", "campaign", task->plan->digest, "program",
                              task->version->digest, "records", (json_t *)records);
    bool ok = write_json(path, batch, error);

    json_decref(batch);
    g_free(path);
    return ok;
}

/* Marks all runs as done but those of the chunk. False: there is no such chunk. */
static bool read_chunk(const struct campaign_plan *plan, const char *path, uint64_t index,
                       uint8_t *done, char **error)
{
    json_error_t failure;
    json_t *file = json_load_file(path, 0, &failure);
    const char *digest = json_string_value(json_object_get(file, "campaign"));
    const json_t *chunk = json_array_get(json_object_get(file, "chunks"), index), *range;
    uint64_t number;
    size_t i;

    if (file == NULL || chunk == NULL)
        *error = g_strdup_printf("%s: %s", path, file == NULL ? failure.text : "no such chunk");
    else if (g_strcmp0(digest, plan->digest) != 0)
        *error = g_strdup_printf("%s: the campaign or a scenario has changed since it was "
                                 "submitted; allowed: the same files",
                                 plan->file);
    memset(done, 1, plan->size);
    json_array_foreach (chunk, i, range) {
        uint64_t last = (uint64_t)json_integer_value(json_array_get(range, 1));

        for (number = (uint64_t)json_integer_value(json_array_get(range, 0));
             number <= last && number < plan->size; number++)
            done[number] = 0;
    }
    json_decref(file);
    return *error == NULL;
}

int campaign_slurm_task(const struct campaign_plan *plan, const struct campaign_version *version,
                        const char *chunks, uint64_t index, unsigned processes, char **error)
{
    const char *job = g_getenv("SLURM_JOB_ID"), *restarts = g_getenv("SLURM_RESTART_COUNT");
    struct task task = {plan, version};
    struct campaign_drive drive = {.plan = plan,
                                   .done = g_malloc(MAX(plan->size, 1)),
                                   .parallel = processes,
                                   .flush_ms = TASK_FLUSH_MS,
                                   .write = write_batch,
                                   .arg = &task};
    enum campaign_drive_end end = CAMPAIGN_DRIVE_FAILED;

    task.folder = g_path_get_dirname(chunks);
    task.name =
        g_strdup_printf("%s-%s-%" PRIu64 "-%s-%d", job != NULL ? job : "0",
                        restarts != NULL ? restarts : "0", index, g_get_host_name(), (int)getpid());
    if (read_chunk(plan, chunks, index, drive.done, error))
        end = campaign_drive(&drive, error);
    g_free(task.folder);
    g_free(task.name);
    g_free(drive.done);
    return end == CAMPAIGN_DRIVE_ALL           ? 0
           : end == CAMPAIGN_DRIVE_INTERRUPTED ? 128 + campaign_signal()
                                               : 2;
}

/* ---- collecting ------------------------------------------------------------------------------ */

static bool is_batch(const char *name)
{
    return g_str_has_prefix(name, BATCH_PREFIX) && g_str_has_suffix(name, ".json");
}

/* A batch of another campaign or program, or one that is no JSON, is deleted: its runs are missing
 * and will be done again. */
static bool collect_batch(const struct campaign_plan *plan, struct campaign_store *store,
                          const struct campaign_version *version, bool mix, const char *path,
                          size_t *added, char **error)
{
    json_error_t failure;
    json_t *batch = json_load_file(path, 0, &failure);
    const char *campaign = json_string_value(json_object_get(batch, "campaign")),
               *program = json_string_value(json_object_get(batch, "program"));
    bool ok = true;

    *added = 0;
    if (g_strcmp0(campaign, plan->digest) == 0 && (mix || g_strcmp0(program, version->digest) == 0))
        ok = campaign_store_add(store, plan, json_object_get(batch, "records"), added, error);
    json_decref(batch);
    if (ok)
        g_unlink(path);
    return ok;
}

bool campaign_slurm_collect(const struct campaign_plan *plan, struct campaign_store *store,
                            const struct campaign_version *version, bool mix, size_t *added,
                            char **error)
{
    GDir *folder = g_dir_open(store->folder, 0, NULL);
    const char *name;
    size_t one;
    bool ok = true;

    *added = 0;
    while (folder != NULL && ok && (name = g_dir_read_name(folder)) != NULL) {
        char *path;

        if (!is_batch(name))
            continue;
        path = g_build_filename(store->folder, name, NULL);
        ok = collect_batch(plan, store, version, mix, path, &one, error);
        *added += one;
        g_free(path);
    }
    if (folder != NULL)
        g_dir_close(folder);
    return ok;
}

bool campaign_slurm_has_batches(const char *results)
{
    char *path = g_strconcat(results, ".tasks", NULL);
    GDir *folder = g_dir_open(path, 0, NULL);
    const char *name;
    bool found = false;

    while (folder != NULL && !found && (name = g_dir_read_name(folder)) != NULL)
        found = is_batch(name);
    if (folder != NULL)
        g_dir_close(folder);
    g_free(path);
    return found;
}

void campaign_slurm_clear(const struct campaign_store *store)
{
    GDir *folder = g_dir_open(store->folder, 0, NULL);
    const char *name;

    while (folder != NULL && (name = g_dir_read_name(folder)) != NULL) {
        char *path = g_build_filename(store->folder, name, NULL);

        g_unlink(path);
        g_free(path);
    }
    if (folder != NULL)
        g_dir_close(folder);
    g_rmdir(store->folder);
}
