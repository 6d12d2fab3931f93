/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Asks for a file in every way that there is and prints what it says, once; exit code 1 and a line
 * when two ways disagree. With a second argument: the same of a file of the machine, made here.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int folder, const char *path, int flags);
int __openat64_2(int folder, const char *path, int flags);

#define MUST(condition)                                                                 \
    do {                                                                                \
        if (!(condition)) {                                                             \
            printf("%s:%d: %s, %s\n", __FILE__, __LINE__, #condition, strerror(errno)); \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

static char said[256], early[256];

static void read_all(int file, char *text)
{
    ssize_t count;

    MUST(file >= 0);
    count = read(file, text, 255);
    MUST(count >= 0);
    text[count] = '\0';
    MUST(close(file) == 0);
}

static void same(int file)
{
    char text[256];

    read_all(file, text);
    MUST(strcmp(text, said) == 0);
}

static void same_stream(FILE *stream)
{
    char text[256];
    size_t count;

    MUST(stream != NULL);
    count = fread(text, 1, sizeof(text) - 1, stream);
    text[count] = '\0';
    MUST(fclose(stream) == 0 && strcmp(text, said) == 0);
}

static void asked(const char *path)
{
    struct stat status;
    struct stat64 status64;
    struct statx more;
    off_t size = (off_t)strlen(said);

    MUST(stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == size);
    MUST(lstat(path, &status) == 0 && status.st_size == size);
    MUST(fstatat(AT_FDCWD, path, &status, 0) == 0 && status.st_size == size);
    MUST(stat64(path, &status64) == 0 && status64.st_size == size);
    MUST(lstat64(path, &status64) == 0 && status64.st_size == size);
    MUST(fstatat64(AT_FDCWD, path, &status64, 0) == 0 && status64.st_size == size);
    MUST(statx(AT_FDCWD, path, 0, STATX_SIZE, &more) == 0 && (off_t)more.stx_size == size);
    MUST(access(path, F_OK) == 0 && access(path, R_OK) == 0);
    MUST(access(path, X_OK) == -1 && errno == EACCES);
    MUST(faccessat(AT_FDCWD, path, R_OK, 0) == 0);
}

static void opened(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);

    MUST(file >= 0 && (fcntl(file, F_GETFD) & FD_CLOEXEC));
    close(file);
    file = open(path, O_RDONLY);
    MUST(file >= 0 && !(fcntl(file, F_GETFD) & FD_CLOEXEC));
    same(file);
    same(open64(path, O_RDONLY));
    same(openat(AT_FDCWD, path, O_RDONLY));
    same(openat64(AT_FDCWD, path, O_RDONLY));
    same(__open_2(path, O_RDONLY));
    same(__open64_2(path, O_RDONLY));
    same(__openat_2(AT_FDCWD, path, O_RDONLY));
    same(__openat64_2(AT_FDCWD, path, O_RDONLY));
    same_stream(fopen(path, "r"));
    same_stream(fopen64(path, "re"));
}

/* The machine's files are what they are. */
static void others(const char *folder)
{
    char path[256];
    struct stat status;
    int file;

    umask(022);
    snprintf(path, sizeof(path), "%s/new", folder);
    file = open(path, O_CREAT | O_EXCL | O_RDWR, 0666);
    MUST(file >= 0 && write(file, "theirs\n", 7) == 7 && close(file) == 0);
    MUST(stat(path, &status) == 0 && (status.st_mode & 07777) == 0644);
    MUST(open(path, O_CREAT | O_EXCL | O_RDWR, 0666) == -1 && errno == EEXIST);
    file = open(folder, O_TMPFILE | O_RDWR, 0640);
    MUST(file >= 0 && fstat(file, &status) == 0 && (status.st_mode & 07777) == 0640);
    close(file);
    read_all(open(path, O_RDONLY), said);
    MUST(strcmp(said, "theirs\n") == 0);
    opened(path);
    asked(path);
    MUST(open("/proc/cray_xt/nosuch", O_RDONLY) == -1 && errno == ENOENT);
    MUST(chdir("/proc") == 0 && open("cray_xt/nid", O_RDONLY) == -1 && errno == ENOENT);
    errno = 0;
    MUST(access("/proc/self/maps", R_OK) == 0 && errno == 0);
}

__attribute__((constructor)) static void before_main(int count, char **arguments)
{
    int file = count > 1 ? open(arguments[1], O_RDONLY) : -1;

    if (file >= 0)
        read_all(file, early);
}

int main(int count, char **arguments)
{
    int status;

    if (count > 2) {
        others(arguments[2]);
        return 0;
    }
    errno = 0;
    read_all(open(arguments[1], O_RDONLY), said);
    MUST(errno == 0 && strcmp(early, said) == 0);
    opened(arguments[1]);
    asked(arguments[1]);
    fflush(stdout);
    if (fork() == 0) {
        opened(arguments[1]);
        _exit(0);
    }
    MUST(wait(&status) > 0 && status == 0);
    fputs(said, stdout);
    return 0;
}
