// The operating system contract for Linux, by libc's thin wrappers.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // mremap
#endif
#include "sys/os.h"

#ifdef __x86_64__
#include <asm/prctl.h>
#endif
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "base/atomics.h"
#include "base/bits.h"
#include "base/tuning.h"

#ifndef MADV_POPULATE_WRITE // since Linux 5.14
#define MADV_POPULATE_WRITE 23
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

INTERNAL struct os_facts os_facts;

extern char **environ;
// Where the kernel left argc, argv and the environment; glibc's loader knows it before libc's `environ` is set.
extern void *__libc_stack_end __attribute__((weak));
// glibc's own flag, absent elsewhere.
extern char __libc_single_threaded __attribute__((weak));

// Checked builds fail chosen memory calls: HAKMEM_TEST_FAIL_CALL=N fails the N-th, N+ all from the N-th on.
static uint64_t os_calls;
static uint64_t os_fail_call;
static bool os_fail_all_after;

static void os_read_fail_call(void) {
    char **environment = os_environment();
    static const char name[] = "HAKMEM_TEST_FAIL_CALL=";
    for (; CHECKED && environment != NULL && *environment != NULL; environment++) {
        if (strncmp(*environment, name, sizeof name - 1) != 0)
            continue;
        const char *digit = *environment + sizeof name - 1;
        for (; *digit >= '0' && *digit <= '9'; digit++)
            os_fail_call = os_fail_call * 10 + (uint64_t)(*digit - '0');
        os_fail_all_after = *digit == '+';
    }
}

static bool os_call_must_fail(void) {
    if (!CHECKED || os_fail_call == 0)
        return false;
    uint64_t call = shared_add(&os_calls, 1) + 1;
    return call == os_fail_call || (os_fail_all_after && call > os_fail_call);
}

static uintptr_t os_break_at_start;

// Absent in static programs, where nothing comes next.
extern void *dlsym(void *handle, const char *name) __attribute__((weak));

void os_read_limits(void) {
    int saved = errno;
    struct rlimit limit;
    os_facts.address_limit_bytes = SIZE_MAX;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        os_facts.address_limit_bytes = limit.rlim_cur;
    os_facts.group_limit_bytes = os_cgroup_memory_bytes();
    errno = saved;
}

void os_start(void) {
    int saved = errno;
    struct sysinfo info;
    os_facts.page_bytes = getauxval(AT_PAGESZ);
    os_facts.memory_bytes = sysinfo(&info) == 0 ? (size_t)info.totalram * info.mem_unit : 4 * GIB;
    const void *random = (const void *)getauxval(AT_RANDOM);
    if (random != NULL)
        memcpy(&os_facts.random, (const char *)random + 8, sizeof os_facts.random);
    os_facts.random ^= (uint64_t)(uintptr_t)&info;
    os_facts.secure = getauxval(AT_SECURE) != 0;
    os_break_at_start = (uintptr_t)sbrk(0);
    os_read_fail_call();
    os_read_limits();
    errno = saved;
}

static void *os_map_with(void *address, size_t bytes, int protection, int flags) {
    if (os_call_must_fail())
        return NULL;
    int saved = errno;
    void *memory = mmap(address, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    errno = saved;
    return memory == MAP_FAILED ? NULL : memory;
}

void *os_map(size_t bytes) {
    return os_map_with(NULL, bytes, PROT_READ | PROT_WRITE, 0);
}

void *os_map_at(uintptr_t address, size_t bytes) {
    // A hint, which the kernel follows where it can: sandboxes kill who maps with MAP_FIXED_NOREPLACE.
    void *memory = os_map_with((void *)address, bytes, PROT_READ | PROT_WRITE, MAP_NORESERVE);
    if (memory == NULL || (uintptr_t)memory == address)
        return memory;
    os_unmap(memory, bytes);
    return NULL;
}

void *os_reserve(size_t bytes) {
    return os_map_with(NULL, bytes, PROT_NONE, MAP_NORESERVE);
}

static int os_protect(void *address, size_t bytes, int protection) {
    if (os_call_must_fail())
        return ENOMEM;
    int saved = errno;
    int error = mprotect(address, bytes, protection) == 0 ? 0 : errno;
    errno = saved;
    return error;
}

int os_commit(void *address, size_t bytes) {
    return os_protect(address, bytes, PROT_READ | PROT_WRITE);
}

int os_commit_readable(void *address, size_t bytes) {
    return os_protect(address, bytes, PROT_READ);
}

void os_unmap(void *address, size_t bytes) {
    int saved = errno;
    // Unmapping the middle of a mapping fails at vm.max_map_count: then the memory at least goes back.
    if (os_call_must_fail() || munmap(address, bytes) != 0)
        madvise(address, bytes, MADV_DONTNEED);
    errno = saved;
}

static bool os_advise_surely(void *address, size_t bytes, int advice) {
    if (os_call_must_fail())
        return false;
    int saved = errno;
    bool done = madvise(address, bytes, advice) == 0;
    errno = saved;
    return done;
}

bool os_purge(void *address, size_t bytes) {
    return os_advise_surely(address, bytes, MADV_DONTNEED);
}

bool os_purge_lazily(void *address, size_t bytes) {
    return os_advise_surely(address, bytes, MADV_FREE);
}

bool os_remap_in_place(void *address, size_t old_bytes, size_t new_bytes) {
    if (os_call_must_fail())
        return false;
    int saved = errno;
    void *memory = mremap(address, old_bytes, new_bytes, 0);
    errno = saved;
    return memory != MAP_FAILED;
}

bool os_remap_to(void *address, size_t old_bytes, void *place, size_t new_bytes) {
    if (os_call_must_fail())
        return false;
    int saved = errno;
    void *memory = mremap(address, old_bytes, new_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    errno = saved;
    return memory != MAP_FAILED;
}

static void os_advise(void *address, size_t bytes, int advice) {
    int saved = errno;
    madvise(address, bytes, advice); // nothing depends on it
    errno = saved;
}

void os_want_huge_pages(void *address, size_t bytes) {
    os_advise(address, bytes, MADV_HUGEPAGE);
}

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 // from Linux 6.1 on
#endif

bool os_collapse(void *address, size_t bytes) {
    return os_advise_surely(address, bytes, MADV_COLLAPSE);
}

void os_populate(void *address, size_t bytes) {
    os_advise(address, bytes, MADV_POPULATE_WRITE);
}

void os_refuse_huge_pages(void *address, size_t bytes) {
    os_advise(address, bytes, MADV_NOHUGEPAGE);
}

void os_read_file(const char *path, char *text, size_t size) {
    int saved = errno;
    // By number: the C library's functions would end a thread here that somebody has cancelled, with our locks held.
    long file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    long length = file >= 0 ? syscall(SYS_read, file, text, size - 1) : 0;
    if (file >= 0)
        syscall(SYS_close, file);
    text[length > 0 ? length : 0] = '\0';
    errno = saved;
}

void os_working_folder(char *path, size_t size) {
    int saved = errno;
    if (syscall(SYS_getcwd, path, size) <= 0 || path[0] != '/')
        path[0] = '\0';
    errno = saved;
}

size_t os_read_number(const char *digit) {
    size_t number = 0;
    for (; *digit >= '0' && *digit <= '9'; digit++)
        number = number * 10 + (size_t)(*digit - '0');
    return number;
}

enum os_huge os_huge_pages(size_t bytes) {
    char text[64];
    os_read_file("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", text, sizeof text);
    if (os_read_number(text) != bytes)
        return OS_HUGE_NONE;
    os_read_file("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof text);
    if (strstr(text, "[always]") != NULL)
        return OS_HUGE_EVERYWHERE;
    return strstr(text, "[madvise]") != NULL ? OS_HUGE_ON_REQUEST : OS_HUGE_NONE;
}

bool os_look_resident(const void *address, size_t bytes, unsigned char *resident) {
    int saved = errno;
    bool known = mincore((void *)(uintptr_t)address, bytes, resident) == 0;
    errno = saved;
    return known;
}

void os_name(void *address, size_t bytes, const char *name) {
    if (os_is_confined())
        return;
    int saved = errno;
    syscall(SYS_prctl, PR_SET_VMA, PR_SET_VMA_ANON_NAME, address, bytes, name); // prctl is ours
    errno = saved;
}

void os_wait(uint32_t *word, uint32_t value) {
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
    errno = saved;
}

bool os_wait_for(uint32_t *word, uint32_t value, unsigned milliseconds) {
    int saved = errno;
    struct timespec time = {.tv_sec = milliseconds / 1000, .tv_nsec = (long)(milliseconds % 1000) * 1000000};
    bool is_over = syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &time, NULL, 0) != 0 && errno == ETIMEDOUT;
    errno = saved;
    return !is_over;
}

void os_wake_one(uint32_t *word) {
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = saved;
}

void os_wake_all(uint32_t *word) {
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    errno = saved;
}

void os_sleep(unsigned microseconds) {
    int saved = errno;
    struct timespec time = {.tv_sec = microseconds / 1000000, .tv_nsec = (long)(microseconds % 1000000) * 1000};
    syscall(SYS_nanosleep, &time, NULL); // as in os_read_file
    errno = saved;
}

size_t os_resident_bytes(void) {
    char text[128];
    os_read_file("/proc/self/statm", text, sizeof text);
    const char *digit = text;
    while (*digit != '\0' && *digit != ' ')
        digit++;
    return os_read_number(digit + (*digit == ' ')) * os_facts.page_bytes;
}

int os_write(int descriptor, const char *text, size_t length) {
    int saved = errno, error = 0;
    while (length > 0 && error == 0) {
        ssize_t written = syscall(SYS_write, descriptor, text, length); // as in os_read_file
        if (written <= 0) {
            error = written == 0 ? EIO : errno == EINTR ? 0 : errno;
            continue;
        }
        text += written;
        length -= (size_t)written;
    }
    errno = saved;
    return error;
}

int os_open_append(const char *path) {
    int saved = errno;
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY;
    int descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0644);
    errno = saved;
    return descriptor;
}

static int os_kept = -1;
static struct stat os_kept_status, os_noted_status;

static bool is_same_file(int descriptor, const struct stat *before) {
    struct stat now;
    return fstat(descriptor, &now) == 0 && now.st_dev == before->st_dev && now.st_ino == before->st_ino;
}

void os_keep_standard_error(void) {
    int saved = errno;
    int kept = fcntl(2, F_DUPFD_CLOEXEC, OS_KEPT_LOWEST);
    if (kept >= 0 && fstat(kept, &os_kept_status) == 0)
        os_kept = kept;
    errno = saved;
}

int os_standard_error(void) {
    int saved = errno;
    // A program that closes everything may have opened another file under the number since.
    bool same = os_kept >= 0 && is_same_file(os_kept, &os_kept_status);
    errno = saved;
    return same ? os_kept : 2;
}

void os_note_standard_error(void) {
    int saved = errno;
    if (fstat(2, &os_noted_status) != 0)
        memset(&os_noted_status, 0, sizeof os_noted_status);
    errno = saved;
}

int os_noted_standard_error(void) {
    int saved = errno;
    bool same = os_noted_status.st_nlink + os_noted_status.st_ino != 0 && is_same_file(2, &os_noted_status);
    errno = saved;
    return same ? 2 : -1;
}

void os_close(int descriptor) {
    int saved = errno;
    syscall(SYS_close, descriptor);
    errno = saved;
}

char **os_environment(void) {
    if (environ != NULL || &__libc_stack_end == NULL || __libc_stack_end == NULL)
        return environ;
    // argc, argv[argc], NULL, environment
    const uintptr_t *stack = __libc_stack_end;
    return (char **)(uintptr_t)(stack + 1 + stack[0] + 1);
}

void os_abort(void) {
    abort();
}

uint32_t os_process_id(void) {
    return (uint32_t)getpid();
}

bool os_has_thread_storage(void) {
#ifdef __x86_64__
    uintptr_t base = 0;
    long result = SYS_arch_prctl;
    __asm__ volatile("syscall" : "+a"(result) : "D"(ARCH_GET_FS), "S"(&base) : "rcx", "r11", "memory");
    return result == 0 && base != 0;
#else
    return __builtin_thread_pointer() != NULL;
#endif
}

int os_without_deep_binding(int mode) {
    return mode & ~RTLD_DEEPBIND;
}

bool os_is_in_break(const void *address) {
    int saved = errno;
    uintptr_t now = (uintptr_t)sbrk(0);
    errno = saved;
    return (uintptr_t)address >= os_break_at_start && (uintptr_t)address < now;
}

static void (*os_find_function(void *where, const char *name))(void) {
    int saved = errno;
    void *symbol = dlsym == NULL ? NULL : dlsym(where, name);
    errno = saved;
    return (void (*)(void))(uintptr_t)symbol;
}

void (*os_next_function(const char *name))(void) {
    return os_find_function(RTLD_NEXT, name);
}

void (*os_default_function(const char *name))(void) {
    return os_find_function(RTLD_DEFAULT, name);
}

static pthread_key_t os_exit_key;

bool os_thread_exit_register(void (*ended)(void *value)) {
    int saved = errno;
    bool registered = pthread_key_create(&os_exit_key, ended) == 0;
    errno = saved;
    return registered;
}

void os_thread_exit_arm(void *value) {
    int saved = errno;
    pthread_setspecific(os_exit_key, value); // glibc allocates for keys above 31 alone; ours is among the first
    errno = saved;
}

bool os_start_thread(void *(*main)(void *unused)) {
    int saved = errno;
    sigset_t all, before;
    pthread_t thread;
    pthread_attr_t attributes;
    bool started = false;
    sigfillset(&all);
    if (pthread_attr_init(&attributes) == 0) {
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        pthread_sigmask(SIG_SETMASK, &all, &before); // the thread inherits it
        started = pthread_create(&thread, &attributes, main, NULL) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attributes);
    }
    errno = saved;
    return started;
}

void os_fork_register(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
    int saved = errno;
    pthread_atfork(prepare, parent, child);
    errno = saved;
}

bool os_is_single_threaded(void) {
    return &__libc_single_threaded != NULL && __libc_single_threaded != 0;
}
