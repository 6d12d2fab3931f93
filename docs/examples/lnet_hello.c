/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* lnet_hello serve | lnet_hello NID: a PUT of a text to another process. */
#include <stdio.h>
#include <string.h>
#include "lnet/api.h"

#define PORTAL 40
#define BITS 1

/* Waits for the next event. */
static struct lnet_event next_event(struct lnet_handle_eq eq)
{
    struct lnet_event event;
    int which;

    while (LNetEQPoll(&eq, 1, 1000, &event, &which) != 1)
        ;
    return event;
}

static void serve(struct lnet_handle_eq eq)
{
    struct lnet_process_id anyone = {LNET_NID_ANY, LNET_PID_ANY};
    static char text[100];
    struct lnet_md md = {.start = text,
                         .length = sizeof(text),
                         .threshold = 1,
                         .options = LNET_MD_OP_PUT,
                         .eq_handle = eq};
    struct lnet_handle_me me;
    struct lnet_handle_md handle;
    struct lnet_event event;

    LNetMEAttach(PORTAL, anyone, BITS, 0, LNET_UNLINK, LNET_INS_AFTER, &me);
    LNetMDAttach(me, md, LNET_UNLINK, &handle);
    printf("ready\n");
    fflush(stdout);
    event = next_event(eq);
    printf("%s says: %s\n", libcfs_id2str(event.initiator), text);
}

static void send_hello(struct lnet_handle_eq eq, const char *nid)
{
    struct lnet_process_id target = {libcfs_str2nid(nid), LNET_PID_LUSTRE};
    static char text[] = "hello";
    struct lnet_md md = {.start = text, .length = sizeof(text), .threshold = 2, .eq_handle = eq};
    struct lnet_handle_md handle;
    int events;

    LNetMDBind(md, LNET_UNLINK, &handle);
    LNetPut(LNET_NID_ANY, handle, LNET_ACK_REQ, target, PORTAL, BITS, 0, 0);
    for (events = 0; events < 2; events++) { /* SEND and ACK, in any order */
        struct lnet_event event = next_event(eq);

        printf("%s: status %d\n", event.type == LNET_EVENT_ACK ? "ACK" : "SEND", event.status);
    }
}

int main(int argc, char **argv)
{
    struct lnet_handle_eq eq;
    int rc = LNetNIInit(LNET_PID_LUSTRE);

    if (argc != 2 || rc < 0) {
        fprintf(stderr, "lnet_hello: %s\n", argc != 2 ? "serve, or a NID" : strerror(-rc));
        return 1;
    }
    LNetEQAlloc(8, LNET_EQ_HANDLER_NONE, &eq);
    if (strcmp(argv[1], "serve") == 0)
        serve(eq);
    else
        send_hello(eq, argv[1]);
    LNetEQFree(eq);
    LNetNIFini();
    return 0;
}
