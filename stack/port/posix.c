/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The port on POSIX: processes and threads are those of the system. */
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "port/port.h"

_Static_assert(sizeof(pthread_mutex_t) <= sizeof(struct port_mutex), "room for a mutex");
_Static_assert(sizeof(pthread_cond_t) <= sizeof(struct port_condition), "room for a condition");

/*
 * An error of these calls is a defect of the caller: an object not initialised, or destroyed while
 * it is used.
 */
static void must(int error)
{
    assert(error == 0);
    (void)error;
}

static pthread_mutex_t *native(struct port_mutex *mutex)
{
    return (pthread_mutex_t *)mutex->opaque;
}

static pthread_cond_t *native_condition(struct port_condition *condition)
{
    return (pthread_cond_t *)condition->opaque;
}

void port_mutex_init(struct port_mutex *mutex)
{
    must(pthread_mutex_init(native(mutex), NULL));
}

void port_mutex_destroy(struct port_mutex *mutex)
{
    must(pthread_mutex_destroy(native(mutex)));
}

void port_mutex_lock(struct port_mutex *mutex)
{
    must(pthread_mutex_lock(native(mutex)));
}

void port_mutex_unlock(struct port_mutex *mutex)
{
    must(pthread_mutex_unlock(native(mutex)));
}

bool port_mutex_trylock(struct port_mutex *mutex)
{
    return pthread_mutex_trylock(native(mutex)) == 0;
}

void port_condition_init(struct port_condition *condition)
{
    must(pthread_cond_init(native_condition(condition), NULL));
}

void port_condition_destroy(struct port_condition *condition)
{
    must(pthread_cond_destroy(native_condition(condition)));
}

void port_condition_wait(struct port_condition *condition, struct port_mutex *mutex)
{
    must(pthread_cond_wait(native_condition(condition), native(mutex)));
}

void port_condition_signal(struct port_condition *condition)
{
    must(pthread_cond_signal(native_condition(condition)));
}

void port_condition_broadcast(struct port_condition *condition)
{
    must(pthread_cond_broadcast(native_condition(condition)));
}

uint64_t port_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

const char *port_getenv(const char *name)
{
    return getenv(name);
}

uint64_t port_process(void)
{
    return (uint64_t)getpid();
}

void *port_thread_room(void)
{
    static _Thread_local uint64_t room[PORT_THREAD_BYTES / sizeof(uint64_t)] __attribute__((
        tls_model("initial-exec"))); /* the thread's memory is found without a call */

    return room;
}

void **port_thread_pointer(void)
{
    static _Thread_local void *pointer __attribute__((tls_model("initial-exec")));

    return &pointer;
}

void port_exit(int status)
{
    exit(status);
}

/*
 * Without the standard functions for output: the library of PMI has this file, and does not refer
 * to them.
 */
void port_panic(const char *text)
{
    struct iovec line[] = {{(void *)text, strlen(text)}, {(void *)"\n", 1}};

    (void)!writev(STDERR_FILENO, line, 2);
    abort();
}

void **port_slot(enum port_slot slot)
{
    static void *slots[PORT_SLOTS];

    assert(slot >= 0 && slot < PORT_SLOTS);
    return &slots[slot];
}

void **port_host_slot(enum port_host_slot slot)
{
    static void *slots[PORT_HOST_SLOTS];

    assert(slot >= 0 && slot < PORT_HOST_SLOTS);
    return &slots[slot];
}

/* A kernel that is part of the process goes with it. */
void port_at_release(void (*freeze)(uint64_t process), void (*release)(uint64_t process))
{
    (void)freeze;
    (void)release;
}

/* Calls of ordinary processes are not followed. */
uintptr_t port_call_begin(const char *name)
{
    (void)name;
    return 0;
}

void port_call_end(uintptr_t outer)
{
    (void)outer;
}

/* Findings belong to simulations. */
bool port_checks(void)
{
    return false;
}

void port_finding(const struct port_rule *rule, const char *format, ...)
{
    (void)rule, (void)format;
}

double port_finding_time(void)
{
    return (double)port_now() / 1000;
}

void port_peer_name(uint32_t nic_address, uint32_t instance, char *name, size_t size)
{
    snprintf(name, size, "instance %u at NIC address %u", instance, nic_address);
}

void port_at_end(void (*end)(void))
{
    (void)end;
}

bool port_tracing(void)
{
    return false;
}

void port_trace_number(const char *name, uint64_t number)
{
    (void)name, (void)number;
}

void port_trace_text(const char *name, const char *text)
{
    (void)name, (void)text;
}

void port_at_wait(void (*describe)(char *text, size_t size))
{
    (void)describe;
}

bool port_copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return true;
}
