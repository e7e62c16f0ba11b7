// What all unit tests share: cmocka, random numbers that can be replayed, captured messages, children whose end is
// looked at, threads.
#ifndef HAKMEM_TESTS_UNIT_H
#define HAKMEM_TESTS_UNIT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/single_threaded.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"

#define UNUSED __attribute__((unused))

// Sanitizers slow every access down and reserve address space by rules of their own.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED (__has_feature(thread_sanitizer) || __has_feature(address_sanitizer))
#else
#define SANITIZED 0
#endif

enum { UNTOUCHED = 4711 }; // no errno of the system: what errno must still be after a call that leaves it alone

// ---- random numbers: HAKMEM_TEST_SEED=<what was printed> replays

struct random {
    uint64_t state;
};

static inline uint64_t random_next(struct random *random) {
    uint64_t z = random->state += 0x9e3779b97f4a7c15u; // splitmix64
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline size_t random_below(struct random *random, size_t limit) {
    return (size_t)(random_next(random) % limit);
}

UNUSED static struct random random_start(void) {
    const char *given = getenv("HAKMEM_TEST_SEED");
    struct random random = {given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL)};
    print_message("replay: HAKMEM_TEST_SEED=%llu\n", (unsigned long long)random.state);
    return random;
}

// ---- what is written to standard error meanwhile

struct capture {
    int stderr_before;
    int file;
    char text[16 * 1024];
};

UNUSED static void capture_begin(struct capture *capture) {
    capture->stderr_before = dup(2);
    capture->file = memfd_create("captured", 0);
    assert_true(capture->stderr_before >= 0 && capture->file >= 0);
    assert_int_equal(dup2(capture->file, 2), 2);
}

UNUSED static const char *capture_end(struct capture *capture) {
    assert_int_equal(dup2(capture->stderr_before, 2), 2);
    ssize_t length = pread(capture->file, capture->text, sizeof capture->text - 1, 0);
    assert_true(length >= 0);
    capture->text[length] = '\0';
    close(capture->file);
    close(capture->stderr_before);
    return capture->text;
}

UNUSED static unsigned lines_in(const char *text) {
    unsigned lines = 0;
    for (; *text != '\0'; text++)
        lines += *text == '\n';
    return lines;
}

// ---- children: a process of its own for what ends it or can be done once only

#define CHILD_FAILED 99
// In a child or a further thread, where cmocka's asserts would go on with the next test: says what is wrong and ends
// the process.
#define MUST(condition)                                                                      \
    do {                                                                                     \
        if (!(condition)) {                                                                  \
            dprintf(2, "%s:%d: outside the test: not %s\n", __FILE__, __LINE__, #condition); \
            _exit(CHILD_FAILED);                                                             \
        }                                                                                    \
    } while (0)

// Runs `body` in a child that may take at most a minute. Returns its wait status; what it said is in capture->text.
UNUSED static int child_run(struct capture *capture, void (*body)(void *context), void *context) {
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    int status = -1;
    capture_begin(capture);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        for (unsigned i = 0; i < COUNT_OF(deadly); i++) // cmocka's handlers would go on with the next test
            signal(deadly[i], SIG_DFL);
        alarm(60);
        body(context);
        _exit(0);
    }
    pid_t ended = child < 0 ? -1 : waitpid(child, &status, 0);
    capture_end(capture);
    assert_true(child > 0);
    assert_int_equal(ended, child);
    return status;
}

// Fails the test with what the child said unless it came to its end.
UNUSED static void child_must_succeed(void (*body)(void *context), void *context) {
    struct capture capture;
    int status = child_run(&capture, body, context);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("the child ended with status %#x: %s", (unsigned)status, capture.text);
}

// A test that runs a body of that name in a child.
#define IN_A_CHILD(name)                    \
    static void test_##name(void **state) { \
        (void)state;                        \
        child_must_succeed(name, NULL);     \
    }

// Fails the test unless the child is stopped by an assert of a checked build; other builds have none to stop it.
UNUSED static void child_must_trap_when_checked(void (*body)(void *context), void *context) {
    struct capture capture;
    int status = child_run(&capture, body, context);
    if (CHECKED)
        assert_false(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == CHILD_FAILED));
}

// True where a byte can be read; asked in a child, since the answer may be its end.
struct touch {
    volatile char *place;
    bool write;
};

UNUSED static void touch_place(void *context) {
    struct touch *touch = (struct touch *)context;
    char byte = *touch->place;
    if (touch->write)
        *touch->place = byte;
}

UNUSED static bool can_touch(const volatile void *place, bool write) {
    struct capture capture;
    struct touch touch = {(volatile char *)(uintptr_t)place, write};
    int status = child_run(&capture, touch_place, &touch);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// ---- threads

#define MOST_THREADS 16

// Runs `body` in `count` threads, each with its number, and waits for all of them.
UNUSED static void threads_run(unsigned count, void *(*body)(void *number)) {
    pthread_t threads[MOST_THREADS];
    assert_true(count <= MOST_THREADS);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, body, (void *)(uintptr_t)i), 0);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

// Lets `count` threads go on at the same moment, again and again. They spin: a barrier that sleeps wakes one after
// another.
struct meeting {
    uint32_t arrived;
};

UNUSED static void meet(struct meeting *meeting, unsigned count) {
    uint32_t mine = __atomic_fetch_add(&meeting->arrived, 1, __ATOMIC_ACQ_REL); // orders what comes before and after
    uint32_t all = (mine / count + 1) * count;
    for (unsigned spin = 1; __atomic_load_n(&meeting->arrived, __ATOMIC_ACQUIRE) < all; spin++) // acquire: as above
        if (spin % 10000 == 0)
            sched_yield();
}

// Several paths of the library are simpler while the process has one thread. Tests take both by saying what it has.
UNUSED static void pretend_single_threaded(bool single) {
    __libc_single_threaded = single;
}

UNUSED static bool is_zero(const volatile void *memory, size_t bytes) {
    const volatile unsigned char *byte = (const volatile unsigned char *)memory;
    for (size_t i = 0; i < bytes; i++)
        if (byte[i] != 0)
            return false;
    return true;
}

#endif
