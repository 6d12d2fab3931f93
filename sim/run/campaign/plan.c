/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "campaign/campaign.h"
#include "campaign/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "plan_fields.h"
#include "scenario/file.h"

#define SEED_LAST G_GUINT64_CONSTANT(9007199254740991) /* SEED_MAX_TEXT */

/* ---- seeds ----------------------------------------------------------------------------------- */

static bool parse_range(const char *text, struct campaign_seeds *range)
{
    char **ends = g_strsplit(text, "-", -1);
    guint count = g_strv_length(ends);
    bool ok = (count == 1 || count == 2) &&
              g_ascii_string_to_unsigned(ends[0], 10, 0, SEED_LAST, &range->first, NULL) &&
              g_ascii_string_to_unsigned(ends[count - 1], 10, 0, SEED_LAST, &range->last, NULL) &&
              range->first <= range->last;

    g_strfreev(ends);
    return ok;
}

/* Sorted by their first seeds; a seed must not come twice. */
static bool add_seeds(struct campaign_part *part, const char *text)
{
    char **words = g_strsplit(text, ",", -1);
    size_t count = g_strv_length(words), i;
    bool ok = count != 0;

    part->seeds = g_new0(struct campaign_seeds, MAX(count, 1));
    part->seeds_count = count;
    for (i = 0; i < count && ok; i++) {
        struct campaign_seeds *range = &part->seeds[i];

        ok = parse_range(g_strstrip(words[i]), range) &&
             (i == 0 || range->first > part->seeds[i - 1].last);
        if (ok)
            part->seed_total += range->last - range->first + 1;
    }
    g_strfreev(words);
    return ok;
}

static bool find_seeds(struct campaign_part *part, char **error)
{
    const char *text = part->block->seeds;
    char *quoted;

    part->own_seed = text == NULL;
    if (text == NULL) {
        part->seeds = g_new0(struct campaign_seeds, 1);
        part->seeds[0].first = part->seeds[0].last = part->scenario->seed;
        part->seeds_count = 1;
        part->seed_total = 1;
        return true;
    }
    if (add_seeds(part, text))
        return true;
    quoted = scenario_quoted(text);
    *error = scenario_tree_problem(
        scenario_tree_get(part->block->at, "seeds"), "runs.seeds",
        "%s are not seeds; allowed: ascending numbers and ranges from 0 to " SEED_MAX_TEXT
        ", such as 1-1000,2000",
        quoted);
    g_free(quoted);
    return false;
}

/* ---- settings -------------------------------------------------------------------------------- */

/* A path that settings may change. */
static bool check_path(const struct tree *value, const char *field, char **error)
{
    if (strcmp(value->key, "seed") == 0) {
        *error = scenario_tree_problem(value, field, "seed is no setting; allowed: runs.seeds");
        return false;
    }
    if (strcmp(value->key, "sweep") == 0 || g_str_has_prefix(value->key, "sweep.")) {
        *error = scenario_tree_problem(value, field,
                                       "sweep is no setting; allowed: any path of a scenario");
        return false;
    }
    return true;
}

static bool check_set(const struct tree *set, const char *field, char **error)
{
    size_t i;

    if (set == NULL)
        return true;
    if (set->type != TREE_MAPPING) {
        *error = scenario_tree_problem(set, field, "not a mapping; allowed: path: value");
        return false;
    }
    for (i = 0; i < set->count; i++) {
        if (set->items[i]->type != TREE_SCALAR) {
            *error = scenario_tree_problem(set->items[i], field,
                                           "the value of %s is not single; allowed: a number, a "
                                           "word, or a list or mapping as a text (\"[1, 2]\")",
                                           set->items[i]->key);
            return false;
        }
        if (!check_path(set->items[i], field, error))
            return false;
    }
    return true;
}

static bool check_axis(const struct tree *axis, char **error)
{
    size_t i;

    if (axis->type != TREE_SEQUENCE || axis->count == 0) {
        *error = scenario_tree_problem(
            axis, "runs.sweep", "%s has no list of values; allowed: [value, value]", axis->key);
        return false;
    }
    for (i = 0; i < axis->count; i++) {
        if (axis->items[i]->type != TREE_SCALAR) {
            *error = scenario_tree_problem(
                axis->items[i], "runs.sweep",
                "a value of %s is not single; allowed: numbers and words", axis->key);
            return false;
        }
    }
    return check_path(axis, "runs.sweep", error);
}

static bool check_sweep(const struct tree *sweep, char **error)
{
    size_t i;

    if (sweep == NULL)
        return true;
    if (sweep->type != TREE_MAPPING || sweep->count == 0) {
        *error = scenario_tree_problem(sweep, "runs.sweep",
                                       "not a mapping; allowed: path: [value, value]");
        return false;
    }
    for (i = 0; i < sweep->count; i++)
        if (!check_axis(sweep->items[i], error))
            return false;
    return true;
}

static void add_settings(const struct tree *set, struct override *overrides, size_t *count)
{
    size_t i;

    for (i = 0; set != NULL && i < set->count; i++) {
        char *origin = g_strdup_printf("%s:%u: set", set->items[i]->origin, set->items[i]->line);

        g_assert(*count < CAMPAIGN_SETTINGS_MAX);
        overrides[(*count)++] =
            (struct override){set->items[i]->key, set->items[i]->text, g_intern_string(origin)};
        g_free(origin);
    }
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void find_axes(struct campaign_part *part)
{
    const struct tree *own = part->scenario->sweep, *given = part->block->sweep;
    size_t i, most = (own != NULL ? own->count : 0) + (given != NULL ? given->count : 0);

    part->axes = g_new0(const struct tree *, most + 1);
    for (i = 0; own != NULL && i < own->count; i++)
        if (given == NULL || scenario_tree_get(given, own->items[i]->key) == NULL)
            part->axes[part->axis_count++] = own->items[i];
    for (i = 0; given != NULL && i < given->count; i++)
        part->axes[part->axis_count++] = given->items[i];
}

static bool count_settings(const struct campaign_plan *plan, const struct campaign_part *part,
                           char **error)
{
    size_t count = part->axis_count + (plan->set != NULL ? plan->set->count : 0) +
                   (part->block->set != NULL ? part->block->set->count : 0);

    if (count <= CAMPAIGN_SETTINGS_MAX)
        return true;
    *error = scenario_tree_problem(part->block->at, "runs",
                                   "too many settings (%zu); allowed: %u for one run", count,
                                   CAMPAIGN_SETTINGS_MAX);
    return false;
}

/* The scenario with each value of its sweep. */
static bool check_values(const struct campaign_plan *plan, const struct campaign_part *part,
                         char **error)
{
    struct override overrides[CAMPAIGN_SETTINGS_MAX];
    struct scenario_options options = {.overrides = overrides};
    size_t axis, value;

    add_settings(plan->set, overrides, &options.override_count);
    add_settings(part->block->set, overrides, &options.override_count);
    options.override_count++;
    for (axis = 0; axis < part->axis_count; axis++) {
        g_assert(part->axes[axis] != NULL);
        for (value = 0; value < part->axes[axis]->count; value++) {
            struct scenario *one;

            overrides[options.override_count - 1] =
                campaign_override(part->axes[axis], part->axes[axis]->items[value]);
            one = scenario_load(part->file, &options, error);
            if (one == NULL)
                return false;
            scenario_free(one);
        }
    }
    return true;
}

static bool count_runs(struct campaign_plan *plan, struct campaign_part *part, char **error)
{
    uint64_t combinations = 1;
    size_t i;

    part->first = plan->size;
    for (i = 0; i < part->axis_count; i++) {
        g_assert(part->axes[i] != NULL);
        combinations = MIN(combinations * part->axes[i]->count, CAMPAIGN_PLAN_RUNS_MAX + 1u);
    }
    part->count = part->seed_total > CAMPAIGN_PLAN_RUNS_MAX ? CAMPAIGN_PLAN_RUNS_MAX + 1u
                                                            : combinations * part->seed_total;
    plan->size += part->count;
    if (plan->size <= CAMPAIGN_PLAN_RUNS_MAX)
        return true;
    *error = scenario_tree_problem(part->block->at, "runs", "too many runs; allowed: %u",
                                   CAMPAIGN_PLAN_RUNS_MAX);
    return false;
}

static bool load_part(struct campaign_plan *plan, const struct campaign_block *block,
                      const struct tree *scenario, char **error)
{
    struct campaign_part *part = &plan->parts[plan->part_count++];
    struct override overrides[CAMPAIGN_SETTINGS_MAX];
    struct scenario_options options = {.overrides = overrides, .keep_sweep = true};
    char *what = NULL;

    part->block = block;
    part->name = scenario->text;
    part->file = scenario_file_beside(plan->file, scenario->text);
    if (!count_settings(plan, part, error))
        return false;
    add_settings(plan->set, overrides, &options.override_count);
    add_settings(block->set, overrides, &options.override_count);
    part->scenario = scenario_load(part->file, &options, &what);
    if (part->scenario == NULL) {
        *error = g_file_test(part->file, G_FILE_TEST_EXISTS)
                     ? g_steal_pointer(&what)
                     : scenario_tree_problem(scenario, "runs.scenario", "%s", what);
        g_free(what);
        return false;
    }
    find_axes(part);
    return count_settings(plan, part, error) && check_values(plan, part, error) &&
           find_seeds(part, error) && count_runs(plan, part, error);
}

static size_t files_of(const struct campaign_block *block)
{
    return block->scenario->type == TREE_SEQUENCE ? block->scenario->count : 1;
}

static bool check_files(const struct campaign_block *block, char **error)
{
    const struct tree *files = block->scenario;
    size_t i;
    bool ok = files->type != TREE_MAPPING && files_of(block) != 0;

    for (i = 0; ok && files->type == TREE_SEQUENCE && i < files->count; i++)
        ok = files->items[i]->type == TREE_SCALAR;
    if (!ok)
        *error = scenario_tree_problem(files, "runs.scenario",
                                       "not a file or a list of files; allowed: [a.yaml, b.yaml]");
    return ok;
}

static bool load_blocks(struct campaign_plan *plan, char **error)
{
    const struct campaign_block *blocks = plan->blocks.records, *block;
    size_t total = 0, i;

    if (!check_set(plan->set, "set", error))
        return false;
    if (plan->blocks.count == 0) {
        *error = scenario_tree_problem(plan->at, "runs", "is empty; allowed: at least one item");
        return false;
    }
    for (block = blocks; block < blocks + plan->blocks.count; block++) {
        if (!check_files(block, error) || !check_set(block->set, "runs.set", error) ||
            !check_sweep(block->sweep, error))
            return false;
        total += files_of(block);
    }
    plan->parts = g_new0(struct campaign_part, total);
    for (block = blocks; block < blocks + plan->blocks.count; block++) {
        for (i = 0; i < files_of(block); i++)
            if (!load_part(plan, block,
                           block->scenario->type == TREE_SEQUENCE ? block->scenario->items[i]
                                                                  : block->scenario,
                           error))
                return false;
    }
    return true;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool add_to_digest(GChecksum *sum, const char *path, char **error)
{
    char *bytes = NULL, *what = NULL;
    size_t length = 0;

    if (!scenario_file_read(path, TREE_BYTES_MAX, &bytes, &length, &what)) {
        *error = g_strdup_printf("%s: %s", path, what);
        g_free(what);
        return false;
    }
    g_checksum_update(sum, (const guchar *)bytes, (gssize)length);
    g_checksum_update(sum, (const guchar *)"", 1);
    g_free(bytes);
    return true;
}

static bool find_digest(struct campaign_plan *plan, char **error)
{
    GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
    bool ok = add_to_digest(sum, plan->file, error);
    size_t i;

    for (i = 0; i < plan->part_count && ok; i++)
        ok = add_to_digest(sum, plan->parts[i].file, error);
    plan->digest = ok ? g_strdup(g_checksum_get_string(sum)) : NULL;
    g_checksum_free(sum);
    return ok;
}

/* The document alone, without its scenarios. */
static struct campaign_plan *read_plan(const char *path, char **error)
{
    struct tree *tree = scenario_tree_parse_file(path, error);
    struct campaign_plan *plan;

    if (tree == NULL)
        return NULL;
    plan = g_new0(struct campaign_plan, 1);
    plan->tree = tree;
    plan->file = g_strdup(path);
    if (scenario_schema_read(&campaign_schema, tree, "", plan, error))
        return plan;
    campaign_plan_free(plan);
    return NULL;
}

struct campaign_plan *campaign_plan_load(const char *path, char **error)
{
    struct campaign_plan *plan = read_plan(path, error);

    if (plan != NULL && load_blocks(plan, error) && find_digest(plan, error))
        return plan;
    campaign_plan_free(plan);
    return NULL;
}

void campaign_plan_free(struct campaign_plan *plan)
{
    size_t i;

    if (plan == NULL)
        return;
    for (i = 0; i < plan->part_count; i++) {
        scenario_free(plan->parts[i].scenario);
        g_free(plan->parts[i].file);
        g_free(plan->parts[i].axes);
        g_free(plan->parts[i].seeds);
    }
    g_free(plan->parts);
    scenario_schema_clear(&campaign_schema, plan);
    scenario_tree_free(plan->tree);
    g_free(plan->file);
    g_free(plan->digest);
    g_free(plan);
}

char *campaign_results_path(const char *path, char **error)
{
    static const char magic[] = "SQLite format 3";
    char begin[sizeof(magic)] = "", *name, *result;
    struct campaign_plan *plan;
    FILE *file = g_file_test(path, G_FILE_TEST_IS_REGULAR) ? fopen(path, "rb") : NULL;

    if (file != NULL) {
        if (fread(begin, 1, sizeof(begin), file) == sizeof(begin) &&
            memcmp(begin, magic, sizeof(magic)) == 0) {
            fclose(file);
            return g_strdup(path);
        }
        fclose(file);
    }
    plan = read_plan(path, error);
    if (plan == NULL)
        return NULL;
    name = plan->results != NULL ? g_strdup(plan->results) : campaign_plan_default_results(path);
    result = scenario_file_beside(path, name);
    g_free(name);
    campaign_plan_free(plan);
    return result;
}

/* ---- a run ----------------------------------------------------------------------------------- */

static const struct campaign_part *part_of(const struct campaign_plan *plan, uint64_t number)
{
    size_t low = 0, high = plan->part_count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (plan->parts[middle].first <= number)
            low = middle;
        else
            high = middle;
    }
    return &plan->parts[low];
}

static uint64_t seed_of(const struct campaign_part *part, uint64_t index)
{
    size_t i;

    for (i = 0; index > part->seeds[i].last - part->seeds[i].first; i++)
        index -= part->seeds[i].last - part->seeds[i].first + 1;
    return part->seeds[i].first + index;
}

void campaign_plan_describe(const struct campaign_plan *plan, uint64_t number,
                            struct campaign_run_description *description)
{
    const struct campaign_part *part = part_of(plan, number);
    uint64_t combination;
    size_t i, first_axis;

    g_assert(number < plan->size);
    description->part = part;
    description->count = 0;
    add_settings(plan->set, description->overrides, &description->count);
    add_settings(part->block->set, description->overrides, &description->count);
    number -= part->first;
    description->seed = seed_of(part, number % part->seed_total);
    combination = number / part->seed_total;
    first_axis = description->count;
    description->count += part->axis_count;
    for (i = part->axis_count; i-- > 0;) { /* the last axis changes fastest */
        const struct tree *axis = part->axes[i];

        description->overrides[first_axis + i] =
            campaign_override(axis, axis->items[combination % axis->count]);
        if (part->own_seed && strcmp(axis->key, "seed") == 0) /* a scenario's own sweep */
            description->seed =
                g_ascii_strtoull(axis->items[combination % axis->count]->text, NULL, 10);
        combination /= axis->count;
    }
    snprintf(description->seed_text, sizeof(description->seed_text), "%" PRIu64, description->seed);
    if (!part->own_seed)
        description->overrides[description->count++] =
            (struct override){"seed", description->seed_text, "seeds"};
}

json_t *campaign_plan_settings(const struct campaign_run_description *description)
{
    size_t count = description->count - (description->part->own_seed ? 0 : 1), i;
    json_t *settings = json_object();

    for (i = 0; i < count; i++)
        json_object_set_new(settings, description->overrides[i].path,
                            json_string(description->overrides[i].value));
    return settings;
}
