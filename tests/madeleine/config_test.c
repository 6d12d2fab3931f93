/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The configuration language: its tree, its errors, and what a session takes from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "config.h"

static char error[MAD_CONFIG_ERROR_MAX];

static struct mad_config *parse(const char *text)
{
    return mad_config_parse(text, strlen(text), "file", error);
}

static void assert_refused(const char *text, const char *expected)
{
    assert_null(parse(text));
    assert_string_equal(error, expected);
}

static void mad_85_every_form_of_the_grammar(void **state)
{
    struct mad_config *tree = parse("# a comment\n"
                                    "a : { b : 5; c : 1..3; }; // another one\n"
                                    "d : (\"a text # no comment\", x, 7, (y), { z : 0; });\n"
                                    ".e.f-1/g_h : node.site/x[0, 2..4];\n"
                                    "i : node(\"p\", q);\n");
    const struct mad_config *each;

    assert_non_null(tree);
    each = mad_config_find(tree, "a");
    assert_int_equal(each->kind, MAD_CONFIG_MAP);
    assert_int_equal(mad_config_find(each, "b")->low, 5);
    assert_int_equal(mad_config_find(each, "c")->kind, MAD_CONFIG_RANGE);
    assert_int_equal(mad_config_find(each, "c")->low, 1);
    assert_int_equal(mad_config_find(each, "c")->high, 3);
    assert_null(mad_config_find(each, "d"));
    each = mad_config_find(tree, "d")->first;
    assert_int_equal(each->kind, MAD_CONFIG_STRING);
    assert_string_equal(each->text, "a text # no comment");
    assert_int_equal(each->next->kind, MAD_CONFIG_ID);
    assert_int_equal(each->next->next->kind, MAD_CONFIG_INTEGER);
    assert_int_equal(each->next->next->next->kind, MAD_CONFIG_LIST);
    assert_int_equal(each->next->next->next->next->first->low, 0);
    each = mad_config_find(tree, ".e.f-1/g_h");
    assert_non_null(each);
    assert_string_equal(each->text, "node.site/x");
    assert_true(each->brackets);
    assert_int_equal(each->modifier->low, 0);
    assert_int_equal(each->modifier->next->high, 4);
    assert_int_equal(each->line, 4);
    assert_int_equal(each->column, 14);
    each = mad_config_find(tree, "i");
    assert_false(each->brackets);
    assert_string_equal(each->modifier->text, "p");
    mad_config_free(tree);
}

static void mad_85_errors_name_file_line_and_column(void **state)
{
    char deep[400];
    int i;

    assert_refused("a : 1;\n  b : !;", "file:2:7: a character that the language does not have");
    assert_refused("a : \x80;", "file:1:5: a character that the language does not have");
    assert_refused("a : 1.5;", "file:1:6: a character that the language does not have");
    assert_refused("a 1;", "file:1:3: expected `:`");
    assert_refused("a : 1", "file:1:6: expected `;`");
    assert_refused("a : { };", "file:1:7: expected a name");
    assert_refused("", "file:1:1: expected a name");
    assert_refused("a : 1; }", "file:1:8: expected a name");
    assert_refused("a : ;", "file:1:5: expected a value");
    assert_refused("a : (1, );", "file:1:9: expected a value");
    assert_refused("a : x[];", "file:1:7: expected a value");
    assert_refused("a : x[1;", "file:1:8: expected `]`");
    assert_refused("a : 1..;", "file:1:8: expected the end of the range");
    assert_refused("a : 3..2;", "file:1:8: the range ends before it begins");
    assert_refused("a :\n\n\"text;", "file:3:1: the string has no end");
    assert_refused("a : 99999999999;", "file:1:5: the number is too large");
    assert_null(mad_config_parse("a : \"x\0y\";", 10, "file", error));
    assert_string_equal(error, "file:1:7: a zero byte in a string");
    snprintf(deep, sizeof(deep), "a : ");
    for (i = 0; i < 100; i++)
        strcat(deep, "(");
    assert_refused(deep, "file:1:69: too many levels");
}

/* ---- plans ----------------------------------------------------------------------------------- */

static const char *application, *included;

static char *reader(const char *file, size_t *length, char *text)
{
    const char *content = strcmp(file, "folder/main.cfg") == 0       ? application
                          : strcmp(file, "folder/networks.cfg") == 0 ? included
                                                                     : NULL;

    if (content == NULL) {
        snprintf(text, MAD_CONFIG_ERROR_MAX, "%s: not there", file);
        return NULL;
    }
    *length = strlen(content);
    return strdup(content);
}

static struct mad_plan *make(const char *main, const char *networks)
{
    application = main;
    included = networks;
    return mad_plan_make("folder/main.cfg", reader, error);
}

static const char *const networks = "networks : (\n"
                                    "  { name : net; hosts : localhost; dev : tcp; },\n"
                                    "  { name : other; hosts : (a, { name : b; }); dev : shm;\n"
                                    "    adapter : \"10.0.0.1\"; params : { eager : 1; };\n"
                                    "    topology : { type : full; }; });\n";

static void mad_85_the_example(void **state)
{
    struct mad_plan *plan =
        make("application : { name : ping; flavor : mad2;\n"
             "  networks : { include : networks.cfg;\n"
             "    channels : ({ name : c1; net : net; hosts : localhost[0..1]; }); }; };\n",
             networks);

    assert_non_null(plan);
    assert_int_equal(plan->size, 2);
    assert_int_equal(plan->channel_count, 1);
    assert_string_equal(plan->channels[0].name, "c1");
    assert_int_equal(plan->channels[0].network, 0);
    assert_int_equal(plan->channels[0].check, -1);
    assert_true(plan->channels[0].member[0] && plan->channels[0].member[1]);
    assert_false(plan->channels[0].member[2]);
    assert_true(plan->networks[0].used);
    assert_false(plan->networks[1].used);
    assert_string_equal(plan->networks[1].selector, "10.0.0.1");
    assert_string_equal(plan->parameters[0], "MAD_SHM_EAGER=1");
    assert_string_equal(plan->hosts[1], "localhost");
    mad_plan_free(plan);
}

/* Ranks in the order in which the channels name the processes; some are in one channel only. */
static void mad_85_processes_and_ranks(void **state)
{
    struct mad_plan *plan =
        make("application : { networks : { include : networks.cfg; channels : (\n"
             "  { name : one; net : other; hosts : (b[1, 0], a); check : 2; },\n"
             "  { name : two; net : other; hosts : (a, b[0..2]); },\n"
             "  { name : three; net : net; ranks : (0, 2..4); }); }; };\n",
             networks);
    const bool one[5] = {true, true, true, false, false};
    const bool two[5] = {false, true, true, true, false};

    assert_non_null(plan);
    assert_int_equal(plan->size, 5); /* b[1], b[0], a, b[2], and rank 4 */
    assert_memory_equal(plan->channels[0].member, one, 3);
    assert_int_equal(plan->channels[0].check, 2);
    assert_true(plan->channels[1].member[0]); /* b[1] is in the range */
    assert_memory_equal(plan->channels[1].member + 1, two + 1, 4);
    assert_false(plan->channels[2].member[1]);
    assert_true(plan->channels[2].member[4]);
    assert_string_equal(plan->hosts[2], "a");
    assert_string_equal(plan->hosts[4], "");
    mad_plan_free(plan);
}

static void assert_no_plan(const char *channels, const char *expected)
{
    char text[512];

    snprintf(text, sizeof(text), "application : { networks : { include : networks.cfg;\n%s }; };",
             channels);
    assert_null(make(text, networks));
    assert_string_equal(error, expected);
}

static void mad_85_contradictions_are_refused(void **state)
{
    assert_no_plan("channels : { name : c; net : x; ranks : 0; };",
                   "folder/main.cfg:2:12: there is no network of this name: x");
    assert_no_plan("channels : { name : c; net : net; hosts : a; };",
                   "folder/main.cfg:2:43: the host is not in the network: a");
    assert_no_plan("channels : { name : c; net : net; };",
                   "folder/main.cfg:2:12: expected either hosts or ranks");
    assert_no_plan("channels : { name : c; net : net; ranks : (0, 0); };",
                   "folder/main.cfg:2:47: a process is in the channel twice");
    assert_no_plan("channels : { name : c; net : net; ranks : 0..4096; };",
                   "folder/main.cfg:2:43: too many processes");
    assert_no_plan("channels : { name : c; net : net; ranks : 0; chek : 1; };",
                   "folder/main.cfg:2:53: unknown name: chek");
    assert_no_plan("channels : { name : c; net : net; ranks : 0; check : 3; };",
                   "folder/main.cfg:2:54: the check level is 0, 1 or 2");
    assert_no_plan("channels : { name : \"a b\"; net : net; ranks : 0; };",
                   "folder/main.cfg:2:21: expected a short name of letters, digits, `_` and `-`");
    assert_no_plan(
        "channels : ({ name : c; net : net; ranks : 0; }, { name : c; net : net; ranks : 0; });",
        "folder/main.cfg:2:50: there are two channels of this name: c");
    assert_no_plan("vchannels : { name : v; channels : (c, d); };",
                   "folder/main.cfg:2:37: expected the name of a channel");
    assert_no_plan("channels : { name : c; net : net; ranks : 0; }; vchannels : ({ name : v; "
                   "channels : c; }, { name : w; channels : c; });",
                   "folder/main.cfg:2:114: it is in a virtual channel: c");
    assert_no_plan("channels : { name : c; net : net; ranks : 0; }; vchannels : { name : c; "
                   "channels : c; };",
                   "folder/main.cfg:2:61: there are two channels of this name: c");
    assert_no_plan("vchannels : { name : v; };", "folder/main.cfg:2:13: there is no: channels");
    assert_no_plan("xchannels : { name : v; };", "folder/main.cfg:2:13: there is no: channels");
    assert_no_plan("xchannels : { name : v; channels : w; };",
                   "folder/main.cfg:2:36: expected the name of a channel");
    assert_no_plan("channels : { name : c; net : net; ranks : 0; }; xchannels : ({ name : x; "
                   "channels : c; }, { name : y; channels : c; });",
                   "folder/main.cfg:2:114: it is in a multiplexed channel: c");
    assert_no_plan("channels : { name : c; net : net; ranks : 0; }; xchannels : { name : x; "
                   "channels : c; sub_channels : (a, b, a); };",
                   "folder/main.cfg:2:109: there are two channels of this name: a");
    assert_no_plan("channels : { name : c; net : net; ranks : 0; }; xchannels : { name : x; "
                   "channels : c; strategy : fast; };",
                   "folder/main.cfg:2:98: the strategy is default or aggregate");
    assert_null(make("application : { networks : { include : none.cfg; }; };", networks));
    assert_string_equal(error, "folder/none.cfg: not there");
    assert_null(
        make("application : { networks : { include : networks.cfg; }; };",
             "networks :\n { name : n; dev : tcp; hosts : h; topology : { type : ring; }; };"));
    assert_string_equal(error, "folder/networks.cfg:2:47: the topology is not full: ring");
    assert_null(make("networks : { name : n; dev : tcp; hosts : h; };", networks));
    assert_string_equal(error, "folder/main.cfg:1:1: there is no: application");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mad_85_every_form_of_the_grammar),
        cmocka_unit_test(mad_85_errors_name_file_line_and_column),
        cmocka_unit_test(mad_85_the_example),
        cmocka_unit_test(mad_85_processes_and_ranks),
        cmocka_unit_test(mad_85_contradictions_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
