/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Parts of pmrun that need no process: placement, environment, exit rules, binding, lines. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "binding.h"
#include "environment.h"
#include "hosts.h"
#include "launch.h"
#include "lines.h"
#include "output.h"
#include "proof.h"
#include "status.h"

/* ---- placement --------------------------------------------------------------------------------
 */

static void expect_nodes(const char *list, uint32_t per_node, const char *expected)
{
    GPtrArray *hosts = pmrun_hosts_parse_list(list, NULL);
    uint32_t ranks = (uint32_t)strlen(expected), node_of[64], i;
    char text[65] = "";

    assert_non_null(hosts);
    pmrun_hosts_place(hosts, per_node, ranks, node_of);
    for (i = 0; i < ranks; i++)
        text[i] = (char)('0' + node_of[i]);
    assert_string_equal(text, expected);
    g_ptr_array_unref(hosts);
}

static void pmi2_91_placement(void **state)
{
    expect_nodes("ha:2,hb:1,hc:3", 0, "00122200122200");
    expect_nodes("ha,hb,hc", 0, "0120120");
    expect_nodes("ha:4,hb:4", 0, "000011110000");
    expect_nodes("ha:4,hb:1", 2, "00110011");
    expect_nodes("ha:2,hb:2,ha:2", 0, "00112200");
}

/* The rule, written down otherwise: rank r is in slot r modulo all slots. */
static void pmi2_91_generated_lists(void **state)
{
    uint32_t seed = 7, round, h, i, node_of[200];

    for (round = 0; round < 20; round++) {
        GString *list = g_string_new(NULL);
        GArray *slots = g_array_new(FALSE, FALSE, sizeof(uint32_t));
        uint32_t count = 1 + (seed = seed * 1664525u + 1013904223u) / 65536 % 6;
        GPtrArray *hosts;

        for (h = 0; h < count; h++) {
            uint32_t own = 1 + (seed = seed * 1664525u + 1013904223u) / 65536 % 5;

            g_string_append_printf(list, "%sh%u:%u", h > 0 ? "," : "", h, own);
            for (i = 0; i < own; i++)
                g_array_append_val(slots, h);
        }
        hosts = pmrun_hosts_parse_list(list->str, NULL);
        pmrun_hosts_place(hosts, 0, 200, node_of);
        for (i = 0; i < 200; i++)
            assert_int_equal(node_of[i], g_array_index(slots, uint32_t, i % slots->len));
        assert_int_equal(pmrun_hosts_slots(hosts), slots->len);
        g_ptr_array_unref(hosts);
        g_array_unref(slots);
        g_string_free(list, TRUE);
    }
}

static void hosts_that_are_none(void **state)
{
    static const char *const bad[] = {"",    "a,,b", "a:0", "a:x", "-oProxyCommand=x",
                                      "a b", "a;b",  "$(x)"};
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(bad); i++)
        assert_null(pmrun_hosts_parse_list(bad[i], NULL));
}

/* ---- environment ------------------------------------------------------------------------------
 */

static void pmi2_92_precedence(void **state)
{
    char *inherited[] = {(char *)"X=0", (char *)"KEPT=1", (char *)"PMI_RANK=9", NULL};
    struct pmrun_environment_rules all = {PMRUN_INHERIT_DEFAULT}, own = {PMRUN_INHERIT_DEFAULT};
    char **made;

    pmrun_environment_rules_set(&all, "X", "all");
    made = pmrun_environment_make(inherited, &all, &own);
    assert_string_equal(g_environ_getenv(made, "X"), "all");
    assert_string_equal(g_environ_getenv(made, "KEPT"), "1");
    assert_null(g_environ_getenv(made, "PMI_RANK"));
    g_strfreev(made);
    pmrun_environment_rules_set(&own, "X", "own");
    own.inherit = PMRUN_INHERIT_NONE;
    made = pmrun_environment_make(inherited, &all, &own);
    assert_string_equal(g_environ_getenv(made, "X"), "own");
    assert_null(g_environ_getenv(made, "KEPT"));
    g_strfreev(made);
    pmrun_environment_rules_clear(&all);
    pmrun_environment_rules_clear(&own);
}

/* ---- ends -------------------------------------------------------------------------------------
 */

#define EXITED(code) ((code) << 8)

static void pmi2_94_exit_rules(void **state)
{
    assert_int_equal(pmrun_status_combine(PMRUN_EXIT_RULE_MAXIMUM, 2, 4), 4);
    assert_int_equal(pmrun_status_combine(PMRUN_EXIT_RULE_OR, 3, 4), 7);
    assert_int_equal(pmrun_status_code(PMRUN_EXIT_RULE_MAXIMUM, SIGSEGV, PMI2_RANK_NEW), 11);
    assert_int_equal(pmrun_status_code(PMRUN_EXIT_RULE_SHELL, SIGSEGV, PMI2_RANK_NEW), 139);
    assert_int_equal(pmrun_status_code(PMRUN_EXIT_RULE_MAXIMUM, EXITED(0), PMI2_RANK_RUNNING), 1);
    assert_int_equal(pmrun_status_code(PMRUN_EXIT_RULE_MAXIMUM, EXITED(3), PMI2_RANK_FINALIZED), 3);
    assert_int_equal(pmrun_status_end(EXITED(3), PMI2_RANK_FINALIZED), PMRUN_END_NORMAL);
    assert_int_equal(pmrun_status_end(EXITED(3), PMI2_RANK_NEW), PMRUN_END_NORMAL);
    assert_int_equal(pmrun_status_end(EXITED(3), PMI2_RANK_FAILED), PMRUN_END_EARLY);
    assert_int_equal(pmrun_status_end(SIGKILL, PMI2_RANK_NEW), PMRUN_END_SIGNAL);
}

static void exit_codes_as_ranges(void **state)
{
    const int statuses[] = {0, 0, 0, EXITED(2), 0, -1, SIGKILL, SIGKILL};
    char *text = pmrun_status_list(statuses, G_N_ELEMENTS(statuses));

    assert_string_equal(
        text,
        "0-2,4: exit status 0; 3: exit status 2; 5: not started; 6-7: killed by signal 9 (KILL)");
    g_free(text);
}

/* ---- output -----------------------------------------------------------------------------------
 */

static void collect(void *owner, const char *bytes, gsize length)
{
    g_string_append_len(owner, bytes, (gssize)length);
    g_string_append_c(owner, '|');
}

static void lines_are_whole(void **state)
{
    struct pmrun_lines lines = {NULL};
    GString *text = g_string_new(NULL);

    pmrun_lines_feed(&lines, "a\nb", 3, collect, text);
    pmrun_lines_feed(&lines, "c", 1, collect, text);
    pmrun_lines_feed(&lines, "d\ne\nf", 5, collect, text);
    pmrun_lines_end(&lines, collect, text);
    pmrun_lines_end(&lines, collect, text);
    assert_string_equal(text->str, "a\n|bcd\ne\n|f|");
    g_string_free(text, TRUE);
}

static void patterns_expand(void **state)
{
    const struct pmrun_output_origin origin = {.job = "1.0", .host = "hb", .rank = 7, .node = 2};
    char *text = pmrun_output_expand("%r-%g-%p-%h-%%-%t-%x-%", &origin, 1.5);

    assert_string_equal(text, "7-1.0-2-hb-%-1.500-%x-%");
    g_free(text);
}

/* ---- binding ----------------------------------------------------------------------------------
 */

static void expect_masks(hwloc_topology_t topology, const char *bind_to, const char *map_by,
                         const char *const *masks, uint32_t count)
{
    struct pmrun_binding *binding =
        pmrun_binding_new_on_topology(topology, bind_to, map_by, NULL, NULL);
    uint32_t local, bit;

    assert_non_null(binding);
    for (local = 0; local < count; local++) {
        char mask[9] = "";

        for (bit = 0; bit < 8; bit++)
            mask[bit] = hwloc_bitmap_isset(pmrun_binding_cpus(binding, local), bit) ? '1' : '0';
        assert_string_equal(mask, masks[local]);
    }
    pmrun_binding_free(binding);
}

static hwloc_topology_t synthetic(const char *description)
{
    hwloc_topology_t topology;

    hwloc_topology_init(&topology);
    assert_int_equal(hwloc_topology_set_synthetic(topology, description), 0);
    hwloc_topology_load(topology);
    return topology;
}

/* Two sockets whose threads are numbered in turn. */
static void binding_examples(void **state)
{
    hwloc_topology_t topology = synthetic("pack:2 core:4 pu:1(indexes=0,2,4,6,1,3,5,7)");

    expect_masks(topology, "hwthread", NULL,
                 (const char *const[]){"10000000", "00100000", "00001000", "00000010", "01000000"},
                 5);
    expect_masks(topology, "core:2", NULL,
                 (const char *const[]){"10100000", "00001010", "01010000", "00000101", "10100000"},
                 5);
    expect_masks(topology, "socket", "hwthread",
                 (const char *const[]){"10101010", "10101010", "10101010", "10101010", "01010101",
                                       "01010101", "01010101", "01010101"},
                 8);
    expect_masks(topology, "core", "socket",
                 (const char *const[]){"10000000", "01000000", "00100000", "00010000"}, 4);
    expect_masks(topology, "user:0+2,1", NULL,
                 (const char *const[]){"10100000", "01000000", "10100000"}, 3);
    hwloc_topology_destroy(topology);
}

static void binding_that_is_none(void **state)
{
    hwloc_topology_t topology = synthetic("pack:2 core:2 pu:1");
    static const char *const bad[] = {"x", "core:0", "core:", "user:9", "user:a", "l5cache"};
    GError *error = NULL;
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(bad); i++) {
        assert_null(pmrun_binding_new_on_topology(topology, bad[i], NULL, NULL, &error));
        assert_non_null(error);
        g_clear_error(&error);
    }
    assert_null(pmrun_binding_new_on_topology(topology, "core", NULL, "bind:x", &error));
    g_clear_error(&error);
    hwloc_topology_destroy(topology);
}

/* ---- messages ---------------------------------------------------------------------------------
 */

/* Every cut and changed byte is refused or understood, never followed out of the buffer. */
static void launch_bytes_are_checked(void **state)
{
    static char *argv[] = {(char *)"a", (char *)"b c", NULL},
                *environment[] = {(char *)"X=\xff", NULL};
    struct pmrun_program program = {
        .argv = argv, .environment = environment, .wdir = (char *)"/tmp"};
    struct pmrun_node_settings binding = {.node = 2, .bind_to = (char *)"core"};
    struct pmrun_launch launch = {.programs = g_ptr_array_new(),
                                  .nodes = g_ptr_array_new(),
                                  .stdin_rank = 3,
                                  .libraries = (char *)"/l"},
                        *read;
    GBytes *bytes;
    const char *data;
    char *changed;
    gsize length, i;

    g_ptr_array_add(launch.programs, &program);
    g_ptr_array_add(launch.nodes, &binding);
    bytes = pmrun_launch_pack(&launch);
    data = g_bytes_get_data(bytes, &length);
    read = pmrun_launch_unpack(data, length);
    assert_non_null(read);
    assert_string_equal(((struct pmrun_program *)g_ptr_array_index(read->programs, 0))->argv[1],
                        "b c");
    assert_string_equal(
        ((struct pmrun_program *)g_ptr_array_index(read->programs, 0))->environment[0], "X=\xff");
    assert_int_equal(read->stdin_rank, 3);
    assert_string_equal(pmrun_launch_binding(read, &program, 2), "core");
    assert_null(pmrun_launch_binding(read, &program, 1));
    pmrun_launch_free(read);
    for (i = 0; i < length; i++) {
        pmrun_launch_free(pmrun_launch_unpack(data, i));
        changed = g_memdup2(data, length);
        changed[i] = (char)(changed[i] ^ 0x55);
        pmrun_launch_free(pmrun_launch_unpack(changed, length));
        g_free(changed);
    }
    g_bytes_unref(bytes);
    g_ptr_array_unref(launch.programs);
    g_ptr_array_unref(launch.nodes);
}

static void pmi2_111_proofs_depend_on_everything(void **state)
{
    struct pmrun_proof_hello hello = {.first = 1, .last = 2};
    uint8_t key[PMRUN_PROOF_BYTES] = {1}, nonce[PMRUN_PROOF_BYTES] = {2}, one[PMRUN_PROOF_BYTES],
            other[PMRUN_PROOF_BYTES];

    pmrun_proof_make(key, "above", &hello, nonce, one);
    pmrun_proof_make(key, "above", &hello, nonce, other);
    assert_true(pmrun_proof_equal(one, other));
    pmrun_proof_make(key, "below", &hello, nonce, other);
    assert_false(pmrun_proof_equal(one, other));
    hello.first = 9;
    pmrun_proof_make(key, "above", &hello, nonce, other);
    assert_false(pmrun_proof_equal(one, other));
    hello.first = 1;
    nonce[5] = 1;
    pmrun_proof_make(key, "above", &hello, nonce, other);
    assert_false(pmrun_proof_equal(one, other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pmi2_91_placement),
        cmocka_unit_test(pmi2_91_generated_lists),
        cmocka_unit_test(hosts_that_are_none),
        cmocka_unit_test(pmi2_92_precedence),
        cmocka_unit_test(pmi2_94_exit_rules),
        cmocka_unit_test(exit_codes_as_ranges),
        cmocka_unit_test(lines_are_whole),
        cmocka_unit_test(patterns_expand),
        cmocka_unit_test(binding_examples),
        cmocka_unit_test(binding_that_is_none),
        cmocka_unit_test(launch_bytes_are_checked),
        cmocka_unit_test(pmi2_111_proofs_depend_on_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
