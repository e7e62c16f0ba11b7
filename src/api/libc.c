// The C library's allocation names, with glibc's semantics.
#include <errno.h>

#include "api/calls.h"
#include "base/bits.h"
#include "heap/heap.h"
#include "sys/os.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT void *malloc(size_t bytes);
EXPORT void free(void *block);
EXPORT void *calloc(size_t count, size_t bytes);
EXPORT void *realloc(void *block, size_t bytes);
EXPORT void *reallocarray(void *block, size_t count, size_t bytes);
EXPORT int posix_memalign(void **block, size_t align, size_t bytes);
EXPORT void *aligned_alloc(size_t align, size_t bytes);
EXPORT void *memalign(size_t align, size_t bytes);
EXPORT void *valloc(size_t bytes);
EXPORT void *pvalloc(size_t bytes);
EXPORT void cfree(void *block);
EXPORT void free_sized(void *block, size_t bytes);
EXPORT void free_aligned_sized(void *block, size_t align, size_t bytes);
EXPORT size_t malloc_usable_size(void *block);
EXPORT void *__libc_malloc(size_t bytes);
EXPORT void __libc_free(void *block);
EXPORT void *__libc_calloc(size_t count, size_t bytes);
EXPORT void *__libc_realloc(void *block, size_t bytes);
EXPORT void *__libc_memalign(size_t align, size_t bytes);
EXPORT void *__libc_valloc(size_t bytes);
EXPORT void *__libc_pvalloc(size_t bytes);
EXPORT int __posix_memalign(void **block, size_t align, size_t bytes);

void *malloc(size_t bytes) {
    return call_malloc(bytes);
}

void free(void *block) {
    call_free(block);
}

void *calloc(size_t count, size_t bytes) {
    return call_calloc(count, bytes);
}

void *realloc(void *block, size_t bytes) {
    return call_realloc(block, bytes);
}

void *reallocarray(void *block, size_t count, size_t bytes) {
    size_t total;
    if (UNLIKELY(__builtin_mul_overflow(count, bytes, &total)))
        return call_no_memory();
    return call_realloc(block, total);
}

// POSIX: errno stays, the error is returned.
static int posix_aligned(void **block, size_t align, size_t bytes) {
    if (!bits_is_power_of_two(align) || align % sizeof(void *) != 0)
        return EINVAL;
    int saved = errno;
    void *memory = call_aligned(bytes, align);
    errno = saved;
    if (memory == NULL)
        return ENOMEM;
    *block = memory;
    return 0;
}

// As glibc 2.36: an alignment that is no power of two is rounded up to the next.
static void *lenient_aligned(size_t align, size_t bytes) {
    if (align > SIZE_MAX / 2 + 1) {
        errno = EINVAL;
        return NULL;
    }
    if (!bits_is_power_of_two(align))
        align = align <= BLOCK_ALIGN ? BLOCK_ALIGN : (size_t)1 << (bits_highest(align) + 1);
    return call_aligned(bytes, align);
}

static void *page_aligned(size_t bytes) {
    heap_process_start(); // from then on the page size is known
    return call_aligned(bytes, os_facts.page_bytes);
}

static void *whole_pages(size_t bytes) {
    heap_process_start(); // as above
    size_t page = os_facts.page_bytes;
    if (UNLIKELY(bytes > PTRDIFF_MAX - page))
        return call_no_memory();
    return call_aligned(bytes == 0 ? page : bits_align_up(bytes, page), page);
}

int posix_memalign(void **block, size_t align, size_t bytes) {
    return posix_aligned(block, align, bytes);
}

void *memalign(size_t align, size_t bytes) {
    return lenient_aligned(align, bytes);
}

void *aligned_alloc(size_t align, size_t bytes) {
    return lenient_aligned(align, bytes);
}

void *valloc(size_t bytes) {
    return page_aligned(bytes);
}

void *pvalloc(size_t bytes) {
    return whole_pages(bytes);
}

void cfree(void *block) {
    call_free(block);
}

void free_sized(void *block, size_t bytes) {
    (void)bytes;
    call_free(block);
}

void free_aligned_sized(void *block, size_t align, size_t bytes) {
    (void)align;
    (void)bytes;
    call_free(block);
}

size_t malloc_usable_size(void *block) {
    return call_usable_bytes(block);
}

void *__libc_malloc(size_t bytes) {
    return call_malloc(bytes);
}

void __libc_free(void *block) {
    call_free(block);
}

void *__libc_calloc(size_t count, size_t bytes) {
    return call_calloc(count, bytes);
}

void *__libc_realloc(void *block, size_t bytes) {
    return call_realloc(block, bytes);
}

void *__libc_memalign(size_t align, size_t bytes) {
    return lenient_aligned(align, bytes);
}

void *__libc_valloc(size_t bytes) {
    return page_aligned(bytes);
}

void *__libc_pvalloc(size_t bytes) {
    return whole_pages(bytes);
}

int __posix_memalign(void **block, size_t align, size_t bytes) {
    return posix_aligned(block, align, bytes);
}
