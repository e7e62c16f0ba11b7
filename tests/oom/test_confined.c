// In a sandbox that the process has put itself into no call of the allocator's gets it killed, and memory still comes
// and goes; nor does its end. The filter is stricter than those of browsers: calls for memory as a C library makes them
// are allowed, unusual advice fails, everything else that an allocator may think of kills. And whoever it is: no file
// is opened while the program runs.
#include "oom.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { BLOCKS = 4096, THREADS = 3, ROUNDS = 3 };

#define MAP_FLAGS (MAP_SHARED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE | MAP_FIXED)
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))
#define IS(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), yes, no)
#define HAS(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (uint32_t)(bits), yes, no)
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, what)
#define KILL_CALL(number) IS(number, 0, 1), RETURN(SECCOMP_RET_KILL_PROCESS)

static const struct sock_filter filter[] = {
    LOAD(nr),
    KILL_CALL(SYS_prctl),
    KILL_CALL(SYS_mincore),
    KILL_CALL(SYS_mlockall),
    KILL_CALL(SYS_msync),
    KILL_CALL(SYS_sysinfo),
    KILL_CALL(SYS_membarrier),
    KILL_CALL(SYS_process_madvise),
    KILL_CALL(SYS_openat),
    KILL_CALL(SYS_getrusage),
    IS(SYS_mmap, 0, 3),
    LOAD(args[3]),
    HAS(~MAP_FLAGS, 0, 6),
    RETURN(SECCOMP_RET_KILL_PROCESS),
    IS(SYS_madvise, 0, 4),
    LOAD(args[2]),
    IS(MADV_DONTNEED, 2, 0),
    IS(MADV_FREE, 1, 0),
    RETURN(SECCOMP_RET_ERRNO | EPERM),
    RETURN(SECCOMP_RET_ALLOW),
};

static const struct sock_filter no_files[] = {
    LOAD(nr),
    KILL_CALL(SYS_openat),
    RETURN(SECCOMP_RET_ALLOW),
};

static int add_filter(const struct sock_filter *rows, size_t count) {
    const struct sock_fprog program = {(unsigned short)count, (struct sock_filter *)(uintptr_t)rows};
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}

// False: filters can't be made here.
static bool confine(void) {
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && add_filter(filter, COUNT_OF(filter)) == 0;
}

// The library doesn't know.
static bool forbid_files(void) {
    return syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && add_filter(no_files, COUNT_OF(no_files)) == 0;
}

static void *work(void *unused) {
    static const size_t sizes[] = {24, 700, 6000, 40000, 200000, 3000000, 40000000};
    (void)unused;
    struct held *held = hakmem_malloc(BLOCKS * sizeof *held);
    CHECK(held != NULL);
    for (size_t s = 0; s < COUNT_OF(sizes); s++) {
        size_t count = 96 * MIB / sizes[s] < BLOCKS ? 96 * MIB / sizes[s] : BLOCKS;
        for (size_t i = 0; i < count; i++) {
            held[i] = (struct held){hakmem_malloc(sizes[s]), sizes[s]};
            CHECK(held[i].block != NULL);
            held_stamp(&held[i]);
        }
        for (size_t i = 0; i < count; i++) {
            held_free(&held[i]);
        }
    }
    hakmem_free(held);
    unsigned char *growing = NULL;
    for (size_t size = 1; size < 100 * MIB; size *= 3) {
        growing = hakmem_realloc(growing, size);
        CHECK(growing != NULL);
        growing[size - 1] = 1;
    }
    hakmem_free(growing);
    (void)hakmem_trim(0);
    return NULL;
}

static int work_confined(bool (*begin)(void)) {
    hakmem_free(hakmem_malloc(1)); // the sandbox comes after the start
    if (!begin()) {
        printf("confined: skipped, filters of system calls can't be made here: %s\n", strerror(errno));
        return 0;
    }
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[THREADS];
        for (size_t i = 0; i < THREADS; i++) {
            CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
        }
        for (size_t i = 0; i < THREADS; i++) {
            CHECK(pthread_join(threads[i], NULL) == 0);
        }
    }
    return 0;
}

static bool ended_well(const char *what, int status) {
    if (WIFSIGNALED(status))
        printf("%s: killed by signal %d: see its call in the kernel's log\n", what, WTERMSIG(status));
    return status == 0;
}

static bool child_works(bool (*begin)(void)) {
    (void)fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        _exit(work_confined(begin));
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    return ended_well(begin == confine ? "confined" : "no files", status);
}

// What is learned would be written at the end.
static void learn_into(const void *path) {
    CHECK(setenv("HAKMEM_MODE", "learning", 1) == 0 && setenv("HAKMEM_POLICY", path, 1) == 0);
}

static bool ends(void) {
    char path[64];
    (void)snprintf(path, sizeof path, "/tmp/hakmem-confined-%d.policy", (int)getpid());
    bool well = ended_well("end", run_again("end", learn_into, path));
    (void)unlink(path);
    return well;
}

int main(int count, char **arguments) {
    (void)arguments;
    if (count > 1)
        return work_confined(confine);
    if (SANITIZED) {
        printf("confined: skipped, sanitizers make other calls\n");
        return 0;
    }
    return child_works(confine) && child_works(forbid_files) && ends() ? 0 : 1;
}
