// What every test of the C library's malloc names shares: calls the compiler cannot see through, sizes worth trying,
// patterns.
//
// The programs are run with LD_PRELOAD=libhakmem.so; the first test of each proves it. With HAKMEM_TEST_ANY=1 in the
// environment that proof is skipped, so that the same tests can be tried on the C library's own allocator.
#ifndef HAKMEM_TESTS_API_TEST_H
#define HAKMEM_TESTS_API_TEST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif
#include <cmocka.h>
#ifdef __cplusplus
}
#endif

#define UNUSED __attribute__((unused))
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define KIB ((size_t)1024)
#define MIB (KIB * 1024)

enum { UNTOUCHED = 4711 }; // no errno of the system: what errno must still be after a call that must not set it

// The compiler knows malloc and may drop calls or writes. It knows nothing of a pointer read from this table.
static const volatile struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*reallocarray)(void *, size_t, size_t);
    void (*free)(void *);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    size_t (*usable_size)(void *);
} call UNUSED = {malloc,   calloc, realloc, reallocarray,      free, posix_memalign, aligned_alloc,
                 memalign, valloc, pvalloc, malloc_usable_size};

// Sizes around every place where the allocator may change its way of working: steps of 16, powers of two and their
// quarters, pages, slices, the end of the slab classes, the C library's mmap threshold.
static const size_t interesting_sizes[] UNUSED = {
    1,       2,       7,       8,       9,       15,      16,      17,      24,       31,      32,      33,
    40,      47,      48,      49,      63,      64,      65,      80,      95,       96,      97,      112,
    127,     128,     129,     144,     160,     176,     192,     208,     224,      240,     255,     256,
    257,     272,     288,     304,     320,     321,     384,     385,     448,      511,     512,     513,
    640,     641,     768,     896,     1008,    1023,    1024,    1025,    1032,     1033,    1280,    1536,
    1792,    2047,    2048,    2049,    2560,    3072,    3584,    4095,    4096,     4097,    5120,    6144,
    7168,    8191,    8192,    8193,    10240,   12288,   14336,   16383,   16384,    16385,   20480,   24576,
    28672,   32767,   32768,   32769,   40960,   49152,   57344,   65535,   65536,    65537,   81920,   98304,
    98305,   114688,  131071,  131072,  131073,  163840,  196608,  229376,  262143,   262144,  262145,  327680,
    393216,  458752,  524287,  524288,  524289,  655360,  786432,  917504,  1048575,  1048576, 1048577, 1310720,
    1572864, 2097151, 2097152, 2097153, 3145728, 4194304, 4194305, 8388608, 33554432, 33554433};

static const size_t impossible_sizes[] UNUSED = {SIZE_MAX,
                                                 SIZE_MAX - 1,
                                                 SIZE_MAX - 15,
                                                 SIZE_MAX - 4095,
                                                 SIZE_MAX - 65536,
                                                 (size_t)PTRDIFF_MAX + 1,
                                                 (size_t)PTRDIFF_MAX,
                                                 (size_t)PTRDIFF_MAX - 4096};

static inline bool any_allocator_may_serve(void) {
    const char *any = getenv("HAKMEM_TEST_ANY");
    return any != NULL && strcmp(any, "1") == 0;
}

static inline bool hakmem_is_loaded(void) {
    return dlsym(RTLD_DEFAULT, "hakmem_version") != NULL;
}

// The object file that a symbol of this name comes from at run time, or NULL.
static inline const void *object_defining(const char *name) {
    Dl_info info;
    void *address = dlsym(RTLD_DEFAULT, name);
    return address != NULL && dladdr(address, &info) != 0 ? info.dli_fbase : NULL;
}

UNUSED static void hakmem_is_in_use(void **state) {
    (void)state;
    if (any_allocator_may_serve()) {
        skip();
    }
    assert_true(hakmem_is_loaded());
    assert_ptr_equal(object_defining("malloc"), object_defining("hakmem_version"));
    assert_ptr_equal(object_defining("free"), object_defining("hakmem_version"));
}

// A byte that depends on the place and the seed, so that shifted, mixed or foreign contents are seen.
static inline unsigned char pattern_byte(size_t seed, size_t offset) {
    return (unsigned char)((seed * 37 + offset * 131 + (offset >> 8) * 7) ^ 0x5a);
}

UNUSED static void fill_pattern(void *block, size_t size, size_t seed) {
    unsigned char *bytes = (unsigned char *)block;
    for (size_t i = 0; i < size; i++) {
        bytes[i] = pattern_byte(seed, i);
    }
}

UNUSED static bool holds_pattern(const void *block, size_t size, size_t seed) {
    const unsigned char *bytes = (const unsigned char *)block;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != pattern_byte(seed, i)) {
            return false;
        }
    }
    return true;
}

UNUSED static bool is_zero(const void *block, size_t size) {
    const unsigned char *bytes = (const unsigned char *)block;
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

UNUSED static bool is_aligned(const void *block, size_t alignment) {
    return (uintptr_t)block % alignment == 0;
}

// Resident bytes of this process, from the kernel.
UNUSED static size_t resident_bytes(void) {
    unsigned long total_pages = 0, resident_pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu %lu", &total_pages, &resident_pages), 2);
    (void)fclose(file);
    return (size_t)resident_pages * (size_t)sysconf(_SC_PAGESIZE);
}

#endif
