/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A rank's own copy of a program: loading it, and its constructors and destructors. */
#define _GNU_SOURCE /* memfd_create, dlinfo */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/outside.h"
#include "image.h"

/* The loader's message without the path, which means nothing to a user. */
static const char *without_path(const char *message)
{
    const char *rest = g_str_has_prefix(message, "/proc/self/fd") ? strstr(message, ": ") : NULL;

    return rest != NULL ? rest + 2 : message;
}

/* The loader treats files with the same path as one. Descriptors are reused and would give the same
 * path, so each path is written in another way: a number in "/" and "/./". */
static void unique_path(char *path, size_t size, int file)
{
    static uint32_t serial;
    size_t at = (size_t)snprintf(path, size, "/proc/self/fd");
    uint32_t bits;

    for (bits = ++serial; bits != 0; bits >>= 1)
        at += (size_t)snprintf(path + at, size - at, bits & 1 ? "/." : "/");
    snprintf(path + at, size - at, "/%d", file);
}

static void *load_copy(const struct foreign_image *image, const char *name, char **error)
{
    int file = memfd_create(name, MFD_CLOEXEC);
    char path[128];
    void *object = NULL;
    gsize written = 0;
    ssize_t part = 0;

    while (file >= 0 && written < image->size && part >= 0) {
        part = write(file, image->bytes + written, image->size - written);
        written += part > 0 ? (gsize)part : 0;
    }
    if (file < 0 || part < 0) {
        *error = g_strdup_printf("no memory for a copy of the program: %s", g_strerror(errno));
    } else {
        unique_path(path, sizeof(path), file);
        object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (object == NULL)
            *error = g_strdup_printf("cannot be loaded: %s", without_path(dlerror()));
    }
    if (file >= 0)
        close(file);
    return object;
}

static void close_library(void *library)
{
    dlclose(library);
}

/* Searches the program's library path as the loader would. The loader cannot do it, because the
 * copy is in another folder ($ORIGIN). */
static void *load_library(const struct foreign_image *image, const char *name)
{
    char **folders = g_strsplit(image->search_path != NULL ? image->search_path : "", ":", -1);
    void *library = NULL;
    size_t i;

    for (i = 0; folders[i] != NULL && library == NULL; i++) {
        char *folder = strncmp(folders[i], "$ORIGIN", 7) == 0
                           ? g_strconcat(image->folder, folders[i] + 7, NULL)
                           : g_strdup(folders[i]);
        char *path = g_build_filename(folder, name, NULL);

        if (folder[0] != '\0' && access(path, R_OK) == 0)
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        g_free(path);
        g_free(folder);
    }
    g_strfreev(folders);
    return library != NULL ? library : dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

/*
 * The standard streams of C++ are variables that each rank has a copy of. libstdc++ creates them in
 * the first constructor of a file that includes <iostream>. That is too late for the first rank, so
 * it is done here.
 */
static void make_streams(const struct foreign_image *image)
{
    static char object[16];
    void (*construct)(void *object) = NULL;
    guint i;

    for (i = 0; i < image->libraries->len && construct == NULL; i++)
        *(void **)&construct =
            dlsym(g_ptr_array_index(image->libraries, i), "_ZNSt8ios_base4InitC1Ev");
    if (construct != NULL)
        construct(object);
}

/* Loads the libraries before any copy of the program, so that they do not bind to the variables of
 * the first copy. If a library is not found, the loader reports it later. */
static void load_libraries(struct foreign_image *image)
{
    void *library;
    guint i;

    if (image->libraries != NULL)
        return;
    sim_outside_begin(); /* memory that a library keeps does not belong to the first rank */
    image->libraries = g_ptr_array_new_with_free_func(close_library);
    for (i = 0; i < image->needed->len; i++) {
        library = load_library(image, g_ptr_array_index(image->needed, i));
        if (library != NULL)
            g_ptr_array_add(image->libraries, library);
    }
    make_streams(image);
    sim_outside_end();
}

/* Copies variables of the program's libraries, which the loader has not found in sim-run. */
static void copy_from_libraries(const struct foreign_image *image, const struct foreign_copy *copy)
{
    const struct place *place;
    void *at;
    guint i, j;

    for (i = 0; i < image->library_copies->len; i++) {
        place = &g_array_index(image->library_copies, struct place, i);
        if (dlsym(RTLD_DEFAULT, place->what) != NULL)
            continue;
        for (j = 0, at = NULL; j < image->libraries->len && at == NULL; j++)
            at = dlsym(g_ptr_array_index(image->libraries, j), place->what);
        if (at != NULL)
            memcpy((void *)(copy->base + place->at), at, place->bytes);
    }
}

static void protect(const struct foreign_image *image, const struct foreign_copy *copy, int how)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = (copy->base + image->relro) & ~(page - 1);
    uintptr_t end = (copy->base + image->relro + image->relro_bytes) & ~(page - 1);

    if (end > begin)
        mprotect((void *)begin, end - begin, how);
}

static void fill_variables(const struct foreign_image *image, const struct foreign_copy *copy,
                           struct foreign_variables *variables)
{
    void *const own[] = {[FOREIGN_OPTIND] = &variables->optind,
                         [FOREIGN_OPTERR] = &variables->opterr,
                         [FOREIGN_OPTOPT] = &variables->optopt,
                         [FOREIGN_OPTARG] = &variables->optarg,
                         [FOREIGN_ENVIRON] = &variables->environment};
    const struct place *place;
    guint i;

    variables->optind = variables->opterr = 1;
    memcpy(variables->at, own, sizeof(variables->at));
    for (i = 0; i < image->variable_slots->len; i++) {
        place = &g_array_index(image->variable_slots, struct place, i);
        *(void **)(copy->base + place->at) = own[place->bytes];
    }
    for (i = 0; i < image->variable_copies->len; i++) {
        place = &g_array_index(image->variable_copies, struct place, i);
        if (place->bytes == FOREIGN_ENVIRON) {
            *(char ***)(copy->base + place->at) = variables->environment;
            continue;
        }
        variables->at[place->bytes] = (void *)(copy->base + place->at);
        if (place->bytes == FOREIGN_OPTARG)
            *(char **)variables->at[place->bytes] = NULL;
        else
            *(int *)variables->at[place->bytes] = *(int *)own[place->bytes];
    }
}

static void fill(const struct foreign_image *image, const struct foreign_copy *copy)
{
    const struct place *place;
    guint i;

    for (i = 0; i < image->slots->len; i++) {
        place = &g_array_index(image->slots, struct place, i);
        *(void **)(copy->base + place->at) = place->what;
    }
    for (i = 0; i < image->local_slots->len; i++) {
        place = &g_array_index(image->local_slots, struct place, i);
        *(size_t *)(copy->base + place->at) = place->bytes;
    }
    for (i = 0; i < image->copies->len; i++) {
        place = &g_array_index(image->copies, struct place, i);
        memcpy((void *)(copy->base + place->at), place->what, place->bytes);
    }
}

bool foreign_image_load(struct foreign_image *image, const char *name,
                        struct foreign_variables *variables, struct foreign_copy *copy,
                        char **error)
{
    struct link_map *map;

    load_libraries(image);
    copy->object = load_copy(image, name, error);
    if (copy->object == NULL)
        return false;
    if (dlinfo(copy->object, RTLD_DI_LINKMAP, &map) != 0) {
        *error = g_strdup_printf("cannot be loaded: %s", dlerror());
        foreign_image_unload(copy);
        return false;
    }
    copy->base = map->l_addr;
    copy->locals_image = image->locals_image;
    copy->locals_filled = image->locals_filled;
    copy->locals_distance = image->locals_distance;
    copy->main = (int (*)(int, char **, char **))(copy->base + image->main);
    protect(image, copy, PROT_READ | PROT_WRITE);
    fill(image, copy);
    copy_from_libraries(image, copy);
    fill_variables(image, copy, variables);
    protect(image, copy, PROT_READ);
    return true;
}

typedef void construct(int argc, char **argv, char **environment);

void foreign_image_construct(const struct foreign_image *image, const struct foreign_copy *copy,
                             int argc, char **argv, char **environment)
{
    construct **functions = (construct **)(copy->base + image->init.at);
    size_t i;

    if (image->init.single != 0)
        ((construct *)(copy->base + image->init.single))(argc, argv, environment);
    for (i = 0; i < image->init.count; i++)
        functions[i](argc, argv, environment);
}

void foreign_image_destruct(const struct foreign_image *image, const struct foreign_copy *copy)
{
    void (**functions)(void) = (void (**)(void))(copy->base + image->fini.at);
    size_t i;

    for (i = image->fini.count; i > 0; i--)
        functions[i - 1]();
    if (image->fini.single != 0)
        ((void (*)(void))(copy->base + image->fini.single))();
}

void foreign_image_unload(struct foreign_copy *copy)
{
    if (copy->object != NULL)
        dlclose(copy->object);
    copy->object = NULL;
}
