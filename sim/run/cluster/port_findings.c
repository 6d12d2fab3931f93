/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The findings of the stacks (port/port.h) as findings of the simulation (engine/finding.h). */
#include <stdarg.h>
#include <stdio.h>

#include "aries/aries.h"
#include "cluster/port_fiber.h"
#include "engine/finding.h"
#include "gni_prov/prov.h"

#define RULES_MAX 16u

static struct {
    const struct port_rule *of;
    struct sim_finding_rule rule;
} rules[RULES_MAX];
static unsigned rules_count;

void port_findings_register(void)
{
    static const enum sim_finding_severity severities[] = {
        [PORT_FINDING_COUNT] = SIM_FINDING_COUNT,
        [PORT_FINDING_WARNING] = SIM_FINDING_WARNING,
        [PORT_FINDING_ERROR] = SIM_FINDING_ERROR,
    };
    const struct port_rule *rule;

    if (rules_count > 0)
        return;
    for (rule = gni_prov_rules(); rule->name != NULL; rule++) {
        g_assert(rules_count < RULES_MAX);
        rules[rules_count].of = rule;
        rules[rules_count].rule = (struct sim_finding_rule){
            .name = rule->name,
            .summary = rule->summary,
            .severity = severities[rule->severity],
        };
        sim_finding_rule_register(&rules[rules_count++].rule);
    }
}

bool port_checks(void)
{
    return port_self()->rank->job->cluster->scenario->checks == CHECKS_ON;
}

void port_finding(const struct port_rule *rule, const char *format, ...)
{
    const struct rank *rank = port_self()->rank;
    char name[96], text[400];
    va_list arguments;
    unsigned i;

    port_findings_register();
    for (i = 0; i < rules_count && rules[i].of != rule; i++)
        ;
    g_assert(i < rules_count); /* gni_prov_rules() has all */
    snprintf(name, sizeof(name), "%s.%u", rank->job->name, rank->id);
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    sim_finding_record(&rules[i].rule, rank->node, name, "%s", text);
}

double port_finding_time(void)
{
    return (double)sim_charged_time() / SIM_US;
}

void port_peer_name(uint32_t nic_address, uint32_t instance, char *name, size_t size)
{
    aries_instance_name(port_self()->rank->process, nic_address, instance, name, size);
}

bool port_copy(void *to, const void *from, size_t bytes)
{
    return aries_copy(to, from, bytes);
}

void port_at_end(void (*end)(void))
{
    port_self()->at_end = end;
}

void port_at_wait(void (*describe)(char *text, size_t size))
{
    port_self()->at_wait = describe;
}

void port_process_ended(struct rank *rank)
{
    if (rank->port != NULL && rank->port->at_end != NULL)
        rank->port->at_end();
}
