/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A process id that another process has by now: copies to and from the member that had it fail, and
 * the memory of the other one stays as it is. The test gives the id away itself (clone3 with
 * set_tid), before the news of the member's end is looked at.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "carrier.h"

enum { BYTES = 100000, MEMBERS_BYTE = 0x11, HEIRS_BYTE = 0x22, COPIED_BYTE = 0x33 };

static uint8_t *memory; /* private, at the same address in all processes of the test */
static struct {
    uint32_t joined, over;
} * talk;

static int be_member(void *arg)
{
    struct shm *shm = join_fabric();

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    memset(memory, MEMBERS_BYTE, BYTES);
    __atomic_store_n(&talk->joined, 1, __ATOMIC_SEQ_CST);
    for (;;)
        pause_us(1000000);
    shm_leave(shm);
    return 0;
}

/* A process with that id, with memory of its own at the same address. 0: not permitted. */
static pid_t heir_of(pid_t id)
{
    struct clone_args args = {.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&id, .set_tid_size = 1};
    pid_t heir = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
    size_t i;

    if (heir == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        memset(memory, HEIRS_BYTE, BYTES);
        __atomic_store_n(&talk->joined, 2, __ATOMIC_SEQ_CST);
        while (__atomic_load_n(&talk->over, __ATOMIC_SEQ_CST) == 0)
            pause_us(100);
        for (i = 0; i < BYTES && memory[i] == HEIRS_BYTE; i++)
            ;
        _exit(i == BYTES ? 0 : 1);
    }
    return heir > 0 ? heir : 0;
}

static void wait_until_joined(uint32_t value)
{
    while (__atomic_load_n(&talk->joined, __ATOMIC_SEQ_CST) != value)
        pause_us(100);
}

/* `before`: copies went both ways while the member lived. */
static void recycled(bool before)
{
    static uint8_t bytes[BYTES];
    struct shm_peer *peer;
    struct shm *shm;
    pid_t member, heir;
    size_t i;

    memset(talk, 0, sizeof(*talk));
    fresh_fabric();
    member = run(be_member, NULL);
    wait_until_joined(1);
    shm = join_fabric();
    peer = peer_of_pid(shm, member);
    memset(bytes, COPIED_BYTE, BYTES);
    if (before) {
        assert_int_equal(shm_copy_to(peer, (uintptr_t)memory, bytes, BYTES), 0);
        memset(bytes, 0, BYTES);
        assert_int_equal(shm_copy_from(peer, (uintptr_t)memory, bytes, BYTES), 0);
        for (i = 0; i < BYTES; i++)
            assert_int_equal(bytes[i], COPIED_BYTE);
    }
    kill(member, SIGKILL);
    waitpid(member, NULL, 0);
    heir = heir_of(member);
    if (heir == 0) {
        shm_leave(shm);
        fabric_is_over();
        print_message("[  SKIPPED ] processes may not choose their id here\n");
        skip();
    }
    assert_int_equal(heir, member);
    wait_until_joined(2);
    assert_false(peer->gone);
    assert_int_equal(shm_copy_to(peer, (uintptr_t)memory, bytes, BYTES), -ESRCH);
    assert_int_equal(shm_copy_from(peer, (uintptr_t)memory, bytes, BYTES), -ESRCH);
    __atomic_store_n(&talk->over, 1, __ATOMIC_SEQ_CST);
    ended_well(heir);
    shm_leave(shm);
    fabric_is_over();
}

static void a_recycled_id_is_not_written_to(void **state)
{
    recycled(true);
}

static void nor_is_it_opened_after_the_end(void **state)
{
    recycled(false);
}

static unsigned descriptors(void)
{
    unsigned count = 0;
    int fd;

    for (fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* What is opened for copies to a member goes with it. */

static void dropped_peers_leave_no_descriptors(void **state)
{
    struct shm_record record;
    struct shm_peer *peer;
    unsigned before, round;
    struct shm *shm;
    uint8_t byte = 0;
    pid_t member;

    fresh_fabric();
    shm = join_fabric();
    before = descriptors();
    for (round = 0; round < 5; round++) {
        memset(talk, 0, sizeof(*talk));
        member = run(be_member, NULL);
        wait_until_joined(1);
        peer = peer_of_pid(shm, member);
        assert_int_equal(shm_copy_to(peer, (uintptr_t)memory, &byte, 1), 0);
        kill(member, SIGKILL);
        waitpid(member, NULL, 0);
        while (!peer->gone)
            if (!shm_next(shm, &record))
                shm_poll_daemon(shm);
        shm_poll_daemon(shm);
        shm_drop(shm, peer);
        assert_int_equal(descriptors(), before);
    }
    shm_leave(shm);
    fabric_is_over();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recycled_id_is_not_written_to),
        cmocka_unit_test(nor_is_it_opened_after_the_end),
        cmocka_unit_test(dropped_peers_leave_no_descriptors),
    };

    memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    talk = mmap(NULL, sizeof(*talk), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || talk == MAP_FAILED)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
