/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "plan.h"

#include <glib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define WORDS_MAX 18u
#define FIRST_LINE "jacquard-fabric 1"

struct line {
    char *words[WORDS_MAX];
    uint32_t count;
};

/* ---- words ----------------------------------------------------------------------------------- */

static bool number(const char *word, uint64_t most, uint64_t *value)
{
    uint64_t sum = 0;
    const char *at;

    for (at = word; *at >= '0' && *at <= '9' && at < word + 20; at++) {
        uint64_t digit = (uint64_t)(*at - '0');

        if (sum > (UINT64_MAX - digit) / 10)
            return false;
        sum = 10 * sum + digit;
    }
    *value = sum;
    return at > word && *at == '\0' && sum <= most;
}

static bool number32(const char *word, uint32_t *value)
{
    uint64_t wide;

    if (!number(word, UINT32_MAX - 1, &wide))
        return false;
    *value = (uint32_t)wide;
    return true;
}

static bool number32_or_any(const char *word, uint32_t *value)
{
    if (strcmp(word, "any") != 0)
        return number32(word, value);
    *value = UINT32_MAX;
    return true;
}

static bool real(const char *word, double *value)
{
    char *end;

    *value = g_ascii_strtod(word, &end);
    return end > word && *end == '\0' && isfinite(*value);
}

static bool is(const struct line *line, uint32_t place, const char *word)
{
    return place < line->count && strcmp(line->words[place], word) == 0;
}

/* Splits at single spaces, in place. */
static bool split(char *text, struct line *line)
{
    line->count = 0;
    for (;;) {
        if (line->count == WORDS_MAX || *text == '\0' || *text == ' ')
            return false;
        line->words[line->count++] = text;
        text = strchr(text, ' ');
        if (text == NULL)
            return true;
        *text++ = '\0';
    }
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool read_net(struct lnic_plan *plan, const struct line *line)
{
    return line->count == 5 && plan->groups == 0 && number32(line->words[1], &plan->groups) &&
           number32(line->words[2], &plan->chassis) && number32(line->words[3], &plan->slots) &&
           number32(line->words[4], &plan->cables) && plan->groups > 0;
}

static bool read_param(struct lnic_plan *plan, const struct line *line)
{
    double value;

    if (line->count != 3 || !real(line->words[2], &value))
        return false;
    plan->params = g_renew(struct lnic_param, plan->params, (size_t)plan->params_count + 1);
    plan->params[plan->params_count++] = (struct lnic_param){g_strdup(line->words[1]), value};
    return true;
}

static bool read_action(const char *word, enum sim_fault_action *action)
{
    static const char *const names[] = {
        [SIM_FAULT_DROP] = "drop",           [SIM_FAULT_DELAY] = "delay",
        [SIM_FAULT_DUPLICATE] = "duplicate", [SIM_FAULT_CORRUPT] = "corrupt",
        [SIM_FAULT_FAIL] = "fail",           [SIM_FAULT_CRASH] = "crash",
    };
    size_t i;

    for (i = SIM_FAULT_DROP; i < G_N_ELEMENTS(names); i++) {
        *action = (enum sim_fault_action)i;
        if (strcmp(word, names[i]) == 0)
            return true;
    }
    return false;
}

static bool read_rule(struct lnic_plan *plan, const struct line *line)
{
    struct sim_fault_rule rule = {.until = SIM_NEVER};
    char *const *word = line->words;
    uint64_t fraction;

    if (line->count != 16 || !read_action(word[2], &rule.action) ||
        !number(word[4], SIM_NEVER - 1, &rule.from) ||
        (strcmp(word[5], "any") != 0 && !number(word[5], SIM_NEVER - 1, &rule.until)) ||
        !number(word[6], UINT64_C(1) << 53, &fraction) ||
        !number(word[7], UINT64_MAX, &rule.skip) || !number(word[8], UINT64_MAX, &rule.count_max) ||
        !number32_or_any(word[9], &rule.source) || !number32_or_any(word[10], &rule.target) ||
        !number32_or_any(word[11], &rule.kind) || !number32_or_any(word[12], &rule.between[0]) ||
        !number32_or_any(word[13], &rule.between[1]) ||
        !number(word[14], SIM_NEVER / 2, &rule.delay) || !number32(word[15], &rule.status))
        return false;
    rule.probability = (double)fraction * 0x1p-53;
    plan->rules = g_renew(struct lnic_rule, plan->rules, (size_t)plan->rules_count + 1);
    plan->rules[plan->rules_count] = (struct lnic_rule){g_strdup(word[1]), rule};
    /* The table of faults frees it. */
    plan->rules[plan->rules_count++].rule.label = strdup(word[3]);
    return true;
}

static bool read_change(struct lnic_plan *plan, const struct line *line, sim_time_t time)
{
    struct lnic_change change = {.time = time, .is_router = is(line, 2, "router")};
    uint32_t last = line->count - 1;
    char *const *word = line->words;

    change.alive = is(line, last, "up");
    if (last != (change.is_router ? 4 : 6) || (!change.alive && !is(line, last, "down")) ||
        !number32(word[3], &change.a) ||
        (!change.is_router && (!number32(word[4], &change.b) || !number32(word[5], &change.which))))
        return false;
    plan->changes = g_renew(struct lnic_change, plan->changes, (size_t)plan->changes_count + 1);
    plan->changes[plan->changes_count++] = change;
    return true;
}

/* *known is false for what only a modelled network has: the fabric as a whole, stalls. */
static bool read_fate(struct lnic_timed *timed, const struct line *line, bool *known)
{
    char *const *word = line->words;
    uint32_t code;

    *known = true;
    if (is(line, 2, "node") && is(line, 4, "crash") && line->count == 5) {
        timed->fate = LNIC_CRASH;
        return number32(word[3], &timed->node);
    }
    if ((is(line, 2, "cq-overrun") || is(line, 2, "memory")) && line->count == 5) {
        timed->fate = is(line, 2, "memory") ? LNIC_CORRUPT : LNIC_OVERRUN;
        return number32(word[3], &timed->node) && number32_or_any(word[4], &timed->which);
    }
    if (is(line, 2, "error") && line->count == 6) {
        timed->fate = LNIC_ERROR;
        if (!number32(word[3], &timed->node) || !number32(word[4], &timed->which) ||
            !number32(word[5], &code) || timed->which > UINT8_MAX || code > UINT16_MAX)
            return false;
        timed->code = (uint16_t)code;
        return true;
    }
    *known = false;
    return is(line, 2, "fabric") || is(line, 2, "node");
}

static bool read_timed(struct lnic_plan *plan, const struct line *line)
{
    struct lnic_timed timed = {.time = 0};
    bool known = false;

    if (line->count < 4 || !number(line->words[1], SIM_NEVER / 2, &timed.time))
        return false;
    if (is(line, 2, "link") || is(line, 2, "router"))
        return read_change(plan, line, timed.time);
    if (!read_fate(&timed, line, &known))
        return false;
    if (!known)
        return true;
    plan->timed = g_renew(struct lnic_timed, plan->timed, (size_t)plan->timed_count + 1);
    plan->timed[plan->timed_count++] = timed;
    return true;
}

static bool read_line(struct lnic_plan *plan, char *text)
{
    struct line line;

    if (!split(text, &line))
        return false;
    if (is(&line, 0, "net"))
        return read_net(plan, &line);
    if (is(&line, 0, "param"))
        return read_param(plan, &line);
    if (is(&line, 0, "latency") && line.count == 2 && plan->profile == NULL) {
        plan->profile = g_strdup(line.words[1]);
        return true;
    }
    if (is(&line, 0, "rule"))
        return read_rule(plan, &line);
    return is(&line, 0, "timed") && read_timed(plan, &line);
}

bool lnic_plan_read(struct lnic_plan *plan, const char *text, size_t bytes, char *why, size_t room)
{
    char *copy, *at, *end;
    uint32_t lines = 0;
    bool good = true;

    memset(plan, 0, sizeof(*plan));
    if (bytes == 0)
        return true;
    copy = g_strndup(text, bytes); /* ends at the first NUL */
    for (at = copy; good && *at != '\0'; at = end) {
        end = strchr(at, '\n');
        if (end != NULL)
            *end++ = '\0';
        else
            end = at + strlen(at);
        good = lines++ == 0 ? strcmp(at, FIRST_LINE) == 0 : read_line(plan, at);
    }
    g_free(copy);
    if (good && lines > 0)
        return true;
    snprintf(why, room, "the fabric's scenario is not understood in line %u: another version?",
             lines);
    lnic_plan_free(plan);
    return false;
}

void lnic_plan_free(struct lnic_plan *plan)
{
    uint32_t i;

    for (i = 0; i < plan->params_count; i++)
        g_free(plan->params[i].name);
    for (i = 0; i < plan->rules_count; i++) {
        g_free(plan->rules[i].point);
        free(plan->rules[i].rule.label);
    }
    g_free(plan->params);
    g_free(plan->rules);
    g_free(plan->timed);
    g_free(plan->changes);
    g_free(plan->profile);
    memset(plan, 0, sizeof(*plan));
}
