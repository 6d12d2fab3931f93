/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Arguments, states and failures of the calls. */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recording.h"

static const struct link_kind eager = {EAGER, DYNAMIC, AGGREGATE, SIZE_MAX};
static const struct link_kind group = {GROUP, DYNAMIC, SPLIT, SIZE_MAX};
static const struct link_kind frames = {EAGER, STATIC, AGGREGATE, SIZE_MAX, 64};

static void mad_2_values_and_unknown_modes(void **state)
{
    p_mad_connection_t out;
    char byte = 1;

    assert_int_equal(mad_send_unknown, 0);
    assert_int_equal(mad_send_SAFER, 1);
    assert_int_equal(mad_send_LATER, 2);
    assert_int_equal(mad_send_CHEAPER, 3);
    assert_int_equal(mad_receive_EXPRESS, 1);
    assert_int_equal(mad_receive_CHEAPER, 2);
    assert_int_equal(mad_link_mode_link_group, 3);
    assert_int_equal(mad_buffer_mode_static, 2);
    assert_int_equal(mad_group_mode_split, 2);
    assert_int_equal(mad_LOOP, 9);
    world_open(&eager, 1, 0);
    out = begin_packing();
    mad_pack(out, &byte, 1, mad_send_unknown, E);
    assert_string_equal(failure_text, "unknown send mode");
    assert_failure(MAD_EINVAL);
    mad_pack(out, &byte, 1, C, mad_receive_unknown);
    assert_string_equal(failure_text, "unknown receive mode");
    assert_failure(MAD_EINVAL);
    mad_pack(out, &byte, 1, (mad_send_mode_t)4, E);
    assert_failure(MAD_EINVAL);
    assert_int_equal(recording.bytes, 0);
    mad_pack(out, &byte, 1, C, E);
    mad_end_packing(out);
    assert_int_equal(recording.bytes, 1);
    world_close();
}

static void mad_4_mad_5_state_of_the_connection(void **state)
{
    p_mad_connection_t out, in;
    char byte = 1;

    world_open(&eager, 1, 0);
    out = world.channel[0]->output_connection[1];
    mad_pack(out, &byte, 1, C, E);
    assert_string_equal(failure_text, "invalid connection object");
    assert_failure(MAD_ESTATE);
    mad_pack(out, NULL, 0, C, E);
    assert_failure(MAD_ESTATE);
    mad_unpack(world.channel[1]->input_connection[0], &byte, 0, C, E);
    assert_failure(MAD_ESTATE);
    mad_end_packing(out);
    assert_failure(MAD_ESTATE);
    mad_pack(NULL, &byte, 1, C, E);
    assert_failure(MAD_ESTATE);

    out = begin_packing();
    mad_unpack(out, &byte, 1, C, E);
    assert_failure(MAD_ESTATE);
    mad_end_unpacking(out);
    assert_failure(MAD_ESTATE);
    mad_pack(out, &byte, 1, C, E);
    mad_end_packing(out);
    in = begin_unpacking();
    mad_pack(in, &byte, 1, C, E);
    assert_failure(MAD_ESTATE);
    mad_unpack(in, &byte, 1, C, E);
    mad_end_unpacking(in);
    world_close();
}

static void mad_6_mad_89_usage_errors_break_nothing(void **state)
{
    p_mad_connection_t out;
    char byte = 1;

    world_open(&eager, 1, 0);
    out = begin_packing();
    mad_pack(out, NULL, 1, C, E);
    assert_int_equal(failure_last.peer, 1);
    assert_ptr_equal(failure_last.channel, world.channel[0]);
    assert_failure(MAD_EINVAL);
    assert_int_equal(recording.bytes, 0);
    assert_int_equal(mad_connection_error(out), MAD_OK);
    mad_pack(out, &byte, 1, C, E);
    mad_end_packing(out);
    assert_int_equal(recording.bytes, 1);
    assert_int_equal(failure_count, 0);
    world_close();
}

static void mad_7_mad_8_ranks_and_connections(void **state)
{
    static const int wrong[] = {-1, 0, 3, 1000};
    p_mad_connection_t out;
    char byte = 1;

    world_open(&eager, 1, 0);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_null(mad_begin_packing(world.channel[0], wrong[i]));
        assert_failure(MAD_EINVAL);
    }
    out = begin_packing();
    assert_ptr_equal(out->channel, world.channel[0]);
    assert_int_equal(out->remote_host_id, 1);
    assert_ptr_equal(out->reverse, world.channel[0]->input_connection[1]);
    assert_int_equal(out->way, mad_outgoing_connection);
    mad_pack(out, &byte, 1, C, E);
    mad_end_packing(out);
    assert_ptr_equal(begin_packing(), out);
    mad_pack(out, &byte, 1, C, E);
    mad_end_packing(out);
    assert_int_equal(recording.announced, 2);
    world_close();
}

static void mad_37_mad_38_second_open_without_threads(void **state)
{
    p_mad_connection_t out, other, in;
    char byte = 1;

    world_open(&eager, 1, 0);
    out = begin_packing();
    assert_null(mad_begin_packing(world.channel[0], 1));
    assert_string_equal(failure_text, "mad_begin_packing: connection dead lock");
    assert_failure(MAD_EDEADLK);
    other = mad_begin_packing(world.channel[0], 2); /* another peer */
    assert_non_null(other);
    mad_pack(out, &byte, 1, C, E);
    mad_end_packing(out);
    in = begin_unpacking();
    assert_null(mad_begin_unpacking(world.channel[1]));
    assert_string_equal(failure_text, "mad_begin_unpacking: reception dead lock");
    assert_failure(MAD_EDEADLK);
    assert_null(mad_message_ready(world.channel[1]));
    assert_int_equal(failure_count, 0);
    mad_unpack(in, &byte, 1, C, E);
    mad_end_unpacking(in);
    assert_null(mad_message_ready(world.channel[1]));
    mad_pack(other, &byte, 1, C, E);
    mad_end_packing(other);
    in = mad_message_ready(world.channel[1]); /* the recording driver has one wire */
    assert_non_null(in);
    mad_unpack(in, &byte, 1, C, E);
    mad_end_unpacking(in);
    world_close();
}

static void mad_20_an_empty_message(void **state)
{
    const struct link_kind *kinds[] = {&eager, &group, &frames};

    for (size_t i = 0; i < 3; i++)
        for (int check = 0; check <= 2; check++) {
            world_open(kinds[i], 1, check);
            mad_end_packing(begin_packing());
            assert_failure(MAD_EEMPTY);
            assert_int_equal(recording.bytes, 0);
            EXCHANGE({10, C, E}, {20, L, R});
            world_close();
        }
}

static void mad_12_later_memory_is_not_read(void **state)
{
    const struct link_kind *kinds[] = {&eager, &group, &frames};
    const mad_receive_mode_t receive[] = {E, R};
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), copy[100];

    assert_ptr_not_equal(memory, MAP_FAILED);
    for (int i = 0; i < 6; i++) {
        p_mad_connection_t out, in;

        world_open(kinds[i / 2], 1, 0);
        assert_int_equal(mprotect(memory, page, PROT_NONE), 0);
        out = begin_packing();
        mad_pack(out, memory, 100, L, receive[i % 2]);
        mad_pack(out, (char[8]){0}, 8, S, R);
        assert_int_equal(mprotect(memory, page, PROT_READ | PROT_WRITE), 0);
        memset(memory, 0x40 + i, 100);
        mad_end_packing(out);
        in = begin_unpacking();
        mad_unpack(in, copy, 100, L, receive[i % 2]);
        mad_unpack(in, (char[8]){0}, 8, S, R);
        mad_end_unpacking(in);
        for (size_t byte = 0; byte < 100; byte++)
            assert_int_equal(copy[byte], 0x40 + i);
        world_close();
    }
    munmap(memory, page);
}

static void mad_15_one_variable_three_values(void **state)
{
    const struct link_kind *kinds[] = {&eager, &group, &frames};

    for (int i = 0; i < 3; i++) {
        int value, values[3], j;
        p_mad_connection_t out, in;

        world_open(kinds[i], 1, 0);
        out = begin_packing();
        for (value = 10; value < 40; value += 10)
            mad_pack(out, &value, sizeof(value), S, R);
        mad_end_packing(out);
        in = begin_unpacking();
        for (j = 0; j < 3; j++)
            mad_unpack(in, &values[j], sizeof(values[j]), S, R);
        mad_end_unpacking(in);
        for (j = 0; j < 3; j++)
            assert_int_equal(values[j], 10 * (j + 1));
        world_close();
    }
}

static void mad_88_a_failure_breaks_its_connection_only(void **state)
{
    p_mad_connection_t out;
    char byte = 1;

    world_open(&eager, 1, 0);
    out = begin_packing();
    recording.fail = MAD_EDRIVER;
    mad_pack(out, &byte, 1, C, E);
    assert_failure(MAD_EDRIVER);
    recording.fail = MAD_OK;
    assert_int_equal(mad_connection_error(out), MAD_EDRIVER);
    mad_pack(out, &byte, 1, C, E); /* no effect */
    mad_end_packing(out);
    assert_int_equal(failure_count, 0);
    assert_int_equal(recording.bytes, 1);
    assert_null(mad_begin_packing(world.channel[0], 1));
    assert_failure(MAD_EDRIVER);
    out = mad_begin_packing(world.channel[0], 2);
    assert_non_null(out);
    mad_pack(out, &byte, 1, C, E);
    mad_end_packing(out);
    assert_int_equal(failure_count, 0);
    assert_int_equal(recording.bytes, 2);
    world_close();
}

static void failures_at_every_call_leak_nothing(void **state)
{
    const struct link_kind kinds[3] = {
        {EAGER, STATIC, AGGREGATE, 40, 32}, {GROUP, STATIC, SPLIT, 80, 64}, group};
    p_mad_connection_t out;
    char memory[200] = {0};

    for (int at = 0; at < 8; at++) {
        world_open(kinds, 3, 0);
        out = begin_packing();
        for (int i = 0; i < 8; i++) {
            recording.fail = i >= at ? MAD_EPEER : MAD_OK;
            mad_pack(out, memory, (size_t)(20 + 25 * (i % 5)), i % 3 == 0 ? L : S, i == 5 ? E : R);
        }
        recording.fail = MAD_EPEER;
        mad_end_packing(out);
        assert_int_equal(mad_connection_error(out), MAD_EPEER);
        assert_int_equal(failure_count, 1);
        world_close();
    }
}

/* The message on the wire is shorter than the receiver's blocks. */
static void failures_of_the_receiver_leak_nothing(void **state)
{
    const struct link_kind kinds[3] = {
        {EAGER, STATIC, AGGREGATE, 40, 32}, {GROUP, STATIC, AGGREGATE, 80, 64}, group};
    p_mad_connection_t out, in;
    char memory[200] = {0};

    for (int count = 1; count < 8; count++) {
        world_open(kinds, 3, 0);
        out = begin_packing();
        for (int i = 0; i < count; i++)
            mad_pack(out, memory, (size_t)(20 + 25 * (i % 5)), i % 3 == 0 ? L : S, R);
        mad_end_packing(out);
        in = begin_unpacking();
        for (int i = 0; i < 8; i++)
            mad_unpack(in, memory, (size_t)(20 + 25 * (i % 5)), i % 3 == 0 ? L : S, R);
        mad_end_unpacking(in);
        assert_int_equal(mad_connection_error(in), MAD_EWIRE);
        assert_int_equal(failure_count, 1);
        world_close();
    }
}

static void mad_88_the_default_handler(void **state)
{
    int pipes[2], status;
    char text[512];
    ssize_t got;
    pid_t child;

    assert_int_equal(pipe(pipes), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(pipes[1], 2);
        mad_set_failure_handler(NULL, NULL);
        mad_pack(NULL, NULL, 0, C, E);
        _exit(0);
    }
    close(pipes[1]);
    got = read(pipes[0], text, sizeof(text) - 1);
    assert_true(got > 0);
    text[got] = '\0';
    close(pipes[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_ptr_equal(strstr(text, "FAILURE: invalid connection object\nFILE: message.c\nLINE: "),
                     text);
}

static void mad_77_mad_80_mad_81_sessions_that_differ(void **state)
{
    world_open(&eager, 1, 0);
    assert_int_equal(mad_protocol_available(world.session[0], (char *)(uintptr_t) "rec"), mad_SHM);
    assert_int_equal(mad_protocol_available(world.session[0], (char *)(uintptr_t) "tcp"), -1);
    world_close();

    foreign_key = "mad.x.0.0";
    foreign_value = "rank:2:has:this:rank:0:has:that";
    world_sessions(&eager, 1, 0);
    assert_null(world.session[1]);
    assert_string_equal(failure_text, "rank 2 has this rank 0 has that");
    assert_failure(MAD_ECONFIG);
    world_close();

    foreign_key = "mad.o.ch0.0";
    foreign_value = "1,0,rec,0";
    world_sessions(&eager, 1, 0);
    assert_null(mad_open_channel(world.session[1], 0));
    assert_string_equal(failure_text, "rank 1 has 0,0,rec,0 rank 0 has 1,0,rec,0");
    assert_failure(MAD_ECONFIG);
    world_close();
}

static void mad_79_keys_and_reads_at_the_start(void **state)
{
    static const int sizes[] = {3, 1000};

    for (int i = 0; i < 2; i++) {
        world_size = sizes[i];
        boot_gets = 0;
        world_sessions(&eager, 1, 0); /* the boot checks each key and value */
        assert_non_null(world.session[0]);
        assert_int_equal(boot_gets, 2 * 3);
        world_close();
    }
    world_size = 3;
}

static void mad_78_adapter_lists(void **state)
{
    static const struct mad_driver_entry none[] = {{NULL}};
    p_mad_adapter_set_t set;

    world_open(&eager, 1, 0);
    set = mad_adapter_set_init(2, mad_TCP, NULL, mad_TCP, "127.0.0.1");
    assert_non_null(set);
    assert_int_equal(set->size, 2);
    assert_null(set->description[0].adapter_selector);
    assert_string_equal(set->description[1].adapter_selector, "127.0.0.1");
    mad_adapter_set_free(set);
    set = mad_adapter_set_parse("tcp,tcp:10.0.0.1", mad_drivers);
    assert_int_equal(set->size, 2);
    assert_string_equal(set->description[1].adapter_selector, "10.0.0.1");
    mad_adapter_set_free(set);
    assert_null(mad_adapter_set_parse("tcp", none));
    assert_failure(MAD_ENOTSUP);
    assert_null(mad_adapter_set_parse("tcp,,tcp", mad_drivers));
    assert_failure(MAD_ENOTSUP);
    assert_null(mad_adapter_set_init(0));
    assert_failure(MAD_EINVAL);
    world_close();
}

static void the_command_line_of_2000(void **state)
{
    char *arguments[] = {(char[]){"p"},
                         (char[]){"-rank"},
                         (char[]){"1"},
                         (char[]){"-x"},
                         (char[]){"-device"},
                         (char[]){"4242"},
                         (char[]){"-slave"},
                         (char[]){"-conf"},
                         (char[]){"/etc"},
                         (char[]){"y"},
                         NULL};
    char *wrong[] = {(char[]){"p"}, (char[]){"-rank"}, (char[]){"one"}, NULL};
    struct mad_command_line line;
    int count = 10;

    assert_null(mad_command_line(&count, arguments, &line));
    assert_int_equal(count, 3);
    assert_string_equal(arguments[1], "-x");
    assert_string_equal(arguments[2], "y");
    assert_null(arguments[3]);
    assert_int_equal(line.rank, 1);
    assert_true(line.slave && !line.master);
    assert_int_equal(line.devices, 1);
    assert_string_equal(line.directory, "/etc");
    count = 3;
    assert_string_equal(mad_command_line(&count, wrong, &line),
                        "-rank option must be followed by a number");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mad_2_values_and_unknown_modes),
        cmocka_unit_test(mad_4_mad_5_state_of_the_connection),
        cmocka_unit_test(mad_6_mad_89_usage_errors_break_nothing),
        cmocka_unit_test(mad_7_mad_8_ranks_and_connections),
        cmocka_unit_test(mad_37_mad_38_second_open_without_threads),
        cmocka_unit_test(mad_20_an_empty_message),
        cmocka_unit_test(mad_12_later_memory_is_not_read),
        cmocka_unit_test(mad_15_one_variable_three_values),
        cmocka_unit_test(mad_88_a_failure_breaks_its_connection_only),
        cmocka_unit_test(failures_at_every_call_leak_nothing),
        cmocka_unit_test(failures_of_the_receiver_leak_nothing),
        cmocka_unit_test(mad_88_the_default_handler),
        cmocka_unit_test(mad_77_mad_80_mad_81_sessions_that_differ),
        cmocka_unit_test(mad_79_keys_and_reads_at_the_start),
        cmocka_unit_test(mad_78_adapter_lists),
        cmocka_unit_test(the_command_line_of_2000),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
