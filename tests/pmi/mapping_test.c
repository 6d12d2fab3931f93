/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* PMI_process_mapping: what is written describes the placement; what would never end is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pmi2/mapping.h"

#define MOST 64

/* Node of each rank, one character each. */
static uint32_t nodes_of(const char *placement, uint32_t *nodes)
{
    uint32_t i;

    for (i = 0; placement[i] != '\0'; i++)
        nodes[i] = (uint32_t)(placement[i] - '0');
    return i;
}

static void expect_mapping(const char *placement, const char *text)
{
    uint32_t nodes[MOST], read[MOST], ranks = nodes_of(placement, nodes);
    char written[1024];

    assert_int_equal(pmi2_mapping_write(nodes, ranks, written, sizeof(written)), strlen(text));
    assert_string_equal(written, text);
    assert_true(pmi2_mapping_read(written, ranks, read));
    assert_memory_equal(read, nodes, ranks * sizeof(*nodes));
}

static void pmi2_46_written(void **state)
{
    expect_mapping("00000", "(vector,(0,1,1))");
    expect_mapping("001222", "(vector,(0,1,2),(1,1,1),(2,1,3))");
    expect_mapping("00122200", "(vector,(0,1,2),(1,1,1),(2,1,3))");
    expect_mapping("00122200122200", "(vector,(0,1,2),(1,1,1),(2,1,3))");
    expect_mapping("001", "(vector,(0,2,2))"); /* shorter than what the slots would say */
    expect_mapping("00001111", "(vector,(0,2,4))");
    expect_mapping("0000111100001111", "(vector,(0,2,4))");
    expect_mapping("000011", "(vector,(0,2,4))");
    expect_mapping("0120120", "(vector,(0,3,1))");
    expect_mapping("001122", "(vector,(0,3,2))");
    expect_mapping("0011", "(vector,(0,2,2))");
    expect_mapping("01", "(vector,(0,2,1))");
    expect_mapping("0101", "(vector,(0,2,1))");
    expect_mapping("0123000111", "(vector,(0,4,1),(0,2,3))");
    /* Would begin again at node 0, which is not the first. */
    expect_mapping("1010", "(vector,(1,1,1),(0,2,1),(0,1,1))");
    expect_mapping("5656", "(vector,(5,2,1))");
    expect_mapping("7", "(vector,(7,1,1))");
}

/* What Hydra and Slurm say, which is not always the shortest. */
static void pmi2_46_read(void **state)
{
    static const struct {
        const char *text, *placement;
    } cases[] = {
        {"(vector,(0,1,1))", "00000"},
        {"(vector,(0,1,2),(1,1,1),(2,1,3))", "00122200122200"},
        {"(vector,(0,1,2),(1,1,1))", "001"},
        {"(vector,(0,2,4))", "000011"},
        {"(vector,(0,2,1),(0,2,1))", "0101"},
        {"(vector,(0,4,1),(0,2,3))", "0123000111"},
        {" ( vector , ( 0 , 2 , 2 ) ) ", "00110011"},
        {"(vector,(3,1,1),(0,1,2),(1,1,0))", "300000"},
        {"(vector,(0,4294967295,0),(0,2,1))", "0101"},
    };
    uint32_t expected[MOST], read[MOST], ranks;
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ranks = nodes_of(cases[i].placement, expected);
        assert_true(pmi2_mapping_read(cases[i].text, ranks, read));
        assert_memory_equal(read, expected, ranks * sizeof(*read));
    }
}

static void pmi2_47_second_pass(void **state)
{
    static const uint32_t expected[] = {0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0};
    uint32_t read[12];

    assert_true(pmi2_mapping_read("(vector,(0,2,2),(0,2,3))", 12, read));
    assert_memory_equal(read, expected, sizeof(read));
    assert_true(pmi2_mapping_read("(vector,(0,2,2),(0,1,3))", 10, read));
    assert_memory_equal(read, ((uint32_t[]){0, 0, 1, 1, 0, 0, 0, 0, 0, 1}), 10 * sizeof(*read));
    /* What stands before the first block with start 0 comes once. */
    assert_true(pmi2_mapping_read("(vector,(2,1,1),(0,2,1))", 7, read));
    assert_memory_equal(read, ((uint32_t[]){2, 0, 1, 0, 1, 0, 1}), 7 * sizeof(*read));
}

static void pmi2_48_refused(void **state)
{
    static const char *const texts[] = {"(vector)",
                                        "(vector,(0,0,1))",
                                        "",
                                        "(vector,(0,1,0))",
                                        "(vector,(1,1,2),(0,0,1))",
                                        "vector",
                                        "(vector,(0,1,1)",
                                        "(vector,(0,1))",
                                        "(vector,(0,1,1,1))",
                                        "(vector,(-1,1,1))",
                                        "(vector,(0,1,x))",
                                        "(vector(0,1,1))",
                                        "(vector,(0,1,1)) x",
                                        "(matrix,(0,1,1))",
                                        "(vector,(0,1,99999999999))",
                                        "(vector,(4294967295,2,1))",
                                        "(vector,)",
                                        "(vector,(,,))"};
    uint32_t read[5];
    size_t i;

    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_false(pmi2_mapping_read(texts[i], 5, read));
}

static void does_not_fit(void **state)
{
    uint32_t nodes[] = {0, 0, 1, 5, 5, 5};
    char text[64];
    size_t length = pmi2_mapping_write(nodes, 6, text, sizeof(text)), size;

    assert_int_equal(length, strlen(text));
    for (size = 1; size <= length; size++) {
        assert_int_equal(pmi2_mapping_write(nodes, 6, text, size), 0);
        assert_string_equal(text, "");
    }
    assert_int_equal(pmi2_mapping_write(nodes, 6, text, length + 1), length);
    assert_int_equal(pmi2_mapping_write(nodes, 0, text, sizeof(text)), 0);
    assert_string_equal(text, "");
}

/* Every placement of up to eight ranks on three nodes, and random longer ones. */
static void pmi2_46_reads_what_was_written(void **state)
{
    uint32_t nodes[200], read[200], ranks, code, all, i, seed = 1;
    char text[4096];

    for (ranks = 1, all = 3; ranks <= 8; ranks++, all *= 3) {
        for (code = 0; code < all; code++) {
            uint32_t rest = code;

            for (i = 0; i < ranks; i++, rest /= 3)
                nodes[i] = rest % 3;
            assert_true(pmi2_mapping_write(nodes, ranks, text, sizeof(text)) != 0);
            assert_true(pmi2_mapping_read(text, ranks, read));
            assert_memory_equal(read, nodes, ranks * sizeof(*nodes));
        }
    }
    for (code = 0; code < 300; code++) {
        ranks = 1 + code % 200;
        for (i = 0; i < ranks; i++) {
            seed = seed * 1664525u + 1013904223u;
            nodes[i] = i != 0 && (seed >> 28) < 10 ? nodes[i - 1] : (seed >> 16) % (1 + code / 40);
        }
        assert_true(pmi2_mapping_write(nodes, ranks, text, sizeof(text)) != 0);
        assert_true(pmi2_mapping_read(text, ranks, read));
        assert_memory_equal(read, nodes, ranks * sizeof(*nodes));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pmi2_46_written),     cmocka_unit_test(pmi2_46_read),
        cmocka_unit_test(pmi2_47_second_pass), cmocka_unit_test(pmi2_48_refused),
        cmocka_unit_test(does_not_fit),        cmocka_unit_test(pmi2_46_reads_what_was_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
