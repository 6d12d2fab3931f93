/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "campaign/campaign.h"
#include "pool.h"
#include "verdict/verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t campaign_size(const struct campaign *campaign)
{
    uint64_t size = campaign->seeds ? campaign->last_seed - campaign->first_seed + 1 : 1;
    size_t i;

    for (i = 0; i < campaign->axes; i++)
        size *= campaign->axis[i]->count;
    return size;
}

static uint64_t seeds_of(const struct campaign *campaign)
{
    return campaign->seeds ? campaign->last_seed - campaign->first_seed + 1 : 1;
}

/* The value of an axis in run `run`: the seed turns fastest, then the last axis. */
static const struct tree *axis_value(const struct campaign *campaign, uint64_t run, size_t axis)
{
    size_t i;

    g_assert(axis < campaign->axes);
    run /= seeds_of(campaign);
    for (i = campaign->axes - 1; i > axis; i--)
        run /= campaign->axis[i]->count;
    return campaign->axis[axis]->items[run % campaign->axis[axis]->count];
}

static uint64_t seed_of(const struct campaign *campaign, uint64_t run)
{
    return campaign->first_seed + run % seeds_of(campaign);
}

static char *name_of(const struct campaign *campaign, uint64_t run)
{
    GString *name = g_string_new("run");
    size_t i;

    for (i = 0; i < campaign->axes; i++)
        g_string_append_printf(name, "-%s", axis_value(campaign, run, i)->text);
    if (campaign->seeds)
        g_string_append_printf(name, "-seed%" PRIu64, seed_of(campaign, run));
    g_strcanon(name->str, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._", '_');
    return g_string_free(name, FALSE);
}

static json_t *label_of(const struct campaign *campaign, uint64_t run)
{
    json_t *label = json_object(), *set = json_object();
    char *name = name_of(campaign, run);
    size_t i;

    json_object_set_new(label, "run", json_string(name));
    for (i = 0; i < campaign->axes; i++)
        json_object_set_new(set, campaign->axis[i]->key,
                            json_string(axis_value(campaign, run, i)->text));
    json_object_set_new(label, "set", set);
    if (campaign->seeds)
        json_object_set_new(label, "seed", json_integer((json_int_t)seed_of(campaign, run)));
    g_free(name);
    return label;
}

struct override campaign_override(const struct tree *axis, const struct tree *value)
{
    char *origin = value->line != 0 ? g_strdup_printf("%s:%u: sweep", value->origin, value->line)
                                    : g_strdup_printf("%s: sweep", value->origin);
    const char *interned = g_intern_string(origin);

    g_free(origin);
    return (struct override){axis->key, value->text, interned};
}

/* ---- in the child ---------------------------------------------------------------------------- */

static json_t *do_run(const struct campaign *campaign, uint64_t number, campaign_run run)
{
    size_t count = campaign->override_count, i;
    struct override *overrides = g_new0(struct override, count + campaign->axes + 1);
    char *name = name_of(campaign, number), *error = NULL;
    char seed[32];
    json_t *result;

    for (i = 0; i < count; i++)
        overrides[i] = campaign->overrides[i];
    for (i = 0; i < campaign->axes; i++)
        overrides[count++] = campaign_override(campaign->axis[i], axis_value(campaign, number, i));
    snprintf(seed, sizeof(seed), "%" PRIu64, seed_of(campaign, number));
    if (campaign->seeds)
        overrides[count++] = (struct override){"seed", seed, "--seeds"};
    result = run(campaign, overrides, count, name, &error);
    if (result == NULL)
        result = json_pack("{s:s,s:i}", "error", error, "exit", EXIT_BAD_INPUT);
    g_free(error);
    g_free(name);
    g_free(overrides);
    return result;
}

/* ---- in the parent --------------------------------------------------------------------------- */

struct execution {
    const struct campaign *campaign;
    campaign_run run;
    json_t **results;
    uint64_t started, done, total;
};

static void keep(const struct campaign *campaign, json_t **results, uint64_t number, json_t *result)
{
    json_t *label = label_of(campaign, number);

    json_object_update(label, result);
    json_decref(result);
    results[number] = label;
}

/* What the programs of a failed run have written becomes DIR/<run>/output.txt. */
static void keep_output(const struct campaign *campaign, uint64_t number, FILE *said,
                        const json_t *result)
{
    char buffer[65536], *folder = NULL, *path, *name;
    FILE *file = NULL;
    size_t got;

    if (said != NULL && campaign->out != NULL &&
        json_integer_value(json_object_get(result, "exit")) != EXIT_HOLDS &&
        fseek(said, 0, SEEK_END) == 0 && ftell(said) > 0) {
        name = name_of(campaign, number);
        folder = g_build_filename(campaign->out, name, NULL);
        path = g_build_filename(folder, "output.txt", NULL);
        g_mkdir_with_parents(folder, 0777);
        rewind(said);
        file = fopen(path, "w");
        while (file != NULL && (got = fread(buffer, 1, sizeof(buffer), said)) > 0)
            fwrite(buffer, 1, got, file);
        if (file != NULL)
            fclose(file);
        g_free(path);
        g_free(folder);
        g_free(name);
    }
}

static bool next_run(void *arg, uint64_t *number)
{
    struct execution *execution = arg;

    if (execution->started == execution->total)
        return false;
    *number = execution->started++;
    return true;
}

static json_t *run_number(void *arg, uint64_t number)
{
    const struct execution *execution = arg;

    return do_run(execution->campaign, number, execution->run);
}

static void run_done(void *arg, uint64_t number, json_t *result, FILE *output)
{
    struct execution *execution = arg;

    json_object_del(result, "signal"); /* "error" says it */
    keep_output(execution->campaign, number, output, result);
    keep(execution->campaign, execution->results, number, result);
    execution->done++;
}

static bool show_progress(void *arg)
{
    const struct execution *execution = arg;

    report_progress_runs(execution->campaign->progress, execution->done, execution->total);
    return true;
}

static void do_all(const struct campaign *campaign, campaign_run run, json_t **results,
                   uint64_t total)
{
    struct execution execution = {campaign, run, results, .total = total};
    const struct campaign_pool pool = {
        .parallel = MIN(MAX(campaign->parallel, 1u), CAMPAIGN_POOL_MAX),
        .keep_output = true,
        .arg = &execution,
        .next = next_run,
        .run = run_number,
        .done = run_done,
        .tick = show_progress,
    };

    campaign_pool_execute(&pool);
}

/* ---- together -------------------------------------------------------------------------------- */

static json_int_t exit_of(const json_t *result)
{
    return json_integer_value(json_object_get(result, "exit"));
}

/* The digest of the digests of all runs, in their order. */
static char *digest_of(const json_t *runs)
{
    uint64_t digest = 0;
    const json_t *run;
    size_t i;

    json_array_foreach (runs, i, run) {
        const char *text = json_string_value(json_object_get(run, "digest"));
        digest = sim_mix(digest + 0x9e3779b97f4a7c15ull) ^
                 (text != NULL ? g_ascii_strtoull(text, NULL, 16) : 0);
    }
    return g_strdup_printf("%016" PRIx64, digest);
}

json_t *campaign_execute(const struct campaign *campaign, campaign_run run)
{
    uint64_t total = campaign_size(campaign), number, good = 0, refused = 0;
    json_t **results = g_new0(json_t *, total), *runs = json_array(), *failed = json_array(),
           *result;
    char *digest;

    do_all(campaign, run, results, total);
    for (number = 0; number < total; number++) {
        json_int_t code = exit_of(results[number]);

        good += code == EXIT_HOLDS;
        refused += code == EXIT_BAD_INPUT;
        if (code != EXIT_HOLDS)
            json_array_append(failed, json_object_get(results[number], "run"));
        json_array_append_new(runs, results[number]);
    }
    g_free(results);
    digest = digest_of(runs);
    result = json_pack("{s:i,s:s,s:o,s:{s:I,s:I,s:o,s:o},s:i}", "schema", 1, "digest", digest,
                       "runs", runs, "summary", "runs", (json_int_t)total, "hold", (json_int_t)good,
                       "failed", failed, "causes", campaign_groups_json(runs), "exit",
                       good == total      ? EXIT_HOLDS
                       : refused == total ? EXIT_BAD_INPUT
                                          : EXIT_BROKEN);
    g_free(digest);
    return result;
}

/* ---- until one fails ------------------------------------------------------------------------- */

/* The first seed that failed; false: all hold. */
static bool failed_seed(const json_t *result, uint64_t *seed)
{
    const json_t *run =
        json_array_get(json_object_get(json_object_get(result, "summary"), "causes"), 0);

    if (run == NULL)
        return false;
    *seed = (uint64_t)json_integer_value(json_object_get(run, "seed"));
    return true;
}

bool campaign_first_failure(const struct campaign *campaign, uint64_t first, uint64_t last,
                            campaign_run run, uint64_t *seed)
{
    struct campaign batch = *campaign;
    struct progress progress;
    bool found = false, all = false;
    json_t *result;

    batch.seeds = true;
    batch.progress = &progress;
    batch.first_seed = first;
    while (!found && !all) {
        all = last - batch.first_seed < 4 * batch.parallel;
        batch.last_seed = all ? last : batch.first_seed + 4 * batch.parallel - 1;
        report_progress_begin(&progress, false);
        fflush(NULL);
        result = campaign_execute(&batch, run);
        found = failed_seed(result, seed);
        json_decref(result);
        batch.first_seed = batch.last_seed + 1;
    }
    return found;
}

/* ---- the table ------------------------------------------------------------------------------- */

#define COLUMNS_MAX 4

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* The first latencies and bandwidths of the jobs: one column for each. */
static size_t choose_columns(const json_t *runs, const char **columns)
{
    const json_t *run;
    json_t *metrics, *metric;
    const char *name;
    size_t count = 0, i;

    json_array_foreach (runs, i, run) {
        metrics = json_object_get(run, "metrics");
        json_object_foreach (metrics, name, metric) {
            if (count < COLUMNS_MAX && json_object_get(metric, "p50") != NULL)
                columns[count++] = name;
        }
        if (count != 0)
            break;
    }
    return count;
}

static void cell(const json_t *run, const char *name, GString *out)
{
    const json_t *metric = json_object_get(json_object_get(run, "metrics"), name);
    const char *unit = json_string_value(json_object_get(metric, "unit"));
    char shown[32] = "-";

    if (metric != NULL && strcmp(unit, "ps") == 0)
        scenario_format_ps(shown, sizeof(shown), number_of(metric, "p50"));
    else if (metric != NULL && strcmp(unit, "bytes/s") == 0)
        scenario_format_bytes_rate(shown, sizeof(shown), number_of(metric, "p50"));
    else if (metric != NULL)
        scenario_format_count(shown, sizeof(shown), number_of(metric, "p50"));
    g_string_append_printf(out, " %22s", shown);
}

static const char *state_of(const json_t *run)
{
    static const char *const states[] = {"holds", "FAILED", "REFUSED", "STUCK"};

    return exit_of(run) > 128 ? "STOPPED" : states[exit_of(run) & 3];
}

static void row(const struct campaign *campaign, const json_t *run, const char *const *columns,
                size_t count, GString *out)
{
    char shown[32];
    size_t i;

    for (i = 0; i < campaign->axes; i++)
        g_string_append_printf(out, "%-22s ",
                               json_string_value(json_object_get(json_object_get(run, "set"),
                                                                 campaign->axis[i]->key)));
    if (campaign->seeds)
        g_string_append_printf(out, "%10.0f ", number_of(run, "seed"));
    scenario_format_ps(shown, sizeof(shown), number_of(run, "virtual_time_ps"));
    g_string_append_printf(out, "%-8s %12s", state_of(run), shown);
    for (i = 0; i < count; i++)
        cell(run, columns[i], out);
    g_string_append_c(out, '\n');
}

static void table(const struct campaign *campaign, const json_t *runs, GString *out)
{
    const char *columns[COLUMNS_MAX];
    size_t count = choose_columns(runs, columns), i;
    const json_t *run;

    for (i = 0; i < campaign->axes; i++)
        g_string_append_printf(out, "%-22s ", campaign->axis[i]->key);
    if (campaign->seeds)
        g_string_append_printf(out, "%10s ", "seed");
    g_string_append_printf(out, "%-8s %12s", "verdict", "virtual time");
    for (i = 0; i < count; i++)
        g_string_append_printf(out, " %18s p50", columns[i]);
    g_string_append_c(out, '\n');
    json_array_foreach (runs, i, run)
        row(campaign, run, columns, count, out);
}

void campaign_print(const struct campaign *campaign, const json_t *result, bool color, GString *out)
{
    const json_t *runs = json_object_get(result, "runs"),
                 *summary = json_object_get(result, "summary");
    bool holds = exit_of(result) == EXIT_HOLDS;

    if (campaign->axes != 0 || json_array_size(runs) <= 20)
        table(campaign, runs, out);
    campaign_groups_print(json_object_get(summary, "causes"), out);
    g_string_append_printf(out, "%s%.0f runs: %.0f hold, %.0f do not%s\n",
                           !color  ? ""
                           : holds ? "\033[32m"
                                   : "\033[31m",
                           number_of(summary, "runs"), number_of(summary, "hold"),
                           number_of(summary, "runs") - number_of(summary, "hold"),
                           color ? "\033[0m" : "");
}
