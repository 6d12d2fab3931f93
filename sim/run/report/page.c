/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The report page, put together from the files of page/ and the data of a run. The page states the
 * digest of its script, so that a browser executes nothing else, and forbids every access to a
 * network.
 */
#include "page_write.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include "scenario/file.h"

static const struct report_page_part *part(const char *name)
{
    size_t i;

    for (i = 0; i < report_page_part_count; i++)
        if (strcmp(report_page_parts[i].name, name) == 0)
            return &report_page_parts[i];
    g_assert_not_reached();
}

static void add(GString *text, const char *name)
{
    const struct report_page_part *one = part(name);

    g_string_append_len(text, (const char *)one->bytes, (gssize)one->length);
    g_string_append_c(text, '\n');
}

/* All files with that ending, in the order of the list in CMakeLists.txt: libraries first. */
static GString *gather(const char *ending)
{
    GString *text = g_string_new("\n");
    size_t i;

    for (i = 0; i < report_page_part_count; i++)
        if (g_str_has_suffix(report_page_parts[i].name, ending))
            add(text, report_page_parts[i].name);
    return text;
}

static char *digest_of(const GString *script)
{
    GChecksum *checksum = g_checksum_new(G_CHECKSUM_SHA256);
    guint8 bytes[32];
    gsize length = sizeof(bytes);
    char *text;

    g_checksum_update(checksum, (const guchar *)script->str, (gssize)script->len);
    g_checksum_get_digest(checksum, bytes, &length);
    g_checksum_free(checksum);
    text = g_base64_encode(bytes, length);
    return text;
}

/* Writes what stands before the mark, and moves *text behind it. */
static void write_until(FILE *file, const char **text, const char *mark)
{
    const char *at = strstr(*text, mark);

    g_assert(at != NULL);
    fwrite(*text, 1, (size_t)(at - *text), file);
    *text = at + strlen(mark);
}

/* What a page shows. */
struct contents {
    const char *title;
    void (*write)(FILE *file, const struct contents *contents);
    /* a run */
    const struct report_page *page;
    const struct cluster *cluster;
    struct record *record;
    const json_t *result;
    /* anything else */
    const json_t *data;
};

static void write_run(FILE *file, const struct contents *run)
{
    report_page_data(file, run->page, run->cluster, run->record, run->result);
}

static void write_data(FILE *file, const struct contents *contents)
{
    report_page_json(file, contents->data);
}

static void write_page(FILE *file, const struct contents *contents)
{
    GString *script = gather(".js"), *style = gather(".css"), *frame = g_string_new(NULL);
    char *digest = digest_of(script), *title;
    const char *text;

    add(frame, "page.html");
    text = frame->str;
    write_until(file, &text, "@SCRIPT_DIGEST@");
    fprintf(file, "'sha256-%s'", digest);
    write_until(file, &text, "@TITLE@");
    title = g_markup_escape_text(contents->title, -1);
    fputs(title, file);
    write_until(file, &text, "@STYLE@");
    fwrite(style->str, 1, style->len, file);
    write_until(file, &text, "@LICENCES@");
    fwrite(part("vendor/licences.txt")->bytes, 1, part("vendor/licences.txt")->length, file);
    write_until(file, &text, "@DATA@");
    contents->write(file, contents);
    write_until(file, &text, "@SCRIPT@");
    fwrite(script->str, 1, script->len, file);
    fputs(text, file);
    g_free(title);
    g_free(digest);
    g_string_free(frame, TRUE);
    g_string_free(style, TRUE);
    g_string_free(script, TRUE);
}

static bool save(const char *where, const struct contents *contents, char **error)
{
    char *target = NULL, *partial = NULL;
    const char *path;
    FILE *file;
    bool ok;

    scenario_file_place(where, &target, &partial);
    path = partial != NULL ? partial : where;
    file = fopen(path, "w");
    ok = file != NULL;
    if (ok) {
        write_page(file, contents);
        ok = !ferror(file);
        ok = fclose(file) == 0 && ok;
    }
    if (ok && partial != NULL)
        ok = g_rename(partial, target) == 0;
    if (!ok) {
        *error = g_strdup_printf("%s: %s", where, g_strerror(errno));
        if (partial != NULL)
            g_unlink(partial);
    }
    g_free(target);
    g_free(partial);
    return ok;
}

bool report_page_write(const struct report_page *page, const struct cluster *cluster,
                       struct record *record, const json_t *result, char **error)
{
    const struct contents run = {.title = cluster->scenario->name,
                                 .write = write_run,
                                 .page = page,
                                 .cluster = cluster,
                                 .record = record,
                                 .result = result};

    return save(page->path, &run, error);
}

bool report_page_save(const char *path, const char *title, const json_t *data, char **error)
{
    const struct contents contents = {.title = title, .write = write_data, .data = data};

    return save(path, &contents, error);
}
