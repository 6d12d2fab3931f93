/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE /* F_OFD_SETLK */
#include "campaign/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "columns.h"
#include "verdict/verdict.h"

#define APPLICATION_ID 0x4a71436d /* "JqCm", PRAGMA application_id */
#define BUSY_MS 30000
/* The byte of the file whose lock is the writer's; SQLite locks bytes below 2^31 only. */
#define LOCK_BYTE ((off_t)1 << 40)

static const char tables[] =
    "CREATE TABLE campaign (id INTEGER PRIMARY KEY CHECK (id = 1), name TEXT NOT NULL,"
    " description TEXT NOT NULL, file TEXT NOT NULL, folder TEXT NOT NULL, text TEXT NOT NULL,"
    " digest TEXT NOT NULL, runs INTEGER NOT NULL, created REAL NOT NULL);"
    "CREATE TABLE versions (id INTEGER PRIMARY KEY, program TEXT NOT NULL, digest TEXT NOT NULL"
    " UNIQUE, host TEXT NOT NULL, first_used REAL NOT NULL);"
    "CREATE TABLE sessions (id INTEGER PRIMARY KEY, host TEXT NOT NULL, processes INTEGER NOT NULL"
    " DEFAULT 0, runs INTEGER NOT NULL DEFAULT 0, runs_wall_s REAL NOT NULL DEFAULT 0, runs_cpu_s"
    " REAL NOT NULL DEFAULT 0, cpu_s REAL NOT NULL DEFAULT 0, started REAL NOT NULL, updated REAL"
    " NOT NULL);"
    "CREATE TABLE jobs (id TEXT PRIMARY KEY, submitted REAL NOT NULL);"
    "CREATE TABLE runs (number INTEGER PRIMARY KEY, scenario TEXT NOT NULL, seed INTEGER NOT NULL,"
    " own_seed INTEGER NOT NULL, settings TEXT NOT NULL, verdict TEXT NOT NULL, exit INTEGER NOT"
    " NULL, digest TEXT, signature TEXT, problem TEXT, virtual_time_ps INTEGER, wall_s REAL,"
    " cpu_s REAL, metrics TEXT NOT NULL, host TEXT NOT NULL, finished REAL NOT NULL, version"
    " INTEGER NOT NULL REFERENCES versions (id));"
    "CREATE INDEX failures ON runs (exit, signature) WHERE exit != 0;"
    "CREATE INDEX finished ON runs (finished);";

bool campaign_store_fail(const struct campaign_store *store, char **error)
{
    *error = g_strdup_printf("%s: %s", store->path, sqlite3_errmsg(store->database));
    return false;
}

static double now_s(void)
{
    return (double)g_get_real_time() / 1e6;
}

/* ---- statements ------------------------------------------------------------------------------ */

static bool execute(struct campaign_store *store, const char *sql, char **error)
{
    return sqlite3_exec(store->database, sql, NULL, NULL, NULL) == SQLITE_OK ||
           campaign_store_fail(store, error);
}

sqlite3_stmt *campaign_store_prepare(struct campaign_store *store, const char *sql, char **error)
{
    sqlite3_stmt *statement = NULL;

    if (sqlite3_prepare_v2(store->database, sql, -1, &statement, NULL) != SQLITE_OK)
        campaign_store_fail(store, error);
    return statement;
}

static void bind_text(sqlite3_stmt *statement, int place, const char *text)
{
    if (text != NULL)
        sqlite3_bind_text(statement, place, text, -1, SQLITE_TRANSIENT);
    else
        sqlite3_bind_null(statement, place);
}

/* Executes a statement without rows, and finalizes it. */
static bool finish(struct campaign_store *store, sqlite3_stmt *statement, char **error)
{
    int status = sqlite3_step(statement);

    sqlite3_finalize(statement);
    return status == SQLITE_DONE || campaign_store_fail(store, error);
}

/* The only integer that a query returns; 0 if it returns no row. */
static bool query_integer(struct campaign_store *store, const char *sql, int64_t *value,
                          char **error)
{
    sqlite3_stmt *statement = campaign_store_prepare(store, sql, error);
    int status;

    if (statement == NULL)
        return false;
    status = sqlite3_step(statement);
    *value = status == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    return status == SQLITE_ROW || status == SQLITE_DONE || campaign_store_fail(store, error);
}

/* ---- the writer's lock ----------------------------------------------------------------------- */

static bool lock_file(struct campaign_store *store, char **error)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_BYTE, .l_len = 1};
    int attempts;

    store->lock = open(store->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (store->lock < 0) {
        *error = g_strdup_printf("%s: %s", store->path, g_strerror(errno));
        return false;
    }
    /* The children of a writer that was killed hold its lock until they end, too. */
    for (attempts = 0; fcntl(store->lock, F_OFD_SETLK, &lock) != 0; attempts++) {
        if (attempts == 20 || (errno != EAGAIN && errno != EACCES && errno != EINTR)) {
            *error = g_strdup_printf(
                "%s: %s", store->path,
                errno == EAGAIN || errno == EACCES
                    ? "another process is running this campaign; allowed: one at a time"
                    : g_strerror(errno));
            return false;
        }
        g_usleep(50000);
    }
    return true;
}

bool campaign_store_is_written(const char *path)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_BYTE, .l_len = 1};
    int file = open(path, O_RDWR | O_CLOEXEC);
    bool written = file >= 0 && fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;

    if (file >= 0)
        close(file);
    return written;
}

void campaign_store_forget(struct campaign_store *store)
{
    if (store->lock >= 0)
        close(store->lock);
    store->lock = -1;
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool open_database(struct campaign_store *store, const char *path, int flags, char **error)
{
    if (sqlite3_open_v2(path, &store->database, flags, NULL) != SQLITE_OK)
        return campaign_store_fail(store, error);
    sqlite3_busy_timeout(store->database, BUSY_MS);
    return execute(store, "PRAGMA synchronous = NORMAL", error);
}

/* Whether the file has our tables; an empty file has none, which is no error. */
static bool check_format(struct campaign_store *store, bool *empty, char **error)
{
    int64_t application = 0, version = 0, objects = 0;

    if (!query_integer(store, "PRAGMA application_id", &application, error) ||
        !query_integer(store, "PRAGMA user_version", &version, error) ||
        !query_integer(store, "SELECT count(*) FROM sqlite_master", &objects, error))
        return false;
    *empty = objects == 0 && application == 0;
    if (*empty)
        return true;
    if (application != APPLICATION_ID) {
        *error = g_strdup_printf("%s: not the results of a campaign; allowed: a file that "
                                 "sim-run campaign has written",
                                 store->path);
        return false;
    }
    if (version == CAMPAIGN_STORE_VERSION)
        return true;
    *error = g_strdup_printf("%s: written by another version of sim-run (tables %lld); allowed: "
                             "tables %d",
                             store->path, (long long)version, CAMPAIGN_STORE_VERSION);
    return false;
}

static bool insert_campaign(struct campaign_store *store, const struct campaign_plan *plan,
                            char **error)
{
    sqlite3_stmt *statement = campaign_store_prepare(
        store, "INSERT INTO campaign VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)", error);
    char *folder = g_path_get_dirname(plan->file), *full = g_canonicalize_filename(folder, NULL);
    char *base = g_path_get_basename(plan->file), *text = scenario_tree_emit(plan->tree);
    bool ok = statement != NULL;

    if (ok) {
        bind_text(statement, 1, plan->name);
        bind_text(statement, 2, plan->description);
        bind_text(statement, 3, base);
        bind_text(statement, 4, full);
        bind_text(statement, 5, text);
        bind_text(statement, 6, plan->digest);
        sqlite3_bind_int64(statement, 7, (sqlite3_int64)plan->size);
        sqlite3_bind_double(statement, 8, now_s());
        ok = finish(store, statement, error);
    }
    g_free(text);
    g_free(base);
    g_free(full);
    g_free(folder);
    return ok;
}

static bool create_tables(struct campaign_store *store, const struct campaign_plan *plan,
                          char **error)
{
    char *pragmas = g_strdup_printf("PRAGMA application_id = %d; PRAGMA user_version = %d;",
                                    APPLICATION_ID, CAMPAIGN_STORE_VERSION);
    bool ok = execute(store, "BEGIN IMMEDIATE", error) && execute(store, tables, error) &&
              execute(store, pragmas, error) && insert_campaign(store, plan, error) &&
              execute(store, "COMMIT", error);

    g_free(pragmas);
    return ok;
}

/* The row of the table that has `digest`; its other columns are not compared. */
static bool has_row(struct campaign_store *store, const char *sql, const char *digest, int64_t *row,
                    char **error)
{
    sqlite3_stmt *statement = campaign_store_prepare(store, sql, error);
    int status;

    if (statement == NULL)
        return false;
    bind_text(statement, 1, digest);
    status = sqlite3_step(statement);
    *row = status == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    return status == SQLITE_ROW || status == SQLITE_DONE || campaign_store_fail(store, error);
}

static bool refuse_other(const struct campaign_store *store, const char *what, const char *allowed,
                         char **error)
{
    *error = g_strdup_printf("%s: holds results of %s; allowed: %s", store->path, what, allowed);
    return false;
}

/* A file that exists goes on with the same campaign and, unless it may be mixed, program. */
static bool check_same(struct campaign_store *store, const struct campaign_plan *plan,
                       const struct campaign_version *version, bool mix, char **error)
{
    int64_t row = 0, runs = 0;

    if (!has_row(store, "SELECT id FROM campaign WHERE digest = ?", plan->digest, &row, error))
        return false;
    if (row == 0)
        return refuse_other(store, "another campaign, or its file or a scenario has changed",
                            "--restart, which deletes them, or another file for results", error);
    if (!query_integer(store, "SELECT count(*) FROM runs", &runs, error) ||
        !has_row(store, "SELECT id FROM versions WHERE digest = ?", version->digest, &row, error))
        return false;
    if (row == 0 && runs != 0 && !mix)
        return refuse_other(store, "another build of sim-run",
                            "--restart, which deletes them, or --mix, which adds to them", error);
    return true;
}

static bool note_version(struct campaign_store *store, const struct campaign_version *version,
                         char **error)
{
    sqlite3_stmt *statement = campaign_store_prepare(
        store,
        "INSERT OR IGNORE INTO versions (program, digest, host, first_used) VALUES (?, ?, ?, ?)",
        error);
    int64_t row = 0;

    if (statement == NULL)
        return false;
    bind_text(statement, 1, version->program);
    bind_text(statement, 2, version->digest);
    bind_text(statement, 3, g_get_host_name());
    sqlite3_bind_double(statement, 4, now_s());
    if (!finish(store, statement, error) ||
        !has_row(store, "SELECT id FROM versions WHERE digest = ?", version->digest, &row, error))
        return false;
    store->version = row;
    return true;
}

static bool begin_session(struct campaign_store *store, char **error)
{
    sqlite3_stmt *statement = campaign_store_prepare(
        store, "INSERT INTO sessions (host, started, updated) VALUES (?, ?, ?)", error);

    if (statement == NULL)
        return false;
    bind_text(statement, 1, g_get_host_name());
    sqlite3_bind_double(statement, 2, now_s());
    sqlite3_bind_double(statement, 3, now_s());
    if (!finish(store, statement, error))
        return false;
    store->session = sqlite3_last_insert_rowid(store->database);
    return true;
}

static void begin(struct campaign_store *store, const char *path)
{
    *store = (struct campaign_store){
        .path = g_strdup(path), .folder = g_strconcat(path, ".tasks", NULL), .lock = -1};
}

/* Results that exist are deleted in place: the lock is on this file. */
static bool restart(struct campaign_store *store, char **error)
{
    char *journal = g_strconcat(store->path, "-journal", NULL);

    if (ftruncate(store->lock, 0) != 0) {
        *error = g_strdup_printf("%s: %s", store->path, g_strerror(errno));
        g_free(journal);
        return false;
    }
    unlink(journal);
    g_free(journal);
    return true;
}

bool campaign_store_create(struct campaign_store *store, const char *path,
                           const struct campaign_plan *plan, const struct campaign_version *version,
                           enum campaign_store_mode mode, char **error)
{
    bool empty = false;

    begin(store, path);
    if (!lock_file(store, error) || (mode == CAMPAIGN_STORE_RESTART && !restart(store, error)) ||
        !open_database(store, path, SQLITE_OPEN_READWRITE, error) ||
        !check_format(store, &empty, error))
        return false;
    if (empty ? !create_tables(store, plan, error)
              : !check_same(store, plan, version, mode == CAMPAIGN_STORE_MIX, error))
        return false;
    if (!note_version(store, version, error) || !begin_session(store, error))
        return false;
    store->insert = campaign_store_prepare(
        store,
        "INSERT OR IGNORE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
        "?, ?, ?, ?, ?, ?)",
        error);
    return store->insert != NULL;
}

bool campaign_store_open(struct campaign_store *store, const char *path, char **error)
{
    bool empty = false;

    begin(store, path);
    if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
        *error = g_strdup_printf("%s: there are no results yet", path);
        return false;
    }
    /* A writer that was killed may have left a transaction to roll back, which writes. SQLite opens
     * a file without write permission to read. */
    if (!open_database(store, path, SQLITE_OPEN_READWRITE, error) ||
        !check_format(store, &empty, error))
        return false;
    if (empty)
        *error = g_strdup_printf("%s: there are no results yet", path);
    return !empty;
}

void campaign_store_close(struct campaign_store *store)
{
    sqlite3_finalize(store->insert);
    sqlite3_close(store->database);
    campaign_store_forget(store);
    g_free(store->path);
    g_free(store->folder);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const char *text_of(const json_t *record, const char *key)
{
    return json_string_value(json_object_get(record, key));
}

static double number_of(const json_t *record, const char *key)
{
    return json_number_value(json_object_get(record, key));
}

static bool insert_record(struct campaign_store *store, const struct campaign_plan *plan,
                          const json_t *record, char **error)
{
    static const char *const verdicts[] = {"holds", "failed", "refused", "stuck"};
    uint64_t number = (uint64_t)json_integer_value(json_object_get(record, "number"));
    json_int_t status = json_integer_value(json_object_get(record, "exit"));
    struct campaign_run_description description;
    sqlite3_stmt *row = store->insert;
    json_t *settings;
    char *text;
    int done;

    if (number >= plan->size) {
        *error = g_strdup_printf("%s: a result has number %" PRIu64 "; allowed: below %" PRIu64,
                                 store->path, number, plan->size);
        return false;
    }
    campaign_plan_describe(plan, number, &description);
    settings = campaign_plan_settings(&description);
    text = json_dumps(settings, JSON_COMPACT);
    sqlite3_reset(row);
    sqlite3_bind_int64(row, 1, (sqlite3_int64)number);
    bind_text(row, 2, description.part->name);
    sqlite3_bind_int64(row, 3, (sqlite3_int64)description.seed);
    sqlite3_bind_int(row, 4, description.part->own_seed);
    bind_text(row, 5, text);
    bind_text(row, 6, verdicts[status & 3]);
    sqlite3_bind_int64(row, 7, status);
    bind_text(row, 8, text_of(record, "digest"));
    bind_text(row, 9, text_of(record, "signature"));
    bind_text(row, 10, text_of(record, "problem"));
    sqlite3_bind_int64(row, 11, json_integer_value(json_object_get(record, "virtual_time_ps")));
    sqlite3_bind_double(row, 12, number_of(record, "wall_s"));
    sqlite3_bind_double(row, 13, number_of(record, "cpu_s"));
    bind_text(row, 14, text_of(record, "metrics") != NULL ? text_of(record, "metrics") : "{}");
    bind_text(row, 15, text_of(record, "host") != NULL ? text_of(record, "host") : "");
    sqlite3_bind_double(row, 16, number_of(record, "finished"));
    sqlite3_bind_int64(row, 17, store->version);
    free(text);
    json_decref(settings);
    done = sqlite3_step(row);
    sqlite3_reset(row);
    return done == SQLITE_DONE || campaign_store_fail(store, error);
}

static bool count_in_session(struct campaign_store *store, size_t runs, double wall_s, double cpu_s,
                             char **error)
{
    sqlite3_stmt *statement = campaign_store_prepare(
        store,
        "UPDATE sessions SET runs = runs + ?, runs_wall_s = runs_wall_s + ?, runs_cpu_s = "
        "runs_cpu_s + ?, updated = ? WHERE id = ?",
        error);

    if (statement == NULL)
        return false;
    sqlite3_bind_int64(statement, 1, (sqlite3_int64)runs);
    sqlite3_bind_double(statement, 2, wall_s);
    sqlite3_bind_double(statement, 3, cpu_s);
    sqlite3_bind_double(statement, 4, now_s());
    sqlite3_bind_int64(statement, 5, store->session);
    return finish(store, statement, error);
}

bool campaign_store_add(struct campaign_store *store, const struct campaign_plan *plan,
                        const json_t *records, size_t *added, char **error)
{
    double wall_s = 0, cpu_s = 0;
    const json_t *record;
    bool ok;
    size_t i;
    char *ignored = NULL;

    *added = 0;
    if (json_array_size(records) == 0)
        return true;
    ok = execute(store, "BEGIN IMMEDIATE", error);
    json_array_foreach (records, i, record) {
        ok = ok && insert_record(store, plan, record, error);
        if (ok && sqlite3_changes(store->database) != 0) {
            wall_s += number_of(record, "wall_s");
            cpu_s += number_of(record, "cpu_s");
            ++*added;
        }
    }
    ok = ok && count_in_session(store, *added, wall_s, cpu_s, error) &&
         execute(store, "COMMIT", error);
    if (!ok && !sqlite3_get_autocommit(store->database))
        execute(store, "ROLLBACK", &ignored);
    g_free(ignored);
    return ok;
}

bool campaign_store_session(struct campaign_store *store, unsigned processes, double cpu_s,
                            char **error)
{
    sqlite3_stmt *statement = campaign_store_prepare(
        store, "UPDATE sessions SET processes = ?, cpu_s = ?, updated = ? WHERE id = ?", error);

    if (statement == NULL)
        return false;
    sqlite3_bind_int64(statement, 1, processes);
    sqlite3_bind_double(statement, 2, cpu_s);
    sqlite3_bind_double(statement, 3, now_s());
    sqlite3_bind_int64(statement, 4, store->session);
    return finish(store, statement, error);
}

bool campaign_store_done(struct campaign_store *store, uint8_t *done, uint64_t size, char **error)
{
    sqlite3_stmt *statement = campaign_store_prepare(store, "SELECT number FROM runs", error);
    int status = SQLITE_DONE;

    if (statement == NULL)
        return false;
    while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
        uint64_t number = (uint64_t)sqlite3_column_int64(statement, 0);

        if (number < size)
            done[number] = 1;
    }
    sqlite3_finalize(statement);
    return status == SQLITE_DONE || campaign_store_fail(store, error);
}

/* ---- jobs of Slurm --------------------------------------------------------------------------- */

bool campaign_store_add_job(struct campaign_store *store, const char *job, char **error)
{
    sqlite3_stmt *statement =
        campaign_store_prepare(store, "INSERT OR IGNORE INTO jobs VALUES (?, ?)", error);

    if (statement == NULL)
        return false;
    bind_text(statement, 1, job);
    sqlite3_bind_double(statement, 2, now_s());
    return finish(store, statement, error);
}

bool campaign_store_jobs(struct campaign_store *store, json_t **jobs, char **error)
{
    sqlite3_stmt *statement =
        campaign_store_prepare(store, "SELECT id FROM jobs ORDER BY submitted", error);
    int status;

    if (statement == NULL)
        return false;
    *jobs = json_array();
    while ((status = sqlite3_step(statement)) == SQLITE_ROW)
        json_array_append_new(*jobs, campaign_string_at(statement, 0));
    sqlite3_finalize(statement);
    return status == SQLITE_DONE || campaign_store_fail(store, error);
}

/* ---- the program ----------------------------------------------------------------------------- */

bool campaign_version_find(struct campaign_version *version, const char *program, char **error)
{
    GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    static uint8_t buffer[1u << 16];
    ssize_t got = -1;

    while (file >= 0 && (got = read(file, buffer, sizeof(buffer))) > 0)
        g_checksum_update(sum, buffer, got);
    *version = (struct campaign_version){program, g_strdup(g_checksum_get_string(sum))};
    g_checksum_free(sum);
    if (got != 0)
        *error = g_strdup_printf("/proc/self/exe: %s", g_strerror(errno));
    if (file >= 0)
        close(file);
    return got == 0;
}
