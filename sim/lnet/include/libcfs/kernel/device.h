/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Devices that a driver registers by misc_register(). There is no /dev: the same process opens them
 * by libcfs_device_open().
 */
#ifndef JACQUARD_LIBCFS_KERNEL_DEVICE_H
#define JACQUARD_LIBCFS_KERNEL_DEVICE_H

#include <fcntl.h>
#include <sys/types.h>

#include "libcfs/kernel/compiler.h"
#include "libcfs/kernel/module.h"

typedef unsigned fmode_t;
typedef void *fl_owner_t;
#define FMODE_READ 0x1u
#define FMODE_WRITE 0x2u

struct device;
struct attribute_group;
struct poll_table_struct;
struct vm_area_struct;
struct file_operations;

struct inode {
    dev_t i_rdev; /* iminor(), imajor() */
    void *i_private;
};
struct file {
    void *private_data; /* when `open` is called: the struct miscdevice */
    const struct file_operations *f_op;
    struct inode *f_inode;
    unsigned f_flags; /* of open(2): O_RDWR, O_NONBLOCK */
    fmode_t f_mode;
    loff_t f_pos;
};
/* `poll`, `mmap`, `fasync`, `llseek`, `fsync` and `compat_ioctl` have a place; nobody calls them.
 */
struct file_operations {
    struct module *owner;
    loff_t (*llseek)(struct file *file, loff_t offset, int whence);
    ssize_t (*read)(struct file *file, char __user *buffer, size_t bytes, loff_t *position);
    ssize_t (*write)(struct file *file, const char __user *buffer, size_t bytes, loff_t *position);
    unsigned (*poll)(struct file *file, struct poll_table_struct *table);
    long (*unlocked_ioctl)(struct file *file, unsigned command, unsigned long argument);
    long (*compat_ioctl)(struct file *file, unsigned command, unsigned long argument);
    int (*mmap)(struct file *file, struct vm_area_struct *area);
    int (*open)(struct inode *inode, struct file *file);
    int (*flush)(struct file *file, fl_owner_t owner);
    int (*release)(struct inode *inode, struct file *file);
    int (*fsync)(struct file *file, loff_t from, loff_t to, int data);
    int (*fasync)(int descriptor, struct file *file, int on);
};
#define iminor(inode) ((unsigned)(inode)->i_rdev & 0xfffffu)
#define imajor(inode) ((unsigned)((inode)->i_rdev >> 20))
#define file_inode(file) ((file)->f_inode)

#define MISC_MAJOR 10
#define MISC_DYNAMIC_MINOR 255
struct miscdevice {
    int minor; /* MISC_DYNAMIC_MINOR: misc_register() sets a free one */
    const char *name;
    const struct file_operations *fops;
    struct list_head list; /* of all that are registered */
    struct device *parent, *this_device;
    const struct attribute_group **groups;
    const char *nodename;
    umode_t mode;
};

#pragma GCC visibility push(default)
int libcfs_misc_register(struct miscdevice *device);
void libcfs_misc_deregister(struct miscdevice *device);
/*
 * What a user does with a registered device, as open(2), ioctl(2), read(2), write(2) and close(2).
 * `name` is its name, also with "/dev/" before. Errors are negative numbers, of open in the pointer
 * (IS_ERR()): -ENOENT if there is no such device, -ENOTTY, -EINVAL or -EBADF if it cannot do that.
 */
struct file *libcfs_device_open(const char *name, int flags);
long libcfs_device_ioctl(struct file *file, unsigned command, unsigned long argument);
ssize_t libcfs_device_read(struct file *file, void *buffer, size_t bytes);
ssize_t libcfs_device_write(struct file *file, const void *buffer, size_t bytes);
int libcfs_device_close(struct file *file);
#pragma GCC visibility pop

/* 0; -EBUSY: its minor number is taken, or all are; -EEXIST: its name is. */
static inline int misc_register(struct miscdevice *device)
{
    return libcfs_misc_register(device);
}
static inline void misc_deregister(struct miscdevice *device)
{
    libcfs_misc_deregister(device);
}
/* For a driver whose files have no position. */
static inline int nonseekable_open(struct inode *inode, struct file *file)
{
    (void)inode, (void)file;
    return 0;
}

#endif
