/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names of the kernel, as consumers of LNet use them: this file is only compiled, with all
 * warnings, as kernel code (-D__KERNEL__) and without, before the system's headers and after them
 * (SYSTEM_FIRST), which have structures and macros of the same names.
 */
#ifdef SYSTEM_FIRST
#include "kernel_system.h"
#endif
#ifdef LNET_FIRST
#include <lnet/api.h>
#endif

#include <linux/types.h>
#include <linux/errno.h>
#include <linux/stddef.h>
#include <linux/version.h>
#include <linux/compiler.h>
#include <linux/cache.h>
#include <linux/stringify.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/highmem.h>
#include <linux/pagemap.h>
#include <linux/time.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/signal.h>
#include <linux/uio.h>
#include <linux/in.h>
#include <linux/tcp.h>
#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/fcntl.h>
#include <linux/stat.h>
#include <linux/sched.h>
#include <libcfs/libcfs.h>
#include <asm/byteorder.h>
#include <asm/unaligned.h>
#include <asm/page.h>
#include <lnet/lib-types.h>

#ifndef SYSTEM_FIRST
#include "kernel_system.h"
#endif

#if LINUX_VERSION_CODE != KERNEL_VERSION(4, 18, 0)
#error "another kernel"
#endif
#define CONFIG_OF_THE_TEST 1
#if !IS_ENABLED(CONFIG_OF_THE_TEST) || IS_MODULE(CONFIG_NONE) || IS_BUILTIN(CONFIG_NONE)
#error "an option that is 1 is not enabled, or one that is not defined is"
#endif

/* ---- marks ----------------------------------------------------------------------------------- */

struct marked {
    u8 first;
    __be32 second;
} __packed;
struct placed {
    int word ____cacheline_aligned;
    int other __aligned(16);
} ____cacheline_aligned_in_smp;

int kernel_marks(struct marked __user *user, void __iomem *io, void __percpu *each);
void kernel_locked(spinlock_t *lock) __must_hold(lock);
void kernel_lock(spinlock_t *lock) __acquires(lock);
void kernel_unlock(spinlock_t *lock) __releases(lock);
int kernel_printf(const char *format, ...) __printf(1, 2);
static int seldom __read_mostly = 1;
static int __initdata at_start = 2;
static __maybe_unused int unused_one;
static noinline __cold int seldom_called(int x __always_unused)
{
    return seldom + at_start;
}
__must_check int kernel_checked(void);
int __weak kernel_checked(void)
{
    return sizeof(__stringify(PAGE_SHIFT)) == 3 ? 0 : -ERESTARTSYS;
}

void kernel_lock(spinlock_t *lock)
{
    __acquire(lock);
    spin_lock(lock);
}
void kernel_unlock(spinlock_t *lock)
{
    spin_unlock(lock);
    __release(lock);
}

int kernel_marks(struct marked __user *user, void __iomem *io, void __percpu *each)
{
    if (io == each)
        BUILD_BUG_ON(sizeof(struct marked) != 5);
    else
        BUILD_BUG_ON(sizeof(struct placed) != SMP_CACHE_BYTES);
    switch (user->first) {
    case 0:
        BUILD_BUG_ON(offsetofend(struct marked, second) != 5);
        return kernel_checked();
    default:
        return seldom_called(1) == 3 ? -ENOTSUPP : -EIOCBQUEUED;
    }
}

/* ---- pages ----------------------------------------------------------------------------------- */

int kernel_pages(u64 number, void *pointer, unsigned long address);
int kernel_pages(u64 number, void *pointer, unsigned long address)
{
    struct page *page = virt_to_page(number);
    char *mapped = kmap_atomic(virt_to_page(pointer));
    gfp_t flags = GFP_KERNEL | __GFP_ZERO;
    long count;

    *mapped = 1;
    kunmap_atomic(mapped);
    memcpy_to_page(page, 1, &flags, sizeof(flags));
    memcpy_from_page(&flags, page, 1, sizeof(flags));
    zero_user(page, 0, 8);
    clear_highpage(page);
    copy_page(page_address(page), mapped);
    down_read(&current->mm->mmap_sem);
    count = get_user_pages(address, 1, FOLL_WRITE, &page, NULL);
    up_read(&current->mm->mmap_sem);
    mmap_read_lock(current->mm);
    mmap_read_unlock(current->mm);
    if (count > 0 && !PageReserved(page) && !PageHighMem(page)) {
        SetPageDirty(page);
        put_page(page);
    }
    get_page(page);
    set_page_dirty_lock(page);
    put_page(page);
    return virt_addr_valid(pointer) && page_to_phys(page) == page_to_pfn(page) << PAGE_SHIFT &&
           current->journal_info == NULL && (current->flags & PF_KTHREAD) == 0;
}

/* ---- times ----------------------------------------------------------------------------------- */

unsigned long kernel_times(struct timespec *spec, struct timeval *val);
unsigned long kernel_times(struct timespec *spec, struct timeval *val)
{
    struct timespec64 now, then = ns_to_timespec64(5);
    struct timespec old = current_kernel_time();
    unsigned long left = min(msecs_to_jiffies(5), timespec_to_jiffies(spec));
    unsigned long wait = min(cfs_time_seconds(2), left);
    int hz = HZ, shorter = min(HZ, hz);

    printf("%d %d %lu\n", HZ, shorter, wait);
    jiffies_to_timespec(left, spec);
    jiffies_to_timeval(left, val);
    getnstimeofday(&old);
    getrawmonotonic(&old);
    do_gettimeofday(val);
    ktime_get_ts64(&now);
    now = timespec64_sub(now, then);
    old = ktime_to_timespec(ktime_get());
    then = ktime_to_timespec64(timespec64_to_ktime(now));
    return get_seconds() + timespec64_to_ns(&then) + timespec64_compare(&now, &then) + old.tv_sec;
}

/* ---- byte order ------------------------------------------------------------------------------ */

u64 kernel_byte_order(u16 a, u32 b, u64 c);
u64 kernel_byte_order(u16 a, u32 b, u64 c)
{
    __le16 le = cpu_to_le16(a);
    __be32 be = cpu_to_be32(b);
    u64 text[2];

    le16_to_cpus(&a);
    be32_to_cpus(&b);
    cpu_to_be64s(&c);
    __swab16s(&a);
    __swab32s(&b);
    __swab64s(&c);
    put_unaligned(c, (u64 *)((char *)text + 1));
    put_unaligned_be32(b, text);
    return le16_to_cpup(&le) + be32_to_cpup(&be) + swab16(a) + swab32(b) + swab64(c) +
           get_unaligned_le16(text) + get_unaligned((u64 *)((char *)text + 1)) + ntohl(b) +
           __swab32(b);
}
