/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The cases of kernel_cases.h that are about drivers: devices, pages, tasks, times, modules. */
#include "kernel_cases.h"

#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/time.h>
#include <linux/uaccess.h>

#define EXPECT(condition)    \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

/* ---- devices --------------------------------------------------------------------------------- */

struct counter {
    int value, opened;
};
static struct counter counter;
#define COUNTER_ADD _IOWR('c', 1, int)
#define COUNTER_ODD _IO('c', 2)

static int counter_open(struct inode *inode, struct file *file)
{
    struct miscdevice *device = file->private_data;

    if ((file->f_flags & O_ACCMODE) != O_RDWR)
        return -EACCES;
    if (imajor(inode) != 10 || iminor(inode) != (unsigned)device->minor)
        return -ENODEV;
    counter.opened++;
    file->private_data = &counter;
    return 0;
}
static int counter_release(struct inode *inode __always_unused, struct file *file)
{
    struct counter *own = file->private_data;

    own->opened--;
    return -EIO; /* nobody sees it */
}
static long counter_ioctl(struct file *file, unsigned command, unsigned long argument)
{
    struct counter *own = file->private_data;
    int by;

    if (command == COUNTER_ODD)
        return -ENOIOCTLCMD;
    if (command != COUNTER_ADD)
        return -ENOTTY;
    if (copy_from_user(&by, (void __user *)argument, sizeof(by)))
        return -EFAULT;
    own->value += by;
    return put_user(own->value, (int __user *)argument);
}
static ssize_t counter_read(struct file *file, char __user *buffer, size_t bytes, loff_t *position)
{
    *buffer = (char)('0' + *position);
    *position += 1;
    return bytes > 0 && file->f_pos == *position ? 1 : -EIO;
}
static const struct file_operations counter_operations = {.owner = THIS_MODULE,
                                                          .open = counter_open,
                                                          .release = counter_release,
                                                          .read = counter_read,
                                                          .unlocked_ioctl = counter_ioctl};
static const struct file_operations nothing = {.owner = THIS_MODULE};

int lnet_99_a_device_is_opened_and_controlled(void)
{
    struct miscdevice device = {
        .minor = MISC_DYNAMIC_MINOR, .name = "counter", .fops = &counter_operations};
    struct miscdevice other = {.minor = MISC_DYNAMIC_MINOR, .name = "counter", .fops = &nothing};
    struct miscdevice fixed = {.minor = 130, .name = "fixed", .fops = &nothing};
    struct miscdevice taken = {.minor = 130, .name = "taken", .fops = &nothing};
    struct file *file, *second;
    char text;
    int value = 5;

    EXPECT(libcfs_device_open("counter", O_RDWR) == ERR_PTR(-ENOENT));
    EXPECT(misc_register(&device) == 0 && device.minor == 63);
    EXPECT(misc_register(&other) == -EEXIST);
    other.name = "other";
    EXPECT(misc_register(&other) == 0 && other.minor == 62);
    EXPECT(misc_register(&fixed) == 0 && fixed.minor == 130 && misc_register(&taken) == -EBUSY);

    EXPECT(libcfs_device_open("counter", O_RDONLY) == ERR_PTR(-EACCES) && counter.opened == 0);
    file = libcfs_device_open("/dev/counter", O_RDWR);
    EXPECT(!IS_ERR(file) && counter.opened == 1);
    EXPECT(libcfs_device_ioctl(file, COUNTER_ADD, (unsigned long)&value) == 0 && value == 5);
    EXPECT(libcfs_device_ioctl(file, COUNTER_ADD, (unsigned long)&value) == 0 && value == 10);
    EXPECT(libcfs_device_ioctl(file, COUNTER_ODD, 0) == -ENOTTY);
    EXPECT(libcfs_device_read(file, &text, 1) == 1 && text == '0');
    EXPECT(libcfs_device_read(file, &text, 1) == 1 && text == '1');
    EXPECT(libcfs_device_write(file, &text, 1) == -EINVAL);
    second = libcfs_device_open("fixed", O_WRONLY);
    EXPECT(!IS_ERR(second) && libcfs_device_ioctl(second, COUNTER_ADD, 0) == -ENOTTY);
    EXPECT(libcfs_device_read(second, &text, 1) == -EBADF);

    misc_deregister(&device); /* who has it open may go on */
    EXPECT(libcfs_device_open("counter", O_RDWR) == ERR_PTR(-ENOENT));
    EXPECT(libcfs_device_ioctl(file, COUNTER_ADD, (unsigned long)&value) == 0 && value == 20);
    EXPECT(libcfs_device_close(file) == 0 && counter.opened == 0);
    EXPECT(libcfs_device_close(second) == 0);
    misc_deregister(&other);
    misc_deregister(&fixed);
    device.minor = MISC_DYNAMIC_MINOR;
    EXPECT(misc_register(&device) == 0 && device.minor == 63);
    misc_deregister(&device);
    counter = (struct counter){0};
    return 0;
}

/* ---- pages ----------------------------------------------------------------------------------- */

int lnet_99_pages_have_contents_and_references(void)
{
    struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO), *user[3] = {NULL}, *many[600];
    char *text = kmap_atomic(page), copy[4] = "";
    char *memory = vmalloc(3 * PAGE_SIZE);
    unsigned long first = ((unsigned long)memory + PAGE_SIZE - 1) & PAGE_MASK;
    size_t i;

    EXPECT(page != NULL && memory != NULL);
    for (i = 0; i < PAGE_SIZE; i++)
        EXPECT(text[i] == 0);
    memcpy_to_page(page, 5, "abc", 4);
    memcpy_from_page(copy, page, 6, 3);
    EXPECT(strcmp(text + 5, "abc") == 0 && strcmp(copy, "bc") == 0);
    zero_user(page, 6, 1);
    EXPECT(text[5] == 'a' && text[6] == 0 && text[7] == 'c');
    clear_highpage(page);
    EXPECT(text[5] == 0 && text[7] == 0);
    kunmap_atomic(text);
    EXPECT(pfn_to_page(page_to_pfn(page)) == page && page_to_phys(page) == virt_to_phys(text));
    EXPECT(virt_to_page((u64)(unsigned long)(text + 7)) == page && nth_page(page, 1) != page);

    /* The page lives until its last reference is put. */
    EXPECT(page_count(page) == 1);
    get_page(page);
    get_page(page);
    EXPECT(page_count(page) == 3);
    __free_page(page);
    put_page(page);
    EXPECT(page_count(page) == 1);
    text[9] = 1;
    put_page(page);

    down_read(&current->mm->mmap_sem);
    EXPECT(get_user_pages(first, 2, FOLL_WRITE, user, NULL) == 2);
    up_read(&current->mm->mmap_sem);
    EXPECT(page_address(user[0]) == (void *)first && user[1] == nth_page(user[0], 1));
    EXPECT(page_count(user[1]) == 2);
    if (!PageReserved(user[0]))
        SetPageDirty(user[0]);
    release_pages(user, 2);
    EXPECT(page_count(user[0]) == 1 && page_count(user[1]) == 1);
    EXPECT(get_user_pages(PAGE_SIZE, 1, FOLL_WRITE, user, NULL) == -EFAULT);
    EXPECT(get_user_pages_fast(first, 1, 1, user) == 1);
    put_page(user[0]);
    EXPECT(virt_addr_valid(memory) && !virt_addr_valid(NULL) && !virt_addr_valid(ERR_PTR(-EIO)));

    /* More references than the first table has room for, put in another order. */
    for (i = 0; i < ARRAY_SIZE(many); i++) {
        many[i] = nth_page(virt_to_page(memory), i);
        get_page(many[i]);
    }
    for (i = 0; i < ARRAY_SIZE(many); i++)
        EXPECT(page_count(many[i]) == 2);
    for (i = 0; i < ARRAY_SIZE(many); i += 2)
        put_page(many[i]);
    for (i = 0; i < ARRAY_SIZE(many); i++)
        EXPECT(page_count(many[i]) == (i % 2 == 0 ? 1 : 2));
    for (i = 1; i < ARRAY_SIZE(many); i += 2)
        put_page(many[i]);
    vfree(memory);
    return 0;
}

int lnet_99_memory_is_zeroed_on_demand(void)
{
    unsigned char *memory;
    struct page *page;
    size_t i;

    /* A freed block has the old contents, and is given again. */
    for (i = 0; i < 8; i++) {
        memory = kmalloc(300, GFP_KERNEL);
        EXPECT(memory != NULL);
        memset(memory, 0xa5, 300);
        kfree(memory);
        memory = i % 2 == 0 ? kmalloc(300, GFP_NOFS | __GFP_ZERO)
                            : kmalloc_node(300, GFP_ATOMIC | __GFP_ZERO, 0);
        EXPECT(memory != NULL && memory[0] == 0 && memory[150] == 0 && memory[299] == 0);
        kfree(memory);
        page = alloc_page(GFP_KERNEL);
        memset(page_address(page), 0xa5, PAGE_SIZE);
        __free_page(page);
        page = cfs_page_cpt_alloc(cfs_cpt_tab, 0, GFP_KERNEL | __GFP_ZERO);
        memory = page_address(page);
        EXPECT(memory[0] == 0 && memory[64] == 0 && memory[PAGE_SIZE - 1] == 0);
        __free_page(page);
    }
    return 0;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static int of_the_kernel(void *data)
{
    int *answer = data;

    *answer = current->mm == NULL && (current->flags & PF_KTHREAD) != 0 &&
              current->tgid == current->pid && current->journal_info == NULL;
    current->journal_info = data;
    while (!kthread_should_stop())
        msleep(1);
    return current->journal_info == data;
}

int lnet_99_tasks_have_data_of_their_own(void)
{
    int answers[2] = {0}, i;
    void *before = current->journal_info;
    struct task_struct *tasks[2];

    EXPECT(before == NULL && current->mm != NULL && (current->flags & PF_KTHREAD) == 0);
    EXPECT(current->tgid > 0 && current->nr_cpus_allowed == (int)num_online_cpus());
    current->journal_info = answers;
    for (i = 0; i < 2; i++)
        tasks[i] = kthread_run(of_the_kernel, &answers[i], "of_the_kernel/%d", i);
    for (i = 0; i < 2; i++) {
        while (!READ_ONCE(answers[i]))
            msleep(1);
        EXPECT(kthread_stop(tasks[i]) == 1);
    }
    EXPECT(current->journal_info == answers);
    current->journal_info = before;
    return 0;
}

/* ---- times ----------------------------------------------------------------------------------- */

int lnet_99_times_become_jiffies_and_back(void)
{
    struct timespec spec = {1, 1}, other = {3, 999999999};
    struct timeval val = {0, 1001};
    struct timespec64 spec64;

    EXPECT(timespec_to_jiffies(&spec) == 1001); /* rounded up */
    spec.tv_nsec = 1000000;
    EXPECT(timespec_to_jiffies(&spec) == 1001);
    spec.tv_nsec = 1000001;
    EXPECT(timespec_to_jiffies(&spec) == 1002 && timeval_to_jiffies(&val) == 2);
    spec.tv_sec = LONG_MAX / 2;
    EXPECT(timespec_to_jiffies(&spec) == MAX_JIFFY_OFFSET);
    EXPECT(msecs_to_jiffies((unsigned)-1) == MAX_JIFFY_OFFSET && msecs_to_jiffies(7) == 7);
    jiffies_to_timespec(2345, &spec);
    jiffies_to_timeval(2345, &val);
    EXPECT(spec.tv_sec == 2 && spec.tv_nsec == 345000000);
    EXPECT(val.tv_sec == 2 && val.tv_usec == 345000);

    spec64 = ns_to_timespec64(-1);
    EXPECT(spec64.tv_sec == -1 && spec64.tv_nsec == 999999999 && timespec64_to_ns(&spec64) == -1);
    spec = timespec_add(spec, other);
    EXPECT(spec.tv_sec == 6 && spec.tv_nsec == 344999999);
    spec = timespec_sub(other, spec);
    EXPECT(spec.tv_sec == -3 && spec.tv_nsec == 655000000);
    EXPECT(timespec_compare(&spec, &other) < 0 && timespec_compare(&other, &other) == 0);
    timespec_add_ns(&other, 1);
    EXPECT(other.tv_sec == 4 && other.tv_nsec == 0 && timespec_to_ktime(other) == 4000000000);
    EXPECT(ktime_to_timespec(1500000000).tv_nsec == 500000000 && ms_to_ktime(3) == 3000000);
    EXPECT(ktime_add_safe(KTIME_MAX, 1) == KTIME_MAX && ktime_divns(7000, 1000) == 7);
    EXPECT(time_after64(jiffies_64 + 1, jiffies_64 - 1) && !time_after64(1, 2));

    getrawmonotonic(&spec);
    msleep(20);
    getrawmonotonic(&other);
    EXPECT(timespec_to_ns(&other) - timespec_to_ns(&spec) >= 20 * NSEC_PER_MSEC);
    do_gettimeofday(&val);
    getnstimeofday(&spec);
    other = current_kernel_time();
    EXPECT(timeval_to_ns(&val) / NSEC_PER_USEC <= timespec_to_ns(&spec) / NSEC_PER_USEC);
    EXPECT(timespec_compare(&spec, &other) <= 0 && get_seconds() >= (unsigned long)spec.tv_sec);
    return 0;
}
