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

/* Nodes whose counters are asked for: the active ones of a group, or those of a list of NIDs. */
struct watched {
    const char *name;
    struct lst_tool_ids ids;
    struct lst_counters *before;
};

/* Returns the exit code. */
static int find_nodes(struct lst_tool *tool, const char *name, struct watched *nodes)
{
    nodes->name = name;
    if (lst_group_members(tool->console, name, NULL, 0) < 0 && strchr(name, '@') != NULL)
        return lst_tool_ids_add(&nodes->ids, name) ? 0 : 1;
    return lst_tool_check(name, lst_tool_ids_group(tool, &nodes->ids, name, LST_ACTIVE));
}

/* Their counters, of which the caller becomes the owner. NULL: an error was printed. */
static struct lst_counters *sample(struct lst_tool *tool, const struct watched *nodes)
{
    struct lst_counters *counters = calloc((size_t)nodes->ids.count + 1, sizeof(*counters));
    int rc = -ENOMEM;

    if (counters != NULL)
        rc = lst_stat_nodes(tool->console, nodes->ids.id, nodes->ids.count, counters);
    if (lst_tool_check(nodes->name, rc) == 0)
        return counters;
    free(counters);
    return NULL;
}

static void release(struct watched *nodes)
{
    free(nodes->before);
    free(nodes->ids.id);
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
                     int *names)
{
    const char *value;
    int i = 1;

    *names = 0;
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
            words[(*names)++] = words[i++];
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

/* Prints what has changed since the sample before, and keeps the new one. Returns the exit code. */
static int next_turn(struct lst_tool *tool, const struct what *what, struct watched *nodes)
{
    struct lst_counters *now = sample(tool, nodes);

    if (now == NULL)
        return 1;
    print_group(what, nodes->name, nodes->before, now, (int)nodes->ids.count);
    free(nodes->before);
    nodes->before = now;
    return 0;
}

int lst_tool_stat(struct lst_tool *tool, char **words, int count)
{
    struct what what = {false};
    struct watched *watched;
    long delay = 5, turns = 1, turn;
    int names, i, rc = read_stat(&what, &delay, &turns, words, count, &names);

    if (rc != 0)
        return rc;
    if (names == 0)
        return lst_tool_refuse("stat", "usage: stat [OPTIONS] GROUP|NIDS...");
    watched = calloc((size_t)names, sizeof(*watched));
    if (watched == NULL)
        return lst_tool_check("stat", -ENOMEM);
    for (i = 0; rc == 0 && i < names; i++) {
        rc = find_nodes(tool, words[i], &watched[i]);
        if (rc == 0 && (watched[i].before = sample(tool, &watched[i])) == NULL)
            rc = 1;
    }
    for (turn = 0; rc == 0 && turn < turns; turn++) {
        lst_tool_sleep(tool, (double)delay);
        for (i = 0; rc == 0 && i < names; i++)
            rc = next_turn(tool, &what, &watched[i]);
    }
    for (i = 0; i < names; i++)
        release(&watched[i]);
    free(watched);
    return rc;
}

static int show_errors(struct lst_tool *tool, const char *name, bool only_session)
{
    struct watched nodes = {.name = name};
    uint32_t i, bad = 0;
    int rc = find_nodes(tool, name, &nodes);

    if (rc == 0 && (nodes.before = sample(tool, &nodes)) == NULL)
        rc = 1;
    for (i = 0; rc == 0 && i < nodes.ids.count; i++) {
        const struct lst_counters *of = &nodes.before[i];

        if (of->framework.brw_errors + of->framework.ping_errors == 0 &&
            (only_session || of->rpc.errors + of->rpc.rpcs_dropped + of->rpc.rpcs_expired == 0))
            continue;
        bad++;
        printf("%s: [Session: %u brw errors, %u ping errors]", libcfs_id2str(nodes.ids.id[i]),
               of->framework.brw_errors, of->framework.ping_errors);
        if (!only_session)
            printf(" [RPC: %u errors, %u dropped, %u expired]", of->rpc.errors,
                   of->rpc.rpcs_dropped, of->rpc.rpcs_expired);
        putchar('\n');
    }
    if (rc == 0)
        printf("Total %u error nodes in %s\n", bad, name);
    release(&nodes);
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
            return lst_tool_refuse(words[i], "usage: show_error [--session] GROUP|NIDS...");
        else
            words[groups++] = words[i++];
    }
    if (groups == 0)
        return lst_tool_refuse("show_error", "usage: show_error [--session] GROUP|NIDS...");
    for (i = 0; i < groups && rc == 0; i++)
        rc = show_errors(tool, words[i], only_session);
    return rc;
}
