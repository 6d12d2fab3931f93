/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Commands that add tests and run them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

#define BATCH "batch"

static bool read_bytes(const char *text, uint32_t *bytes)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    unsigned shift = *end == 'K' || *end == 'k' ? 10 : *end == 'M' || *end == 'm' ? 20 : 0;

    if (end == text || text[0] == '-' || end[shift != 0] != '\0' || value == 0 ||
        value > (1ul << 20) >> shift)
        return false;
    *bytes = (uint32_t)(value << shift);
    return true;
}

/* The words behind `brw`: read or write, size=, check=, off=. Returns the exit code. */
static int read_brw(struct lst_test *test, char **words, int count)
{
    static const char *const checks[] = {"none", "simple", "full"};
    long number;
    char *end;
    int i, j;

    for (i = 0; i < count; i++) {
        const char *value = strchr(words[i], '=');
        size_t length = value != NULL ? (size_t)(value - words[i]) : strlen(words[i]);

        if (value == NULL && (strcmp(words[i], "read") == 0 || strcmp(words[i], "r") == 0)) {
            test->kind = LST_BRW_READ;
        } else if (value == NULL &&
                   (strcmp(words[i], "write") == 0 || strcmp(words[i], "w") == 0)) {
            test->kind = LST_BRW_WRITE;
        } else if (value != NULL && (strncmp(words[i], "size", length) == 0)) {
            if (!read_bytes(value + 1, &test->bytes))
                return lst_tool_refuse(words[i], "a size is a number up to 1M, such as 4K");
        } else if (value != NULL && strncmp(words[i], "check", length) == 0) {
            for (j = 0; j < 3 && strcmp(value + 1, checks[j]) != 0; j++)
                ;
            if (j == 3)
                return lst_tool_refuse(words[i], "a check is none, simple or full");
            test->check = (enum lst_check)(LST_CHECK_NONE + j);
        } else if (value != NULL && strncmp(words[i], "off", length) == 0) {
            number = strtol(value + 1, &end, 10);
            if (end == value + 1 || *end != '\0' || number < 0 || number > 4088 || number % 8 != 0)
                return lst_tool_refuse(words[i], "an offset is a multiple of 8 up to 4088");
            test->offset = (uint32_t)number;
        } else {
            return lst_tool_refuse(words[i], "usage: brw [read|write] [size=N[K|M]] "
                                             "[check=none|simple|full] [off=N]");
        }
    }
    return 0;
}

static bool read_distribution(const char *text, struct lst_test *test)
{
    char *colon, *end;
    unsigned long d = strtoul(text, &colon, 10), s;

    if (colon == text || *colon != ':')
        return false;
    s = strtoul(colon + 1, &end, 10);
    if (end == colon + 1 || *end != '\0' || d == 0 || d > 65536 || s == 0 || s > 65536)
        return false;
    test->distribute = (uint32_t)d;
    test->span = (uint32_t)s;
    return true;
}

static int read_test(struct lst_test *test, const char **batch, char **words, int count)
{
    const char *value;
    long number;
    int i = 1;

    while (i < count) {
        if ((value = lst_tool_option(words, count, &i, "--batch")) != NULL) {
            *batch = value;
        } else if ((value = lst_tool_option(words, count, &i, "--from")) != NULL) {
            test->from = value;
        } else if ((value = lst_tool_option(words, count, &i, "--to")) != NULL) {
            test->to = value;
        } else if ((value = lst_tool_option(words, count, &i, "--loop")) != NULL) {
            if (!lst_tool_number("--loop", value, 1, INT32_MAX, &number))
                return 1;
            test->loop = (int32_t)number;
        } else if ((value = lst_tool_option(words, count, &i, "--concurrency")) != NULL) {
            if (!lst_tool_number("--concurrency", value, 1, 1024, &number))
                return 1;
            test->concurrency = (uint32_t)number;
        } else if ((value = lst_tool_option(words, count, &i, "--distribute")) != NULL) {
            if (!read_distribution(value, test))
                return lst_tool_refuse(value, "a distribution is D:S, such as 6:3");
        } else if (strcmp(words[i], "ping") == 0 && i + 1 == count) {
            test->kind = LST_PING;
            return 0;
        } else if (strcmp(words[i], "brw") == 0) {
            return read_brw(test, words + i + 1, count - i - 1);
        } else {
            break;
        }
    }
    return lst_tool_refuse(i < count ? words[i] : "add_test",
                           "usage: add_test [--batch NAME] [--loop N] [--concurrency N] "
                           "[--distribute D:S] --from GROUP --to GROUP ping|brw ...");
}

int lst_tool_add_test(struct lst_tool *tool, char **words, int count)
{
    struct lst_test test = {.kind = LST_BRW_READ,
                            .check = LST_CHECK_NONE,
                            .bytes = 4096,
                            .concurrency = 1,
                            .loop = -1,
                            .distribute = 1,
                            .span = 1};
    const char *batch = BATCH;
    int rc = read_test(&test, &batch, words, count);

    if (rc != 0)
        return rc;
    if (test.from == NULL || test.to == NULL)
        return lst_tool_refuse("add_test", "--from and --to are needed");
    if (lst_group_members(tool->console, test.from, NULL, 0) < 0)
        return lst_tool_refuse(test.from, "there is no such group");
    if (lst_group_members(tool->console, test.to, NULL, 0) < 0)
        return lst_tool_refuse(test.to, "there is no such group");
    if (lst_tool_check("add_test", lst_test_add(tool->console, batch, &test)) != 0)
        return 1;
    puts("Test was added successfully");
    return 0;
}

int lst_tool_run(struct lst_tool *tool, char **words, int count)
{
    const char *batch = count > 1 ? words[1] : BATCH;

    if (count > 2)
        return lst_tool_refuse(words[2], "usage: run [BATCH]");
    if (lst_tool_check(batch, lst_batch_run(tool->console, batch)) != 0)
        return 1;
    printf("%s is running now\n", batch);
    return 0;
}

int lst_tool_stop(struct lst_tool *tool, char **words, int count)
{
    const char *batch = NULL;
    int i = 1, active;

    while (i < count) {
        if (lst_tool_flag(words, count, &i, "--force"))
            continue; /* streams end at once anyway */
        if (batch != NULL)
            return lst_tool_refuse(words[i], "usage: stop [--force] [BATCH]");
        batch = words[i++];
    }
    if (batch == NULL)
        batch = BATCH;
    if (lst_tool_check(batch, lst_batch_stop(tool->console, batch)) != 0)
        return 1;
    while ((active = lst_batch_active(tool->console, batch)) > 0)
        lst_tool_sleep(tool, 0.01);
    if (lst_tool_check(batch, active) != 0)
        return 1;
    puts("Batch is stopped");
    return 0;
}

int lst_tool_query(struct lst_tool *tool, char **words, int count)
{
    const char *batch = BATCH, *value;
    bool wait = false;
    long loops = 1, delay = 5;
    int i = 1, active = 0;

    while (i < count) {
        if ((value = lst_tool_option(words, count, &i, "--loop")) != NULL) {
            if (!lst_tool_number("--loop", value, 1, INT32_MAX, &loops))
                return 1;
        } else if ((value = lst_tool_option(words, count, &i, "--delay")) != NULL) {
            if (!lst_tool_number("--delay", value, 1, 86400, &delay))
                return 1;
        } else if (lst_tool_flag(words, count, &i, "--wait")) {
            wait = true;
        } else if (words[i][0] == '-') {
            return lst_tool_refuse(words[i],
                                   "usage: query [--loop N] [--delay S] [--wait] [BATCH]");
        } else {
            batch = words[i++];
        }
    }
    for (i = 0; i < loops || wait; i++) {
        if (i > 0)
            lst_tool_sleep(tool, wait ? 0.01 : (double)delay);
        active = lst_batch_active(tool->console, batch);
        if (lst_tool_check(batch, active) != 0)
            return 1;
        if (wait && active == 0)
            break;
        if (!wait)
            puts(active > 0 ? "Batch is running" : "Batch is idle");
    }
    if (wait)
        puts("Batch is idle");
    return 0;
}
