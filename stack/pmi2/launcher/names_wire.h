/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The protocol between pmrun and pmnameserver. After the proof (proof.h, pmrun_proof_names),
 * messages: a length (u32, network byte order), then a GVariant in the byte order of the machines.
 *
 *   pmrun: REQUEST_TYPE: number, kind, job, service, port
 *   pmnameserver: ANSWER_TYPE: number, enum pmi2_name_result, port
 *
 * A job's end is not answered. A name goes with the job that published it, or the connection.
 */
#ifndef JACQUARD_PMRUN_NAMES_WIRE_H
#define JACQUARD_PMRUN_NAMES_WIRE_H

#include <glib.h>
#include <stdint.h>
#include <uv.h>

#include "pmi2/server.h"
#include "proof.h"

#define PMRUN_NAMES_PORT 6392 /* that of MPICH's hydra_nameserver */
#define PMRUN_NAMES_REQUEST_TYPE "(tyayayay)"
#define PMRUN_NAMES_REQUEST_FORMAT "(ty^ay^ay^ay)" /* any bytes, ended by NULs */
#define PMRUN_NAMES_ANSWER_TYPE "(tyay)"
#define PMRUN_NAMES_ANSWER_FORMAT "(ty^ay)"
#define PMRUN_NAMES_JOB_END 3 /* a kind beside those of enum pmi2_name_kind */
#define PMRUN_NAMES_TEXT_MAX 1024 /* bytes of a service, of a port */

/*
 * The key of a user: a file that belongs to the user and that no other user can read. path NULL:
 * that of PMNAMESERVER_KEY, or jacquard/nameserver.key in the user's configuration folder. create:
 * made if it is not there. *used: the path (g_free). FALSE: *error.
 */
gboolean pmrun_names_key(const char *path, gboolean create, uint8_t key[PMRUN_PROOF_BYTES],
                         char **used, GError **error);
/* Writes a message and frees it; FALSE: the stream is broken, or is not being read. */
gboolean pmrun_names_send(uv_stream_t *stream, GVariant *message);
/*
 * Takes the messages out of `in`, to which bytes were added, and passes each to `received`. FALSE:
 * malformed, or `received` returned FALSE.
 */
gboolean pmrun_names_read(GByteArray *in, const char *type,
                          gboolean (*received)(void *owner, GVariant *message), void *owner);

#endif
