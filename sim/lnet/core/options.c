/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Parameters as one text: "name=value name=value", or the lines of a file for modprobe, "options
 * lnet name=value". Blanks inside of quotes and brackets belong to a value.
 */
#define _GNU_SOURCE
#include "core/internal.h"
#include "lnet/export.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r\v\f"

/* A blank outside of quotes and brackets, or the end of the text. */
static char *word_end(char *text)
{
    int depth = 0;
    char quote = '\0';

    for (; *text != '\0'; text++) {
        if (quote != '\0')
            quote = *text == quote ? '\0' : quote;
        else if (*text == '"' || *text == '\'')
            quote = *text;
        else if (*text == '(' || *text == '[')
            depth++;
        else if (*text == ')' || *text == ']')
            depth--;
        else if (depth == 0 && isspace((unsigned char)*text))
            break;
    }
    return text;
}

/* Without the quotes around it, if it has them; in place. */
static char *unquote(char *text)
{
    size_t length = strlen(text);

    if (length < 2 || (*text != '"' && *text != '\'') || text[length - 1] != *text)
        return text;
    text[length - 1] = '\0';
    return text + 1;
}

/* A line that ends with a backslash goes on in the next one; in place. */
static void join_lines(char *text)
{
    char *to = text;

    while (*text != '\0') {
        if (text[0] == '\\' && text[1] == '\n')
            text += 2;
        else if (text[0] == '\\' && text[1] == '\r' && text[2] == '\n')
            text += 3;
        else
            *to++ = *text++;
    }
    *to = '\0';
}

/* The other commands of modprobe's files. */
static bool is_command(const char *word)
{
    static const char *const commands[] = {"alias", "blacklist", "install", "remove", "softdep"};
    size_t i;

    for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(commands[i], word) == 0)
            return true;
    }
    return false;
}

/* '-' and '_' are the same in the name of a module. */
static void set_module(char *module, size_t size, const char *name)
{
    snprintf(module, size, "%.*s.", (int)size - 2, name);
    for (; *module != '\0'; module++)
        *module = *module == '-' ? '_' : *module;
}

/* "name=value", also with quotes around all of it. */
static bool add(struct lnet_settings *config, const char *module, char *word, char **error)
{
    char *assignment = unquote(word), *equals = strchr(assignment, '='), *name;

    if (equals == NULL || equals == assignment) {
        *error = lnet_text("\"%s\": name=value is needed", assignment);
        return false;
    }
    *equals = '\0';
    name = lnet_text("%s%s", module, assignment);
    if (name == NULL) {
        *error = lnet_text("no memory");
        return false;
    }
    lnet_settings_add(config, name, unquote(equals + 1));
    free(name);
    return true;
}

bool lnet_options_read(struct lnet_settings *config, const char *text, char **error)
{
    char *whole = strdup(text), *at = whole, module[64] = "";
    bool ok = whole != NULL, first = true, needs_module = false;

    if (ok)
        join_lines(whole);
    else
        *error = lnet_text("no memory");
    while (ok) {
        char *word, *end;

        at += strspn(at, BLANKS);
        if (*at == '#')
            at += strcspn(at, "\n");
        if (*at == '\n') {
            at++;
            first = true;
            needs_module = false;
            module[0] = '\0';
            continue;
        }
        if (*at == '\0')
            break;
        end = word_end(at);
        word = strndup(at, (size_t)(end - at));
        at = end;
        if (word == NULL)
            break;
        if (first && strcmp(word, "options") == 0)
            needs_module = true;
        else if (first && is_command(word))
            at += strcspn(at, "\n");
        else if (needs_module)
            set_module(module, sizeof(module), word);
        else
            ok = add(config, module, word, error);
        needs_module = needs_module && first;
        first = false;
        free(word);
    }
    free(whole);
    return ok;
}
