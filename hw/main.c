/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command line of a workload on a machine, and its result: JSON on rank 0's standard output. */
#include <pmi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner.h"

enum { EXIT_HOLDS, EXIT_FAILED, EXIT_BAD_INPUT };

static int usage(const struct workload *workload, FILE *to)
{
    const struct workload_arg *arg = workload->args;

    fprintf(to, "usage: %s [ARGUMENT=VALUE ...]\n\n%s: %s\nmeasures %s\n\n", workload->name,
            workload->name, workload->meaning,
            workload->metrics != NULL ? workload->metrics : "nothing");
    for (; arg != NULL && arg->name != NULL; arg++)
        fprintf(to, "  %-16s %s; default: %s\n", arg->name, arg->meaning,
                arg->fallback != NULL ? arg->fallback : "none, it must be given");
    return to == stdout ? EXIT_HOLDS : EXIT_BAD_INPUT;
}

/* The value of a declared argument among "name=value" words; its default; or NULL. */
static const char *find_text(const struct workload_arg *arg, int argc, char **argv)
{
    size_t length = strlen(arg->name);
    const char *text = arg->fallback;
    int i;

    for (i = 1; i < argc; i++)
        if (strncmp(argv[i], arg->name, length) == 0 && argv[i][length] == '=')
            text = argv[i] + length + 1;
    return text;
}

static bool is_declared(const struct workload *workload, const char *word)
{
    const struct workload_arg *arg = workload->args;

    for (; arg != NULL && arg->name != NULL; arg++)
        if (strncmp(word, arg->name, strlen(arg->name)) == 0 && word[strlen(arg->name)] == '=')
            return true;
    return false;
}

static bool read_arguments(struct rank *rank, const struct workload *workload, int argc,
                           char **argv)
{
    const struct workload_arg *args = workload->args;
    const char *text;
    char problem[256];
    int i;

    for (i = 1; i < argc; i++) {
        if (is_declared(workload, argv[i]))
            continue;
        fprintf(stderr, "%s: no such argument\n", argv[i]);
        return false;
    }
    for (i = 0; args != NULL && args[i].name != NULL && i < ARGUMENTS_MAX; i++) {
        text = find_text(&args[i], argc, argv);
        if (text == NULL) {
            fprintf(stderr, "%s: must be given\n", args[i].name);
            return false;
        }
        if (!hw_argument_parse(&args[i], text, &rank->values[i], problem, sizeof(problem))) {
            fprintf(stderr, "%s\n", problem);
            return false;
        }
    }
    return true;
}

/* ---- the result ------------------------------------------------------------------------------ */

/* Sends the metrics of all ranks to rank 0. */
static void gather(struct rank *rank, struct metric *merged)
{
    struct metric *all = hw_allocate(rank->size * sizeof(*all));
    uint32_t i;
    int m, k;

    for (m = 0; m < METRICS_MAX; m++) {
        rank_allgather(rank, &rank->metrics[m], all, sizeof(*all));
        for (i = 0; i < rank->size; i++) {
            if (all[i].name[0] == '\0')
                continue;
            for (k = 0; k < METRICS_MAX - 1 && merged[k].name[0] != '\0' &&
                        strcmp(merged[k].name, all[i].name) != 0;
                 k++)
                ;
            if (merged[k].name[0] == '\0') {
                memcpy(merged[k].name, all[i].name, sizeof(merged[k].name));
                merged[k].kind = all[i].kind;
            }
            hw_metric_merge(&merged[k], &all[i]);
        }
    }
    free(all);
}

static uint64_t gather_failures(struct rank *rank)
{
    uint64_t *all = hw_allocate(rank->size * sizeof(*all)), sum = 0;
    uint32_t i;

    rank_allgather(rank, &rank->failures, all, sizeof(*all));
    for (i = 0; i < rank->size; i++)
        sum += all[i];
    free(all);
    return sum;
}

static void print_metric(const struct metric *metric, const char *before)
{
    static const char *const units[] = {"ps", "B/s", "1/s", "count"};

    if (metric->kind == HW_METRIC_COUNTER) {
        printf("%s    \"%s\": {\"type\": \"counter\", \"value\": %llu}", before, metric->name,
               (unsigned long long)metric->sum);
        return;
    }
    printf(
        "%s    \"%s\": {\"type\": \"histogram\", \"unit\": \"%s\", \"count\": %llu, \"min\": %llu, "
        "\"max\": %llu, \"mean\": %.1f, \"p50\": %llu, \"p90\": %llu, \"p99\": %llu}",
        before, metric->name, units[metric->kind], (unsigned long long)metric->count,
        (unsigned long long)metric->least, (unsigned long long)metric->most,
        (double)metric->sum / (double)metric->count,
        (unsigned long long)hw_metric_quantile(metric, 0.5),
        (unsigned long long)hw_metric_quantile(metric, 0.9),
        (unsigned long long)hw_metric_quantile(metric, 0.99));
}

static void print_result(const struct rank *rank, const struct metric *metrics, uint64_t failures)
{
    int i;

    printf(
        "{\n  \"workload\": \"%s\",\n  \"ranks\": %u,\n  \"failures\": %llu,\n  \"metrics\": {\n",
        rank->workload->name, rank->size, (unsigned long long)failures);
    for (i = 0; i < METRICS_MAX && metrics[i].name[0] != '\0'; i++)
        print_metric(&metrics[i], i != 0 ? ",\n" : "");
    printf("\n  }\n}\n");
}

static int run(struct rank *rank)
{
    struct metric *merged = hw_allocate(METRICS_MAX * sizeof(*merged));
    uint64_t failures;

    rank_barrier(rank);
    if (rank->workload->main(rank) != 0 && rank->failures == 0)
        rank_fail(rank, "failed without saying why");
    rank_barrier(rank);
    gather(rank, merged);
    failures = gather_failures(rank);
    if (rank->id == 0)
        print_result(rank, merged, failures);
    free(merged);
    return failures == 0 ? EXIT_HOLDS : EXIT_FAILED;
}

int main(int argc, char **argv)
{
    const struct workload *workload = jacquard_workload();
    struct rank rank = {.size = 0};
    int status;

    if (argc > 1 && strcmp(argv[1], "--help") == 0)
        return usage(workload, stdout);
    if (!read_arguments(&rank, workload, argc, argv))
        return usage(workload, stderr);
    if (!hw_rank_open(&rank, workload))
        return EXIT_FAILED;
    if (rank.size < workload->ranks_min) {
        fprintf(stderr, "%u ranks; %s needs at least %u\n", rank.size, workload->name,
                workload->ranks_min);
        PMI_Abort(EXIT_BAD_INPUT, "too few ranks");
    }
    status = run(&rank);
    hw_rank_close(&rank);
    return status;
}
