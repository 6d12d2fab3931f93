/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which of the injected faults a failure needs. */
#include "minimizer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct tree *fault_at(const struct minimizer *minimizer, size_t index)
{
    return scenario_tree_get(minimizer->best, "faults")->items[index];
}

/* The injections of a fault in the best run so far. */
static json_t *injections_of(const struct minimizer *minimizer, size_t index)
{
    const struct tree *label = scenario_tree_get(fault_at(minimizer, index), "label");
    char *title = label != NULL ? g_strdup(label->text) : g_strdup_printf("faults.%zu", index);
    const json_t *faults = json_object_get(minimizer->result, "faults"), *fault;
    json_t *found = NULL;
    size_t i;

    json_array_foreach (faults, i, fault) {
        if (g_strcmp0(json_string_value(json_object_get(fault, "fault")), title) == 0)
            found = json_object_get(fault, "injected");
    }
    g_free(title);
    return found;
}

static GArray *numbers_of(const struct minimizer *minimizer, size_t index, const char *key)
{
    GArray *numbers = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    const json_t *array = injections_of(minimizer, index), *injection;
    size_t i;

    json_array_foreach (array, i, injection) {
        uint64_t number = (uint64_t)json_integer_value(json_object_get(injection, key));
        g_array_append_val(numbers, number);
    }
    return numbers;
}

static char *list_text(const uint64_t *numbers, size_t count)
{
    GString *text = g_string_new("[");
    size_t i;

    for (i = 0; i < count; i++)
        g_string_append_printf(text, "%s%" PRIu64, i != 0 ? ", " : "", numbers[i]);
    g_string_append_c(text, ']');
    return g_string_free(text, FALSE);
}

static bool try_only(struct minimizer *minimizer, size_t index, const GArray *numbers)
{
    char *path = g_strdup_printf("faults.%zu.only", index);
    char *list = list_text((const uint64_t *)(const void *)numbers->data, numbers->len);
    bool ok = numbers->len != 0 && campaign_minimize_try_set(minimizer, path, list);

    g_free(list);
    g_free(path);
    return ok;
}

/* A copy of the numbers without [from, from + count), or of those alone. */
static GArray *part_of(const GArray *numbers, guint from, guint count, bool alone)
{
    GArray *part = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    guint i;

    for (i = 0; i < numbers->len; i++)
        if ((i >= from && i - from < count) == alone)
            g_array_append_val(part, g_array_index(numbers, uint64_t, i));
    return part;
}

/* One step of ddmin: a part alone, or all but a part. True: *numbers has become shorter. */
static bool ddmin_step(struct minimizer *minimizer, size_t index, GArray **numbers, guint parts)
{
    guint size = ((*numbers)->len + parts - 1) / parts, from;
    int alone;

    for (alone = 1; alone >= (parts > 2 ? 0 : 1); alone--) {
        for (from = 0; from < (*numbers)->len; from += size) {
            GArray *part = part_of(*numbers, from, size, alone != 0);

            if (part->len < (*numbers)->len && try_only(minimizer, index, part)) {
                g_array_free(*numbers, TRUE);
                *numbers = part;
                return true;
            }
            g_array_free(part, TRUE);
        }
    }
    return false;
}

static void reduce_injections(struct minimizer *minimizer, size_t index)
{
    GArray *numbers = numbers_of(minimizer, index, "number");
    guint parts = 2;

    if (try_only(minimizer, index, numbers)) {
        while (numbers->len > 1 && parts <= numbers->len) {
            if (ddmin_step(minimizer, index, &numbers, parts))
                parts = 2;
            else if (parts == numbers->len)
                break;
            else
                parts = MIN(parts * 2, numbers->len);
        }
    }
    g_array_free(numbers, TRUE);
}

/*
 * Names the subjects that the rule hits by their numbers among all that match, instead of by the
 * rule's random numbers: fewer ranks or messages then leave a subject to hit.
 */
static void fix_subjects(struct minimizer *minimizer, size_t index)
{
    GArray *subjects = numbers_of(minimizer, index, "candidate");
    char *path = g_strdup_printf("faults.%zu.only", index), *list;
    struct tree *tree, *fault;

    if (subjects->len != 0) {
        list = list_text((const uint64_t *)(const void *)subjects->data, subjects->len);
        tree = campaign_minimize_with(minimizer->best, path, list);
        if (tree != NULL) {
            fault = scenario_tree_get(tree, "faults")->items[index];
            scenario_tree_remove(fault, "probability");
            scenario_tree_remove(fault, "count");
            scenario_tree_remove(fault, "skip");
            campaign_minimize_try(minimizer, tree);
        }
        g_free(list);
    }
    g_free(path);
    g_array_free(subjects, TRUE);
}

static bool is_rule(const struct tree *fault)
{
    const struct tree *at = scenario_tree_get(fault, "at");

    return at != NULL && strchr(at->text, '.') != NULL; /* "aries.packet" */
}

void campaign_minimize_faults(struct minimizer *minimizer)
{
    size_t i;

    campaign_minimize_list(minimizer, "faults", 0);
    for (i = 0; i < campaign_minimize_items(minimizer->best, "faults"); i++)
        if (is_rule(fault_at(minimizer, i)))
            reduce_injections(minimizer, i);
    for (i = 0; i < campaign_minimize_items(minimizer->best, "faults"); i++)
        if (is_rule(fault_at(minimizer, i)))
            fix_subjects(minimizer, i);
}

/* The rule that injects one fault, if there is no other; else SIZE_MAX. */
static size_t only_rule(const struct minimizer *minimizer, uint64_t *subject)
{
    GArray *subjects;
    bool single;

    if (campaign_minimize_items(minimizer->best, "faults") != 1 || !is_rule(fault_at(minimizer, 0)))
        return SIZE_MAX;
    subjects = numbers_of(minimizer, 0, "candidate");
    single = subjects->len == 1;
    if (single)
        *subject = g_array_index(subjects, uint64_t, 0);
    g_array_free(subjects, TRUE);
    return single ? 0 : SIZE_MAX;
}

bool campaign_minimize_try_smaller(struct minimizer *minimizer, struct tree *tree)
{
    static const unsigned firsts[] = {1, 2, 3, 4};
    uint64_t subject = 0;
    size_t rule = only_rule(minimizer, &subject), i;
    struct tree *copy, *other;
    char list[32];
    bool ok = false;

    if (tree == NULL)
        return false;
    if (rule == SIZE_MAX)
        return campaign_minimize_try(minimizer, tree);
    copy = scenario_tree_copy(tree);
    ok = campaign_minimize_try(minimizer, tree);
    for (i = 0; i < G_N_ELEMENTS(firsts) + 1 && !ok; i++) {
        uint64_t number = i < G_N_ELEMENTS(firsts) ? firsts[i] : subject / 2;

        if (number == 0 || number >= subject)
            continue;
        snprintf(list, sizeof(list), "[%" PRIu64 "]", number);
        other = campaign_minimize_with(copy, "faults.0.only", list);
        ok = other != NULL && campaign_minimize_try(minimizer, other);
    }
    scenario_tree_free(copy);
    return ok;
}

void campaign_minimize_subject(struct minimizer *minimizer)
{
    uint64_t subject = 0, number;
    char list[32];

    for (number = 1; number <= 4 && only_rule(minimizer, &subject) != SIZE_MAX && number < subject;
         number++) {
        snprintf(list, sizeof(list), "[%" PRIu64 "]", number);
        if (campaign_minimize_try_set(minimizer, "faults.0.only", list))
            return;
    }
}
