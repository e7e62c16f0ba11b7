// Compiler facts: how functions and variables of the library are shared between its files, and branch hints.
#ifndef BASE_COMPILER_H
#define BASE_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// all.c defines these as `static`, which makes the whole library one unit with nothing but its public symbols
// visible; a source compiled on its own (unit tests) shares with the others by ordinary linkage.
#ifndef INTERNAL
#define INTERNAL
#define SHARED extern
#endif

// Asserts run in checked builds; all builds compile them.
#ifndef CHECKED
#define CHECKED 0
#endif

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define NOINLINE __attribute__((noinline))
#define COLD __attribute__((noinline, cold))
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

ALWAYS_INLINE size_t least_of(size_t one, size_t other) {
    return one < other ? one : other;
}

ALWAYS_INLINE size_t most_of(size_t one, size_t other) {
    return one > other ? one : other;
}

// States what must hold. A checked build stops at once: nothing can be printed safely from inside the allocator,
// and a debugger shows the line.
#define CHECK(condition)             \
    do {                             \
        if (CHECKED && !(condition)) \
            __builtin_trap();        \
    } while (0)

#endif
