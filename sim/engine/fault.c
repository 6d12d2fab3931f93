/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/fault.h"
#include "engine/outside.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine/trace.h"

static struct {
    struct sim_fault_point *first, *last;
    uint64_t rules;
    struct sim_fault_record *records, **records_end; /* NULL: none yet */
    uint64_t lost; /* transfers lost without a rule */
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
    copy->passed = copy->seen = copy->chosen = copy->fired = 0;
    copy->streams = NULL;
    copy->streams_count = 0;
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

static bool is_listed(const struct sim_fault_rule *rule, uint64_t number)
{
    size_t i;

    for (i = 0; i < rule->only_count && rule->only[i] <= number; i++)
        if (rule->only[i] == number)
            return true;
    return false;
}

/* The stream of a rule's random numbers for the subjects of one node: of their source, or of their
 * target if they have no source. What happens at another node at the same time, before or after,
 * does not change which of them the rule hits. */
static struct sim_random *stream_of(struct sim_fault_rule *rule,
                                    const struct sim_fault_subject *subject)
{
    uint32_t node = subject->source != SIM_FAULT_ANY ? subject->source : subject->target;
    size_t index = node == SIM_FAULT_ANY ? 0 : (size_t)node + 1;

    if (index >= rule->streams_count) {
        size_t count = 2 * index + 16;

        sim_outside_begin();
        rule->streams = realloc(rule->streams, count * sizeof *rule->streams);
        if (rule->streams == NULL)
            abort();
        sim_outside_end();
        memset(rule->streams + rule->streams_count, 0,
               (count - rule->streams_count) * sizeof *rule->streams);
        rule->streams_count = count;
    }
    if (random_is_unset(&rule->streams[index])) {
        struct sim_random own = rule->random;

        sim_random_init(&rule->streams[index], sim_random_next(&own), "source", index);
    }
    return &rule->streams[index];
}

/* The chance, in units of 2^-64, that at least one of so many packets is hit, when a packet is
 * missed with `missed` of these units. Integer arithmetic: the same on every machine. */
static uint64_t chance_of_any(uint64_t missed, uint32_t packets)
{
    uint64_t none = UINT64_MAX;

    for (; packets > 0; packets >>= 1) {
        if (packets & 1)
            none = (uint64_t)(((unsigned __int128)none * missed) >> 64);
        missed = (uint64_t)(((unsigned __int128)missed * missed) >> 64);
    }
    return ~none;
}

/*
 * Which of the packets is hit first, from 1; 0: none is. Packet k is the first one with the chance
 * p (1 - p)^(k - 1), so that one of n is hit with the chance 1 - (1 - p)^n. One random number
 * decides both.
 */
static uint32_t first_hit(struct sim_random *random, double probability, uint32_t packets)
{
    uint64_t drawn, missed;
    uint32_t low = 1, high = packets, middle;

    if (packets == 1)
        return sim_random_chance(random, probability) ? 1 : 0;
    drawn = sim_random_next(random);
    if (probability < 0x1p-64)
        return 0;
    missed = -(uint64_t)(probability * 0x1p64); /* exact: a power of two */
    if (drawn >= chance_of_any(missed, packets))
        return 0;
    while (low < high) {
        middle = low + (high - low) / 2;
        if (drawn < chance_of_any(missed, middle))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/*
 * A rule draws its random number only when nothing else keeps it from firing: `skip` and windows
 * are exact. *packet becomes the packet of the subject that is hit, from 1.
 */
static bool fires(struct sim_fault_rule *rule, const struct sim_fault_subject *subject,
                  uint32_t *packet)
{
    uint32_t packets = subject->packets > 1 ? subject->packets : 1, passed = 0, hit = 1;

    rule->seen++;
    if (rule->passed < rule->skip) {
        uint64_t left = rule->skip - rule->passed;

        passed = left < packets ? (uint32_t)left : packets;
        rule->passed += passed;
        if (passed == packets)
            return false;
    }
    if (rule->count_max != 0 && rule->chosen >= rule->count_max)
        return false;
    if (rule->probability < 1.0) {
        hit = first_hit(stream_of(rule, subject), rule->probability, packets - passed);
        if (hit == 0)
            return false;
    }
    *packet = passed + hit;
    rule->chosen++;
    if (rule->only != NULL && !is_listed(rule, rule->chosen))
        return false;
    rule->fired++;
    return true;
}

/* ---- records --------------------------------------------------------------------------------- */

static char *title_of(const struct sim_fault_record *record)
{
    const struct sim_fault_hit *hit = &record->hit;
    const struct sim_fault_rule *rule = record->rule;
    char nodes[32] = "", packet[64] = "", text[512];

    if (record->source != SIM_FAULT_ANY && record->target != SIM_FAULT_ANY)
        snprintf(nodes, sizeof nodes, " %" PRIu32 "→%" PRIu32, record->source, record->target);
    else if (record->target != SIM_FAULT_ANY)
        snprintf(nodes, sizeof nodes, " of node %" PRIu32, record->target);
    if (record->packets > 1)
        snprintf(packet, sizeof packet, ", %s packet %" PRIu32 " of %" PRIu32,
                 rule->action == SIM_FAULT_DROP ? "all lost with" : "hit in", record->packet,
                 record->packets);
    snprintf(text, sizeof text, "%s #%" PRIu64 ": %s%s%s%s%s%s%s",
             rule == NULL          ? "lost"
             : rule->label != NULL ? rule->label
                                   : sim_fault_action_name(rule->action),
             record->number, hit->what[0] != '\0' ? hit->what : "transfer", nodes,
             hit->extent[0] != '\0' ? ", " : "", hit->extent, packet,
             hit->place[0] != '\0' ? ", " : "", hit->place);
    assert(record->number > 0);
    return strdup(text);
}

/* Into the trace, but not into its digest: a record changes nothing in the run. */
static void record_trace(const struct sim_fault_record *record)
{
    const struct sim_trace_point point = {
        .kind = SIM_TRACE_INSTANT,
        .track = SIM_TRACK_FAULT,
        .node = record->source != SIM_FAULT_ANY ? record->source : record->target,
        .name = record->title,
        .time = record->time,
        .flow = record->hit.flow,
        .value = record->number,
    };

    sim_trace_add_number("number", record->number);
    sim_trace_write(&point);
}

/* `packet`: of the subject, that the rule hit, from 1; unused without a rule. */
static void record_add(const struct sim_fault_rule *rule, uint64_t number,
                       const struct sim_fault_subject *subject, uint32_t packet)
{
    struct sim_fault_record *record;

    assert(number > 0);
    sim_outside_begin();
    record = calloc(1, sizeof *record);
    if (record == NULL)
        abort();
    record->rule = rule;
    record->number = number;
    record->candidate = rule != NULL ? rule->seen : number;
    if (rule != NULL) {
        record->packet = packet;
        record->packets = subject->packets;
    }
    record->time = sim_now();
    record->source = subject->source;
    record->target = subject->target;
    if (subject->describe != NULL)
        subject->describe(subject->what, &record->hit);
    record->title = title_of(record);
    if (record->title == NULL)
        abort();
    sim_outside_end();
    *(faults.records_end != NULL ? faults.records_end : &faults.records) = record;
    faults.records_end = &record->next;
    if (sim_unlikely(sim_trace_on))
        record_trace(record);
}

/* A rule dropped it: the loss has its record. */
static bool was_dropped(const struct sim_fault_subject *subject)
{
    const struct sim_fault_record *record;
    struct sim_fault_hit hit = {0};

    if (subject->describe != NULL)
        subject->describe(subject->what, &hit);
    for (record = faults.records; record != NULL; record = record->next)
        if (record->rule != NULL && hit.flow != 0 && record->hit.flow == hit.flow &&
            strcmp(record->hit.extent, hit.extent) == 0 && record->error == NULL)
            return true;
    return false;
}

void sim_fault_lost(const struct sim_fault_subject *subject)
{
    if (was_dropped(subject))
        return;
    if (++faults.lost <= SIM_FAULT_RECORDS_KEPT)
        record_add(NULL, faults.lost, subject, 0);
}

void sim_fault_failed(uint64_t flow, const char *error)
{
    struct sim_fault_record *record;

    assert(flow != 0 && error != NULL);
    for (record = faults.records; record != NULL; record = record->next) {
        if (record->hit.flow == flow && record->error == NULL) {
            record->failed = sim_now();
            record->error = error;
        }
    }
}

void sim_fault_for_each_record(void (*visit)(const struct sim_fault_record *, void *arg), void *arg)
{
    const struct sim_fault_record *record;

    for (record = faults.records; record != NULL; record = record->next)
        visit(record, arg);
}

static void records_free(void)
{
    struct sim_fault_record *record, *next;

    for (record = faults.records; record != NULL; record = next) {
        next = record->next;
        free(record->title);
        free(record);
    }
}

/* ---- asking ---------------------------------------------------------------------------------- */

const struct sim_fault_rule *sim_fault_match(struct sim_fault_point *point,
                                             const struct sim_fault_subject *subject)
{
    struct sim_fault_rule *rule;
    uint32_t packet;

    for (rule = point->rules; rule != NULL; rule = rule->next) {
        if (matches(rule, subject) && fires(rule, subject, &packet)) {
            if (rule->fired <= SIM_FAULT_RECORDS_KEPT)
                record_add(rule, rule->chosen, subject, packet);
            return rule;
        }
    }
    return NULL;
}

void sim_fault_reset(void)
{
    struct sim_fault_point *point, *next_point;
    struct sim_fault_rule *rule, *next;

    records_free();
    for (point = faults.first; point != NULL; point = next_point) {
        next_point = point->next;
        for (rule = point->rules; rule != NULL; rule = next) {
            next = rule->next;
            free(rule->label);
            free(rule->only);
            free(rule->streams);
            free(rule);
        }
        point->rules = NULL;
        point->next = NULL;
    }
    memset(&faults, 0, sizeof faults);
}
