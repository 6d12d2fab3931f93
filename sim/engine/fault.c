/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/fault.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct {
    struct sim_fault_point *first, *last;
    uint64_t rules;
} faults;

static const char *const action_names[] = {
    [SIM_FAULT_DELIVER] = "deliver", [SIM_FAULT_DROP] = "drop",
    [SIM_FAULT_DELAY] = "delay",     [SIM_FAULT_DUPLICATE] = "duplicate",
    [SIM_FAULT_CORRUPT] = "corrupt", [SIM_FAULT_FAIL] = "fail",
    [SIM_FAULT_CRASH] = "crash",
};

const char *sim_fault_action_name(enum sim_fault_action action)
{
    assert((unsigned)action <= SIM_FAULT_CRASH);
    return action_names[action];
}

bool sim_fault_action_find(const char *name, enum sim_fault_action *action)
{
    unsigned i;

    for (i = SIM_FAULT_DROP; i <= SIM_FAULT_CRASH; i++) {
        if (strcmp(action_names[i], name) == 0) {
            *action = (enum sim_fault_action)i;
            return true;
        }
    }
    return false;
}

void sim_fault_point_register(struct sim_fault_point *point, const char *name)
{
    assert(name != NULL && sim_fault_point_find(name) == NULL);
    *point = (struct sim_fault_point){.name = name};
    if (faults.last != NULL)
        faults.last->next = point;
    else
        faults.first = point;
    faults.last = point;
}

struct sim_fault_point *sim_fault_point_find(const char *name)
{
    struct sim_fault_point *point;

    for (point = faults.first; point != NULL; point = point->next)
        if (strcmp(point->name, name) == 0)
            return point;
    return NULL;
}

static bool random_is_unset(const struct sim_random *random)
{
    return (random->s[0] | random->s[1] | random->s[2] | random->s[3]) == 0;
}

struct sim_fault_rule *sim_fault_rule_add(struct sim_fault_point *point,
                                          const struct sim_fault_rule *rule)
{
    struct sim_fault_rule *copy = malloc(sizeof *copy), **end = &point->rules;

    if (copy == NULL)
        abort();
    *copy = *rule;
    copy->seen = copy->fired = 0;
    copy->next = NULL;
    if (random_is_unset(&copy->random))
        sim_random_init(&copy->random, 0, copy->label != NULL ? copy->label : point->name,
                        faults.rules);
    faults.rules++;
    while (*end != NULL)
        end = &(*end)->next;
    *end = copy;
    return copy;
}

void sim_fault_for_each_rule(void (*visit)(const struct sim_fault_point *,
                                           const struct sim_fault_rule *, void *arg),
                             void *arg)
{
    const struct sim_fault_point *point;
    const struct sim_fault_rule *rule;

    for (point = faults.first; point != NULL; point = point->next)
        for (rule = point->rules; rule != NULL; rule = rule->next)
            visit(point, rule, arg);
}

static bool is(uint32_t wanted, uint32_t have)
{
    return wanted == SIM_FAULT_ANY || wanted == have;
}

static bool matches(const struct sim_fault_rule *rule, const struct sim_fault_subject *subject)
{
    uint32_t one = rule->between[0], other = rule->between[1];
    uint32_t source = subject->source_group, target = subject->target_group;

    return sim_now() >= rule->from && sim_now() < rule->until && is(rule->kind, subject->kind) &&
           is(rule->source, subject->source) && is(rule->target, subject->target) &&
           ((is(one, source) && is(other, target)) || (is(one, target) && is(other, source)));
}

/* A rule draws its random number only when nothing else keeps it from firing: `skip` and windows
 * are exact. */
static bool fires(struct sim_fault_rule *rule)
{
    if (rule->seen++ < rule->skip)
        return false;
    if (rule->count_max != 0 && rule->fired >= rule->count_max)
        return false;
    if (rule->probability < 1.0 && !sim_random_chance(&rule->random, rule->probability))
        return false;
    rule->fired++;
    return true;
}

const struct sim_fault_rule *sim_fault_match(struct sim_fault_point *point,
                                             const struct sim_fault_subject *subject)
{
    struct sim_fault_rule *rule;

    for (rule = point->rules; rule != NULL; rule = rule->next)
        if (matches(rule, subject) && fires(rule))
            return rule;
    return NULL;
}

void sim_fault_reset(void)
{
    struct sim_fault_point *point, *next_point;
    struct sim_fault_rule *rule, *next;

    for (point = faults.first; point != NULL; point = next_point) {
        next_point = point->next;
        for (rule = point->rules; rule != NULL; rule = next) {
            next = rule->next;
            free(rule->label);
            free(rule);
        }
        point->rules = NULL;
        point->next = NULL;
    }
    memset(&faults, 0, sizeof faults);
}
