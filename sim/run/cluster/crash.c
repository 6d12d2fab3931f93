/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Ranks that crash, or compute for ever: they die as killed processes do, and are reported. */
#include "engine/crash.h"

#include <signal.h>
#include <string.h>

#include "cluster/cluster.h"
#include "engine/finding.h"
#include "engine/outside.h"
#include "scenario/file.h"

static struct sim_finding_rule crash_rule = {
    .name = "program.crash",
    .summary = "a rank was ended by a fatal signal",
    .severity = SIM_FINDING_ERROR,
};
static struct sim_finding_rule spin_rule = {
    .name = "program.spin",
    .summary = "a rank made no call for longer than limits.compute",
    .severity = SIM_FINDING_ERROR,
};

static struct cluster *running;

void cluster_crash_register(void)
{
    sim_finding_rule_register(&crash_rule);
    sim_finding_rule_register(&spin_rule);
}

static void free_crash(void *arg)
{
    struct cluster_crash *crash = arg;

    g_free(crash->rank);
    g_free(crash->text);
    g_ptr_array_unref(crash->backtrace);
    g_free(crash);
}

GPtrArray *cluster_crashes_new(void)
{
    return g_ptr_array_new_with_free_func(free_crash);
}

static const char *signal_name(int signal)
{
    switch (signal) {
    case SIGSEGV:
        return "SIGSEGV";
    case SIGBUS:
        return "SIGBUS";
    case SIGFPE:
        return "SIGFPE";
    case SIGILL:
        return "SIGILL";
    case SIGABRT:
        return "SIGABRT";
    default:
        return "a signal";
    }
}

/* The innermost frame that has a name: memcpy() of the C library often has none. NULL: no frames.
 */
static const char *where(const GPtrArray *frames)
{
    guint i;

    for (i = 0; i < frames->len; i++)
        if (!g_str_has_prefix(g_ptr_array_index(frames, i), "? "))
            return g_ptr_array_index(frames, i);
    return frames->len != 0 ? g_ptr_array_index(frames, 0) : NULL;
}

/* "SIGSEGV, an address near NULL, in step() at ring.c:12"; g_free() */
static char *describe(const struct sim_crash *crash, const GPtrArray *frames)
{
    GString *text = g_string_new(NULL);
    char since[32];

    if (crash->signal == 0) {
        scenario_format_ps(since, sizeof(since), (double)sim_local_time());
        g_string_printf(text, "%s since %s",
                        crash->blocked ? "waits in the operating system, which stops all ranks,"
                                       : "computes without a call",
                        since);
    } else {
        g_string_assign(text, signal_name(crash->signal));
        if (crash->overflow)
            g_string_append(text, ", its stack overflowed (limits.stack)");
        else if (crash->null)
            g_string_append(text, ", an address near NULL");
    }
    if (where(frames) != NULL)
        g_string_append_printf(text, ", in %s", where(frames));
    return g_string_free(text, FALSE);
}

/* The program's own frames begin where those of the C library end: raise(), abort(). */
static void drop_library_frames(GPtrArray *frames)
{
    guint i;

    for (i = 0; i < frames->len; i++)
        if (strstr(g_ptr_array_index(frames, i), "(libc.so") == NULL &&
            !g_str_has_prefix(g_ptr_array_index(frames, i), "foreign_abort") &&
            !g_str_has_prefix(g_ptr_array_index(frames, i), "shim_a"))
            break;
    if (i < frames->len && i != 0)
        g_ptr_array_remove_range(frames, 0, i);
}

static bool crashed(const struct sim_crash *crash)
{
    struct rank *rank = rank_self();
    struct sim_finding_rule *rule = crash->signal != 0 ? &crash_rule : &spin_rule;
    struct cluster_crash *record;
    char *why, *program = NULL;

    if (rank == NULL)
        return false;
    sim_outside_begin(); /* the program may have damaged the memory of the simulated heap */
    record = g_new0(struct cluster_crash, 1);
    record->rank = g_strdup_printf("%s.%u", rank->job->name, rank->id);
    record->node = rank->node;
    record->time = sim_local_time();
    record->call = sim_call_name();
    record->backtrace = g_ptr_array_new_with_free_func(g_free);
    if (rank->app->scenario->program != NULL)
        program = scenario_file_beside(running->scenario->file, rank->app->scenario->program);
    cluster_symbols(crash->frames, crash->depth, program, record->backtrace);
    g_free(program);
    if (crash->by_program)
        drop_library_frames(record->backtrace);
    record->text = describe(crash, record->backtrace);
    g_ptr_array_add(running->crashes, record);
    sim_finding_record(rule, rank->node, record->rank, "%s", record->text);
    why = g_strdup_printf("%s", record->text);
    rank_crash(rank, why, crash->signal != 0 ? 128 + crash->signal : EXIT_KILLED);
    g_free(why);
    sim_outside_end();
    return true;
}

void cluster_crash_begin(struct cluster *cluster)
{
    const struct sim_crash_options options = {
        .compute_ms = (uint32_t)MIN(cluster->scenario->limits.compute / SIM_MS, UINT32_MAX),
        .crashed = crashed,
    };

    running = cluster;
    sim_crash_catch(&options);
}

void cluster_crash_end(void)
{
    sim_crash_release();
    running = NULL;
}
