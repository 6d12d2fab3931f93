/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The screen that a person reads at the end of a run. */
#include "report/report.h"
#include "verdict/verdict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct screen {
    GString *out;
    bool color;
};

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : "";
}

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static void heading(const struct screen *screen, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void heading(const struct screen *screen, const char *format, ...)
{
    va_list arguments;

    g_string_append(screen->out, screen->color ? "\033[1m" : "");
    va_start(arguments, format);
    g_string_append_vprintf(screen->out, format, arguments);
    va_end(arguments);
    g_string_append(screen->out, screen->color ? "\033[0m\n" : "\n");
}

static const char *painted(const struct screen *screen, const char *word, int color)
{
    char painted_word[128];

    if (!screen->color)
        return word;
    snprintf(painted_word, sizeof(painted_word), "\033[%dm%s\033[0m", color, word);
    return g_intern_string(painted_word); /* a handful of constant words */
}

static const char *good(const struct screen *screen, const char *word)
{
    return painted(screen, word, 32);
}

static const char *bad(const struct screen *screen, const char *word)
{
    return painted(screen, word, 31);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void what_ran(const struct screen *screen, const json_t *result)
{
    const json_t *scenario = json_object_get(result, "scenario"),
                 *fabric = json_object_get(result, "fabric"),
                 *networks = json_object_get(result, "networks"), *network;
    const char *description = text_of(scenario, "description");
    size_t i;

    heading(screen, "%s%s%s", text_of(scenario, "name"), description[0] != '\0' ? ": " : "",
            description);
    g_string_append_printf(
        screen->out, "%s, seed %.0f; %s%s%s %s %s, %.0f nodes", text_of(scenario, "file"),
        number_of(scenario, "seed"), text_of(fabric, "topology"),
        json_object_get(fabric, "preset") != NULL ? " " : "", text_of(fabric, "preset"),
        text_of(fabric, "profile"), text_of(fabric, "fidelity"), number_of(fabric, "nodes"));
    if (number_of(fabric, "groups") > 1)
        g_string_append_printf(screen->out, " in %.0f groups", number_of(fabric, "groups"));
    json_array_foreach (networks, i, network) {
        if (i != 0)
            g_string_append_printf(screen->out, "; network %s: %s %s, %.0f nodes",
                                   text_of(network, "name"), text_of(network, "topology"),
                                   text_of(network, "fidelity"), number_of(network, "nodes"));
    }
    g_string_append(screen->out, "\n\n");
}

static void job_line(const struct screen *screen, const json_t *job)
{
    const json_t *exit = json_object_get(job, "exit");
    double failures = number_of(job, "failures"), killed = number_of(job, "killed");
    GString *state = g_string_new(NULL);
    char ended[32];

    scenario_format_ps(ended, sizeof(ended), number_of(job, "ended_ps"));
    if (json_is_null(exit))
        g_string_printf(state, "%s: %.0f ranks did not end", bad(screen, "stuck"),
                        number_of(job, "running"));
    else if (json_integer_value(exit) == 0)
        g_string_assign(state, good(screen, "ok"));
    else
        g_string_printf(state, "%s: exit code %.0f", bad(screen, "failed"),
                        json_number_value(exit));
    if (failures > 0)
        g_string_append_printf(state, ", %.0f failures", failures);
    if (killed > 0)
        g_string_append_printf(state, ", %.0f ranks killed", killed);
    g_string_append_printf(screen->out, "%-20s %-20s %8.0f %8.0f %10s  %s\n", text_of(job, "name"),
                           text_of(job, "workload"), number_of(job, "ranks"),
                           number_of(job, "nodes"), json_is_null(exit) ? "-" : ended, state->str);
    g_string_free(state, TRUE);
}

static void jobs(const struct screen *screen, const json_t *result)
{
    const json_t *job;
    size_t i;

    heading(screen, "%-20s %-20s %8s %8s %10s  %s", "job", "workload", "ranks", "nodes", "ended at",
            "result");
    json_array_foreach (json_object_get(result, "jobs"), i, job)
        job_line(screen, job);
    g_string_append_c(screen->out, '\n');
}

static void show_value(char *buffer, size_t size, double value, const char *unit)
{
    if (strcmp(unit, "ps") == 0) {
        scenario_format_ps(buffer, size, value);
    } else if (strcmp(unit, "bytes/s") == 0) {
        scenario_format_bytes_rate(buffer, size, value);
    } else if (strcmp(unit, "bytes") == 0) {
        scenario_format_bytes(buffer, size, value);
    } else {
        scenario_format_count(buffer, size, value);
        if (strcmp(unit, "1/s") == 0)
            g_strlcat(buffer, "/s", size);
    }
}

static bool belongs_to_model(const char *name)
{
    return g_str_has_prefix(name, "net.") || g_str_has_prefix(name, "aries.") ||
           g_str_has_prefix(name, "pmi.") || g_str_has_prefix(name, "engine.");
}

static void metric_line(const struct screen *screen, const char *name, const json_t *metric)
{
    static const char *const fields[] = {"min", "p50", "p99", "max"};
    const char *unit = text_of(metric, "unit");
    char shown[32];
    size_t i;

    scenario_format_count(
        shown, sizeof(shown),
        number_of(metric, strcmp(text_of(metric, "type"), "histogram") == 0 ? "count" : "value"));
    g_string_append_printf(screen->out, "%-41s %8s", name, shown);
    for (i = 0; i < G_N_ELEMENTS(fields) && json_object_get(metric, "p50") != NULL; i++) {
        show_value(shown, sizeof(shown), number_of(metric, fields[i]), unit);
        g_string_append_printf(screen->out, " %10s", shown);
    }
    g_string_append_c(screen->out, '\n');
}

static void measured(const struct screen *screen, const json_t *result)
{
    json_t *metrics = json_object_get(result, "metrics"), *metric;
    const char *name;
    bool any = false;

    json_object_foreach (metrics, name, metric)
        any |= !belongs_to_model(name);
    if (!any)
        return;
    heading(screen, "%-41s %8s %10s %10s %10s %10s", "measured", "count", "min", "p50", "p99",
            "max");
    json_object_foreach (metrics, name, metric) {
        if (!belongs_to_model(name))
            metric_line(screen, name, metric);
    }
    g_string_append_c(screen->out, '\n');
}

static void faults(const struct screen *screen, const json_t *result)
{
    if (json_array_size(json_object_get(result, "faults")) == 0)
        return;
    heading(screen, "%-20s %-20s %8s %8s", "fault", "what", "seen", "injected");
    report_faults_print(result, screen->out);
    g_string_append_c(screen->out, '\n');
}

static void book_line(const struct screen *screen, const json_t *book)
{
    static const char *const counts[] = {"opened", "settled_ok", "settled_error", "abandoned",
                                         "violations"};
    char shown[32], bytes[32];
    size_t i;

    if (number_of(book, "opened") == 0 && number_of(book, "violations") == 0)
        return;
    scenario_format_bytes(bytes, sizeof(bytes), number_of(book, "bytes_out"));
    g_string_append_printf(screen->out, "%-20s %20s", text_of(book, "book"), bytes);
    for (i = 0; i < G_N_ELEMENTS(counts); i++) {
        scenario_format_count(shown, sizeof(shown), number_of(book, counts[i]));
        g_string_append_printf(screen->out, " %10s", shown);
    }
    g_string_append_c(screen->out, '\n');
}

static void ledger(const struct screen *screen, const json_t *result)
{
    const json_t *ledger_part = json_object_get(result, "ledger"), *book;
    bool balanced = json_is_true(json_object_get(ledger_part, "balanced"));
    size_t i;

    heading(screen, "%-20s %20s %10s %10s %10s %10s %10s", "ledger", "bytes delivered", "messages",
            "ok", "errors", "abandoned", "violations");
    json_array_foreach (json_object_get(ledger_part, "books"), i, book)
        book_line(screen, book);
    if (balanced)
        g_string_append_printf(screen->out,
                               "%s: nothing lost, doubled, reordered or changed unnoticed\n\n",
                               good(screen, "balanced"));
    else
        g_string_append_printf(screen->out, "%s: see below\n\n", bad(screen, "broken"));
}

static void findings(const struct screen *screen, const json_t *result)
{
    const json_t *part = json_object_get(result, "findings");

    if (json_object_size(part) == 0)
        return;
    heading(screen, "findings");
    report_findings_print(part, screen->out);
    report_crashes_print(json_object_get(result, "crashes"), screen->out);
    g_string_append_c(screen->out, '\n');
}

static void lnet(const struct screen *screen, const json_t *result)
{
    const json_t *shown = json_object_get(result, "lnetctl");

    if (shown == NULL)
        return;
    heading(screen, "lnetctl");
    report_lnet_print(shown, screen->out);
    g_string_append_c(screen->out, '\n');
}

static void expectations(const struct screen *screen, const json_t *result)
{
    const json_t *array = json_object_get(result, "expectations"), *item;
    bool any = false;
    size_t i;

    json_array_foreach (array, i, item) {
        bool holds = json_is_true(json_object_get(item, "holds"));
        if (holds && json_is_true(json_object_get(item, "implied")))
            continue;
        if (!any)
            heading(screen, "%-7s %-46s %s", "", "expected", "found");
        any = true;
        g_string_append_printf(screen->out, "%s %-46s %s\n",
                               holds ? good(screen, "ok     ") : bad(screen, "FAILED "),
                               text_of(item, "expect"), text_of(item, "value"));
    }
    if (any)
        g_string_append_c(screen->out, '\n');
}

#define TEXTS_SHOWN 24
#define STEP " → "
/* Without the first `from` texts. */
static void texts(const struct screen *screen, const json_t *result, const char *key, size_t from)
{
    const json_t *array = json_object_get(result, key), *text;
    size_t i;

    if (json_array_size(array) <= from)
        return;
    heading(screen, "%s", key);
    json_array_foreach (array, i, text) {
        if (i < from)
            continue;
        if (i == from + TEXTS_SHOWN) {
            g_string_append_printf(screen->out, "  and %zu more: see --json\n",
                                   json_array_size(array) - i);
            break;
        }
        g_string_append_printf(screen->out, "  %s\n", json_string_value(text));
    }
    g_string_append_c(screen->out, '\n');
}

/* The steps of a chain, "a → b → c", are lines of their own. */
static void story_line(const struct screen *screen, size_t number, const char *text)
{
    const char *next;

    g_string_append_printf(screen->out, "  %zu. ", number);
    while ((next = strstr(text, STEP)) != NULL) {
        g_string_append_len(screen->out, text, next - text);
        g_string_append(screen->out, "\n      → ");
        text = next + strlen(STEP);
    }
    g_string_append_printf(screen->out, "%s\n", text);
}

/* The story in numbered lines; `problems` repeats it at its beginning. */
static void story(const struct screen *screen, const json_t *result)
{
    const json_t *lines = json_object_get(result, "story"), *line;
    size_t i;

    if (json_array_size(lines) == 0)
        return;
    heading(screen, "what happened");
    json_array_foreach (lines, i, line)
        story_line(screen, i + 1, json_string_value(line));
    g_string_append_c(screen->out, '\n');
}

static void figures(const struct screen *screen, const json_t *result)
{
    const json_t *host = json_object_get(result, "host"), *trace = json_object_get(result, "trace");
    char now[32], events[32], rate[32];

    scenario_format_ps(now, sizeof(now), number_of(result, "virtual_time_ps"));
    scenario_format_count(events, sizeof(events), number_of(result, "events"));
    scenario_format_count(rate, sizeof(rate), number_of(host, "events_per_second"));
    g_string_append_printf(
        screen->out, "%s of virtual time in %.2f s: %s events, %s events/s, digest %s\n", now,
        number_of(host, "wall_seconds"), events, rate, text_of(result, "digest"));
    if (json_is_string(trace))
        g_string_append_printf(screen->out,
                               "trace: %s; open it in a browser at https://ui.perfetto.dev\n",
                               json_string_value(trace));
    else
        g_string_append(
            screen->out,
            "trace: none; --trace run.pftrace writes one for https://ui.perfetto.dev\n");
}

static void verdict(const struct screen *screen, const json_t *result)
{
    static const char *const verdicts[] = {"HOLDS: expectations and ledger", "DOES NOT HOLD",
                                           "BAD INPUT", "STUCK"};
    json_int_t exit = json_integer_value(json_object_get(result, "exit"));

    if (exit > 128) {
        g_string_append_printf(screen->out, "%s: the report so far\n", bad(screen, "INTERRUPTED"));
        return;
    }
    g_string_append_printf(screen->out, "%s\n",
                           exit == EXIT_HOLDS ? good(screen, verdicts[exit])
                                              : bad(screen, verdicts[exit & 3]));
}

void report_summary_print(const json_t *result, bool color, GString *out)
{
    struct screen screen = {out, color};

    what_ran(&screen, result);
    story(&screen, result); /* if the run failed: the cause is the first that one reads */
    jobs(&screen, result);
    measured(&screen, result);
    faults(&screen, result);
    ledger(&screen, result);
    findings(&screen, result);
    lnet(&screen, result);
    expectations(&screen, result);
    if (json_integer_value(json_object_get(result, "exit")) != EXIT_HOLDS)
        texts(&screen, result, "problems", json_array_size(json_object_get(result, "story")));
    texts(&screen, result, "warnings", 0);
    figures(&screen, result);
    verdict(&screen, result);
}
