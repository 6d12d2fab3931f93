/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * JSON inside of a page. Texts come from scenarios and programs, so they may contain anything. In a
 * <script> element only "</script" and "<!--" have a meaning; here no "<", ">" and "&" is left.
 */
#include "page_write.h"

#include <inttypes.h>

static int put(const char *bytes, size_t length, void *file)
{
    size_t i;

    for (i = 0; i < length; i++) {
        if (bytes[i] == '<' || bytes[i] == '>' || bytes[i] == '&')
            fprintf(file, "\\u%04x", (unsigned)bytes[i]);
        else
            putc(bytes[i], file);
    }
    return 0;
}

void report_page_text(FILE *file, const char *text)
{
    char *valid = g_utf8_make_valid(text, -1);
    json_t *json = json_string(valid);

    json_dump_callback(json, put, file, JSON_COMPACT | JSON_ENCODE_ANY);
    json_decref(json);
    g_free(valid);
}

static void put_object(FILE *file, const json_t *object)
{
    const char *key, *separator = "";
    json_t *value;

    putc('{', file);
    json_object_foreach ((json_t *)object, key, value) {
        fputs(separator, file);
        report_page_text(file, key);
        putc(':', file);
        report_page_json(file, value);
        separator = ",";
    }
    putc('}', file);
}

void report_page_json(FILE *file, const json_t *json)
{
    const json_t *value;
    size_t i;

    switch (json_typeof(json)) {
    case JSON_OBJECT:
        put_object(file, json);
        break;
    case JSON_ARRAY:
        putc('[', file);
        json_array_foreach (json, i, value) {
            fputs(i != 0 ? "," : "", file);
            report_page_json(file, value);
        }
        putc(']', file);
        break;
    case JSON_STRING:
        report_page_text(file, json_string_value(json));
        break;
    default:
        json_dump_callback(json, put, file, JSON_COMPACT | JSON_ENCODE_ANY);
        break;
    }
}

void report_page_list_begin(struct report_page_list *list, FILE *file, const char *name)
{
    *list = (struct report_page_list){.file = file};
    report_page_text(file, name);
    fputs(":[", file);
}

void report_page_list_add(struct report_page_list *list, int64_t number)
{
    fprintf(list->file, "%s%" PRId64, list->filled ? "," : "", number);
    list->filled = true;
}

void report_page_list_step(struct report_page_list *list, uint64_t number)
{
    report_page_list_add(list, (int64_t)(number - list->before));
    list->before = number;
}

void report_page_list_end(struct report_page_list *list)
{
    fputs("]", list->file);
}
