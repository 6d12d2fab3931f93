/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The results of a campaign: one SQLite file (docs/campaigns.md has its tables). One process writes
 * it, and any number of processes read it at the same time. A transaction is written whole or not
 * at all, so a process that is killed leaves a file that can be continued.
 *
 * Functions that return false set *error (g_free) to one line that names the file.
 */
#ifndef JACQUARD_CAMPAIGN_STORE_H
#define JACQUARD_CAMPAIGN_STORE_H

#include <jansson.h>
#include <sqlite3.h>
#include "campaign/plan.h"

#define CAMPAIGN_STORE_VERSION 1 /* of the tables: PRAGMA user_version */

struct campaign_store {
    sqlite3 *database;
    sqlite3_stmt *insert;
    char *path;
    char *folder; /* `path` with ".tasks": where tasks of Slurm put their results */
    int lock; /* descriptor that holds the writer's lock; -1: a reader */
    json_int_t version; /* the row of table `versions` that new runs belong to */
    json_int_t session; /* the row of table `sessions` */
};

/* What this program writes into the table `versions`. */
struct campaign_version {
    const char *program; /* "0.1.0" */
    char *digest; /* SHA-256 of the program's file, g_free */
};
bool campaign_version_find(struct campaign_version *version, const char *program, char **error);

enum campaign_store_mode {
    CAMPAIGN_STORE_CONTINUE, /* the file must be of the same campaign and program */
    CAMPAIGN_STORE_MIX, /* of the same campaign; another program is allowed */
    CAMPAIGN_STORE_RESTART, /* results that exist are deleted */
};

/*
 * Opens the file to write, creates it if it is missing, and locks it against other writers. A file
 * of another campaign, of other contents of its scenarios, of another program or of other tables is
 * refused. Close it with campaign_store_close() in every case.
 */
bool campaign_store_create(struct campaign_store *store, const char *path,
                           const struct campaign_plan *plan, const struct campaign_version *version,
                           enum campaign_store_mode mode, char **error);
/* Opens the file to read. */
bool campaign_store_open(struct campaign_store *store, const char *path, char **error);
void campaign_store_close(struct campaign_store *store);
/* In a child of the writer: gives up the inherited lock, and never touches the file. */
void campaign_store_forget(struct campaign_store *store);
/* Whether a process has the file open to write. */
bool campaign_store_is_written(const char *path);

/*
 * Writes records of runs in one transaction, and the session's times. A record is what
 * campaign_record() made, with its "number". A run that has a row keeps it. *added: new rows.
 */
bool campaign_store_add(struct campaign_store *store, const struct campaign_plan *plan,
                        const json_t *records, size_t *added, char **error);
/* Sets the bytes of the runs that have a row to 1. */
bool campaign_store_done(struct campaign_store *store, uint8_t *done, uint64_t size, char **error);
/* Notes processes and processor time of this session. cpu_s: of the whole session so far. */
bool campaign_store_session(struct campaign_store *store, unsigned processes, double cpu_s,
                            char **error);
/* Jobs of Slurm that were submitted for this campaign: adds one; all as a list of texts. */
bool campaign_store_add_job(struct campaign_store *store, const char *job, char **error);
bool campaign_store_jobs(struct campaign_store *store, json_t **jobs, char **error);

/* sqlite3_finalize it. NULL: *error (g_free). */
sqlite3_stmt *campaign_store_prepare(struct campaign_store *store, const char *sql, char **error);

/* A message of SQLite, with the file's name. Always false. */
bool campaign_store_fail(const struct campaign_store *store, char **error);

#endif
