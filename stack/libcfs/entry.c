/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The files of /proc and /sys of a process: folders of entries, and variables as files. */
#include "kernel.h"

#include <ctype.h>

struct libcfs_entry {
    struct libcfs_entry *parent;
    struct list_head on_parent, children;
    void *data;
    const struct file_operations *operations; /* NULL: a folder */
    umode_t mode;
    bool owns_data;
    char name[];
};

enum { NAME_ROOM = LIBCFS_BLOCK_BYTES - sizeof(struct libcfs_entry) };

static struct libcfs_entry *entry_new(struct libcfs_entry *parent, const char *name, size_t length)
{
    /* In a block, as all that belongs to the process and lives as long as it. */
    struct libcfs_entry *entry = length < NAME_ROOM ? libcfs_block_alloc(libcfs_kernel()) : NULL;

    if (entry == NULL)
        return NULL;
    memset(entry, 0, sizeof(*entry) + length + 1);
    memcpy(entry->name, name, length);
    INIT_LIST_HEAD(&entry->children);
    INIT_LIST_HEAD(&entry->on_parent);
    entry->parent = parent;
    if (parent != NULL)
        list_add_tail(&entry->on_parent, &parent->children);
    return entry;
}

static struct libcfs_entry *child_of(struct libcfs_entry *parent, const char *name, size_t length)
{
    struct libcfs_entry *entry;

    list_for_each_entry (entry, &parent->children, on_parent)
        if (strlen(entry->name) == length && strncmp(entry->name, name, length) == 0)
            return entry;
    return NULL;
}

/* The entry that a path below `from` names; with `make` its folders are made. */
static struct libcfs_entry *entry_at(struct libcfs_entry *from, const char *path, bool make)
{
    struct libcfs_entry *next;
    size_t length;

    while (from != NULL && *(path += strspn(path, "/")) != '\0') {
        length = strcspn(path, "/");
        next = child_of(from, path, length);
        if (next == NULL && make && from->operations == NULL)
            next = entry_new(from, path, length);
        from = next;
        path += length;
    }
    return from;
}

static struct libcfs_entry *root_of(struct libcfs_kernel *kernel)
{
    if (kernel->entries == NULL)
        kernel->entries = entry_new(NULL, "", 0);
    return kernel->entries;
}

struct libcfs_entry *libcfs_entry_make(const char *root, struct libcfs_entry *parent,
                                       const char *name, umode_t mode, void *data,
                                       const struct file_operations *operations)
{
    struct libcfs_kernel *kernel = libcfs_kernel();
    struct libcfs_entry *entry = NULL;

    mutex_lock(&kernel->device_lock);
    if (parent == NULL)
        parent = entry_at(root_of(kernel), root, true);
    if (parent != NULL && (operations == NULL || entry_at(parent, name, false) == NULL))
        entry = entry_at(parent, name, true);
    if (entry != NULL) {
        entry->mode = mode;
        entry->data = data;
        entry->operations = operations;
    }
    mutex_unlock(&kernel->device_lock);
    return entry;
}

struct libcfs_entry *libcfs_entry_find(const char *path)
{
    struct libcfs_kernel *kernel = libcfs_kernel();
    struct libcfs_entry *entry;

    mutex_lock(&kernel->device_lock);
    entry = kernel->entries == NULL ? NULL : entry_at(kernel->entries, path, false);
    mutex_unlock(&kernel->device_lock);
    return entry;
}

static void entry_free(struct libcfs_entry *entry)
{
    struct libcfs_entry *child, *next;

    list_for_each_entry_safe (child, next, &entry->children, on_parent)
        entry_free(child);
    list_del_init(&entry->on_parent);
    if (entry->owns_data)
        free(entry->data);
    libcfs_block_free(libcfs_kernel(), entry);
}

void libcfs_entry_remove(struct libcfs_entry *entry)
{
    struct libcfs_kernel *kernel = libcfs_kernel();

    if (entry == NULL || IS_ERR(entry))
        return;
    mutex_lock(&kernel->device_lock);
    entry_free(entry);
    mutex_unlock(&kernel->device_lock);
}

struct libcfs_entry *libcfs_entry_below(struct libcfs_entry *folder, const char *path)
{
    struct libcfs_kernel *kernel = libcfs_kernel();
    struct libcfs_entry *entry;

    mutex_lock(&kernel->device_lock);
    entry = folder == NULL ? NULL : entry_at(folder, path, false);
    mutex_unlock(&kernel->device_lock);
    return entry;
}

void libcfs_entry_own_data(struct libcfs_entry *entry)
{
    entry->owns_data = true;
}

void *libcfs_entry_data(const struct libcfs_entry *entry)
{
    return entry->data;
}

const struct file_operations *libcfs_entry_operations(const struct libcfs_entry *entry)
{
    return entry->operations;
}

/* ---- a file as a whole ----------------------------------------------------------------------- */

char *libcfs_file_text(const char *path)
{
    struct file *file = libcfs_device_open(path, O_RDONLY);
    size_t length = 0, size = 256;
    char *text = NULL, *larger;
    ssize_t n;

    if (IS_ERR(file))
        return (char *)file;
    for (;;) {
        larger = realloc(text, size);
        if (larger == NULL) {
            n = -ENOMEM;
            break;
        }
        text = larger;
        n = libcfs_device_read(file, text + length, size - length - 1);
        if (n <= 0)
            break;
        length += (size_t)n;
        size = 2 * length + 256;
    }
    (void)libcfs_device_close(file);
    if (n < 0) {
        free(text);
        return ERR_PTR(n);
    }
    text[length] = '\0';
    return text;
}

ssize_t libcfs_file_put(const char *path, const char *text)
{
    struct file *file = libcfs_device_open(path, O_WRONLY);
    ssize_t n;

    if (IS_ERR(file))
        return PTR_ERR(file);
    n = libcfs_device_write(file, text, strlen(text));
    (void)libcfs_device_close(file);
    return n;
}

/* ---- variables ------------------------------------------------------------------------------- */

enum { VALUE_MAX = 32 };

static int number_get(char *text, const void *place, size_t bytes)
{
    return bytes == sizeof(int) ? snprintf(text, VALUE_MAX, "%d", *(const int *)place)
                                : snprintf(text, VALUE_MAX, "%lu", *(const unsigned long *)place);
}

static bool within(const struct ctl_table *table, const char *value, size_t bytes)
{
    if (bytes == sizeof(int)) {
        const int *least = table->extra1, *most = table->extra2;
        long number = strtol(value, NULL, 0);

        return (least == NULL || number >= *least) && (most == NULL || number <= *most);
    } else {
        const unsigned long *least = table->extra1, *most = table->extra2;
        unsigned long number = strtoul(value, NULL, 0);

        return (least == NULL || number >= *least) && (most == NULL || number <= *most);
    }
}

static int number_set(struct ctl_table *table, const char *value, void *place, size_t bytes,
                      bool limits)
{
    int rc;

    if (limits && !within(table, value, bytes))
        return -EINVAL;
    rc = bytes == sizeof(int) ? kstrtoint(value, 0, place) : kstrtoul(value, 0, place);
    return rc != 0 ? -EINVAL : 0;
}

int libcfs_proc_numbers(struct ctl_table *table, int write, char *buffer, size_t *length,
                        loff_t *position, size_t bytes, bool limits)
{
    unsigned i, count = (unsigned)((size_t)table->maxlen / bytes);
    char value[VALUE_MAX];
    size_t at = 0, n;
    int rc = 0;

    if (table->data == NULL || count == 0 || *length == 0 || (*position > 0 && !write)) {
        *length = 0;
        return 0;
    }
    for (i = 0; i < count && rc == 0; i++) {
        void *place = (char *)table->data + i * bytes;

        if (!write) {
            n = (size_t)number_get(value, place, bytes);
            if (at + n + 2 > *length)
                break;
            memcpy(buffer + at, value, n);
            at += n;
            buffer[at++] = i + 1 < count ? '\t' : '\n';
            continue;
        }
        while (at < *length && isspace((unsigned char)buffer[at]))
            at++;
        for (n = 0; at < *length && !isspace((unsigned char)buffer[at]) && buffer[at] != '\0';
             at++) {
            if (n + 1 == sizeof(value))
                return -EINVAL;
            value[n++] = buffer[at];
        }
        value[n] = '\0';
        if (n == 0)
            break;
        rc = number_set(table, value, place, bytes, limits);
    }
    if (write && i == 0 && rc == 0)
        rc = -EINVAL;
    if (!write)
        *length = at;
    *position += (loff_t)*length;
    return rc;
}

int libcfs_proc_text(struct ctl_table *table, int write, char *buffer, size_t *length,
                     loff_t *position)
{
    char *text = table->data;
    size_t n;

    if (text == NULL || table->maxlen == 0 || *length == 0 || (*position > 0 && !write)) {
        *length = 0;
        return 0;
    }
    if (write) {
        n = strcspn(buffer, "\n");
        n = n < *length ? n : *length;
        n = n < (size_t)table->maxlen ? n : (size_t)table->maxlen - 1;
        memcpy(text, buffer, n);
        text[n] = '\0';
    } else {
        n = strnlen(text, (size_t)table->maxlen);
        n = n < *length - 1 ? n : *length - 1;
        memcpy(buffer, text, n);
        buffer[n] = '\n';
        *length = n + 1;
    }
    *position += (loff_t)*length;
    return 0;
}

static ssize_t variable_use(struct file *file, char *buffer, size_t bytes, loff_t *position,
                            bool write)
{
    struct ctl_table *table = file->private_data;
    size_t length = bytes;
    int rc = table->proc_handler(table, write, buffer, &length, position);

    return rc != 0 ? rc : (ssize_t)length;
}
static ssize_t variable_read(struct file *file, char __user *buffer, size_t bytes, loff_t *position)
{
    return variable_use(file, buffer, bytes, position, false);
}
static ssize_t variable_write(struct file *file, const char __user *buffer, size_t bytes,
                              loff_t *position)
{
    char *copy = malloc(bytes + 1);
    ssize_t n;

    if (copy == NULL)
        return -ENOMEM;
    memcpy(copy, buffer, bytes);
    copy[bytes] = '\0';
    n = variable_use(file, copy, bytes, position, true);
    free(copy);
    return n;
}
static const struct file_operations variable_operations = {
    .open = simple_open, .read = variable_read, .write = variable_write};

#define LNET_DEBUGFS "/sys/kernel/debug/lnet"

void libcfs_insert_debugfs(struct ctl_table *table)
{
    for (; table->procname != NULL; table++)
        (void)libcfs_entry_make(LNET_DEBUGFS, NULL, table->procname, table->mode, table,
                                &variable_operations);
}

void libcfs_remove_debugfs(struct ctl_table *table)
{
    char path[256];

    for (; table->procname != NULL; table++) {
        snprintf(path, sizeof(path), LNET_DEBUGFS "/%s", table->procname);
        libcfs_entry_remove(libcfs_entry_find(path));
    }
}
