/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libFuzzer target: reads any text as a configuration of Madeleine. The reader accepts it or
 * refuses it with a message of one line that names the file. What is accepted, printed and read
 * again prints the same.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void refuse_unless(bool condition)
{
    if (!condition)
        abort();
}

static void print_list(FILE *to, const struct mad_config *list, const char *between);

static void print(FILE *to, const struct mad_config *object)
{
    if (object->key != NULL)
        fprintf(to, "%s:", object->key);
    if (object->kind == MAD_CONFIG_MAP) {
        fputs("{", to);
        print_list(to, object->first, ";");
        fputs(";}", to);
    } else if (object->kind == MAD_CONFIG_LIST) {
        fputs("(", to);
        print_list(to, object->first, ",");
        fputs(")", to);
    } else if (object->kind == MAD_CONFIG_INTEGER) {
        fprintf(to, "%ld", object->low);
    } else if (object->kind == MAD_CONFIG_RANGE) {
        fprintf(to, "%ld..%ld", object->low, object->high);
    } else {
        const char *quote = object->kind == MAD_CONFIG_STRING ? "\"" : "";

        fprintf(to, "%s%s%s", quote, object->text, quote);
    }
    if (object->modifier != NULL) {
        fputs(object->brackets ? "[" : "(", to);
        print_list(to, object->modifier, ",");
        fputs(object->brackets ? "]" : ")", to);
    }
}

static void print_list(FILE *to, const struct mad_config *list, const char *between)
{
    for (; list != NULL; list = list->next) {
        print(to, list);
        if (list->next != NULL)
            fputs(between, to);
    }
}

static char *print_tree(const struct mad_config *tree)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);

    refuse_unless(to != NULL);
    print_list(to, tree->first, ";");
    fputs(";", to);
    fclose(to);
    return text;
}

static void check_message(const char *error)
{
    refuse_unless(strncmp(error, "fuzz", 4) == 0 && strchr(error, ':') != NULL);
}

static const uint8_t *input;
static size_t input_length;

/* Every file that is included has the same text. */
static char *reader(const char *file, size_t *length, char *error)
{
    char *copy = malloc(input_length + 1);

    (void)file;
    (void)error;
    refuse_unless(copy != NULL);
    memcpy(copy, input, input_length);
    *length = input_length;
    return copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    char error[MAD_CONFIG_ERROR_MAX] = "";
    struct mad_config *tree = mad_config_parse((const char *)bytes, length, "fuzz", error), *again;
    struct mad_plan *plan;
    char *first, *second;

    if (tree == NULL) {
        check_message(error);
        return 0;
    }
    first = print_tree(tree);
    again = mad_config_parse(first, strlen(first), "fuzz", error);
    refuse_unless(again != NULL);
    second = print_tree(again);
    refuse_unless(strcmp(first, second) == 0);
    mad_config_free(tree);
    mad_config_free(again);
    free(first);
    free(second);

    input = bytes;
    input_length = length;
    plan = mad_plan_make("fuzz", reader, error);
    refuse_unless(plan == NULL || plan->size >= 0);
    mad_plan_free(plan);
    return 0;
}
