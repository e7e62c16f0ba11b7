// The recorder: a library that is preloaded before the allocator (or before nothing, then it records the C library's)
// and writes down every call on its way.
//
// Models: what a program asks of its allocator, call by call, with times and places.
// Does not model: what the program does with its blocks; malloc_usable_size; calls that the C library makes to itself.
//
// A call is recorded once: what operator new asks of malloc, or an allocator of the C library, is not.
#define _GNU_SOURCE
#include "stream.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define SITE __builtin_return_address(0)
#define PAGE_BYTES 4096u

// Every function that is passed on: type, name, parameters, and what stands in where no next library has it. That is so
// for the operators in a program without a C++ library, which may load one later.
#define NEXT(X)                                                                                                  \
    X(void *, malloc, (size_t), NULL)                                                                            \
    X(void *, calloc, (size_t, size_t), NULL)                                                                    \
    X(void *, realloc, (void *, size_t), NULL)                                                                   \
    X(void, free, (void *), NULL)                                                                                \
    X(int, posix_memalign, (void **, size_t, size_t), NULL)                                                      \
    X(void *, aligned_alloc, (size_t, size_t), NULL)                                                             \
    X(void *, memalign, (size_t, size_t), NULL)                                                                  \
    X(void *, valloc, (size_t), NULL)                                                                            \
    X(void *, pvalloc, (size_t), NULL)                                                                           \
    X(void *, _Znwm, (size_t), new_by_malloc)                                                                    \
    X(void *, _Znam, (size_t), new_by_malloc)                                                                    \
    X(void *, _ZnwmRKSt9nothrow_t, (size_t, const void *), new_or_null_by_malloc)                                \
    X(void *, _ZnamRKSt9nothrow_t, (size_t, const void *), new_or_null_by_malloc)                                \
    X(void *, _ZnwmSt11align_val_t, (size_t, size_t), new_aligned_by_malloc)                                     \
    X(void *, _ZnamSt11align_val_t, (size_t, size_t), new_aligned_by_malloc)                                     \
    X(void *, _ZnwmSt11align_val_tRKSt9nothrow_t, (size_t, size_t, const void *), new_aligned_or_null_by_malloc) \
    X(void *, _ZnamSt11align_val_tRKSt9nothrow_t, (size_t, size_t, const void *), new_aligned_or_null_by_malloc) \
    X(void, _ZdlPv, (void *), delete_by_free)                                                                    \
    X(void, _ZdaPv, (void *), delete_by_free)                                                                    \
    X(void, _ZdlPvm, (void *, size_t), delete_by_free)                                                           \
    X(void, _ZdaPvm, (void *, size_t), delete_by_free)                                                           \
    X(void, _ZdlPvRKSt9nothrow_t, (void *, const void *), delete_by_free)                                        \
    X(void, _ZdaPvRKSt9nothrow_t, (void *, const void *), delete_by_free)                                        \
    X(void, _ZdlPvSt11align_val_t, (void *, size_t), delete_by_free)                                             \
    X(void, _ZdaPvSt11align_val_t, (void *, size_t), delete_by_free)                                             \
    X(void, _ZdlPvmSt11align_val_t, (void *, size_t, size_t), delete_by_free)                                    \
    X(void, _ZdaPvmSt11align_val_t, (void *, size_t, size_t), delete_by_free)

#define DECLARE(type, name, parameters, stand_in) EXPORT type name parameters;
NEXT(DECLARE)
EXPORT void *reallocarray(void *old, size_t count, size_t bytes);
EXPORT void cfree(void *block);
EXPORT void free_sized(void *block, size_t bytes);
EXPORT void free_aligned_sized(void *block, size_t align, size_t bytes);

#define MEMBER(type, name, parameters, stand_in) type(*name) parameters;
static struct { NEXT(MEMBER) } next;

// What is asked for while the next functions are looked up: dlsym may allocate. Never given back.
static struct {
    _Alignas(16) char bytes[64 << 10];
    size_t used;
} early;

static void *early_allocate(size_t bytes) {
    size_t at = early.used, rounded = (bytes + 15) & ~(size_t)15;
    if (rounded < bytes || rounded > sizeof early.bytes - at)
        return NULL;
    early.used += rounded;
    return early.bytes + at;
}

static bool is_early(const void *block) {
    return (const char *)block >= early.bytes && (const char *)block < early.bytes + sizeof early.bytes;
}

static void *new_or_null_by_malloc(size_t bytes) {
    return next.malloc(bytes);
}

static void *new_aligned_or_null_by_malloc(size_t bytes, size_t align) {
    void *block;
    return next.posix_memalign(&block, align < sizeof(void *) ? sizeof(void *) : align, bytes) == 0 ? block : NULL;
}

// As an operator must: by the C++ library's own exception, if it is there by now.
static void *or_throw(void *block) {
    void (*throw_bad_alloc)(void) = NULL;
    if (block != NULL)
        return block;
    *(void **)&throw_bad_alloc = dlsym(RTLD_DEFAULT, "_ZSt17__throw_bad_allocv");
    if (throw_bad_alloc != NULL)
        throw_bad_alloc();
    abort();
}

static void *new_by_malloc(size_t bytes) {
    return or_throw(next.malloc(bytes));
}

static void *new_aligned_by_malloc(size_t bytes, size_t align) {
    return or_throw(new_aligned_or_null_by_malloc(bytes, align));
}

static void delete_by_free(void *block) {
    next.free(block);
}

static void find(void **function, const char *name, void *stand_in) {
    *function = dlsym(RTLD_NEXT, name);
    if (*function == NULL)
        *function = stand_in;
}

// Before the first thread is made: the dynamic linker or the C library calls long before that.
static void find_next(void) {
    static bool searching;
    if (searching)
        return;
    searching = true;
#define FIND(type, name, parameters, stand_in) find((void **)&next.name, #name, (void *)stand_in);
    NEXT(FIND)
    searching = false;
    record_start(); // with the first call: libraries' constructors allocate before ours runs
}

static bool is_ready(void) {
    if (__builtin_expect(next.malloc == NULL, 0))
        find_next();
    return next._ZdaPvmSt11align_val_t != NULL; // the last one found
}

// A program that never calls has a trace without events.
__attribute__((constructor(101))) static void start(void) {
    is_ready();
}

__attribute__((destructor(101))) static void end(void) {
    record_end();
}

// ---- the C library's names

void *malloc(size_t bytes) {
    if (!is_ready())
        return early_allocate(bytes);
    struct stream *stream = stream_enter();
    void *block = next.malloc(bytes);
    if (stream != NULL)
        stream_add_allocation(stream, TRACE_MALLOC, 0, bytes, block, SITE);
    stream_leave(stream);
    return block;
}

void *calloc(size_t count, size_t bytes) {
    size_t total;
    bool fits = !__builtin_mul_overflow(count, bytes, &total);
    if (!is_ready())
        return fits ? early_allocate(total) : NULL; // never used before, so it is zero
    struct stream *stream = stream_enter();
    void *block = next.calloc(count, bytes);
    if (stream != NULL)
        stream_add_allocation(stream, TRACE_CALLOC, 0, fits ? total : SIZE_MAX, block, SITE);
    stream_leave(stream);
    return block;
}

static void *move_early(void *old, size_t bytes, const void *site) {
    size_t most = (size_t)(early.bytes + sizeof early.bytes - (char *)old);
    struct stream *stream = stream_enter();
    void *block = next.malloc(bytes);
    if (stream != NULL)
        stream_add_allocation(stream, TRACE_MALLOC, 0, bytes, block, site);
    stream_leave(stream);
    if (block != NULL)
        memcpy(block, old, bytes < most ? bytes : most);
    return block;
}

// A realloc to no bytes is a free where the allocator returns NULL for it, as glibc's does.
static void *recorded_realloc(void *old, size_t bytes, const void *site) {
    if (is_early(old))
        return is_ready() ? move_early(old, bytes, site) : NULL;
    struct stream *stream = stream_enter();
    uint64_t begun = ticks_before();
    void *block = next.realloc(old, bytes);
    if (stream != NULL) {
        if (old == NULL)
            stream_add_allocation(stream, TRACE_MALLOC, 0, bytes, block, site);
        else
            stream_add_realloc(stream, begun, old, bytes, block, site);
    }
    stream_leave(stream);
    return block;
}

void *realloc(void *old, size_t bytes) {
    if (!is_ready() && old == NULL)
        return early_allocate(bytes);
    return recorded_realloc(old, bytes, SITE);
}

void *reallocarray(void *old, size_t count, size_t bytes) {
    size_t total;
    if (__builtin_mul_overflow(count, bytes, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    if (!is_ready() && old == NULL)
        return early_allocate(total);
    return recorded_realloc(old, total, SITE);
}

// Recorded before the block goes: afterwards another thread may have it.
#define FREE(block, call)                         \
    do {                                          \
        if ((block) == NULL || is_early(block))   \
            return;                               \
        if (!is_ready())                          \
            return;                               \
        struct stream *stream = stream_enter();   \
        if (stream != NULL)                       \
            stream_add_free(stream, block, SITE); \
        call;                                     \
        stream_leave(stream);                     \
    } while (0)

void free(void *block) {
    FREE(block, next.free(block));
}

void cfree(void *block) {
    FREE(block, next.free(block));
}

void free_sized(void *block, size_t bytes) {
    (void)bytes;
    FREE(block, next.free(block));
}

void free_aligned_sized(void *block, size_t align, size_t bytes) {
    (void)align;
    (void)bytes;
    FREE(block, next.free(block));
}

int posix_memalign(void **block, size_t align, size_t bytes) {
    if (!is_ready())
        return ENOMEM;
    struct stream *stream = stream_enter();
    void *made = NULL;
    int error = next.posix_memalign(&made, align, bytes);
    if (error == 0)
        *block = made;
    if (stream != NULL)
        stream_add_allocation(stream, TRACE_ALIGNED, align, bytes, error == 0 ? made : NULL, SITE);
    stream_leave(stream);
    return error;
}

// A function that returns a block: passed on, then recorded. Operators may throw: what is entered is left in any case.
#define LEFT_AT_END __attribute__((cleanup(leave)))
static void leave(struct stream **stream) {
    stream_leave(*stream);
}

#define ALLOCATE(kind, align, bytes, call)                                  \
    do {                                                                    \
        if (!is_ready())                                                    \
            return NULL;                                                    \
        struct stream *stream LEFT_AT_END = stream_enter();                 \
        void *block = call;                                                 \
        if (stream != NULL)                                                 \
            stream_add_allocation(stream, kind, align, bytes, block, SITE); \
        return block;                                                       \
    } while (0)

void *aligned_alloc(size_t align, size_t bytes) {
    ALLOCATE(TRACE_ALIGNED, align, bytes, next.aligned_alloc(align, bytes));
}

void *memalign(size_t align, size_t bytes) {
    ALLOCATE(TRACE_ALIGNED, align, bytes, next.memalign(align, bytes));
}

void *valloc(size_t bytes) {
    ALLOCATE(TRACE_ALIGNED, PAGE_BYTES, bytes, next.valloc(bytes));
}

void *pvalloc(size_t bytes) {
    size_t rounded = (bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
    ALLOCATE(TRACE_ALIGNED, PAGE_BYTES, rounded, next.pvalloc(bytes));
}

// ---- C++'s: only programs that have a C++ library, or an allocator with the operators, call them

void *_Znwm(size_t bytes) {
    ALLOCATE(TRACE_MALLOC, 0, bytes, next._Znwm(bytes));
}

void *_Znam(size_t bytes) {
    ALLOCATE(TRACE_MALLOC, 0, bytes, next._Znam(bytes));
}

void *_ZnwmRKSt9nothrow_t(size_t bytes, const void *tag) {
    ALLOCATE(TRACE_MALLOC, 0, bytes, next._ZnwmRKSt9nothrow_t(bytes, tag));
}

void *_ZnamRKSt9nothrow_t(size_t bytes, const void *tag) {
    ALLOCATE(TRACE_MALLOC, 0, bytes, next._ZnamRKSt9nothrow_t(bytes, tag));
}

void *_ZnwmSt11align_val_t(size_t bytes, size_t align) {
    ALLOCATE(TRACE_ALIGNED, align, bytes, next._ZnwmSt11align_val_t(bytes, align));
}

void *_ZnamSt11align_val_t(size_t bytes, size_t align) {
    ALLOCATE(TRACE_ALIGNED, align, bytes, next._ZnamSt11align_val_t(bytes, align));
}

void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t bytes, size_t align, const void *tag) {
    ALLOCATE(TRACE_ALIGNED, align, bytes, next._ZnwmSt11align_val_tRKSt9nothrow_t(bytes, align, tag));
}

void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t bytes, size_t align, const void *tag) {
    ALLOCATE(TRACE_ALIGNED, align, bytes, next._ZnamSt11align_val_tRKSt9nothrow_t(bytes, align, tag));
}

void _ZdlPv(void *block) {
    FREE(block, next._ZdlPv(block));
}

void _ZdaPv(void *block) {
    FREE(block, next._ZdaPv(block));
}

void _ZdlPvm(void *block, size_t bytes) {
    FREE(block, next._ZdlPvm(block, bytes));
}

void _ZdaPvm(void *block, size_t bytes) {
    FREE(block, next._ZdaPvm(block, bytes));
}

void _ZdlPvRKSt9nothrow_t(void *block, const void *tag) {
    FREE(block, next._ZdlPvRKSt9nothrow_t(block, tag));
}

void _ZdaPvRKSt9nothrow_t(void *block, const void *tag) {
    FREE(block, next._ZdaPvRKSt9nothrow_t(block, tag));
}

void _ZdlPvSt11align_val_t(void *block, size_t align) {
    FREE(block, next._ZdlPvSt11align_val_t(block, align));
}

void _ZdaPvSt11align_val_t(void *block, size_t align) {
    FREE(block, next._ZdaPvSt11align_val_t(block, align));
}

void _ZdlPvmSt11align_val_t(void *block, size_t bytes, size_t align) {
    FREE(block, next._ZdlPvmSt11align_val_t(block, bytes, align));
}

void _ZdaPvmSt11align_val_t(void *block, size_t bytes, size_t align) {
    FREE(block, next._ZdaPvmSt11align_val_t(block, bytes, align));
}

// ---- ends that run no destructors

EXPORT _Noreturn void _exit(int status);
EXPORT _Noreturn void _Exit(int status);

_Noreturn void _exit(int status) {
    void (*leave_process)(int);
    record_end();
    *(void **)&leave_process = dlsym(RTLD_NEXT, "_exit");
    leave_process(status);
    abort(); // it does not return
}

_Noreturn void _Exit(int status) {
    _exit(status);
}
