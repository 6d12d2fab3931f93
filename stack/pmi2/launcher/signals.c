/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "signals.h"

#include <glib.h>
#include <signal.h>

static const int caught[] = {SIGINT,  SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
                             SIGALRM, SIGHUP,  SIGTSTP, SIGCONT};

struct pmrun_signals {
    void (*got)(void *owner, int signal);
    void *owner;
    uv_signal_t handles[G_N_ELEMENTS(caught)];
};

static void come(uv_signal_t *handle, int signal)
{
    struct pmrun_signals *signals = handle->data;

    signals->got(signals->owner, signal);
}

struct pmrun_signals *pmrun_signals_new(uv_loop_t *loop, void (*got)(void *owner, int signal),
                                        void *owner)
{
    struct pmrun_signals *signals = g_new0(struct pmrun_signals, 1);
    struct sigaction before;
    size_t i;

    signals->got = got;
    signals->owner = owner;
    for (i = 0; i < G_N_ELEMENTS(caught); i++) {
        uv_signal_init(loop, &signals->handles[i]);
        signals->handles[i].data = signals;
        if (sigaction(caught[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            uv_signal_start(&signals->handles[i], come, caught[i]);
    }
    return signals;
}

void pmrun_signals_close(struct pmrun_signals *signals)
{
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(caught); i++)
        uv_close((uv_handle_t *)&signals->handles[i], NULL);
}
