/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the root has answered, in the words of either wire. */
#include "internal.h"

const char *pmi2_root_name(enum pmi2_root_kind kind, bool line)
{
    switch (kind) {
    case ROOT_PUBLISH:
        return line ? "publish_result" : "name-publish-response";
    case ROOT_LOOKUP:
        return line ? "lookup_result" : "name-lookup-response";
    case ROOT_UNPUBLISH:
        return line ? "unpublish_result" : "name-unpublish-response";
    case ROOT_CONNECT:
        return "job-connect-response";
    case ROOT_DISCONNECT:
        return "job-disconnect-response";
    case ROOT_GET:
        return line ? "get_result" : "kvs-get-response";
    case ROOT_GETALL:
        return "kvs-getall-response";
    case ROOT_PUTALL:
        return "kvs-putall-response";
    case ROOT_SPAWN:
        return line ? "spawn_result" : "spawn-response";
    }
    return "error";
}

static void line_result(struct pmi2_server_call *call, const char *name, int code,
                        const char *reason, bool info)
{
    pmi2_reply(call, name);
    if (info)
        pmi2_reply_text(call, "info", "ok");
    pmi2_reply_int(call, "rc", code == 0 ? 0 : 1);
    pmi2_reply_text(call, "msg", code == 0 ? "success" : reason);
    pmi2_reply_end(call);
}

static bool has_space(struct pmi2_slice text)
{
    return text.length > 0 && memchr(text.at, ' ', text.length) != NULL;
}

static void lookup(struct pmi2_server_call *call, int code, struct pmi2_slice reason,
                   struct pmi2_slice port)
{
    if (!call->line) {
        pmi2_reply(call, "name-lookup-response");
        if (code == 0) {
            pmi2_reply_slice(call, "port", port);
            pmi2_reply_slice(call, "value", port);
        }
        pmi2_reply_text(call, "found", code == 0 ? "TRUE" : "FALSE");
        pmi2_reply_int(call, "rc", code);
        if (code == WIRE_COMMFAILED) /* the key may exist: the root cannot be reached */
            pmi2_reply_slice(call, "errmsg", reason);
        pmi2_reply_end(call);
        return;
    }
    if (code != 0) {
        line_result(call, "lookup_result", code, "service_not_found", false);
        return;
    }
    pmi2_reply(call, "lookup_result");
    if (!has_space(port)) /* a space is possible at the end of a line only */
        pmi2_reply_slice(call, "port", port);
    pmi2_reply_text(call, "info", "ok");
    pmi2_reply_int(call, "rc", 0);
    pmi2_reply_text(call, "msg", "success");
    if (has_space(port))
        pmi2_reply_slice(call, "port", port);
    pmi2_reply_end(call);
}

static void write_errors(struct pmi2_server_call *call, const struct pmi2_reader *body,
                         uint32_t count)
{
    struct pmi2_reader reader = *body;
    struct pmi2_writer list = {NULL, false};
    char text[32];
    uint32_t i;

    for (i = 0; i < count; i++) {
        int32_t error = (int32_t)pmi2_read_u32(&reader);

        if (!call->line) {
            snprintf(text, sizeof(text), "err%u", i);
            pmi2_reply_int(call, text, error);
        }
        snprintf(text, sizeof(text), i == 0 ? "%d" : ",%d", error);
        pmi2_write_bytes(&list, text, strlen(text));
    }
    /* Old clients take lines below 1024 bytes, and count the errors. */
    if (count > 0 && !list.failed && (!call->line || list.chunk->length < 900))
        pmi2_reply_slice(call, "errcodes",
                         (struct pmi2_slice){list.chunk->bytes, list.chunk->length});
    pmi2_writer_fini(&list);
}

static void spawned(struct pmi2_server_call *call, int code, struct pmi2_slice reason,
                    struct pmi2_reader *body)
{
    struct pmi2_slice id = pmi2_read_slice(body);
    uint32_t count = pmi2_read_u32(body);

    if (body->failed)
        count = 0;
    pmi2_reply(call, pmi2_root_name(ROOT_SPAWN, call->line));
    pmi2_reply_int(call, "rc", code != 0 && call->line ? -1 : code);
    if (code != 0) {
        pmi2_reply_slice(call, call->line ? "msg" : "errmsg", reason);
        call->client->link.server->counters.refused++;
    } else if (!call->line) {
        pmi2_reply_slice(call, "jobid", id);
    }
    if (!call->line)
        pmi2_reply_int(call, "nerrs", count);
    write_errors(call, body, count);
    pmi2_reply_end(call);
}

void pmi2_root_answered(struct pmi2_request *request, int code, struct pmi2_slice reason,
                        struct pmi2_reader *body)
{
    struct pmi2_server_call *call = &request->call;
    const char *name = pmi2_root_name((enum pmi2_root_kind)request->kind, call->line);

    switch ((enum pmi2_root_kind)request->kind) {
    case ROOT_PUBLISH:
        if (call->line)
            line_result(call, name, code, "key_already_present", true);
        else
            pmi2_reply_code_slice(call, name, code, reason);
        return;
    case ROOT_UNPUBLISH:
        if (call->line)
            line_result(call, name, code, "service_not_found", true);
        else
            pmi2_reply_code_slice(call, name, code, reason);
        return;
    case ROOT_LOOKUP:
        lookup(call, code, reason, pmi2_read_slice(body));
        return;
    case ROOT_CONNECT:
        if (code != 0) {
            pmi2_reply_code_slice(call, name, code, reason);
            return;
        }
        pmi2_reply(call, name);
        pmi2_reply_text(call, "kvscopy", pmi2_read_u8(body) != 0 ? "TRUE" : "FALSE");
        pmi2_reply_int(call, "rc", 0);
        pmi2_reply_end(call);
        return;
    case ROOT_GET:
        pmi2_kvs_get_answer(call, code, reason, body);
        return;
    case ROOT_GETALL:
        pmi2_kvs_getall_answer(call, code, reason, body);
        return;
    case ROOT_SPAWN:
        spawned(call, code, reason, body);
        return;
    case ROOT_DISCONNECT:
    case ROOT_PUTALL:
        pmi2_reply_code_slice(call, name, code, reason);
        return;
    }
}
