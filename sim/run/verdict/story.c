/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How a run came to fail, cause before symptom: fault → transfer → rank → those who wait for it.
 * Ranks are known by their names, "job.rank", which fault records and waiters carry, too.
 */
#include "story.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine/fault.h"

void verdict_story_say(struct story *story, const char *format, ...)
{
    va_list arguments;
    char *text;

    va_start(arguments, format);
    text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    json_array_append_new(story->lines, json_string_nocheck(text));
    g_free(text);
}

char *verdict_without_numbers(const char *text)
{
    GString *out = g_string_new(NULL);

    while (*text != '\0') {
        if (!g_ascii_isdigit(*text)) {
            g_string_append_c(out, *text++);
            continue;
        }
        g_string_append_c(out, 'N');
        while (g_ascii_isdigit(*text) || (*text == '.' && g_ascii_isdigit(text[1])))
            text++;
    }
    return g_string_free(out, FALSE);
}

void verdict_story_sign(struct story *story, const char *text)
{
    char *plain = verdict_without_numbers(text);

    if (story->signature->len != 0)
        g_string_append(story->signature, "; ");
    g_string_append(story->signature, plain);
    g_free(plain);
}

/* ---- ranks ----------------------------------------------------------------------------------- */

char *verdict_rank_name(const struct rank *rank)
{
    return g_strdup_printf("%s.%u", rank->job->name, rank->id);
}

bool verdict_rank_is_called(const struct rank *rank, const char *name)
{
    size_t length = strlen(rank->job->name);
    const char *digit = name + length + 1;
    uint64_t id = 0;

    if (strncmp(name, rank->job->name, length) != 0 || name[length] != '.' ||
        !g_ascii_isdigit(*digit))
        return false;
    for (; g_ascii_isdigit(*digit) && id <= UINT32_MAX; digit++)
        id = id * 10 + (uint64_t)(*digit - '0');
    return *digit == '\0' && id == rank->id;
}

/* ---- failures -------------------------------------------------------------------------------- */

static gint compare_failures(gconstpointer a, gconstpointer b)
{
    const struct failure *one = a, *other = b;

    if (one->time != other->time)
        return one->time < other->time ? -1 : 1;
    if (one->rank->job != other->rank->job)
        return one->rank->job < other->rank->job ? -1 : 1; /* members of one array */
    return (one->rank->id > other->rank->id) - (one->rank->id < other->rank->id);
}

/* The text of a failure begins with its rank's number, which the story says otherwise. */
static const char *after_rank(const char *text)
{
    const char *colon = strstr(text, ": ");

    return g_str_has_prefix(text, "rank ") && colon != NULL ? colon + 2 : text;
}

static bool has_text(const struct job *job, uint32_t rank)
{
    uint64_t i;

    for (i = 0; i < MIN(job->failure_count, FAILURE_TEXTS_MAX); i++)
        if (job->failed[i].rank == rank)
            return true;
    return job->failure_count > FAILURE_TEXTS_MAX; /* perhaps one that was not kept */
}

static bool is_expected_exit(const struct job *job, int code)
{
    const struct scenario *scenario = job->cluster->scenario;
    size_t i;

    for (i = 0; i < scenario->expectations.count; i++) {
        const struct scenario_expectation *expectation = scenario_expectation(scenario, i);

        if (expectation->kind == EXPECT_JOB && strcmp(expectation->job, job->name) == 0)
            return strcmp(expectation->exit, "any") == 0 ||
                   strcmp(expectation->exit, "failed") == 0 || atoi(expectation->exit) == code;
    }
    return false;
}

static const char *exit_text(int code)
{
    char text[32];

    snprintf(text, sizeof(text), "exit code %d", code);
    return g_intern_string(text); /* there are 255 of them */
}

static void collect_job(struct story *story, const struct job *job)
{
    uint64_t i;
    uint32_t rank;

    for (i = 0; i < MIN(job->failure_count, FAILURE_TEXTS_MAX); i++) {
        struct failure failure = {&job->ranks[job->failed[i].rank], job->failed[i].at,
                                  after_rank(job->failures[i]), false};
        g_array_append_val(story->failures, failure);
    }
    for (rank = 0; rank < job->rank_count; rank++) {
        struct failure failure = {&job->ranks[rank], job->ranks[rank].killed_at,
                                  job->ranks[rank].killed, true};

        if (failure.text == NULL && job->ranks[rank].state == RANK_ENDED &&
            job->ranks[rank].exit_code != 0 && !has_text(job, rank) &&
            !is_expected_exit(job, job->ranks[rank].exit_code))
            failure = (struct failure){&job->ranks[rank], job->ranks[rank].left_at,
                                       exit_text(job->ranks[rank].exit_code), false};
        if (failure.text != NULL)
            g_array_append_val(story->failures, failure);
    }
}

static void collect_failures(struct story *story)
{
    size_t i;

    for (i = 0; i < story->cluster->job_count; i++)
        if (!story->cluster->jobs[i].not_started)
            collect_job(story, &story->cluster->jobs[i]);
    g_array_sort(story->failures, compare_failures);
}

const struct failure *verdict_failure_of(const struct story *story, const struct rank *rank)
{
    guint i;

    for (i = 0; i < story->failures->len; i++)
        if (g_array_index(story->failures, struct failure, i).rank == rank)
            return &g_array_index(story->failures, struct failure, i);
    return NULL;
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void collect_record(const struct sim_fault_record *record, void *arg)
{
    g_ptr_array_add(arg, (gpointer)record);
}

static bool is_at(const struct rank *rank, const char *name, uint32_t node)
{
    return name[0] != '\0' ? verdict_rank_is_called(rank, name) : node == rank->node;
}

const struct sim_fault_record *verdict_fault_of(const struct story *story, const struct rank *rank,
                                                sim_time_t until)
{
    const struct sim_fault_record *found[3] = {NULL, NULL, NULL};
    guint i;

    for (i = 0; i < story->records->len; i++) {
        const struct sim_fault_record *record = g_ptr_array_index(story->records, i);
        bool issued = is_at(rank, record->hit.source, record->source),
             hit = is_at(rank, record->hit.target, record->target);

        if (record->time > until)
            break;
        if (issued && record->error != NULL && record->failed <= until)
            found[0] = record;
        if (hit)
            found[1] = record;
        if (issued)
            found[2] = record;
    }
    return found[0] != NULL ? found[0] : found[1] != NULL ? found[1] : found[2];
}

/* The fault at a time that hit the rank's node, or the whole machine, last before `until`. */
static const struct timed_fault *timed_fault_of(const struct story *story, const struct rank *rank,
                                                sim_time_t until)
{
    const struct cluster *cluster = story->cluster;
    const struct timed_fault *found = NULL;
    size_t i;

    for (i = 0; i < cluster->timed_count; i++) {
        const struct timed_fault *timed = &cluster->timed[i];
        const struct scenario_fault *fault = timed->scenario;

        if (timed->injected && fault->time <= until &&
            (rank == NULL || !scenario_given(fault->at, "node") || fault->node == rank->node) &&
            (found == NULL || fault->time >= found->scenario->time))
            found = timed;
    }
    return found;
}

static void say_record(struct story *story, const struct sim_fault_record *record)
{
    const char *label = record->rule != NULL ? record->rule->label : "lost";
    char when[32], *text;

    scenario_format_exact_ps(when, sizeof(when), record->time);
    verdict_story_say(story, "%s, at %s", record->title, when);
    text = g_strdup_printf("%s hits %s", label != NULL ? label : "a fault", record->hit.what);
    verdict_story_sign(story, text);
    g_free(text);
    if (record->error == NULL)
        return;
    scenario_format_exact_ps(when, sizeof(when), record->failed);
    verdict_story_say(story, "the transfer of %s ended with %s at %s",
                      record->hit.source[0] != '\0' ? record->hit.source : "its source",
                      record->error, when);
    verdict_story_sign(story, record->error);
}

static void say_timed(struct story *story, const struct timed_fault *timed)
{
    const struct scenario_fault *fault = timed->scenario;
    char when[32], *text;

    scenario_format_exact_ps(when, sizeof(when), fault->time);
    if (scenario_given(fault->at, "node"))
        verdict_story_say(story, "%s: %s %s, node %" PRIu64 ", at %s", fault->title, fault->where,
                          scenario_fault_action(fault), fault->node, when);
    else
        verdict_story_say(story, "%s: %s %s, at %s", fault->title, fault->where,
                          scenario_fault_action(fault), when);
    text = g_strdup_printf("%s %s", fault->where, scenario_fault_action(fault));
    verdict_story_sign(story, text);
    g_free(text);
}

/* False: no fault explains it. */
static bool say_cause(struct story *story, const struct rank *rank, sim_time_t until)
{
    const struct sim_fault_record *record = verdict_fault_of(story, rank, until);
    const struct timed_fault *timed = timed_fault_of(story, rank, until);

    if (timed != NULL && (record == NULL || record->rule == NULL))
        say_timed(story, timed);
    if (record != NULL)
        say_record(story, record);
    return record != NULL || timed != NULL;
}

/* ---- failures in words ----------------------------------------------------------------------- */

static void say_failure(struct story *story, const struct failure *failure)
{
    char when[32], *name = verdict_rank_name(failure->rank);

    scenario_format_exact_ps(when, sizeof(when), failure->time);
    verdict_story_say(story, "%s %s at %s: %s", name, failure->killed ? "was killed" : "failed",
                      when, failure->text);
    verdict_story_sign(story, failure->text);
    g_free(name);
}

/* ---- findings -------------------------------------------------------------------------------- */

#define FINDINGS_SAID 3 /* rules */

struct finding_search {
    struct story *story;
    sim_time_t until;
    const struct sim_finding_rule *said[FINDINGS_SAID];
    size_t count;
};

/* The first finding of each rule. A crash is a failure of its rank, which the story has anyway. */
static void say_finding(const struct sim_finding *finding, void *arg)
{
    struct finding_search *search = arg;
    char when[32];
    size_t i;

    if (!verdict_finding_fails(search->story->cluster, finding->rule) ||
        finding->time >= search->until || search->count == FINDINGS_SAID ||
        g_str_has_prefix(finding->rule->name, "program."))
        return;
    for (i = 0; i < search->count; i++)
        if (search->said[i] == finding->rule)
            return;
    search->said[search->count++] = finding->rule;
    scenario_format_exact_ps(when, sizeof(when), finding->time);
    verdict_story_say(search->story, "%s at %s: %s%s%s", finding->rule->name, when,
                      finding->rank != NULL ? finding->rank : "", finding->rank != NULL ? ": " : "",
                      finding->text);
    verdict_story_sign(search->story, finding->rule->name);
}

/* The rules that were broken before a rank failed: they may be why. False: none. */
static bool say_findings(struct story *story, sim_time_t until)
{
    struct finding_search search = {.story = story, .until = until};

    sim_finding_for_each(say_finding, &search);
    return search.count != 0;
}

/* ---- together -------------------------------------------------------------------------------- */

/* Those that came after the first: one line for all. */
static void say_consequences(struct story *story)
{
    const struct failure *next;
    uint64_t failed = 0, killed = 0;
    GString *text;
    char *name;
    guint i;

    for (i = 1; i < story->failures->len; i++) {
        bool was_killed = g_array_index(story->failures, struct failure, i).killed;

        killed += was_killed;
        failed += !was_killed;
    }
    if (failed + killed == 0)
        return;
    next = &g_array_index(story->failures, struct failure, 1);
    name = verdict_rank_name(next->rank);
    text = g_string_new("after that ");
    if (failed != 0)
        g_string_append_printf(text, "%" PRIu64 " more rank%s failed", failed,
                               failed != 1 ? "s" : "");
    if (killed != 0)
        g_string_append_printf(text, "%s%" PRIu64 " more rank%s killed", failed != 0 ? " and " : "",
                               killed, killed != 1 ? "s were" : " was");
    verdict_story_say(story, "%s, %s%s: %s", text->str, failed + killed > 1 ? "first " : "", name,
                      next->text);
    g_string_free(text, TRUE);
    g_free(name);
}

/* The fault that hit the rank, or a rule that was broken before. */
static void say_why(struct story *story, const struct rank *rank, sim_time_t until)
{
    bool caused = say_cause(story, rank, until);

    if (!caused)
        verdict_story_sign(story, "no fault");
    say_findings(story, until);
}

static void recount(struct story *story)
{
    static const char *const outcomes[] = {[SIM_DEADLOCK] = "deadlock",
                                           [SIM_TIME_LIMIT] = "time-limit",
                                           [SIM_NO_PROGRESS] = "no-progress"};
    bool stuck = story->cluster->outcome != SIM_DONE;
    struct wait_chain chain = {.length = 0};

    if (stuck)
        verdict_chain_find(story, &chain);
    if (story->failures->len != 0) {
        const struct failure *first = &g_array_index(story->failures, struct failure, 0);

        say_why(story, first->rank, first->time);
        say_failure(story, first);
        say_consequences(story);
    } else if (chain.length != 0) {
        say_why(story, verdict_chain_end(&chain), SIM_NEVER);
    } else {
        say_findings(story, SIM_NEVER);
    }
    if (chain.length != 0)
        verdict_chain_say(story, &chain);
    if (stuck) {
        verdict_story_say(story, "the run ended by %s", outcomes[story->cluster->outcome]);
        verdict_story_sign(story, outcomes[story->cluster->outcome]);
    }
}

static GHashTable *waiters_by_name(const struct cluster *cluster)
{
    GHashTable *table = g_hash_table_new(g_str_hash, g_str_equal);
    size_t i;

    for (i = 0; i < cluster->waiter_count; i++)
        g_hash_table_insert(table, cluster->waiters[i].name, &cluster->waiters[i]);
    return table;
}

json_t *verdict_story_json(const struct cluster *cluster, char **signature)
{
    struct story story = {cluster,
                          json_array(),
                          g_string_new(NULL),
                          g_ptr_array_new(),
                          g_array_new(FALSE, FALSE, sizeof(struct failure)),
                          waiters_by_name(cluster)};

    sim_fault_for_each_record(collect_record, story.records);
    collect_failures(&story);
    recount(&story);
    g_hash_table_destroy(story.waiters);
    g_ptr_array_free(story.records, TRUE);
    g_array_free(story.failures, TRUE);
    *signature = g_string_free(story.signature, story.signature->len == 0);
    return story.lines;
}
