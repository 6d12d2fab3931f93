/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* sim-run as a user calls it: exit codes, what goes where, files, many runs, programs of one's own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <cmocka.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <jansson.h>

struct done {
    int status;
    char *out, *err;
};

static char *folder; /* of this test program, removed at the end */

static char *file(const char *name, const char *text)
{
    char *path = g_build_filename(folder, name, NULL);

    assert_true(g_file_set_contents(path, text, -1, NULL));
    return path;
}

/* sim-run with these arguments, NULL at the end. */
static struct done call(const char *first, ...)
{
    GPtrArray *argv = g_ptr_array_new();
    struct done done = {0};
    GError *error = NULL;
    va_list arguments;
    const char *argument;
    int status;

    g_ptr_array_add(argv, (gpointer)SIM_RUN);
    va_start(arguments, first);
    for (argument = first; argument != NULL; argument = va_arg(arguments, const char *))
        g_ptr_array_add(argv, (gpointer)argument);
    va_end(arguments);
    g_ptr_array_add(argv, NULL);
    if (!g_spawn_sync(NULL, (gchar **)argv->pdata, NULL, G_SPAWN_DEFAULT, NULL, NULL, &done.out,
                      &done.err, &status, &error))
        fail_msg("%s", error->message);
    g_ptr_array_free(argv, TRUE);
    if (!WIFEXITED(status))
        fail_msg("sim-run was killed by signal %d: %s", WTERMSIG(status), done.err);
    done.status = WEXITSTATUS(status);
    return done;
}

static void forget(struct done *done)
{
    g_free(done->out);
    g_free(done->err);
}

static size_t lines(const char *text)
{
    size_t count = 0;

    for (; *text != '\0'; text++)
        count += *text == '\n';
    return count;
}

/* Exit code 2, one line on stderr that has `part`, nothing on stdout. */
static void expect_bad_input(struct done done, const char *part)
{
    if (done.status != 2 || lines(done.err) != 1 || strstr(done.err, part) == NULL ||
        done.out[0] != '\0')
        fail_msg("exit %d, stdout \"%s\", stderr \"%s\", expected \"%s\"", done.status, done.out,
                 done.err, part);
    forget(&done);
}

static json_t *json_of(const struct done *done)
{
    json_error_t error;
    json_t *json = json_loads(done->out, 0, &error);

    if (json == NULL)
        fail_msg("not JSON: %s\n%s\n%s", error.text, done->out, done->err);
    return json;
}

static json_int_t number_at(const json_t *json, const char *key)
{
    return json_integer_value(json_object_get(json, key));
}

#define GOOD \
    "name: good\njobs: [{name: a, nodes: 0-3, workload: raw_messages, args: {messages: 5}}]\n"
#define LOSSY GOOD "faults: [{at: net.packet, do: drop, label: loss, count: 1}]\n"

/* ---- the command line ------------------------------------------------------------------------ */

static void bad_input_is_one_line(void **state)
{
    char *good = file("good.yaml", GOOD), *bad = file("bad.yaml", "jobs:\n- {nam: a}\n");

    (void)state;
    expect_bad_input(call(NULL), "no scenario");
    expect_bad_input(call("--nonsense", NULL), "--nonsense");
    expect_bad_input(call(good, good, NULL), "unexpected");
    expect_bad_input(call("/nonexistent.yaml", NULL), "/nonexistent.yaml: ");
    expect_bad_input(call(bad, NULL), "bad.yaml:2: jobs.0.nam: unknown field; did you mean name?");
    expect_bad_input(call(good, "--set", "x", NULL), "--set x: not an assignment");
    expect_bad_input(call(good, "--set", "jobs.9.name=x", NULL),
                     "--set jobs.9.name=x: 9: no such item");
    expect_bad_input(call(good, "--seed", "x", NULL), "--seed: \"x\" is not allowed");
    expect_bad_input(call(good, "--seeds", "5-1", NULL), "--seeds: 5-1 is not a range");
    expect_bad_input(call(good, "--seeds", "1-2", "--seed", "1", NULL),
                     "--seeds: not together with --seed");
    expect_bad_input(call(good, "--seeds", "1-2", "--trace", "t", NULL),
                     "--trace: not with many runs");
    expect_bad_input(call(good, "--force", NULL), "--force: has no meaning without --out");
    expect_bad_input(call(good, "-j", "1000", NULL), "-j: allowed: 1 to 256");
    expect_bad_input(call("-j1000", good, NULL), "-j: allowed: 1 to 256");
    expect_bad_input(call("-jx", good, NULL), "for -j");
    expect_bad_input(call(good, "-j", NULL), "-j");
    expect_bad_input(call("--", "-j1", NULL), "\"-j1\"");
    expect_bad_input(call(good, "--trace", "/nonexistent/t", NULL), "/nonexistent/t");
    expect_bad_input(call(good, "--out", "/proc/nothing", NULL), "/proc/nothing");
    g_free(good);
    g_free(bad);
}

static void short_options_take_their_value_in_the_same_word(void **state)
{
    static const char *const forms[][2] = {
        {"-j3", NULL}, {"-j", "3"}, {"--jobs=3", NULL}, {"--jobs", "3"}};
    char *good = file("good.yaml", GOOD);
    size_t i;

    (void)state;
    for (i = 0; i < G_N_ELEMENTS(forms); i++) {
        struct done done = call(good, "--seeds", "1-4", forms[i][0], forms[i][1], NULL);

        if (done.status != 0 || strstr(done.out, "4 runs: 4 hold") == NULL)
            fail_msg("%s: exit %d, %s%s", forms[i][0], done.status, done.out, done.err);
        forget(&done);
    }
    g_free(good);
}

static void lists(void **state)
{
    static const char *const options[] = {"--list-workloads", "--list-presets", "--list-params"};
    static const char *const keys[] = {"workloads", "presets", "params"};
    static const char *const members[] = {"raw_messages", "mini2", "aries.nic.tx_ns"};
    struct done done;
    json_t *json;
    size_t i;

    (void)state;
    for (i = 0; i < G_N_ELEMENTS(options); i++) {
        done = call(options[i], NULL);
        assert_int_equal(done.status, 0);
        assert_non_null(strstr(done.out, members[i]));
        forget(&done);
        done = call(options[i], "--json", NULL);
        json = json_of(&done);
        assert_true(json_array_size(json_object_get(json, keys[i])) > 1);
        assert_non_null(json_object_get(json_array_get(json_object_get(json, keys[i]), 0), "name"));
        json_decref(json);
        forget(&done);
    }
    done = call("--help", NULL);
    assert_non_null(strstr(done.out, "--list-workloads"));
    forget(&done);
    done = call("--version", NULL);
    assert_memory_equal(done.out, "sim-run (Jacquard) ", 19);
    forget(&done);
}

static void check_starts_nothing(void **state)
{
    char *good = file("good.yaml", GOOD);
    char *link = file("link.yaml", GOOD "faults: [{at: link, do: down, routers: [0, 15]}]\n");
    char *sweep = file("sweep.yaml", GOOD "sweep: {jobs.a.args.bytes: [1, nonsense]}\n");
    struct done done = call("--check", good, NULL);
    json_t *json;

    (void)state;
    assert_int_equal(done.status, 0);
    assert_non_null(strstr(done.out, "valid: 1 jobs, 4 ranks, 64 nodes"));
    forget(&done);
    done = call("--check", good, "--json", NULL);
    json = json_of(&done);
    assert_int_equal(number_at(json, "ranks"), 4);
    json_decref(json);
    forget(&done);
    expect_bad_input(call("--check", link, NULL), "no link 0 joins routers 0 and 15");
    expect_bad_input(call("--check", sweep, NULL), "\"nonsense\" is not allowed");
    g_free(good);
    g_free(link);
    g_free(sweep);
}

static void verdicts_are_exit_codes(void **state)
{
    char *good = file("good.yaml", GOOD);
    char *broken = file("broken.yaml", GOOD "expect: [{metric: a.latency.p50, below: 1ns}]\n");
    char *stuck = file("stuck.yaml", GOOD "limits: {virtual_time: 10100ns}\n");
    struct done done = call(good, NULL);

    (void)state;
    assert_int_equal(done.status, 0);
    assert_string_equal(done.err, ""); /* no progress bar without a terminal */
    assert_null(strchr(done.out, '\033'));
    forget(&done);
    done = call(good, "--quiet", NULL);
    assert_int_equal(done.status, 0);
    assert_string_equal(done.out, "");
    forget(&done);
    done = call(broken, "--quiet", NULL);
    assert_int_equal(done.status, 1);
    assert_non_null(strstr(done.err, "expected: a.latency.p50 below 1ns"));
    forget(&done);
    done = call(stuck, NULL);
    assert_int_equal(done.status, 3);
    assert_non_null(strstr(done.out, "waits for its messages to arrive"));
    forget(&done);
    g_free(good);
    g_free(broken);
    g_free(stuck);
}

static void set_and_seed(void **state)
{
    char *lossy = file("lossy.yaml", LOSSY);
    struct done done = call(lossy, "--json", "--set", "jobs.a.args.messages=7", "--set",
                            "faults.loss.count=2", "--seed", "42", "--set", "name=changed", NULL);
    json_t *json = json_of(&done);
    const json_t *scenario = json_object_get(json, "scenario");

    (void)state;
    assert_int_equal(number_at(scenario, "seed"), 42);
    assert_string_equal(json_string_value(json_object_get(scenario, "name")), "changed");
    assert_int_equal(number_at(json_array_get(json_object_get(json, "faults"), 0), "fired"), 2);
    assert_int_equal(number_at(json_array_get(json_object_get(json, "jobs"), 0), "progress"), 28);
    json_decref(json);
    forget(&done);
    g_free(lossy);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void expect_files(const char *out, const char *const *names, size_t count)
{
    GDir *directory = g_dir_open(out, 0, NULL);
    size_t found = 0, i;

    assert_non_null(directory);
    while (g_dir_read_name(directory) != NULL)
        found++;
    g_dir_close(directory);
    assert_int_equal(found, count);
    for (i = 0; i < count; i++) {
        char *path = g_build_filename(out, names[i], NULL);
        if (!g_file_test(path, G_FILE_TEST_EXISTS))
            fail_msg("%s is missing", path);
        g_free(path);
    }
}

static void out_is_all_or_nothing(void **state)
{
    static const char *const names[] = {"metrics.json",  "ledger.json", "trace.pftrace",
                                        "scenario.yaml", "links.csv",   "histograms.csv"};
    char *good = file("good.yaml", GOOD), *out = g_build_filename(folder, "out", NULL);
    char *link = file("link.yaml", GOOD "faults: [{at: link, do: down, routers: [0, 15]}]\n");
    char *again = g_build_filename(out, "scenario.yaml", NULL),
         *error = g_strdup_printf("%s: holds files", out);
    struct done done;

    (void)state;
    expect_bad_input(call(link, "--out", out, NULL), "no link 0");
    assert_false(g_file_test(out, G_FILE_TEST_EXISTS));
    done = call(good, "--out", out, "--quiet", "--seed", "3", NULL);
    assert_int_equal(done.status, 0);
    forget(&done);
    expect_files(out, names, G_N_ELEMENTS(names));
    expect_bad_input(call(good, "--out", out, NULL), error);
    done = call(good, "--out", out, "--force", "--quiet", NULL);
    assert_int_equal(done.status, 0);
    forget(&done);
    expect_files(out, names, G_N_ELEMENTS(names));
    /* The scenario as it was run can be run again. */
    done = call(again, "--quiet", NULL);
    assert_int_equal(done.status, 0);
    forget(&done);
    g_free(again);
    g_free(error);
    g_free(good);
    g_free(link);
    g_free(out);
}

/* A whole trace and nothing of an unfinished one; removes it. */
static void expect_trace(const char *trace)
{
    GDir *directory = g_dir_open(folder, 0, NULL);
    const char *name;
    GStatBuf status;

    assert_int_equal(g_stat(trace, &status), 0);
    assert_true(status.st_size > 100);
    while ((name = g_dir_read_name(directory)) != NULL)
        assert_null(strstr(name, ".partial"));
    g_dir_close(directory);
    g_unlink(trace);
}

static void trace_takes_its_name_when_whole(void **state)
{
    char *good = file("good.yaml", GOOD), *trace = g_build_filename(folder, "x.pftrace", NULL);
    struct done done = call(good, "--trace", trace, NULL);

    (void)state;
    assert_int_equal(done.status, 0);
    assert_non_null(strstr(done.out, "x.pftrace; open it in a browser at https://ui.perfetto.dev"));
    expect_trace(trace);
    forget(&done);
    g_free(trace);
    g_free(good);
}

/* A run with output on the screen writes the trace of the scenario; a run with --json does not. */
static void a_scenario_names_its_trace(void **state)
{
    char *trace = g_build_filename(folder, "own.pftrace", NULL);
    char *other = g_build_filename(folder, "other.pftrace", NULL);
    char *text = g_strdup_printf("trace: %s\n%s", trace, GOOD), *own = file("own.yaml", text);
    struct done done = call(own, NULL);

    (void)state;
    assert_int_equal(done.status, 0);
    assert_non_null(strstr(done.out, "own.pftrace; open it in a browser"));
    expect_trace(trace);
    forget(&done);
    done = call(own, "--trace", other, NULL);
    assert_int_equal(done.status, 0);
    expect_trace(other);
    forget(&done);
    done = call(own, "--json", NULL);
    assert_int_equal(done.status, 0);
    forget(&done);
    done = call(own, "--quiet", NULL);
    assert_int_equal(done.status, 0);
    forget(&done);
    done = call(own, "--seeds", "1-2", NULL);
    assert_int_equal(done.status, 0);
    forget(&done);
    assert_false(g_file_test(trace, G_FILE_TEST_EXISTS));
    g_free(own);
    g_free(text);
    g_free(other);
    g_free(trace);
}

/* ---- many runs ------------------------------------------------------------------------------- */

static void seeds(void **state)
{
    char *good = file("good.yaml", GOOD);
    char *some = file(
        "some.yaml",
        "jobs: [{name: a, nodes: 0-7, workload: raw_messages}]\n"
        "faults: [{at: net.packet, do: drop, probability: 0.00003}]\nexpect: [{fault: fired}]\n");
    struct done done = call(good, "--seeds", "1-30", "-j", "2", NULL);
    json_t *json;
    const json_t *runs;
    json_int_t failed;
    size_t i;

    (void)state;
    assert_int_equal(done.status, 0);
    assert_non_null(strstr(done.out, "30 runs: 30 hold, 0 do not"));
    forget(&done);
    done = call(some, "--seeds", "1-20", "--json", NULL);
    assert_int_equal(done.status, 1);
    json = json_of(&done);
    runs = json_object_get(json, "runs");
    assert_int_equal(json_array_size(runs), 20);
    for (i = 0; i < 20; i++)
        assert_int_equal(number_at(json_array_get(runs, i), "seed"), i + 1);
    failed =
        (json_int_t)json_array_size(json_object_get(json_object_get(json, "summary"), "failed"));
    assert_in_range(failed, 1, 19);
    assert_int_equal(number_at(json_object_get(json, "summary"), "hold"), 20 - failed);
    json_decref(json);
    forget(&done);
    /* A run gives the same result by itself as in a campaign. */
    done = call(some, "--seeds", "1-20", NULL);
    assert_non_null(strstr(done.out, ", the first is run-seed"));
    assert_non_null(strstr(done.out, "expected: every fault was injected"));
    forget(&done);
    g_free(good);
    g_free(some);
}

static void a_seed_alone_is_the_same(void **state)
{
    char *good = file("good.yaml", GOOD);
    struct done many = call(good, "--seeds", "4-6", "--json", NULL),
                one = call(good, "--seed", "5", "--json", NULL);
    json_t *all = json_of(&many), *alone = json_of(&one);

    (void)state;
    assert_string_equal(json_string_value(json_object_get(
                            json_array_get(json_object_get(all, "runs"), 1), "digest")),
                        json_string_value(json_object_get(alone, "digest")));
    json_decref(all);
    json_decref(alone);
    forget(&many);
    forget(&one);
    g_free(good);
}

static void sweeps_are_grids(void **state)
{
    static const char *const names[] = {"summary.json", "run-8-F0", "run-8-F1", "run-1KiB-F0",
                                        "run-1KiB-F1"};
    char *sweep = file("sweep.yaml",
                       GOOD "sweep: {jobs.a.args.bytes: [8, 1KiB], fabric.fidelity: [F0, F1]}\n");
    char *out = g_build_filename(folder, "grid", NULL);
    struct done done = call(sweep, "--out", out, NULL);

    (void)state;
    assert_int_equal(done.status, 0);
    assert_non_null(strstr(done.out, "1KiB                   F0                     holds"));
    assert_non_null(strstr(done.out, "4 runs: 4 hold"));
    expect_files(out, names, G_N_ELEMENTS(names));
    forget(&done);
    /* A value that is refused only during the run is a failure of that run. */
    done =
        call(sweep, "--set", "jobs.a.nodes=0-63", "--set", "sweep={fabric.groups: [1, 2]}", NULL);
    assert_int_equal(done.status, 1);
    assert_non_null(strstr(done.out, "REFUSED 1 run, the first is run-1"));
    forget(&done);
    g_free(out);
    g_free(sweep);
}

/* ---- programs of one's own ------------------------------------------------------------------- */

static struct done behave(const char *behaviour, const char *ranks)
{
    char *text =
        g_strdup_printf("limits: {no_progress: 10ms}\njobs: [{name: own, nodes: 0-2, program: %s, "
                        "args: {behaviour: %s, ranks: %s}}]\n",
                        PROGRAM, behaviour, ranks);
    char *path = file("program.yaml", text);
    struct done done = call(path, NULL);

    g_free(path);
    g_free(text);
    return done;
}

static void expect_behaviour(const char *behaviour, const char *ranks, int status, const char *part)
{
    struct done done = behave(behaviour, ranks);

    if (done.status != status || strstr(done.out, part) == NULL)
        fail_msg("%s: exit %d\n%s%s", behaviour, done.status, done.out, done.err);
    forget(&done);
}

static void programs_of_ones_own(void **state)
{
    (void)state;
    expect_behaviour("good", "0", 0, "own.started                                      3");
    expect_behaviour("fails", "1", 1, "job own: rank 0: found 1 of 2");
    expect_behaviour("exits", "0", 1, "failed: exit code 7");
    expect_behaviour("undeclared", "1", 1,
                     "asks for argument \"nonsense\", which it does not declare");
    expect_behaviour("sizes", "0", 1, "rank 1: exchanges 2 bytes where others exchange 1");
    expect_behaviour("alarm", "0", 0, "1.29 ms of virtual time");
    expect_behaviour("livelock", "1", 3, "the run ended by no-progress");
    /*
     * Rank 0 enters one barrier more than the others. They have ended, so the barrier does not wait
     * for them.
     */
    expect_behaviour("latecomer", "1", 0, "ok");
    /* The program calls uGNI, which sim-run exports, and waits for an event that never arrives. */
    expect_behaviour("deadlock", "1", 3, "the run ended by deadlock");
    expect_behaviour("deadlock", "1", 3, "own.0 waits for ");
}

static void programs_that_are_none(void **state)
{
    char *text = file("text.so", "not a program");
    char *none = file("none.yaml", "jobs: [{name: a, nodes: 0, program: ./nothing.so}]\n");
    char *wrong = file("wrong.yaml", "jobs: [{name: a, nodes: 0, program: text.so}]\n");
    char *args = g_strdup_printf(
        "jobs:\n- {name: a, nodes: 0, program: %s, args: {behaviour: bad}}\n", PROGRAM);
    char *bad_args = file("args.yaml", args);

    (void)state;
    expect_bad_input(call(none, NULL), "jobs.0.program: cannot be opened: ");
    expect_bad_input(call(wrong, NULL), "jobs.0.program: cannot be opened: ");
    expect_bad_input(
        call(bad_args, NULL),
        "args.yaml:2: jobs.0.args.behaviour: \"bad\" is not allowed; allowed: good, fails");
    g_free(text);
    g_free(none);
    g_free(wrong);
    g_free(args);
    g_free(bad_args);
}

/* ---- all ------------------------------------------------------------------------------------- */

static void remove_tree(const char *path)
{
    GDir *directory = g_dir_open(path, 0, NULL);
    const char *name;

    while (directory != NULL && (name = g_dir_read_name(directory)) != NULL) {
        char *member = g_build_filename(path, name, NULL);
        if (g_file_test(member, G_FILE_TEST_IS_DIR))
            remove_tree(member);
        else
            g_unlink(member);
        g_free(member);
    }
    if (directory != NULL)
        g_dir_close(directory);
    g_rmdir(path);
}

static int make_folder(void **state)
{
    (void)state;
    folder = g_dir_make_tmp("run-command-XXXXXX", NULL);
    return folder == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    remove_tree(folder);
    g_free(folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_input_is_one_line),
        cmocka_unit_test(short_options_take_their_value_in_the_same_word),
        cmocka_unit_test(lists),
        cmocka_unit_test(check_starts_nothing),
        cmocka_unit_test(verdicts_are_exit_codes),
        cmocka_unit_test(set_and_seed),
        cmocka_unit_test(out_is_all_or_nothing),
        cmocka_unit_test(trace_takes_its_name_when_whole),
        cmocka_unit_test(a_scenario_names_its_trace),
        cmocka_unit_test(seeds),
        cmocka_unit_test(a_seed_alone_is_the_same),
        cmocka_unit_test(sweeps_are_grids),
        cmocka_unit_test(programs_of_ones_own),
        cmocka_unit_test(programs_that_are_none),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
