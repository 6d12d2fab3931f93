/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Runs a fuzz target without libFuzzer on the files of the folders that are its arguments. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* The memory is as large as the input, so that the address sanitizer notices reads beyond it. */
static int run_file(const char *name)
{
    FILE *file = fopen(name, "rb");
    uint8_t *bytes = NULL;
    long length = -1;

    if (file != NULL && fseek(file, 0, SEEK_END) == 0)
        length = ftell(file);
    if (length >= 0)
        bytes = malloc(length != 0 ? (size_t)length : 1);
    if (bytes == NULL || fseek(file, 0, SEEK_SET) != 0 ||
        fread(bytes, 1, (size_t)length, file) != (size_t)length) {
        fprintf(stderr, "%s cannot be read\n", name);
        exit(1);
    }
    fclose(file);
    LLVMFuzzerTestOneInput(bytes, (size_t)length);
    free(bytes);
    return 1;
}

static int run_folder(const char *folder)
{
    struct dirent **entries;
    int i, files = 0, count = scandir(folder, &entries, NULL, alphasort);
    char name[4096];

    for (i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "%s/%s", folder, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            files += run_file(name);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return files;
}

int main(int argc, char **argv)
{
    int i, files = 0;

    for (i = 1; i < argc; i++)
        files += run_folder(argv[i]);
    printf("%d inputs\n", files);
    return files > 0 ? 0 : 1;
}
