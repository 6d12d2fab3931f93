/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The configuration language:
 *
 *   file     = entry { entry }
 *   entry    = ID ":" object ";"
 *   object   = "{" file "}" | ID [ modifier ] | STRING | INTEGER | INTEGER ".." INTEGER
 *            | "(" object { "," object } ")"
 *   modifier = "[" object { "," object } "]" | "(" object { "," object } ")"
 *
 * `//` and `#` begin a comment. The functions that read a part return false after an error.
 */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

enum { DEPTH_MAX = 64 };

enum token_kind { TOKEN_END, TOKEN_ID, TOKEN_STRING, TOKEN_INTEGER, TOKEN_RANGE, TOKEN_SIGN };

struct token {
    enum token_kind kind;
    const char *start;
    size_t length;
    long number;
    int line, column;
};

struct parser {
    const char *file, *at, *end;
    char *error;
    int line, column; /* of `at` */
    int depth;
    struct token token; /* the next one */
};

static bool refuse(struct parser *parser, int line, int column, const char *text)
{
    snprintf(parser->error, MAD_CONFIG_ERROR_MAX, "%.200s:%d:%d: %s", parser->file, line, column,
             text);
    return false;
}

static bool refuse_token(struct parser *parser, const char *text)
{
    return refuse(parser, parser->token.line, parser->token.column, text);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static int peek(const struct parser *parser, size_t ahead)
{
    return (size_t)(parser->end - parser->at) > ahead ? (unsigned char)parser->at[ahead] : -1;
}

static void advance(struct parser *parser)
{
    parser->column++;
    if (*parser->at == '\n') {
        parser->line++;
        parser->column = 1;
    }
    parser->at++;
}

static void skip_blanks(struct parser *parser)
{
    for (;;) {
        int c = peek(parser, 0);

        if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
            advance(parser);
        else if (c == '#' || (c == '/' && peek(parser, 1) == '/'))
            while (peek(parser, 0) != '\n' && peek(parser, 0) != -1)
                advance(parser);
        else
            return;
    }
}

static bool begins_word(int c)
{
    return c == '_' || c == '/' || (c != -1 && c < 128 && isalpha(c));
}

static bool continues_word(int c)
{
    return begins_word(c) || c == '-' || (c != -1 && c < 128 && isdigit(c));
}

static void read_id(struct parser *parser)
{
    do {
        advance(parser); /* a point or the first letter */
        while (continues_word(peek(parser, 0)))
            advance(parser);
    } while (peek(parser, 0) == '.' && begins_word(peek(parser, 1)));
    parser->token.kind = TOKEN_ID;
}

static bool read_integer(struct parser *parser)
{
    struct token *token = &parser->token;

    token->kind = TOKEN_INTEGER;
    token->number = 0;
    while (isdigit(peek(parser, 0))) {
        if (token->number > (INT_MAX - 9) / 10)
            return refuse_token(parser, "the number is too large");
        token->number = token->number * 10 + (*parser->at - '0');
        advance(parser);
    }
    return true;
}

static bool read_string(struct parser *parser)
{
    struct token *token = &parser->token;

    advance(parser);
    while (peek(parser, 0) != '"') {
        if (peek(parser, 0) == -1)
            return refuse_token(parser, "the string has no end");
        if (peek(parser, 0) == '\0')
            return refuse(parser, parser->line, parser->column, "a zero byte in a string");
        advance(parser);
    }
    advance(parser);
    token->kind = TOKEN_STRING;
    return true;
}

static bool read_token(struct parser *parser)
{
    struct token *token = &parser->token;
    bool good = true;
    int c;

    skip_blanks(parser);
    *token = (struct token){.start = parser->at, .line = parser->line, .column = parser->column};
    c = peek(parser, 0);
    if (c == -1) {
        token->kind = TOKEN_END;
    } else if (begins_word(c) || (c == '.' && begins_word(peek(parser, 1)))) {
        read_id(parser);
    } else if (isdigit(c)) {
        good = read_integer(parser);
    } else if (c == '"') {
        good = read_string(parser);
    } else if (c == '.' && peek(parser, 1) == '.') {
        advance(parser);
        advance(parser);
        token->kind = TOKEN_RANGE;
    } else if (c != '\0' && strchr(":;,{}()[]", c) != NULL) {
        advance(parser);
        token->kind = TOKEN_SIGN;
    } else {
        return refuse_token(parser, "a character that the language does not have");
    }
    token->length = (size_t)(parser->at - token->start);
    return good;
}

static bool is_sign(const struct parser *parser, char sign)
{
    return parser->token.kind == TOKEN_SIGN && parser->token.start[0] == sign;
}

static bool expect(struct parser *parser, char sign)
{
    char text[32];

    if (is_sign(parser, sign))
        return read_token(parser);
    snprintf(text, sizeof(text), "expected `%c`", sign);
    return refuse_token(parser, text);
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* Frees without recursion along `next`; the depth of the rest is limited by the parser. */
void mad_config_free(struct mad_config *tree)
{
    while (tree != NULL) {
        struct mad_config *next = tree->next;

        mad_config_free(tree->first);
        mad_config_free(tree->modifier);
        free(tree->key);
        free(tree->text);
        free(tree);
        tree = next;
    }
}

const struct mad_config *mad_config_find(const struct mad_config *map, const char *key)
{
    const struct mad_config *each;

    for (each = map->first; each != NULL; each = each->next)
        if (each->key != NULL && strcmp(each->key, key) == 0)
            return each;
    return NULL;
}

static char *copy_token(const struct parser *parser)
{
    size_t quotes = parser->token.kind == TOKEN_STRING;
    size_t length = parser->token.length - 2 * quotes;
    char *copy = malloc(length + 1);

    /* The text has no NUL at its end. */
    if (copy != NULL) {
        memcpy(copy, parser->token.start + quotes, length);
        copy[length] = '\0';
    }
    return copy;
}

static bool read_object(struct parser *parser, struct mad_config **place);
static bool read_entries(struct parser *parser, struct mad_config **place);

/* Objects between signs, of which the first has been read. */
static bool read_list(struct parser *parser, struct mad_config **place, char end)
{
    for (;;) {
        if (!read_object(parser, place))
            return false;
        place = &(*place)->next;
        if (!is_sign(parser, ','))
            return expect(parser, end);
        if (!read_token(parser))
            return false;
    }
}

static bool read_modifier(struct parser *parser, struct mad_config *object)
{
    object->brackets = is_sign(parser, '[');
    if (!object->brackets && !is_sign(parser, '('))
        return true;
    return read_token(parser) && read_list(parser, &object->modifier, object->brackets ? ']' : ')');
}

static bool read_number(struct parser *parser, struct mad_config *object)
{
    object->kind = MAD_CONFIG_INTEGER;
    object->low = object->high = parser->token.number;
    if (!read_token(parser))
        return false;
    if (parser->token.kind != TOKEN_RANGE)
        return true;
    object->kind = MAD_CONFIG_RANGE;
    if (!read_token(parser))
        return false;
    if (parser->token.kind != TOKEN_INTEGER)
        return refuse_token(parser, "expected the end of the range");
    object->high = parser->token.number;
    if (object->high < object->low)
        return refuse_token(parser, "the range ends before it begins");
    return read_token(parser);
}

static bool read_text(struct parser *parser, struct mad_config *object)
{
    bool is_id = parser->token.kind == TOKEN_ID;

    object->kind = is_id ? MAD_CONFIG_ID : MAD_CONFIG_STRING;
    object->text = copy_token(parser);
    if (object->text == NULL)
        return refuse_token(parser, "not enough memory");
    return read_token(parser) && (!is_id || read_modifier(parser, object));
}

static bool read_content(struct parser *parser, struct mad_config *object)
{
    if (parser->token.kind == TOKEN_ID || parser->token.kind == TOKEN_STRING)
        return read_text(parser, object);
    if (parser->token.kind == TOKEN_INTEGER)
        return read_number(parser, object);
    if (is_sign(parser, '{')) {
        object->kind = MAD_CONFIG_MAP;
        return read_token(parser) && read_entries(parser, &object->first) && expect(parser, '}');
    }
    if (is_sign(parser, '(')) {
        object->kind = MAD_CONFIG_LIST;
        return read_token(parser) && read_list(parser, &object->first, ')');
    }
    return refuse_token(parser, "expected a value");
}

static bool read_object(struct parser *parser, struct mad_config **place)
{
    struct mad_config *object = calloc(1, sizeof(*object));
    bool good;

    if (object == NULL)
        return refuse_token(parser, "not enough memory");
    *place = object;
    object->line = parser->token.line;
    object->column = parser->token.column;
    if (++parser->depth > DEPTH_MAX)
        return refuse_token(parser, "too many levels");
    good = read_content(parser, object);
    parser->depth--;
    return good;
}

/* One or more, up to a token that begins none. */
static bool read_entries(struct parser *parser, struct mad_config **place)
{
    do {
        char *key;

        if (parser->token.kind != TOKEN_ID)
            return refuse_token(parser, "expected a name");
        key = copy_token(parser);
        if (!read_token(parser) || !expect(parser, ':') || !read_object(parser, place)) {
            free(key);
            return false;
        }
        (*place)->key = key;
        place = &(*place)->next;
        if (key == NULL)
            return refuse_token(parser, "not enough memory");
        if (!expect(parser, ';'))
            return false;
    } while (parser->token.kind == TOKEN_ID);
    return true;
}

struct mad_config *mad_config_parse(const char *text, size_t length, const char *file, char *error)
{
    struct parser parser = {
        .file = file, .at = text, .end = text + length, .error = error, .line = 1, .column = 1};
    struct mad_config *tree = calloc(1, sizeof(*tree));

    if (tree == NULL) {
        snprintf(error, MAD_CONFIG_ERROR_MAX, "%.200s: not enough memory", file);
        return NULL;
    }
    tree->kind = MAD_CONFIG_MAP;
    tree->line = tree->column = 1;
    if (read_token(&parser) && read_entries(&parser, &tree->first) &&
        (parser.token.kind == TOKEN_END || refuse_token(&parser, "expected a name")))
        return tree;
    mad_config_free(tree);
    return NULL;
}

/* ---- plans: files and memory ------------------------------------------------------------------
 */

char *mad_plan_file(const char *file, size_t *length, char *error)
{
    FILE *stream = fopen(file, "re");
    char *text = NULL, *larger;
    size_t room = 0;

    snprintf(error, MAD_CONFIG_ERROR_MAX, "%.200s: the file cannot be read", file);
    if (stream == NULL)
        return NULL;
    *length = 0;
    do {
        if (*length == room) {
            room = 2 * room + 4096;
            larger = realloc(text, room);
            if (larger == NULL)
                break;
            text = larger;
        }
        *length += fread(text + *length, 1, room - *length, stream);
    } while (!feof(stream) && !ferror(stream));
    if (!feof(stream) || ferror(stream)) {
        free(text);
        text = NULL;
    }
    fclose(stream);
    return text;
}

void mad_plan_free(struct mad_plan *plan)
{
    int i;

    if (plan == NULL)
        return;
    for (i = 0; i < plan->network_count; i++)
        free(plan->networks[i].selector);
    for (i = 0; plan->channels != NULL && i < plan->channel_count; i++)
        free(plan->channels[i].member);
    for (i = 0; plan->parameters != NULL && plan->parameters[i] != NULL; i++)
        free(plan->parameters[i]);
    for (i = 0; plan->hosts != NULL && i < plan->size; i++)
        free(plan->hosts[i]);
    for (i = 0; i < plan->tree_count; i++)
        mad_config_free(plan->trees[i]);
    free(plan->networks);
    free(plan->channels);
    for (i = 0; plan->multiplexed != NULL && i < plan->multiplexed_count; i++)
        free(plan->multiplexed[i].subs);
    free(plan->virtuals);
    free(plan->multiplexed);
    free(plan->parameters);
    free(plan->hosts);
    free(plan);
}
