/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/finding.h"
#include "engine/outside.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    struct sim_finding_rule *first_rule, *last_rule;
    struct sim_finding *first, *last;
} findings;

void sim_finding_rule_register(struct sim_finding_rule *rule)
{
    assert(rule->name != NULL && rule->summary != NULL);
    if (rule->registered)
        return;
    rule->registered = true;
    rule->next = NULL;
    if (findings.last_rule != NULL)
        findings.last_rule->next = rule;
    else
        findings.first_rule = rule;
    findings.last_rule = rule;
}

void sim_finding_record(struct sim_finding_rule *rule, uint32_t node, const char *rank,
                        const char *format, ...)
{
    struct sim_finding *finding;
    char text[512];
    va_list arguments;
    size_t length, rank_length = rank != NULL ? strlen(rank) + 1 : 0;

    sim_finding_rule_register(rule);
    rule->count++;
    if (rule->kept == SIM_FINDINGS_KEPT)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    length = strlen(text) + 1;
    sim_outside_begin();
    finding = malloc(sizeof(*finding) + length + rank_length);
    sim_outside_end();
    if (finding == NULL)
        return; /* it is counted */
    rule->kept++;
    *finding = (struct sim_finding){
        .rule = rule,
        .node = node,
        .time = sim_charged_time(),
        .call = sim_call_name(),
        .text = memcpy(finding + 1, text, length),
    };
    if (rank != NULL)
        finding->rank = memcpy((char *)(finding + 1) + length, rank, rank_length);
    if (findings.last != NULL)
        findings.last->next = finding;
    else
        findings.first = finding;
    findings.last = finding;
}

void sim_finding_for_each(void (*visit)(const struct sim_finding *finding, void *arg), void *arg)
{
    const struct sim_finding *finding;

    for (finding = findings.first; finding != NULL; finding = finding->next)
        visit(finding, arg);
}

void sim_finding_for_each_rule(void (*visit)(const struct sim_finding_rule *rule, void *arg),
                               void *arg)
{
    const struct sim_finding_rule *rule;

    for (rule = findings.first_rule; rule != NULL; rule = rule->next)
        visit(rule, arg);
}

void sim_finding_reset(void)
{
    struct sim_finding_rule *rule;
    struct sim_finding *finding;

    for (rule = findings.first_rule; rule != NULL; rule = rule->next) {
        rule->count = 0;
        rule->kept = 0;
    }
    while ((finding = findings.first) != NULL) {
        findings.first = finding->next;
        free(finding);
    }
    findings.last = NULL;
}
