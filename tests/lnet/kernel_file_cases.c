/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Files of /proc, debugfs and sysfs. */
#include "kernel_cases.h"

#include <linux/debugfs.h>
#include <linux/kernel.h>
#include <linux/kobject.h>
#include <linux/miscdevice.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/sysctl.h>
#include <linux/sysfs.h>

#define EXPECT(condition)    \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

static bool text_is(const char *path, const char *expected)
{
    char *text = libcfs_file_text(path);
    bool is = !IS_ERR(text) && strcmp(text, expected) == 0;

    if (!IS_ERR(text))
        free(text);
    return is;
}

/* ---- records --------------------------------------------------------------------------------- */

struct peer {
    struct list_head link;
    unsigned number, width; /* of its text */
};
struct peers {
    struct list_head list;
    struct mutex lock;
    unsigned shows;
};

static void *peers_start(struct seq_file *m, loff_t *position)
{
    struct peers *peers = m->private;

    mutex_lock(&peers->lock);
    return *position == 0 ? SEQ_START_TOKEN : seq_list_start(&peers->list, *position - 1);
}
static void *peers_next(struct seq_file *m, void *record, loff_t *position)
{
    struct peers *peers = m->private;

    if (record == SEQ_START_TOKEN)
        return ++*position, seq_list_start(&peers->list, 0);
    return seq_list_next(record, &peers->list, position);
}
static void peers_stop(struct seq_file *m, void *record)
{
    struct peers *peers = m->private;

    (void)record;
    mutex_unlock(&peers->lock);
}
static int peers_show(struct seq_file *m, void *record)
{
    struct peers *peers = m->private;
    const struct peer *peer;
    unsigned i;

    if (record == SEQ_START_TOKEN) {
        seq_puts(m, "peers");
        seq_putc(m, '\n');
        return 0;
    }
    peers->shows++;
    peer = list_entry((struct list_head *)record, struct peer, link);
    if (peer->number % 10 == 3) {
        seq_puts(m, "not shown");
        return SEQ_SKIP;
    }
    for (i = 20; i < peer->width; i++)
        seq_putc(m, '0');
    seq_printf(m, "%020u\n", peer->number);
    return 0;
}
static const struct seq_operations peers_sequence = {
    .start = peers_start, .next = peers_next, .stop = peers_stop, .show = peers_show};
static int peers_open(struct inode *inode, struct file *file)
{
    int rc = seq_open(file, &peers_sequence);

    if (rc == 0)
        ((struct seq_file *)file->private_data)->private = PDE_DATA(inode);
    return rc;
}
static const struct file_operations peers_operations = {
    .owner = THIS_MODULE,
    .open = peers_open,
    .read = seq_read,
    .llseek = seq_lseek,
    .release = seq_release,
};

int lnet_99_files_of_records(void)
{
    enum { PEERS = 400 };
    struct peers peers = {.shows = 0};
    struct peer *all = kcalloc(PEERS, sizeof(*all), GFP_KERNEL);
    struct proc_dir_entry *folder, *entry;
    struct file *file;
    char piece[7], *text;
    size_t length, at;
    ssize_t n;
    unsigned i;

    EXPECT(all != NULL);
    INIT_LIST_HEAD(&peers.list);
    mutex_init(&peers.lock);
    for (i = 0; i < PEERS; i++) {
        all[i].number = i;
        all[i].width = i == 200 ? 10000 : 20; /* more than a page */
        list_add_tail(&all[i].link, &peers.list);
    }
    folder = proc_mkdir("fs/tested", NULL);
    entry = proc_create_data("peers", 0444, folder, &peers_operations, &peers);
    EXPECT(folder != NULL && entry != NULL);
    EXPECT(proc_create_data("peers", 0444, folder, &peers_operations, NULL) == NULL);
    text = libcfs_file_text("/proc/fs/tested/peers");
    EXPECT(!IS_ERR(text));
    length = strlen(text);
    EXPECT(length == 6 + (PEERS - PEERS / 10 - 1) * 21 + 10001 && !mutex_is_locked(&peers.lock));
    EXPECT(memcmp(text, "peers\n00000000000000000000\n", 27) == 0);
    EXPECT(strstr(text, "not shown") == NULL && strstr(text, "00000000000000000013\n") == NULL);
    file = libcfs_device_open("/proc/fs/tested/peers", O_RDONLY);
    EXPECT(!IS_ERR(file));
    for (at = 0; (n = libcfs_device_read(file, piece, sizeof(piece))) > 0; at += (size_t)n)
        EXPECT(memcmp(text + at, piece, (size_t)n) == 0);
    EXPECT(n == 0 && at == length);
    EXPECT(file->f_op->llseek(file, 27, SEEK_SET) == 27);
    EXPECT(libcfs_device_read(file, piece, 7) == 7 && memcmp(text + 27, piece, 7) == 0);
    EXPECT(libcfs_device_close(file) == 0);
    kfree(text);
    EXPECT(PTR_ERR(libcfs_device_open("/proc/fs/tested", O_RDONLY)) == -EISDIR);
    remove_proc_subtree("fs/tested", NULL);
    EXPECT(PTR_ERR(libcfs_file_text("/proc/fs/tested/peers")) == -ENOENT);
    kfree(all);
    return 0;
}

/* ---- variables, attributes ------------------------------------------------------------------- */

static int answer_show(struct seq_file *m, void *unused)
{
    (void)unused;
    seq_printf(m, "answer: %d\n", *(int *)m->private);
    return 0;
}
DEFINE_SHOW_ATTRIBUTE(answer);

struct target {
    struct kobject object;
    int level;
    bool *released;
};
static ssize_t level_show(struct kobject *object, struct kobj_attribute *attribute, char *page)
{
    (void)attribute;
    return snprintf(page, PAGE_SIZE, "%d\n", container_of(object, struct target, object)->level);
}
static ssize_t level_store(struct kobject *object, struct kobj_attribute *attribute,
                           const char *text, size_t bytes)
{
    int rc = kstrtoint(text, 0, &container_of(object, struct target, object)->level);

    (void)attribute;
    return rc != 0 ? rc : (ssize_t)bytes;
}
static struct kobj_attribute level_attribute = __ATTR_RW(level);
static struct attribute *target_attributes[] = {&level_attribute.attr, NULL};
static void target_release(struct kobject *object)
{
    *container_of(object, struct target, object)->released = true;
}
static const struct kobj_type target_type = {
    .release = target_release, .sysfs_ops = &kobj_sysfs_ops, .default_attrs = target_attributes};

int lnet_99_variables_and_objects_are_files(void)
{
    bool released = false;
    struct target target = {.level = 3, .released = &released};
    struct kobject *folder;
    struct dentry *debug;
    int answer = 42, limit_least = 1, limit_most = 100, limit = 5, pair[2] = {3, 4};
    char label[12] = "first";
    struct ctl_table variables[] = {
        {"limit", &limit, sizeof(limit), 0644, proc_dointvec_minmax, &limit_least, &limit_most},
        {"pair", pair, sizeof(pair), 0644, proc_dointvec, NULL, NULL},
        {"label", label, sizeof(label), 0644, proc_dostring, NULL, NULL},
        {.procname = NULL},
    };

    lnet_insert_debugfs(variables);
    EXPECT(text_is("/sys/kernel/debug/lnet/limit", "5\n"));
    EXPECT(libcfs_file_put("/sys/kernel/debug/lnet/limit", "77\n") == 3 && limit == 77);
    EXPECT(libcfs_file_put("/sys/kernel/debug/lnet/limit", "101\n") == -EINVAL && limit == 77);
    EXPECT(libcfs_file_put("/sys/kernel/debug/lnet/limit", "seven\n") == -EINVAL && limit == 77);
    EXPECT(text_is("/sys/kernel/debug/lnet/pair", "3\t4\n"));
    EXPECT(libcfs_file_put("/sys/kernel/debug/lnet/pair", "8 9") == 3 && pair[0] == 8 &&
           pair[1] == 9);
    EXPECT(libcfs_file_put("/sys/kernel/debug/lnet/label", "the second text\n") == 16);
    EXPECT(text_is("/sys/kernel/debug/lnet/label", "the second \n"));
    lnet_remove_debugfs(variables);
    EXPECT(PTR_ERR(libcfs_file_text("/sys/kernel/debug/lnet/limit")) == -ENOENT);

    debug = debugfs_create_dir("tested", NULL);
    EXPECT(debugfs_create_file("answer", 0444, debug, &answer, &answer_fops) != NULL);
    EXPECT(text_is("/sys/kernel/debug/tested/answer", "answer: 42\n"));
    EXPECT(libcfs_file_put("/sys/kernel/debug/tested/answer", "1") == -EINVAL);
    debugfs_remove_recursive(debug);
    EXPECT(!text_is("/sys/kernel/debug/tested/answer", "answer: 42\n"));

    folder = kobject_create_and_add("tested", kernel_kobj);
    EXPECT(folder != NULL);
    EXPECT(kobject_init_and_add(&target.object, &target_type, folder, "target-%d", 1) == 0);
    EXPECT(strcmp(kobject_name(&target.object), "target-1") == 0);
    EXPECT(text_is("/sys/kernel/tested/target-1/level", "3\n"));
    EXPECT(libcfs_file_put("/sys/kernel/tested/target-1/level", "12\n") == 3 && target.level == 12);
    EXPECT(libcfs_file_put("/sys/kernel/tested/target-1/level", "x\n") == -EINVAL);
    EXPECT(sysfs_streq("on\n", "on") && !sysfs_streq("on", "off") && sysfs_streq("", ""));
    EXPECT(kobject_get(&target.object) == &target.object);
    kobject_put(&target.object);
    EXPECT(!released);
    kobject_put(&target.object);
    EXPECT(released && IS_ERR(libcfs_file_text("/sys/kernel/tested/target-1/level")));
    kobject_put(folder);
    return 0;
}
