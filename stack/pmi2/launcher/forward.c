/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "forward.h"

static void send_message(struct pmi2_server *server, enum pmrun_message kind, GVariant *message)
{
    g_variant_ref_sink(message);
    pmi2_server_send_up(server, kind, g_variant_get_data(message), g_variant_get_size(message));
    g_variant_unref(message);
}

static void started(void *owner, const char *job, const struct pmrun_agent_start *starts,
                    guint count)
{
    GVariantBuilder all;
    guint i;

    g_variant_builder_init(&all, G_VARIANT_TYPE("a(uiis)"));
    for (i = 0; i < count; i++)
        g_variant_builder_add(&all, "(uiis)", starts[i].rank, (gint32)starts[i].pid,
                              (gint32)starts[i].error, starts[i].step);
    send_message(owner, PMRUN_MESSAGE_STARTED,
                 g_variant_new("(s@a(uiis))", job, g_variant_builder_end(&all)));
}

static void ended(void *owner, const char *job, uint32_t rank, pid_t pid, int status,
                  enum pmi2_rank_state state)
{
    send_message(
        owner, PMRUN_MESSAGE_ENDED,
        g_variant_new(PMRUN_ENDED_TYPE, job, rank, (gint32)pid, (gint32)status, (gint32)state));
}

static void output(void *owner, const char *job, uint32_t rank, int stream, const char *bytes,
                   gsize length)
{
    send_message(owner, PMRUN_MESSAGE_OUTPUT,
                 g_variant_new("(suy@ay)", job, rank, (guchar)stream,
                               g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, bytes, length, 1)));
}

static void taken(void *owner, const char *job)
{
    send_message(owner, PMRUN_MESSAGE_INPUT_CONSUMED, g_variant_new(PMRUN_TEXT_TYPE, job));
}

static void warning(void *owner, const char *text)
{
    char *valid = g_utf8_make_valid(text, -1);

    send_message(owner, PMRUN_MESSAGE_WARNING, g_variant_new(PMRUN_TEXT_TYPE, valid));
    g_free(valid);
}

const struct pmrun_agent_events pmrun_forward_events = {started, ended, output, taken, warning};

/* ---- at the root ------------------------------------------------------------------------------
 */

static void deliver_started(GVariant *message, const struct pmrun_agent_events *events, void *owner)
{
    struct pmrun_agent_start *starts;
    GVariantIter *all;
    const char *job;
    guint count = 0, room;
    gint32 pid, error;

    g_variant_get(message, "(&sa(uiis))", &job, &all);
    room = (guint)g_variant_iter_n_children(all);
    starts = g_new0(struct pmrun_agent_start, room + 1);
    while (count < room && g_variant_iter_next(all, "(uii&s)", &starts[count].rank, &pid, &error,
                                               &starts[count].step)) {
        starts[count].pid = pid;
        starts[count++].error = error;
    }
    events->started(owner, job, starts, count);
    g_free(starts);
    g_variant_iter_free(all);
}

static void deliver_ended(GVariant *message, const struct pmrun_agent_events *events, void *owner)
{
    const char *job;
    guint32 rank;
    gint32 pid, status, state;

    g_variant_get(message, "(&suiii)", &job, &rank, &pid, &status, &state);
    events->ended(owner, job, rank, pid, status, (enum pmi2_rank_state)state);
}

static void deliver_output(GVariant *message, const struct pmrun_agent_events *events, void *owner)
{
    const char *job, *bytes;
    guint32 rank;
    guchar stream;
    GVariant *text;
    gsize length;

    g_variant_get(message, "(&suy@ay)", &job, &rank, &stream, &text);
    bytes = g_variant_get_fixed_array(text, &length, 1);
    events->output(owner, job, rank, stream, bytes, length);
    g_variant_unref(text);
}

static const char *const types_up[] = {[PMRUN_MESSAGE_STARTED] = PMRUN_STARTED_TYPE,
                                       [PMRUN_MESSAGE_ENDED] = PMRUN_ENDED_TYPE,
                                       [PMRUN_MESSAGE_OUTPUT] = PMRUN_OUTPUT_TYPE,
                                       [PMRUN_MESSAGE_INPUT_CONSUMED] = PMRUN_TEXT_TYPE,
                                       [PMRUN_MESSAGE_WARNING] = PMRUN_TEXT_TYPE};

void pmrun_forward_deliver(uint32_t kind, const void *bytes, size_t length,
                           const struct pmrun_agent_events *events, void *owner)
{
    GVariant *message = kind >= PMRUN_MESSAGE_STARTED && kind <= PMRUN_MESSAGE_WARNING
                            ? pmrun_message_read(types_up[kind], bytes, length)
                            : NULL;

    if (message == NULL)
        return;
    if (kind == PMRUN_MESSAGE_STARTED)
        deliver_started(message, events, owner);
    else if (kind == PMRUN_MESSAGE_ENDED)
        deliver_ended(message, events, owner);
    else if (kind == PMRUN_MESSAGE_OUTPUT)
        deliver_output(message, events, owner);
    else if (kind == PMRUN_MESSAGE_INPUT_CONSUMED)
        events->taken(owner, g_variant_get_string(message, NULL));
    else
        events->warning(owner, g_variant_get_string(message, NULL));
    g_variant_unref(message);
}

/* ---- on a node --------------------------------------------------------------------------------
 */

static void obey_signal(GVariant *message, struct pmrun_agent *agent)
{
    const char *job;
    guint32 rank;
    gint32 signal;

    g_variant_get(message, "(&sui)", &job, &rank, &signal);
    pmrun_agent_signal(agent, job, rank, signal);
}

static void obey_input(GVariant *message, struct pmrun_agent *agent)
{
    const char *job, *bytes;
    GVariant *text;
    guint32 rank;
    gsize length;

    g_variant_get(message, "(&su@ay)", &job, &rank, &text);
    bytes = g_variant_get_fixed_array(text, &length, 1);
    pmrun_agent_input(agent, job, rank, bytes, length);
    g_variant_unref(text);
}

void pmrun_forward_execute(uint32_t kind, const void *bytes, size_t length,
                           struct pmrun_agent *agent)
{
    const char *type = kind == PMRUN_MESSAGE_SIGNAL  ? PMRUN_SIGNAL_TYPE
                       : kind == PMRUN_MESSAGE_INPUT ? PMRUN_INPUT_TYPE
                       : kind == PMRUN_MESSAGE_PAUSE ? PMRUN_PAUSE_TYPE
                                                     : NULL;
    GVariant *message = type != NULL ? pmrun_message_read(type, bytes, length) : NULL;

    if (message == NULL)
        return;
    if (kind == PMRUN_MESSAGE_SIGNAL)
        obey_signal(message, agent);
    else if (kind == PMRUN_MESSAGE_INPUT)
        obey_input(message, agent);
    else
        pmrun_agent_pause(agent, g_variant_get_boolean(message));
    g_variant_unref(message);
}
