/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The devices of misc_register(), and what a user does with them. */
#include "kernel.h"

enum { DYNAMIC_MINORS = 64 };

static struct miscdevice *device_of(struct libcfs_kernel *kernel, const char *name, int minor)
{
    struct miscdevice *device;

    list_for_each_entry (device, &kernel->devices, list)
        if ((name != NULL && strcmp(device->name, name) == 0) || device->minor == minor)
            return device;
    return NULL;
}

int libcfs_misc_register(struct miscdevice *device)
{
    struct libcfs_kernel *kernel = libcfs_kernel();
    int minor = device->minor, rc = 0;

    mutex_lock(&kernel->device_lock);
    if (minor == MISC_DYNAMIC_MINOR)
        for (minor = DYNAMIC_MINORS - 1; device_of(kernel, NULL, minor) != NULL;)
            minor--;
    if (minor < 0 || device_of(kernel, NULL, minor) != NULL)
        rc = -EBUSY;
    else if (device_of(kernel, device->name, -1) != NULL)
        rc = -EEXIST;
    if (rc == 0) {
        device->minor = minor;
        list_add(&device->list, &kernel->devices);
    }
    mutex_unlock(&kernel->device_lock);
    return rc;
}

void libcfs_misc_deregister(struct miscdevice *device)
{
    struct libcfs_kernel *kernel = libcfs_kernel();

    if (WARN_ON(device->list.next == NULL || list_empty(&device->list)))
        return;
    mutex_lock(&kernel->device_lock);
    list_del_init(&device->list);
    mutex_unlock(&kernel->device_lock);
}

struct opened {
    struct file file;
    struct inode inode;
};

static struct file *file_make(const struct file_operations *operations, int flags)
{
    struct opened *opened = calloc(1, sizeof(*opened));

    if (opened == NULL)
        return NULL;
    opened->file = (struct file){.f_op = operations,
                                 .f_inode = &opened->inode,
                                 .f_flags = (unsigned)flags,
                                 .f_mode = (unsigned)((flags & O_ACCMODE) + 1)};
    return &opened->file;
}

static struct file *device_file(struct miscdevice *device, int flags)
{
    struct file *file = file_make(device->fops, flags);

    if (file != NULL) {
        file->f_inode->i_rdev = (dev_t)MISC_MAJOR << 20 | (unsigned)device->minor;
        file->private_data = device;
    }
    return file;
}

/* A file of /proc or /sys. */
static struct file *entry_open(const char *path, int flags)
{
    const struct libcfs_entry *entry = libcfs_entry_find(path);
    const struct file_operations *operations;
    struct file *file;
    int rc = 0;

    if (entry == NULL)
        return ERR_PTR(-ENOENT);
    operations = libcfs_entry_operations(entry);
    if (operations == NULL)
        return ERR_PTR(-EISDIR);
    file = file_make(operations, flags);
    if (file == NULL)
        return ERR_PTR(-ENOMEM);
    file->f_inode->i_private = libcfs_entry_data(entry);
    if (operations->open != NULL)
        rc = operations->open(file->f_inode, file);
    if (rc == 0)
        return file;
    free(file);
    return ERR_PTR(rc);
}

struct file *libcfs_device_open(const char *name, int flags)
{
    struct libcfs_kernel *kernel = libcfs_kernel();
    struct miscdevice *device;
    struct file *file = NULL;
    int rc = -ENOENT;

    if (strncmp(name, "/proc/", 6) == 0 || strncmp(name, "/sys/", 5) == 0)
        return entry_open(name, flags);
    if (strncmp(name, "/dev/", 5) == 0)
        name += 5;
    mutex_lock(&kernel->device_lock); /* also while the driver opens it, as in the kernel */
    device = device_of(kernel, name, -1);
    if (device != NULL) {
        file = device_file(device, flags);
        rc = file == NULL ? -ENOMEM : 0;
    }
    if (rc == 0 && file->f_op->open != NULL)
        rc = file->f_op->open(file->f_inode, file);
    mutex_unlock(&kernel->device_lock);
    if (rc == 0)
        return file;
    free(file);
    return ERR_PTR(rc);
}

long libcfs_device_ioctl(struct file *file, unsigned command, unsigned long argument)
{
    long rc = -ENOTTY;

    if (file->f_op->unlocked_ioctl != NULL)
        rc = file->f_op->unlocked_ioctl(file, command, argument);
    return rc == -ENOIOCTLCMD ? -ENOTTY : rc;
}

ssize_t libcfs_device_read(struct file *file, void *buffer, size_t bytes)
{
    if ((file->f_mode & FMODE_READ) == 0)
        return -EBADF;
    if (file->f_op->read == NULL)
        return -EINVAL;
    return file->f_op->read(file, buffer, bytes, &file->f_pos);
}

ssize_t libcfs_device_write(struct file *file, const void *buffer, size_t bytes)
{
    if ((file->f_mode & FMODE_WRITE) == 0)
        return -EBADF;
    if (file->f_op->write == NULL)
        return -EINVAL;
    return file->f_op->write(file, buffer, bytes, &file->f_pos);
}

int libcfs_device_close(struct file *file)
{
    int rc = 0;

    if (file->f_op->flush != NULL)
        rc = file->f_op->flush(file, file);
    if (file->f_op->release != NULL)
        (void)file->f_op->release(file->f_inode, file); /* its result is lost, as in the kernel */
    free(file);
    return rc;
}
