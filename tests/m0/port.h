/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The stacks' port on fibers of a test's world. A thread belongs to the node of its creator. */
#ifndef JACQUARD_TESTS_M0_PORT_H
#define JACQUARD_TESTS_M0_PORT_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include "port/port.h"

enum { PORT_TEST_PROCESSORS = 8 };

struct port_thread {
    struct sim_fiber *fiber, *joiner;
    void (*run)(void *);
    void *argument, *pointer;
    struct port_thread *next; /* that waits for the same mutex */
    int node;
    bool over;
    uint64_t processors; /* that it may use */
};

enum { PORT_TEST_NODES = 8 };
/* The books of all nodes: what is open in one, and violations since the test began. */
int64_t port_test_booked(enum port_book book);
extern unsigned port_test_violations;
extern char port_test_violation[128];

void port_test_begin(void); /* at the begin of a world's body */
void port_test_set_node(int node); /* of the running thread */
int port_test_node(void);
/* Runs `statement` with a place to return to when a condition of the code is violated. The objects
 * that it used are lost. */
extern jmp_buf *port_test_catcher;
extern char port_test_panic[512];
#define VIOLATES(statement)                   \
    do {                                      \
        jmp_buf catcher;                      \
                                              \
        port_test_panic[0] = '\0';            \
        if (setjmp(catcher) == 0) {           \
            port_test_catcher = &catcher;     \
            statement;                        \
        }                                     \
        port_test_catcher = NULL;             \
        assert_true(port_test_panic[0] != 0); \
    } while (0)

#endif
