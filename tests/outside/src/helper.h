// What the helper programs share: the proof that hakmem serves them, checks, and a walk through all sizes of blocks.
#ifndef HAKMEM_TESTS_OUTSIDE_HELPER_H
#define HAKMEM_TESTS_OUTSIDE_HELPER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#define SAY(...)                                                                    \
    do {                                                                            \
        char text_to_say[512];                                                      \
        int length_to_say = snprintf(text_to_say, sizeof text_to_say, __VA_ARGS__); \
        (void)!write(STDERR_FILENO, text_to_say, (size_t)length_to_say);            \
    } while (0)

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            SAY("FAIL: not true: %s [%s:%d]\n", #condition, __FILE__, __LINE__); \
            _exit(1);                                                            \
        }                                                                        \
    } while (0)

// The compiler knows these names and may remove calls; of pointers it reads anew it knows nothing.
UNUSED static void *(*volatile call_malloc)(size_t) = malloc;
UNUSED static void (*volatile call_free)(void *) = free;

// The library that serves malloc must be hakmem. HAKMEM_TEST_ANY=1 lets another one serve, to try the program itself.
UNUSED static void prove_hakmem_serves(void) {
    const char *any = getenv("HAKMEM_TEST_ANY");
    if (any != NULL && strcmp(any, "1") == 0) {
        return;
    }
    Dl_info of_malloc, of_version;
    void *version = dlsym(RTLD_DEFAULT, "hakmem_version");
    CHECK(version != NULL);
    CHECK(dladdr(version, &of_version) != 0 && dladdr(dlsym(RTLD_DEFAULT, "malloc"), &of_malloc) != 0);
    CHECK(of_version.dli_fbase == of_malloc.dli_fbase);
}

// Allocates, writes, checks, resizes and frees blocks of all classes, several at once. Needs little stack.
UNUSED static void use_all_sizes(unsigned rounds) {
    enum { AT_ONCE = 16 };
    for (unsigned round = 0; round < rounds; round++) {
        unsigned char *blocks[AT_ONCE];
        size_t sizes[AT_ONCE], size = round % 7;
        for (size_t i = 0; i < AT_ONCE; i++, size = size * 2 + 9) {
            sizes[i] = size;
            blocks[i] = i % 3 == 0 ? calloc(1, size) : call_malloc(size);
            CHECK(blocks[i] != NULL);
            CHECK(i % 3 != 0 || size == 0 || (blocks[i][0] == 0 && blocks[i][size - 1] == 0));
            memset(blocks[i], (int)(i + round), size < 4096 ? size : 4096);
        }
        for (size_t i = 0; i < AT_ONCE; i++) {
            CHECK(sizes[i] == 0 || blocks[i][sizes[i] < 4096 ? sizes[i] - 1 : 4095] == (unsigned char)(i + round));
            if (i % 4 == 0 && sizes[i] > 0) {
                blocks[i] = realloc(blocks[i], sizes[i] * 2);
                CHECK(blocks[i] != NULL && blocks[i][0] == (unsigned char)(i + round));
            }
            call_free(blocks[i]);
        }
    }
}

UNUSED static void *use_all_sizes_in_thread(void *rounds) {
    use_all_sizes((unsigned)(uintptr_t)rounds);
    return NULL;
}

UNUSED static void expect_exit(pid_t child, int expected) {
    int status = -1;
    CHECK(child > 0);
    CHECK(waitpid(child, &status, 0) == child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != expected) {
        SAY("FAIL: a child ended with wait status %#x, expected was exit %d\n", (unsigned)status, expected);
        _exit(1);
    }
}

#endif
