/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A server and a client over SISCI that are driven by events: callbacks of segments and interrupts,
 * a segment whose events are waited for, interrupts with data, and copies whose sequence is checked
 * without a barrier of the program. argv: the SCI nodes of server and client.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "sisci_api.h"

#define NO_FLAGS 0
#define NO_CALLBACK 0
#define NO_ARG NULL
#define ADAPTER 0
#define BYTES 8192
#define ROUNDS 10
#define CALLED_SEGMENT 0x4001
#define WAITED_SEGMENT 0x4002
#define COMMANDS 12 /* a data interrupt of the server */
#define ANSWERS 13 /* an interrupt of the client */
/* Calls a function whose last argument is the place for its error. */
#define SEOE(function, ...)                                                    \
    do {                                                                       \
        sci_error_t error_;                                                    \
        function(__VA_ARGS__, &error_);                                        \
        if (error_ != SCI_ERR_OK) {                                            \
            fprintf(stderr, "%s: %s\n", #function, SCIGetErrorString(error_)); \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

typedef struct {
    int round, bytes, last;
} command_t;

static sci_desc_t sd;
static unsigned other;
static int errors;
static volatile int connects, disconnects, answers;

/* ---- the server ------------------------------------------------------------------------------ */

static sci_callback_action_t on_segment(void *arg, sci_local_segment_t segment,
                                        sci_segment_cb_reason_t reason, unsigned int node,
                                        unsigned int adapter, sci_error_t status)
{
    if (node != other || adapter != ADAPTER || status != SCI_ERR_OK || arg != &sd)
        errors++;
    if (reason == SCI_CB_CONNECT)
        connects++;
    else if (reason == SCI_CB_DISCONNECT)
        disconnects++;
    return SCI_CALLBACK_CONTINUE;
}

static void expect_event(sci_local_segment_t segment, sci_segment_cb_reason_t expected)
{
    sci_segment_cb_reason_t reason;
    unsigned int node, adapter;
    sci_error_t error;

    do
        reason = SCIWaitForLocalSegmentEvent(segment, &node, &adapter, 1000, NO_FLAGS, &error);
    while (error == SCI_ERR_TIMEOUT);
    errors += error != SCI_ERR_OK || reason != expected || node != other;
}

static void serve(sci_local_data_interrupt_t commands, sci_remote_interrupt_t answer,
                  const volatile char *memory)
{
    unsigned int length;
    command_t command;
    int i;

    for (i = 0; i < ROUNDS; i++) {
        length = sizeof(command);
        SEOE(SCIWaitForDataInterrupt, commands, &command, &length, SCI_INFINITE_TIMEOUT, NO_FLAGS);
        errors += length != sizeof(command) || command.round != i || command.last != (i == 9);
        errors += memory[0] != i || memory[command.bytes - 1] != i;
        SEOE(SCITriggerInterrupt, answer, NO_FLAGS);
    }
}

static void server()
{
    sci_local_segment_t called, waited;
    sci_local_data_interrupt_t commands;
    sci_remote_interrupt_t answer;
    sci_map_t map;
    sci_error_t error;
    unsigned int number = COMMANDS;
    volatile char *memory;

    SEOE(SCICreateDataInterrupt, sd, &commands, ADAPTER, &number, NO_CALLBACK, NO_ARG,
         SCI_FLAG_FIXED_INTNO);
    SEOE(SCICreateSegment, sd, &called, CALLED_SEGMENT, BYTES, on_segment, &sd,
         SCI_FLAG_USE_CALLBACK);
    SEOE(SCICreateSegment, sd, &waited, WAITED_SEGMENT, BYTES, NO_CALLBACK, NO_ARG, NO_FLAGS);
    memory = SCIMapLocalSegment(called, &map, 0, BYTES, NULL, NO_FLAGS, &error);
    errors += error != SCI_ERR_OK;
    SEOE(SCIPrepareSegment, called, ADAPTER, NO_FLAGS);
    SEOE(SCIPrepareSegment, waited, ADAPTER, NO_FLAGS);
    SEOE(SCISetSegmentAvailable, called, ADAPTER, NO_FLAGS);
    SEOE(SCISetSegmentAvailable, waited, ADAPTER, NO_FLAGS);
    expect_event(waited, SCI_CB_CONNECT);
    do
        SCIConnectInterrupt(sd, &answer, other, ADAPTER, ANSWERS, SCI_INFINITE_TIMEOUT, NO_FLAGS,
                            &error);
    while (error != SCI_ERR_OK);
    serve(commands, answer, memory);
    expect_event(waited, SCI_CB_DISCONNECT);
    while (disconnects == 0)
        usleep(100);
    errors += connects != 1 || disconnects != 1;
    SEOE(SCIDisconnectInterrupt, answer, NO_FLAGS);
    SEOE(SCIRemoveDataInterrupt, commands, NO_FLAGS);
    SEOE(SCISetSegmentUnavailable, called, ADAPTER, NO_FLAGS);
    SEOE(SCISetSegmentUnavailable, waited, ADAPTER, NO_FLAGS);
    SEOE(SCIUnmapSegment, map, NO_FLAGS);
    SEOE(SCIRemoveSegment, called, NO_FLAGS);
    SEOE(SCIRemoveSegment, waited, NO_FLAGS);
}

/* ---- the client ------------------------------------------------------------------------------ */

static sci_callback_action_t on_answer(void *arg, sci_local_interrupt_t interrupt,
                                       sci_error_t status)
{
    errors += status != SCI_ERR_OK;
    ++*(volatile int *)arg;
    return SCI_CALLBACK_CONTINUE;
}

static void connect_segment(sci_remote_segment_t *segment, unsigned int id)
{
    sci_error_t error;

    do {
        SCIConnectSegment(sd, segment, other, id, ADAPTER, NO_CALLBACK, NO_ARG,
                          SCI_INFINITE_TIMEOUT, NO_FLAGS, &error);
        usleep(1000);
    } while (error != SCI_ERR_OK);
}

/* The check of the sequence waits for what was copied, and says whether it has arrived. */
static void copy(sci_sequence_t sequence, sci_map_t map, char *bytes, int size)
{
    sci_sequence_status_t status;
    sci_error_t error;

    do {
        while (SCIStartSequence(sequence, NO_FLAGS, &error) != SCI_SEQ_OK)
            ;
        SCIMemCpy(sequence, bytes, map, 0, size, NO_FLAGS, &error);
        errors += error != SCI_ERR_OK;
        status = SCICheckSequence(sequence, NO_FLAGS, &error);
    } while (status == SCI_SEQ_RETRIABLE);
    errors += status != SCI_SEQ_OK;
}

static void client()
{
    sci_remote_segment_t called, waited;
    sci_remote_data_interrupt_t commands;
    sci_local_interrupt_t answer;
    sci_sequence_t sequence;
    sci_map_t map;
    sci_error_t error;
    unsigned int number = ANSWERS;
    static char bytes[BYTES];
    command_t command;
    int i;

    SEOE(SCICreateInterrupt, sd, &answer, ADAPTER, &number, on_answer, (void *)&answers,
         SCI_FLAG_FIXED_INTNO | SCI_FLAG_USE_CALLBACK);
    connect_segment(&called, CALLED_SEGMENT);
    connect_segment(&waited, WAITED_SEGMENT);
    SCIMapRemoteSegment(called, &map, 0, BYTES, NULL, NO_FLAGS, &error);
    errors += error != SCI_ERR_OK || SCIGetRemoteSegmentSize(called) != BYTES;
    SEOE(SCICreateMapSequence, map, &sequence, SCI_FLAG_FAST_BARRIER);
    do
        SCIConnectDataInterrupt(sd, &commands, other, ADAPTER, COMMANDS, SCI_INFINITE_TIMEOUT,
                                NO_FLAGS, &error);
    while (error != SCI_ERR_OK);
    for (i = 0; i < ROUNDS; i++) {
        command.round = i;
        command.bytes = 64 * i + 4; /* the last line is never full */
        command.last = i == ROUNDS - 1;
        memset(bytes, i, BYTES);
        copy(sequence, map, bytes, command.bytes);
        SEOE(SCITriggerDataInterrupt, commands, &command, sizeof(command), NO_FLAGS);
        while (answers <= i)
            usleep(10);
    }
    SEOE(SCIDisconnectDataInterrupt, commands, NO_FLAGS);
    SEOE(SCIRemoveSequence, sequence, NO_FLAGS);
    SEOE(SCIUnmapSegment, map, NO_FLAGS);
    SEOE(SCIDisconnectSegment, called, NO_FLAGS);
    SEOE(SCIDisconnectSegment, waited, NO_FLAGS);
    usleep(1000); /* the server lets go of the interrupt */
    SEOE(SCIRemoveInterrupt, answer, NO_FLAGS);
}

int main(int argc, char *argv[])
{
    unsigned int own, first = atoi(argv[1]), second = atoi(argv[2]);

    SEOE(SCIInitialize, NO_FLAGS);
    SEOE(SCIOpen, &sd, NO_FLAGS);
    SEOE(SCIGetLocalNodeId, ADAPTER, &own, NO_FLAGS);
    other = own == first ? second : first;
    if (own == first)
        server();
    else
        client();
    SEOE(SCIClose, sd, NO_FLAGS);
    SCITerminate();
    fprintf(stderr, "%s: %d errors\n", own == first ? "server" : "client", errors);
    return errors != 0;
}
