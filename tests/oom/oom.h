// What the tests of exhausted memory share: checked blocks, and starting this program again under a limit.
#ifndef HAKMEM_TESTS_OOM_H
#define HAKMEM_TESTS_OOM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <hakmem/hakmem.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define KIB ((size_t)1024)
#define MIB (KIB * 1024)

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = 1 };
#elif defined(__has_feature)
enum { SANITIZED = __has_feature(thread_sanitizer) || __has_feature(address_sanitizer) };
#else
enum { SANITIZED = 0 };
#endif

// stdio may need memory that is not there: messages are written as they are.
#define SAY(...)                                                                                            \
    do {                                                                                                    \
        char text[512];                                                                                     \
        int length = snprintf(text, sizeof text, __VA_ARGS__);                                              \
        (void)!write(STDERR_FILENO, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1); \
    } while (0)

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            SAY("FAIL: not true: %s [%s:%d]\n", #condition, __FILE__, __LINE__); \
            _exit(1);                                                            \
        }                                                                        \
    } while (0)

struct held {
    unsigned char *block;
    size_t size;
};

// Writes the block's own address into its first and last bytes and one word of each page.
static inline void held_stamp(const struct held *held) {
    for (size_t offset = 0; offset + 8 <= held->size; offset += 4096) {
        uint64_t word = (uint64_t)(uintptr_t)held->block * 31 + offset + held->size;
        memcpy(held->block + offset, &word, 8);
    }
    if (held->size > 0) {
        held->block[held->size - 1] = (unsigned char)held->size;
    }
}

static inline void held_check(const struct held *held) {
    for (size_t offset = 0; offset + 8 < held->size; offset += 4096) {
        uint64_t word = (uint64_t)(uintptr_t)held->block * 31 + offset + held->size, found;
        memcpy(&found, held->block + offset, 8);
        CHECK(found == word);
    }
    CHECK(held->size == 0 || held->block[held->size - 1] == (unsigned char)held->size);
}

static inline void held_free(struct held *held) {
    if (held->block != NULL) {
        held_check(held);
        hakmem_free(held->block);
        held->block = NULL;
    }
}

// Allocates blocks of one size until there are no more, at most `most`; calls `full`, if given, and frees all of them.
// Returns how many bytes there were.
UNUSED static size_t take_all(struct held *held, size_t most, size_t size, void (*full)(void)) {
    size_t count = 0;
    for (; count < most; count++) {
        errno = 4711;
        held[count] = (struct held){hakmem_malloc(size), size};
        if (held[count].block == NULL) {
            CHECK(errno == ENOMEM);
            break;
        }
        held_stamp(&held[count]);
    }
    if (full != NULL) {
        full();
    }
    for (size_t i = 0; i < count; i++) {
        held_free(&held[i]);
    }
    return count * size;
}

static inline bool is_zero(const unsigned char *bytes, size_t size) {
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

UNUSED static size_t allocated_bytes(void) {
    struct hakmem_stats stats = {.size = sizeof stats};
    (void)hakmem_trim(0);
    CHECK(hakmem_stats(&stats) == 0);
    return stats.allocated_bytes;
}

// A field of /proc/self/status in KiB, as VmRSS or VmLck. Takes no memory, for there may be none.
UNUSED static size_t status_kib(const char *name) {
    char text[8192], field[64];
    int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    CHECK(file >= 0);
    ssize_t length = read(file, text, sizeof text - 1);
    CHECK(length > 0);
    (void)close(file);
    text[length] = '\0';
    (void)snprintf(field, sizeof field, "\n%s:", name);
    const char *found = strstr(text, field);
    return found == NULL ? 0 : strtoul(found + strlen(field), NULL, 10);
}

// Starts this program again with one argument, after `prepare` was called in the child. Returns the wait status.
UNUSED static int run_again(const char *argument, void (*prepare)(const void *), const void *context) {
    (void)fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        prepare(context);
        (void)execl("/proc/self/exe", "oom", argument, (char *)NULL);
        _exit(126);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    return status;
}

#endif
