/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Kernel objects: folders of /sys whose attributes are files. */
#include "kernel.h"

#include <stdarg.h>

#define SYSFS "/sys/kernel"

/* The attribute that a file shows, and its object. */
struct shown {
    struct kobject *object;
    struct attribute *attribute;
};

static ssize_t plain_show(struct kobject *object, struct attribute *attribute, char *page)
{
    struct kobj_attribute *own = container_of(attribute, struct kobj_attribute, attr);

    return own->show != NULL ? own->show(object, own, page) : -EIO;
}
static ssize_t plain_store(struct kobject *object, struct attribute *attribute, const char *text,
                           size_t bytes)
{
    struct kobj_attribute *own = container_of(attribute, struct kobj_attribute, attr);

    return own->store != NULL ? own->store(object, own, text, bytes) : -EIO;
}
const struct sysfs_ops libcfs_kobj_sysfs_ops = {plain_show, plain_store};

static const struct sysfs_ops *operations_of(const struct kobject *object)
{
    return object->ktype != NULL && object->ktype->sysfs_ops != NULL ? object->ktype->sysfs_ops
                                                                     : &libcfs_kobj_sysfs_ops;
}

static ssize_t attribute_read(struct file *file, char __user *buffer, size_t bytes,
                              loff_t *position)
{
    const struct shown *shown = file->private_data;
    char *page = calloc(1, PAGE_SIZE);
    ssize_t n;

    if (page == NULL)
        return -ENOMEM;
    n = operations_of(shown->object)->show == NULL
            ? -EIO
            : operations_of(shown->object)->show(shown->object, shown->attribute, page);
    if (n > 0)
        n = simple_read_from_buffer(buffer, bytes, position, page, (size_t)n);
    free(page);
    return n;
}

static ssize_t attribute_write(struct file *file, const char __user *buffer, size_t bytes,
                               loff_t *position)
{
    const struct shown *shown = file->private_data;
    char *text;
    ssize_t n;

    if (operations_of(shown->object)->store == NULL)
        return -EIO;
    bytes = bytes < PAGE_SIZE ? bytes : PAGE_SIZE - 1;
    text = malloc(bytes + 1);
    if (text == NULL)
        return -ENOMEM;
    memcpy(text, buffer, bytes);
    text[bytes] = '\0';
    n = operations_of(shown->object)->store(shown->object, shown->attribute, text, bytes);
    free(text);
    if (n > 0)
        *position += n;
    return n;
}

static const struct file_operations attribute_operations = {
    .open = simple_open, .read = attribute_read, .write = attribute_write};

/* ---- attributes ------------------------------------------------------------------------------ */

static void path_of(char *path, size_t size, const char *group, const char *name)
{
    snprintf(path, size, "%s%s%s", group != NULL ? group : "", group != NULL ? "/" : "", name);
}

int libcfs_sysfs_file(struct kobject *object, const char *group, struct attribute *attribute)
{
    struct libcfs_entry *entry;
    struct shown *shown;
    char path[256];

    if (object->folder == NULL)
        return -EINVAL;
    shown = malloc(sizeof(*shown));
    if (shown == NULL)
        return -ENOMEM;
    *shown = (struct shown){object, attribute};
    path_of(path, sizeof(path), group, attribute->name);
    entry = libcfs_entry_make(SYSFS, object->folder, path, attribute->mode, shown,
                              &attribute_operations);
    if (entry == NULL) {
        free(shown);
        return -EEXIST;
    }
    libcfs_entry_own_data(entry);
    return 0;
}

void libcfs_sysfs_remove(struct kobject *object, const char *group, const char *name)
{
    char path[256];

    if (object->folder == NULL)
        return;
    path_of(path, sizeof(path), group, name);
    libcfs_entry_remove(libcfs_entry_below(object->folder, path));
}

int libcfs_sysfs_group(struct kobject *object, const struct attribute_group *group)
{
    struct attribute **attribute;
    int rc = 0;

    for (attribute = group->attrs; rc == 0 && *attribute != NULL; attribute++)
        rc = libcfs_sysfs_file(object, group->name, *attribute);
    if (rc != 0)
        libcfs_sysfs_group_remove(object, group);
    return rc;
}

void libcfs_sysfs_group_remove(struct kobject *object, const struct attribute_group *group)
{
    struct attribute **attribute;

    for (attribute = group->attrs; *attribute != NULL; attribute++)
        libcfs_sysfs_remove(object, group->name, (*attribute)->name);
    if (group->name != NULL)
        libcfs_sysfs_remove(object, NULL, group->name);
}

/* ---- objects --------------------------------------------------------------------------------- */

static int set_name(struct kobject *object, const char *format, va_list arguments)
{
    char *name = kvasprintf(GFP_KERNEL, format, arguments);

    if (name == NULL)
        return -ENOMEM;
    free((char *)(uintptr_t)object->name);
    object->name = name;
    return 0;
}

int libcfs_kobject_name(struct kobject *object, const char *format, ...)
{
    va_list arguments;
    int rc;

    va_start(arguments, format);
    rc = set_name(object, format, arguments);
    va_end(arguments);
    return rc;
}

int libcfs_kobject_add(struct kobject *object, struct kobject *parent, const char *format, ...)
{
    struct attribute **attribute = object->ktype != NULL ? object->ktype->default_attrs : NULL;
    va_list arguments;
    int rc;

    va_start(arguments, format);
    rc = set_name(object, format, arguments);
    va_end(arguments);
    if (rc != 0)
        return rc;
    if (parent == NULL && object->kset != NULL)
        parent = &object->kset->kobj;
    if (libcfs_entry_below(parent != NULL ? parent->folder : NULL, object->name) != NULL &&
        parent != NULL)
        return -EEXIST;
    object->folder = libcfs_entry_make(SYSFS, parent != NULL ? parent->folder : NULL, object->name,
                                       0755, object, NULL);
    if (object->folder == NULL)
        return -ENOMEM;
    object->parent = kobject_get(parent);
    for (; rc == 0 && attribute != NULL && *attribute != NULL; attribute++)
        rc = libcfs_sysfs_file(object, NULL, *attribute);
    if (rc != 0)
        libcfs_kobject_del(object);
    return rc;
}

void libcfs_kobject_del(struct kobject *object)
{
    libcfs_entry_remove(object->folder);
    object->folder = NULL;
    libcfs_kobject_put(object->parent);
    object->parent = NULL;
}

static void end(struct kref *kref)
{
    struct kobject *object = container_of(kref, struct kobject, kref);
    char *name = (char *)(uintptr_t)object->name;

    if (object->folder != NULL)
        libcfs_kobject_del(object);
    if (object->ktype != NULL && object->ktype->release != NULL)
        object->ktype->release(object); /* and the object may be gone */
    free(name);
}

void libcfs_kobject_put(struct kobject *object)
{
    if (object != NULL)
        (void)kref_put(&object->kref, end);
}

static void plain_release(struct kobject *object)
{
    free(object);
}

struct kobject *libcfs_kobject_create(const char *name, struct kobject *parent)
{
    static const struct kobj_type plain = {plain_release, &libcfs_kobj_sysfs_ops, NULL};
    struct kobject *object = calloc(1, sizeof(*object));

    if (object == NULL)
        return NULL;
    if (kobject_init_and_add(object, &plain, parent, "%s", name) == 0)
        return object;
    libcfs_kobject_put(object);
    return NULL;
}
