/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Notes which memory of the process was unmapped or mapped anew.
 *
 * A few functions of the C library do this (munmap, mremap, madvise, brk, mmap over a mapping,
 * shmdt, shmat); free() and the end of a thread call them, too. Their first instruction is replaced
 * by a jump to a function here, which notes the range and then makes the system call. The memory
 * hooks of MPI libraries, UCX and libfabric work in the same way. A hook that was there before is
 * called, too.
 *
 * A range is noted before the system call, so no thread can find new memory at an address whose
 * change is not noted. The notes are a ring: writers claim a place with an atomic and publish it
 * with its sequence number. A reader that was overtaken learns that everything may have changed.
 *
 * System calls that a program makes without the C library are not seen. If another library
 * overwrites the jumps later, changes are not noted any more, and readers learn that.
 *
 * Where kdreg is, the kernel reports changes instead, and nothing is patched (posix_kdreg.c).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "port/port.h"
#include "posix_kdreg.h"

#define PAGE 4096u
#define EVERYTHING (~(uint64_t)(PAGE - 1))

/* ---- the ring -------------------------------------------------------------------------------- */

#define NOTES 4096u
#define TURNS \
    1000u /* polls of a reader that waits for a writer which has a place but has not written it */

static struct note {
    uint64_t sequence; /* of this note, plus one, when it is complete */
    uint64_t address, bytes;
} notes[NOTES];
static uint64_t note_count;

static void changed(const volatile void *address, size_t bytes)
{
    uint64_t sequence = __atomic_fetch_add(&note_count, 1, __ATOMIC_ACQ_REL);
    struct note *note = &notes[sequence % NOTES];

    __atomic_store_n(&note->sequence, 0, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&note->address, (uint64_t)(uintptr_t)address, __ATOMIC_RELAXED);
    __atomic_store_n(&note->bytes, bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&note->sequence, sequence + 1, __ATOMIC_RELEASE);
}

/* False: the note was overwritten, or its writer does not finish (a thread that a child lacks). */
static bool read_note(uint64_t sequence, uint64_t *address, uint64_t *bytes)
{
    const struct note *note = &notes[sequence % NOTES];
    unsigned turn;

    for (turn = 0; turn < TURNS; turn++) {
        if (__atomic_load_n(&note_count, __ATOMIC_ACQUIRE) - sequence > NOTES)
            return false;
        if (__atomic_load_n(&note->sequence, __ATOMIC_ACQUIRE) == sequence + 1) {
            *address = __atomic_load_n(&note->address, __ATOMIC_RELAXED);
            *bytes = __atomic_load_n(&note->bytes, __ATOMIC_RELAXED);
            __atomic_thread_fence(__ATOMIC_ACQUIRE);
            return __atomic_load_n(&note->sequence, __ATOMIC_RELAXED) == sequence + 1;
        }
        sched_yield();
    }
    return false;
}

/* ---- replacements of the C library's functions ----------------------------------------------- */

enum function { MUNMAP, MREMAP, MADVISE, BRK, MMAP, SHMDT, SHMAT, FUNCTIONS };

static struct {
    void *entry; /* in the C library */
    void *previous; /* the function of another library that patched the entry before; NULL: none */
    uint64_t *word; /* where the jump stands, */
    uint64_t patched; /* and the word with that jump */
} functions[FUNCTIONS];
static void **program_break; /* the C library's variable */

#define PREVIOUS(function, type) ((type)(uintptr_t)functions[function].previous)

static int watched_munmap(void *address, size_t bytes)
{
    changed(address, bytes);
    if (functions[MUNMAP].previous != NULL)
        return PREVIOUS(MUNMAP, int (*)(void *, size_t))(address, bytes);
    return (int)syscall(SYS_munmap, address, bytes);
}

static void *watched_mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...)
{
    void *target = NULL;
    va_list more;

    if (flags & MREMAP_FIXED) {
        va_start(more, flags);
        target = va_arg(more, void *);
        va_end(more);
        changed(target, bytes);
    }
    changed(old, old_bytes);
    if (functions[MREMAP].previous != NULL)
        return PREVIOUS(MREMAP, void *(*)(void *, size_t, size_t, int, ...))(old, old_bytes, bytes,
                                                                             flags, target);
    return (void *)(uintptr_t)syscall(SYS_mremap, old, old_bytes, bytes, flags, target);
}

static int watched_madvise(void *address, size_t bytes, int advice)
{
    if (advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE)
        changed(address, bytes);
    if (functions[MADVISE].previous != NULL)
        return PREVIOUS(MADVISE, int (*)(void *, size_t, int))(address, bytes, advice);
    return (int)syscall(SYS_madvise, address, bytes, advice);
}

static int watched_brk(void *address)
{
    char *now = *program_break;

    if ((char *)address < now)
        changed(address, (size_t)(now - (char *)address));
    if (functions[BRK].previous != NULL)
        return PREVIOUS(BRK, int (*)(void *))(address);
    *program_break = (void *)(uintptr_t)syscall(SYS_brk, address);
    if ((char *)*program_break >= (char *)address)
        return 0;
    errno = ENOMEM;
    return -1;
}

static void *watched_mmap(void *address, size_t bytes, int protection, int flags, int file,
                          off_t offset)
{
    if ((flags & MAP_FIXED) != 0)
        changed(address, bytes);
    if (functions[MMAP].previous != NULL)
        return PREVIOUS(MMAP, void *(*)(void *, size_t, int, int, int, off_t))(
            address, bytes, protection, flags, file, offset);
    return (void *)(uintptr_t)syscall(SYS_mmap, address, bytes, protection, flags, file, offset);
}

/* Only the kernel knows the length. */
static int watched_shmdt(const void *address)
{
    changed(NULL, EVERYTHING);
    if (functions[SHMDT].previous != NULL)
        return PREVIOUS(SHMDT, int (*)(const void *))(address);
    return (int)syscall(SYS_shmdt, address);
}

static void *watched_shmat(int segment, const void *address, int flags)
{
    if (flags & SHM_REMAP)
        changed(NULL, EVERYTHING);
    if (functions[SHMAT].previous != NULL)
        return PREVIOUS(SHMAT, void *(*)(int, const void *, int))(segment, address, flags);
    return (void *)(uintptr_t)syscall(SYS_shmat, segment, address, flags);
}

/* ---- jumps ----------------------------------------------------------------------------------- */

#define NEAR (1ull << 30) /* the reach of a short jump in both directions, with a reserve */
#define STEP (2ull << 20)

#if defined(__x86_64__)

#define STUB 16 /* bytes */

/* jmp *0(%rip), and the address */
static void write_stub(uint8_t *stub, uint64_t to)
{
    static const uint8_t jump[6] = {0xff, 0x25};

    memcpy(stub, jump, sizeof(jump));
    memcpy(stub + sizeof(jump), &to, sizeof(to));
}

/*
 * The target of a jump that another library has written at the beginning of a function. NULL: none.
 */
static void *follow(const uint8_t *at)
{
    static const uint8_t indirect[6] = {0xff, 0x25}, by_r11[3] = {0x41, 0xff, 0xe3};
    uint64_t target = 0;
    int32_t distance;

    if (at[0] == 0xe9) {
        memcpy(&distance, at + 1, sizeof(distance));
        target = (uint64_t)(uintptr_t)at + 5 + (uint64_t)(int64_t)distance;
    } else if (memcmp(at, indirect, sizeof(indirect)) == 0) {
        memcpy(&target, at + 6, sizeof(target));
    } else if (at[0] == 0x49 && at[1] == 0xbb && memcmp(at + 10, by_r11, sizeof(by_r11)) == 0) {
        memcpy(&target, at + 2, sizeof(target));
    }
    return (void *)(uintptr_t)target;
}

/*
 * Replaces the word of the program that holds the first five bytes of the function by one with a
 * jump. The word changes in one store, for other threads may run the function. No system call lies
 * within these bytes, so no thread sleeps in them.
 */
static bool make_jump(uint8_t *entry, const uint8_t *stub, uint64_t **word, uint64_t *patched)
{
    unsigned offset = (uintptr_t)entry & 7;
    int32_t distance = (int32_t)(stub - (entry + 5));

    if (offset > 3)
        return false;
    *word = (uint64_t *)(void *)(entry - offset);
    *patched = **word;
    *((uint8_t *)patched + offset) = 0xe9;
    memcpy((uint8_t *)patched + offset + 1, &distance, sizeof(distance));
    return true;
}

#else /* this processor is not supported: changes cannot be watched */

#define STUB 16

static void write_stub(uint8_t *stub, uint64_t to)
{
    (void)stub, (void)to;
}

static void *follow(const uint8_t *at)
{
    (void)at;
    return NULL;
}

static bool make_jump(uint8_t *entry, const uint8_t *stub, uint64_t **word, uint64_t *patched)
{
    (void)entry, (void)stub, (void)word, (void)patched;
    return false;
}

#endif

/* A page within the reach of short jumps from there. NULL: none is free. */
static uint8_t *page_near(uint64_t place)
{
    uint64_t away;

    for (away = STEP; away < NEAR && away < place; away += STEP) {
        void *wanted = (void *)(uintptr_t)((place - away) & ~(STEP - 1));
        void *got = mmap(wanted, PAGE, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

        if (got == wanted)
            return got;
        if (got != MAP_FAILED)
            munmap(got, PAGE);
    }
    return NULL;
}

static bool patch(enum function which, const uint8_t *stub)
{
    uint8_t *entry = functions[which].entry;
    void *page = (void *)((uintptr_t)entry & ~(uintptr_t)(PAGE - 1));
    uint64_t patched, *word;

    if (!make_jump(entry, stub, &word, &patched))
        return false;
    functions[which].previous = follow(entry);
    if (mprotect(page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return false;
    functions[which].word = word;
    functions[which].patched = patched;
    __atomic_store_n(word, patched, __ATOMIC_SEQ_CST);
    return mprotect(page, PAGE, PROT_READ | PROT_EXEC) == 0;
}

static bool still_patched(void)
{
    int i;

    for (i = 0; i < FUNCTIONS; i++)
        if (__atomic_load_n(functions[i].word, __ATOMIC_RELAXED) != functions[i].patched)
            return false;
    return true;
}

/* ---- starting to watch ----------------------------------------------------------------------- */

/* Jumps lead into this object until the process ends, so it must not be unloaded. */
static bool stays(void)
{
    struct link_map *object = NULL;
    Dl_info here;

    if (dladdr1((void *)(uintptr_t)changed, &here, (void **)&object, RTLD_DL_LINKMAP) == 0)
        return false;
    return object->l_name[0] == '\0' || /* the program itself */
           dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) != NULL;
}

/*
 * Checks that a patched function is called: a tool that translates programs may not see changes of
 * their text.
 */
static bool is_seen(void)
{
    int (*volatile unmap)(void *, size_t) =
        (int (*)(void *, size_t))(uintptr_t)functions[MUNMAP].entry;
    uint64_t before, address, bytes;
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED)
        return false;
    before = __atomic_load_n(&note_count, __ATOMIC_ACQUIRE);
    if (unmap(page, PAGE) != 0)
        return false;
    for (; before != __atomic_load_n(&note_count, __ATOMIC_ACQUIRE); before++)
        if (read_note(before, &address, &bytes) && address == (uint64_t)(uintptr_t)page)
            return true;
    return false;
}

static bool begin(void)
{
    static const char *const names[FUNCTIONS] = {"munmap", "mremap", "madvise", "brk",
                                                 "mmap",   "shmdt",  "shmat"};
    const uint64_t targets[FUNCTIONS] = {(uintptr_t)watched_munmap,  (uintptr_t)watched_mremap,
                                         (uintptr_t)watched_madvise, (uintptr_t)watched_brk,
                                         (uintptr_t)watched_mmap,    (uintptr_t)watched_shmdt,
                                         (uintptr_t)watched_shmat};
    void *library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    uint8_t *stubs;
    int i;

    if (library == NULL || !stays())
        return false;
    program_break = dlsym(library, "__curbrk");
    for (i = 0; i < FUNCTIONS; i++)
        functions[i].entry = dlsym(library, names[i]);
    for (i = 0; i < FUNCTIONS; i++)
        if (functions[i].entry == NULL || program_break == NULL)
            return false;
    stubs = page_near((uint64_t)(uintptr_t)functions[MUNMAP].entry);
    if (stubs == NULL)
        return false;
    for (i = 0; i < FUNCTIONS; i++)
        write_stub(stubs + (size_t)i * STUB, targets[i]);
    if (mprotect(stubs, PAGE, PROT_READ | PROT_EXEC) != 0)
        return false;
    for (i = 0; i < FUNCTIONS; i++)
        if (!patch((enum function)i, stubs + (size_t)i * STUB))
            return false;
    return is_seen();
}

static int state; /* 0: not begun, 1: watches, -1: not possible, or not any more */
static bool kernel_reports; /* kdreg; does not change once `state` is 1 */

int port_memory_watch(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int now;

    pthread_mutex_lock(&lock);
    now = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
    if (now == 0) {
        kernel_reports = port_kdreg_open();
        now = kernel_reports || begin() ? 1 : -1;
        __atomic_store_n(&state, now, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return now > 0 ? 0 : -1;
}

uint64_t port_memory_watch_begin(uint64_t address, uint64_t bytes)
{
    bool named = __atomic_load_n(&state, __ATOMIC_ACQUIRE) > 0 && kernel_reports;

    return named ? port_kdreg_begin(address, bytes) : 0;
}

void port_memory_watch_end(uint64_t watch)
{
    if (watch != 0)
        port_kdreg_end(watch);
}

int port_memory_changed(uint64_t *place, uint64_t *address, uint64_t *bytes)
{
    uint64_t count;

    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) <= 0)
        return -1;
    if (kernel_reports ? !port_kdreg_read(changed) : !still_patched()) {
        __atomic_store_n(&state, -1, __ATOMIC_RELEASE);
        return -1;
    }
    count = __atomic_load_n(&note_count, __ATOMIC_ACQUIRE);
    if (*place == count)
        return 0;
    if (count - *place <= NOTES && read_note(*place, address, bytes)) {
        ++*place;
        return 1;
    }
    *address = 0;
    *bytes = EVERYTHING;
    *place = count;
    return 1;
}
