/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "script.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

static struct {
    const struct step *steps;
    size_t count, done;
    bool left, ended;
    int fd, client;
    pthread_t thread;
    pthread_mutex_t lock; /* of done */
    pthread_cond_t more;
    char got[4096], wanted[4096];
} script;

/* The bytes of one side of a step. */
static size_t bytes_of(const char *text, bool left, char *bytes)
{
    size_t length = strlen(text);

    if (text[length - 1] != ';')
        return (size_t)sprintf(bytes, "%s", text);
    return (size_t)sprintf(bytes, left ? "%-6zu%s" : "%6zu%s", length, text);
}

static bool receive(const char *text)
{
    size_t length = bytes_of(text, false, script.wanted), at = 0;
    ssize_t got;

    while (at < length && (got = recv(script.fd, script.got + at, length - at, 0)) > 0)
        at += (size_t)got;
    script.got[at] = '\0';
    return at == length && memcmp(script.got, script.wanted, length) == 0;
}

static void step_done(void)
{
    pthread_mutex_lock(&script.lock);
    script.done++;
    pthread_cond_broadcast(&script.more);
    pthread_mutex_unlock(&script.lock);
}

void script_wait(size_t steps)
{
    pthread_mutex_lock(&script.lock);
    while (script.done < steps && !script.ended)
        pthread_cond_wait(&script.more, &script.lock);
    pthread_mutex_unlock(&script.lock);
}

static void *follow(void *unused)
{
    const struct step *step;
    char reply[4096];

    for (; script.done < script.count; step_done()) {
        step = &script.steps[script.done];
        if (step->expect != NULL && !receive(step->expect))
            break;
        /* A server may lose what comes in one write with the first message. */
        if (script.done == 0 && recv(script.fd, script.got, 1, MSG_PEEK | MSG_DONTWAIT) >= 0)
            break;
        if (step->reply != NULL &&
            send(script.fd, reply, bytes_of(step->reply, script.left, reply), MSG_NOSIGNAL) < 0)
            break;
    }
    shutdown(script.fd, SHUT_RDWR);
    pthread_mutex_lock(&script.lock);
    script.ended = true;
    pthread_cond_broadcast(&script.more);
    pthread_mutex_unlock(&script.lock);
    return NULL;
}

void script_start(const struct step *steps, size_t count, bool left)
{
    char number[16];
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    memset(&script, 0, sizeof(script));
    pthread_mutex_init(&script.lock, NULL);
    pthread_cond_init(&script.more, NULL);
    script.steps = steps;
    script.count = count;
    script.left = left;
    script.client = ends[0];
    script.fd = ends[1];
    snprintf(number, sizeof(number), "%d", ends[0]);
    setenv("PMI_FD", number, 1);
    setenv("PMI_RANK", "1", 1);
    setenv("PMI_SIZE", "3", 1);
    assert_int_equal(pthread_create(&script.thread, NULL, follow, NULL), 0);
}

void script_end(void)
{
    pthread_join(script.thread, NULL);
    close(script.fd);
    close(script.client);
    unsetenv("PMI_FD");
    unsetenv("PMI_RANK");
    unsetenv("PMI_SIZE");
    if (script.done != script.count)
        fail_msg("step %zu: expected \"%s\", got \"%s\"", script.done, script.wanted, script.got);
}
