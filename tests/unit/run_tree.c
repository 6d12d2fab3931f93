/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* YAML documents as trees: lines, limits, paths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "scenario/tree.h"

static struct tree *parse(const char *text)
{
    char *error = NULL;
    struct tree *tree = scenario_tree_parse(text, strlen(text), "t", &error);

    if (tree == NULL)
        fail_msg("%s", error);
    return tree;
}

static void expect_refused(const char *text, const char *message)
{
    char *error = NULL;
    struct tree *tree = scenario_tree_parse(text, strlen(text), "t", &error);

    if (tree != NULL)
        fail_msg("was accepted: %.60s", text);
    if (strstr(error, message) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error, message);
    assert_null(strchr(error, '\n'));
    g_free(error);
}

static void lines_and_texts(void **state)
{
    struct tree *tree = parse("a: 1\nb:\n  - x\n  - {c: \"y\"}\n");

    (void)state;
    assert_int_equal(scenario_tree_get(tree, "a")->line, 1);
    assert_string_equal(scenario_tree_get(tree, "a")->text, "1");
    assert_int_equal(scenario_tree_get(tree, "b")->items[1]->line, 4);
    assert_string_equal(scenario_tree_get(scenario_tree_get(tree, "b")->items[1], "c")->text, "y");
    assert_null(scenario_tree_get(tree, "c"));
    scenario_tree_free(tree);
}

static void bad_documents(void **state)
{
    (void)state;
    expect_refused("", "t:1: empty");
    expect_refused("a: [", "t:2: not YAML");
    expect_refused("a: 1\na: 2\n", "t:2: \"a\" is given twice; allowed: each key once");
    expect_refused("? [x]\n: 1\n", "t:1: a key is a list or a mapping");
    expect_refused("a: 1\n---\nb: 2\n", "t:3: a second document");
    expect_refused("a: \"\\0\"\n", "t:1: a text contains a zero byte");
    expect_refused("a: *nobody\n", "t:1: not YAML");
    expect_refused("a: \xff\xfe\n", "t:1: not YAML");
}

static void bombs(void **state)
{
    GString *deep = g_string_new("a: "), *wide = g_string_new("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    GString *large = g_string_new("a: &a ");
    int i;

    (void)state;
    expect_refused("a: &a [*a]\n", "nested too deeply, or an alias inside what it names");
    for (i = 0; i < 100; i++)
        g_string_append_c(deep, '[');
    for (i = 0; i < 100; i++)
        g_string_append_c(deep, ']');
    expect_refused(deep->str, "nested too deeply");
    for (i = 1; i < 12; i++)
        g_string_append_printf(wide, "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n", i, i,
                               i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
    expect_refused(wide->str, "too many values after expanding aliases");
    for (i = 0; i < 200000; i++)
        g_string_append_c(large, 'x');
    g_string_append(large, "\nb: [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n");
    expect_refused(large->str, "too much text after expanding aliases");
    for (i = 0; large->len <= TREE_BYTES_MAX; i++)
        g_string_append(large, large->str);
    expect_refused(large->str, "too large");
    g_string_free(deep, TRUE);
    g_string_free(wide, TRUE);
    g_string_free(large, TRUE);
}

static void too_many_keys(void **state)
{
    GString *text = g_string_new(NULL);
    int i;

    (void)state;
    for (i = 0; i <= (int)TREE_KEYS_MAX; i++)
        g_string_append_printf(text, "k%d: 1\n", i);
    expect_refused(text->str, "t:1001: too many keys");
    g_string_free(text, TRUE);
}

static void set(struct tree *tree, const char *path, const char *value)
{
    char *error = NULL;

    if (!scenario_tree_set(tree, path, value, "--set", &error))
        fail_msg("%s", error);
}

static void expect_not_set(struct tree *tree, const char *path, const char *value,
                           const char *message)
{
    char *error = NULL;

    assert_false(scenario_tree_set(tree, path, value, "--set", &error));
    if (strstr(error, message) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error, message);
    g_free(error);
}

static void paths(void **state)
{
    struct tree *tree = parse("jobs: [{name: one}, {name: two, args: {a: 1}}]\n"
                              "faults: [{label: loss, count: 1}]\nparams: {aries.nic.tx_ns: 1}\n");
    const struct tree *jobs = scenario_tree_get(tree, "jobs");

    (void)state;
    set(tree, "seed", "9");
    assert_string_equal(scenario_tree_get(tree, "seed")->text, "9");
    set(tree, "jobs.two.args.a", "4KiB");
    assert_string_equal(scenario_tree_get(scenario_tree_get(jobs->items[1], "args"), "a")->text,
                        "4KiB");
    set(tree, "jobs.0.args.b", "[1, 2]");
    assert_int_equal(scenario_tree_get(scenario_tree_get(jobs->items[0], "args"), "b")->count, 2);
    set(tree, "faults.loss.count", "5");
    assert_string_equal(
        scenario_tree_get(scenario_tree_get(tree, "faults")->items[0], "count")->text, "5");
    set(tree, "params.aries.nic.tx_ns", "2");
    assert_string_equal(
        scenario_tree_get(scenario_tree_get(tree, "params"), "aries.nic.tx_ns")->text, "2");
    assert_int_equal(scenario_tree_get(tree, "params")->count, 1);
    set(tree, "params.aries.nic.rx_ns", "3");
    assert_int_equal(scenario_tree_get(tree, "params")->count, 2);
    expect_not_set(tree, "jobs.5.args", "1", "no such item");
    expect_not_set(tree, "jobs.three.args", "1", "no such item");
    expect_not_set(tree, "seed.x", "1", "its parent is a single value");
    expect_not_set(tree, "a..b", "1", "not a path");
    expect_not_set(tree, "seed", "", "no value");
    expect_not_set(tree, "seed", "[1", "not YAML");
    scenario_tree_remove(tree, "seed");
    assert_null(scenario_tree_get(tree, "seed"));
    set(tree, "seed", "10");
    scenario_tree_free(tree);
}

static void emitted_and_read_again(void **state)
{
    struct tree *tree = parse(
        "a: \"x: y\"\nb: [\"\", \"-\", 'it''s', \"#\", 3KiB]\nc: {d: {e: []}}\n\"k e y\": ~\n");
    struct tree *copy = scenario_tree_copy(tree), *again;
    char *first = scenario_tree_emit(copy), *second;

    (void)state;
    again = parse(first);
    second = scenario_tree_emit(again);
    assert_string_equal(first, second);
    assert_string_equal(scenario_tree_get(again, "a")->text, "x: y");
    assert_string_equal(scenario_tree_get(again, "b")->items[2]->text, "it's");
    scenario_tree_free(tree);
    scenario_tree_free(copy);
    scenario_tree_free(again);
    g_free(first);
    g_free(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_and_texts), cmocka_unit_test(bad_documents),
        cmocka_unit_test(bombs),           cmocka_unit_test(too_many_keys),
        cmocka_unit_test(paths),           cmocka_unit_test(emitted_and_read_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
