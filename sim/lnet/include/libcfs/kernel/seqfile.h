/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Files of /proc, debugfs and sysfs: linux/seq_file.h, proc_fs.h, debugfs.h, sysctl.h, kobject.h,
 * sysfs.h. They are those of the process. libcfs_device_open() opens them by their paths
 * ("/proc/fs/lustre/x", "/sys/kernel/debug/lnet/peers"); libcfs_file_text() reads one as a whole.
 */
#ifndef JACQUARD_LIBCFS_KERNEL_SEQFILE_H
#define JACQUARD_LIBCFS_KERNEL_SEQFILE_H

#include <sys/stat.h>

#include "libcfs/libcfs.h"

/* ---- texts that are made record by record ---------------------------------------------------- */

struct seq_file;
struct seq_operations {
    void *(*start)(struct seq_file *m, loff_t *position);
    void (*stop)(struct seq_file *m, void *record);
    void *(*next)(struct seq_file *m, void *record, loff_t *position);
    int (*show)(struct seq_file *m, void *record);
};
struct seq_file {
    char *buf;
    size_t size, from, count; /* of the buffer; text that was read; text that is left */
    loff_t index; /* of the next record */
    struct mutex lock;
    const struct seq_operations *op;
    struct file *file;
    void *private;
};
#define SEQ_START_TOKEN ((void *)1)
#define SEQ_SKIP 1

#pragma GCC visibility push(default)
int libcfs_seq_open(struct file *file, const struct seq_operations *operations, size_t bytes);
int libcfs_seq_single(struct file *file, int (*show)(struct seq_file *m, void *unused), void *data,
                      size_t size);
ssize_t libcfs_seq_read(struct file *file, char __user *buffer, size_t bytes, loff_t *position);
int libcfs_seq_release(struct file *file, bool own_data, bool own_operations);
loff_t libcfs_seq_seek(struct file *file, loff_t offset, int whence);
/* A text that does not fit makes the buffer full, and the record is made again in a larger one. */
void libcfs_seq_vprintf(struct seq_file *m, const char *format, va_list arguments);
void libcfs_seq_printf(struct seq_file *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int libcfs_seq_write(struct seq_file *m, const void *data, size_t bytes);
void libcfs_seq_escape(struct seq_file *m, const char *text, const char *escaped);
#pragma GCC visibility pop

#define seq_vprintf(m, format, arguments) libcfs_seq_vprintf(m, format, arguments)
#define seq_printf(m, ...) libcfs_seq_printf(m, __VA_ARGS__)
#define seq_write(m, data, bytes) libcfs_seq_write(m, data, bytes)
static inline void seq_puts(struct seq_file *m, const char *text)
{
    (void)libcfs_seq_write(m, text, strlen(text));
}
static inline void seq_putc(struct seq_file *m, char c)
{
    (void)libcfs_seq_write(m, &c, 1);
}
#define seq_escape(m, text, escaped) libcfs_seq_escape(m, text, escaped)
#define seq_has_overflowed(m) ((m)->count == (m)->size)
#define seq_open(file, operations) libcfs_seq_open(file, operations, 0)
static inline int seq_open_private(struct file *file, const struct seq_operations *operations,
                                   int bytes)
{
    return libcfs_seq_open(file, operations, (size_t)bytes);
}
static inline void *__seq_open_private(struct file *file, const struct seq_operations *operations,
                                       int bytes)
{
    return libcfs_seq_open(file, operations, (size_t)bytes) == 0
               ? ((struct seq_file *)file->private_data)->private
               : NULL;
}
static inline int single_open(struct file *file, int (*show)(struct seq_file *m, void *unused),
                              void *data)
{
    return libcfs_seq_single(file, show, data, 0);
}
static inline int single_open_size(struct file *file, int (*show)(struct seq_file *m, void *unused),
                                   void *data, size_t size)
{
    return libcfs_seq_single(file, show, data, size);
}
static inline ssize_t seq_read(struct file *file, char __user *buffer, size_t bytes,
                               loff_t *position)
{
    return libcfs_seq_read(file, buffer, bytes, position);
}
static inline loff_t seq_lseek(struct file *file, loff_t offset, int whence)
{
    return libcfs_seq_seek(file, offset, whence);
}
static inline int seq_release(struct inode *inode, struct file *file)
{
    (void)inode;
    return libcfs_seq_release(file, false, false);
}
static inline int seq_release_private(struct inode *inode, struct file *file)
{
    (void)inode;
    return libcfs_seq_release(file, true, false);
}
static inline int single_release(struct inode *inode, struct file *file)
{
    (void)inode;
    return libcfs_seq_release(file, false, true);
}
/* Records that are entries of a list. */
static inline struct list_head *seq_list_start(struct list_head *head, loff_t position)
{
    struct list_head *entry;

    list_for_each (entry, head)
        if (position-- == 0)
            return entry;
    return NULL;
}
static inline struct list_head *seq_list_start_head(struct list_head *head, loff_t position)
{
    return position == 0 ? head : seq_list_start(head, position - 1);
}
static inline struct list_head *seq_list_next(void *record, struct list_head *head,
                                              loff_t *position)
{
    struct list_head *next = ((struct list_head *)record)->next;

    ++*position;
    return next == head ? NULL : next;
}
#define DEFINE_SHOW_ATTRIBUTE(name)                                \
    static int name##_open(struct inode *inode, struct file *file) \
    {                                                              \
        return single_open(file, name##_show, inode->i_private);   \
    }                                                              \
    static const struct file_operations name##_fops = {            \
        .owner = THIS_MODULE,                                      \
        .open = name##_open,                                       \
        .read = seq_read,                                          \
        .llseek = seq_lseek,                                       \
        .release = single_release,                                 \
    }

/* ---- files and folders ----------------------------------------------------------------------- */

struct proc_dir_entry;
struct dentry;
struct libcfs_entry;
#pragma GCC visibility push(default)
/* `parent` NULL: the root named `root` ("/proc"). A name with '/' is that of a folder in it; those
 * that do not exist are made. operations NULL: a folder. NULL: no memory, or there is one. */
struct libcfs_entry *libcfs_entry_make(const char *root, struct libcfs_entry *parent,
                                       const char *name, umode_t mode, void *data,
                                       const struct file_operations *operations);
struct libcfs_entry *libcfs_entry_find(const char *path);
void libcfs_entry_remove(struct libcfs_entry *entry); /* with all that is below; NULL: nothing */
void *libcfs_entry_data(const struct libcfs_entry *entry);
/* The whole text of a file, malloc'd, or an error (IS_ERR()); writes one, its length or an error.
 */
char *libcfs_file_text(const char *path);
ssize_t libcfs_file_put(const char *path, const char *text);
#pragma GCC visibility pop

#define LIBCFS_PROC(entry) ((struct proc_dir_entry *)(void *)(entry))
#define LIBCFS_DENTRY(entry) ((struct dentry *)(void *)(entry))
#define LIBCFS_ENTRY(entry) ((struct libcfs_entry *)(void *)(entry))
static inline struct proc_dir_entry *proc_create_data(const char *name, umode_t mode,
                                                      struct proc_dir_entry *parent,
                                                      const struct file_operations *operations,
                                                      void *data)
{
    return LIBCFS_PROC(
        libcfs_entry_make("/proc", LIBCFS_ENTRY(parent), name, mode, data, operations));
}
#define proc_create(name, mode, parent, operations) \
    proc_create_data(name, mode, parent, operations, NULL)
#define proc_mkdir(name, parent) proc_create_data(name, 0555, parent, NULL, NULL)
#define proc_mkdir_data(name, mode, parent, data) proc_create_data(name, mode, parent, NULL, data)
#define proc_remove(entry) libcfs_entry_remove(LIBCFS_ENTRY(entry))
static inline void remove_proc_entry(const char *name, struct proc_dir_entry *parent)
{
    struct libcfs_entry *entry =
        libcfs_entry_make("/proc", LIBCFS_ENTRY(parent), name, 0, NULL, NULL);

    libcfs_entry_remove(entry);
}
static inline int remove_proc_subtree(const char *name, struct proc_dir_entry *parent)
{
    remove_proc_entry(name, parent);
    return 0;
}
#define PDE_DATA(inode) ((inode)->i_private)

static inline struct dentry *debugfs_create_file(const char *name, umode_t mode,
                                                 struct dentry *parent, void *data,
                                                 const struct file_operations *operations)
{
    return LIBCFS_DENTRY(
        libcfs_entry_make("/sys/kernel/debug", LIBCFS_ENTRY(parent), name, mode, data, operations));
}
#define debugfs_create_dir(name, parent) debugfs_create_file(name, 0755, parent, NULL, NULL)
#define debugfs_remove(entry) libcfs_entry_remove(LIBCFS_ENTRY(entry))
#define debugfs_remove_recursive(entry) libcfs_entry_remove(LIBCFS_ENTRY(entry))
#define debugfs_initialized() true

/* For the functions of files. */
#define no_llseek ((loff_t(*)(struct file *, loff_t, int))NULL)
#define noop_llseek no_llseek
#define default_llseek no_llseek
static inline int simple_open(struct inode *inode, struct file *file)
{
    file->private_data = inode->i_private;
    return 0;
}
static inline ssize_t simple_read_from_buffer(void __user *to, size_t count, loff_t *position,
                                              const void *from, size_t available)
{
    if (*position < 0)
        return -EINVAL;
    if ((size_t)*position >= available || count == 0)
        return 0;
    count = count < available - (size_t)*position ? count : available - (size_t)*position;
    memcpy(to, (const char *)from + *position, count);
    *position += (loff_t)count;
    return (ssize_t)count;
}
static inline ssize_t simple_write_to_buffer(void *to, size_t available, loff_t *position,
                                             const void __user *from, size_t count)
{
    if (*position < 0)
        return -EINVAL;
    if ((size_t)*position >= available || count == 0)
        return 0;
    count = count < available - (size_t)*position ? count : available - (size_t)*position;
    memcpy((char *)to + *position, from, count);
    *position += (loff_t)count;
    return (ssize_t)count;
}

/* ---- linux/sysctl.h: variables as files ------------------------------------------------------ */

struct ctl_table;
typedef int proc_handler(struct ctl_table *table, int write, void __user *buffer, size_t *length,
                         loff_t *position);
struct ctl_table {
    const char *procname; /* NULL: the end of the table */
    void *data;
    int maxlen;
    umode_t mode;
    proc_handler *proc_handler;
    void *extra1, *extra2; /* least and greatest value */
};
#pragma GCC visibility push(default)
/* Numbers of a table's data, or a text. -EINVAL: it is none, or beyond the limits. */
int libcfs_proc_numbers(struct ctl_table *table, int write, char *buffer, size_t *length,
                        loff_t *position, size_t bytes, bool limits);
int libcfs_proc_text(struct ctl_table *table, int write, char *buffer, size_t *length,
                     loff_t *position);
/* Files of /sys/kernel/debug/lnet. */
void libcfs_insert_debugfs(struct ctl_table *table);
void libcfs_remove_debugfs(struct ctl_table *table);
#pragma GCC visibility pop
#define lnet_insert_debugfs(table) libcfs_insert_debugfs(table)
#define lnet_remove_debugfs(table) libcfs_remove_debugfs(table)
static inline int proc_dointvec(struct ctl_table *table, int write, void __user *buffer,
                                size_t *length, loff_t *position)
{
    return libcfs_proc_numbers(table, write, (char *)buffer, length, position, sizeof(int), false);
}
static inline int proc_dointvec_minmax(struct ctl_table *table, int write, void __user *buffer,
                                       size_t *length, loff_t *position)
{
    return libcfs_proc_numbers(table, write, (char *)buffer, length, position, sizeof(int), true);
}
static inline int proc_doulongvec_minmax(struct ctl_table *table, int write, void __user *buffer,
                                         size_t *length, loff_t *position)
{
    return libcfs_proc_numbers(table, write, (char *)buffer, length, position, sizeof(long), true);
}
static inline int proc_dostring(struct ctl_table *table, int write, void __user *buffer,
                                size_t *length, loff_t *position)
{
    return libcfs_proc_text(table, write, (char *)buffer, length, position);
}

#endif
