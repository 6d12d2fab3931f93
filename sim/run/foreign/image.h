/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A program file as image.c has read and changed it, for load.c. */
#ifndef JACQUARD_RUN_FOREIGN_IMAGE_H
#define JACQUARD_RUN_FOREIGN_IMAGE_H

#include <glib.h>
#include <link.h>

#include "internal.h"

/* A virtual address in the file, and the value that belongs there. */
struct place {
    uintptr_t at;
    void *what;
    size_t bytes; /* copies */
};

struct functions { /* an array of pointers, or one function (count 0) */
    uintptr_t at;
    size_t count;
    uintptr_t single;
};

struct foreign_image {
    char *bytes; /* the changed file */
    gsize size;
    GArray *slots; /* struct place: pointer to a function or to environ */
    GArray *copies; /* struct place */
    GArray *library_copies; /* struct place: a variable of a library, `what` is its name */
    GPtrArray *needed; /* names of libraries */
    char *search_path; /* DT_RUNPATH or DT_RPATH; NULL: none */
    char *folder; /* of the program, for $ORIGIN */
    GPtrArray *libraries; /* dlopen handles of `needed`, once a rank has started; NULL: none has */
    GArray *variable_slots, *variable_copies; /* struct place, `bytes` says which variable */
    struct functions init, fini;
    uintptr_t main, relro, relro_bytes;
    /* Thread-local variables: initial values, and how far below the thread pointer they begin. */
    bool has_locals, asks_for_module;
    uintptr_t locals_image;
    size_t locals_filled, locals_distance; /* distance 0: a shared object, the loader knows it */
    GArray *local_slots; /* struct place: distance of a variable from the thread pointer */
    bool ugni, libfabric;
    /* while it is read */
    const ElfW(Phdr) * segments;
    uint16_t segment_count;
};

/* struct place, `bytes` of variable_slots and variable_copies: FOREIGN_OPTIND ..., or */
enum { FOREIGN_ENVIRON = FOREIGN_VARIABLES, FOREIGN_NO_VARIABLE };

#endif
