/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Commands that print counters of the nodes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

struct what {
    bool rates, bandwidth, read, write, average, minimum, maximum, decimal;
};

/* The counters of the active nodes of a group. Negative: an error. */
static int sample(struct lst_tool *tool, const char *group, struct lst_counters **counters)
{
    int count = lst_group_members(tool->console, group, NULL, 0);

    *counters = NULL;
    if (count < 0)
        return count;
    *counters = calloc((size_t)count + 1, sizeof(**counters));
    return *counters != NULL ? lst_stat(tool->console, group, *counters, (uint32_t)count) : -ENOMEM;
}

static void print_line(const struct what *what, char kind, const struct lst_rates *rates,
                       double scale, int digits, const char *unit)
{
    printf("[%c]", kind);
    if (what->average)
        printf(" Avg: %-8.*f %s", digits, rates->average / scale, unit);
    if (what->minimum)
        printf(" Min: %-8.*f %s", digits, rates->minimum / scale, unit);
    if (what->maximum)
        printf(" Max: %-8.*f %s", digits, rates->maximum / scale, unit);
    putchar('\n');
}

/* RPCs that the nodes sent themselves, per second. `lst stat` calls LNet messages so. */
static void rates_of_rpcs(const struct lst_counters *before, const struct lst_counters *after,
                          int count, struct lst_rates *rates)
{
    int i;

    *rates = (struct lst_rates){0};
    for (i = 0; i < count; i++) {
        double seconds = (double)(after[i].when_ns - before[i].when_ns) / 1e9;
        double rate =
            seconds > 0 ? (after[i].rpc.rpcs_sent - before[i].rpc.rpcs_sent) / seconds : 0;

        rates->average += rate / count;
        rates->minimum = i == 0 || rate < rates->minimum ? rate : rates->minimum;
        rates->maximum = i == 0 || rate > rates->maximum ? rate : rates->maximum;
    }
}

static void print_group(const struct what *what, const char *group,
                        const struct lst_counters *before, const struct lst_counters *after,
                        int count)
{
    struct lst_rates rate[4], rpcs;

    lst_rates(before, after, (uint32_t)count, &rate[0], &rate[1], &rate[2], &rate[3]);
    rates_of_rpcs(before, after, count, &rpcs);
    if (what->rates) {
        printf("[LNet Rates of %s]\n", group);
        if (what->read)
            print_line(what, 'R', &rate[1], 1, 0, "RPC/s");
        if (what->write)
            print_line(what, 'W', &rate[0], 1, 0, "RPC/s");
    }
    if (what->bandwidth) {
        double scale = what->decimal ? 1e6 : 1048576;
        const char *unit = what->decimal ? "MB/s" : "MiB/s";

        printf("[LNet Bandwidth of %s]\n", group);
        if (what->read)
            print_line(what, 'R', &rate[3], scale, 2, unit);
        if (what->write)
            print_line(what, 'W', &rate[2], scale, 2, unit);
    }
    if (what->rates) {
        printf("[RPCs of %s]\n", group);
        print_line(what, 'S', &rpcs, 1, 0, "RPC/s");
    }
    fflush(stdout);
}

static int read_stat(struct what *what, long *delay, long *turns, char **words, int count,
                     int *groups)
{
    const char *value;
    int i = 1;

    *groups = 0;
    while (i < count) {
        if ((value = lst_tool_option(words, count, &i, "--delay")) != NULL) {
            if (!lst_tool_number("--delay", value, 1, 86400, delay))
                return 1;
        } else if ((value = lst_tool_option(words, count, &i, "--count")) != NULL) {
            if (!lst_tool_number("--count", value, 1, INT32_MAX, turns))
                return 1;
        } else if (lst_tool_flag(words, count, &i, "--bw")) {
            what->bandwidth = true;
        } else if (lst_tool_flag(words, count, &i, "--rate")) {
            what->rates = true;
        } else if (lst_tool_flag(words, count, &i, "--read")) {
            what->read = true;
        } else if (lst_tool_flag(words, count, &i, "--write")) {
            what->write = true;
        } else if (lst_tool_flag(words, count, &i, "--avg")) {
            what->average = true;
        } else if (lst_tool_flag(words, count, &i, "--min")) {
            what->minimum = true;
        } else if (lst_tool_flag(words, count, &i, "--max")) {
            what->maximum = true;
        } else if (lst_tool_flag(words, count, &i, "--mbs")) {
            what->decimal = true;
        } else if (words[i][0] == '-') {
            return lst_tool_refuse(words[i], "this is no option of stat");
        } else {
            words[(*groups)++] = words[i++];
        }
    }
    if (!what->rates && !what->bandwidth)
        what->rates = what->bandwidth = true;
    if (!what->read && !what->write)
        what->read = what->write = true;
    if (!what->average && !what->minimum && !what->maximum)
        what->average = what->minimum = what->maximum = true;
    return 0;
}

int lst_tool_stat(struct lst_tool *tool, char **words, int count)
{
    struct lst_counters **before, **after;
    struct what what = {false};
    long delay = 5, turns = 1, turn;
    int groups, i, rc = read_stat(&what, &delay, &turns, words, count, &groups);

    if (rc != 0)
        return rc;
    if (groups == 0)
        return lst_tool_refuse("stat", "usage: stat [OPTIONS] GROUP...");
    before = calloc((size_t)groups, sizeof(*before));
    after = calloc((size_t)groups, sizeof(*after));
    if (before == NULL || after == NULL) {
        free(before);
        free(after);
        return lst_tool_check("stat", -ENOMEM);
    }
    for (i = 0; rc == 0 && i < groups; i++)
        rc = lst_tool_check(words[i], sample(tool, words[i], &before[i]));
    for (turn = 0; rc == 0 && turn < turns; turn++) {
        lst_tool_sleep(tool, (double)delay);
        for (i = 0; rc == 0 && i < groups; i++) {
            int nodes = sample(tool, words[i], &after[i]);

            rc = lst_tool_check(words[i], nodes);
            if (rc == 0 && before[i] != NULL && after[i] != NULL)
                print_group(&what, words[i], before[i], after[i], nodes);
            free(before[i]);
            before[i] = after[i];
            after[i] = NULL;
        }
    }
    for (i = 0; i < groups; i++)
        free(before[i]);
    free(before);
    free(after);
    return rc;
}

static int show_errors(struct lst_tool *tool, const char *group, bool only_session)
{
    struct lst_counters *counters;
    struct lst_tool_ids ids = {.count = 0};
    int count = sample(tool, group, &counters), i, bad = 0;
    int rc = lst_tool_check(group, count);

    if (rc == 0)
        rc = lst_tool_check(group, lst_tool_ids_group(tool, &ids, group, LST_ACTIVE));
    for (i = 0; rc == 0 && i < count && i < (int)ids.count; i++) {
        const struct lst_counters *of = &counters[i];

        if (of->framework.brw_errors + of->framework.ping_errors == 0 &&
            (only_session || of->rpc.errors + of->rpc.rpcs_dropped + of->rpc.rpcs_expired == 0))
            continue;
        bad++;
        printf("%s: [Session: %u brw errors, %u ping errors]", libcfs_id2str(ids.id[i]),
               of->framework.brw_errors, of->framework.ping_errors);
        if (!only_session)
            printf(" [RPC: %u errors, %u dropped, %u expired]", of->rpc.errors,
                   of->rpc.rpcs_dropped, of->rpc.rpcs_expired);
        putchar('\n');
    }
    if (rc == 0)
        printf("Total %d error nodes in %s\n", bad, group);
    free(counters);
    free(ids.id);
    return rc;
}

int lst_tool_show_error(struct lst_tool *tool, char **words, int count)
{
    bool only_session = false;
    int i = 1, groups = 0, rc = 0;

    while (i < count) {
        if (lst_tool_flag(words, count, &i, "--session"))
            only_session = true;
        else if (words[i][0] == '-')
            return lst_tool_refuse(words[i], "usage: show_error [--session] GROUP...");
        else
            words[groups++] = words[i++];
    }
    if (groups == 0)
        return lst_tool_refuse("show_error", "usage: show_error [--session] GROUP...");
    for (i = 0; i < groups && rc == 0; i++)
        rc = show_errors(tool, words[i], only_session);
    return rc;
}
