// Pointers of the C library's own malloc, which this program keeps: handed on where there is reason, else a fault.
#include "unit/unit.h"

#include <malloc.h>

#include "unit/api/calls.h"

// Through volatile pointers, so that the compiler knows nothing of what they do.
static void *(*volatile libc_malloc)(size_t) = malloc;
static void (*volatile libc_free)(void *) = free;

static bool is_of_the_break(const void *block) {
    return os_is_in_break(block);
}

// A block of the C library's main heap from after this library's start.
static void *take_of_the_break(size_t bytes) {
    for (unsigned i = 0; i < 100000; i++) {
        void *block = libc_malloc(bytes);
        if (is_of_the_break(block))
            return block;
    }
    MUST(!"a block of the C library's heap");
    return NULL;
}

static void before_anything_is_known_strangers_are_faults(void *context) {
    int variable;
    (void)context;
    MUST(heap_process_start());
    options.on_fault = OPTION_ON_FAULT_CONTINUE;
    call_free(&variable);
    void *mapped = libc_malloc(MIB); // by mmap, not from the break
    MUST(!is_of_the_break(mapped));
    call_free(mapped);
    memset(mapped, 1, MIB); // still there
    MUST(fault_times(FAULT_foreign_pointer) == 2);
    errno = 0;
    MUST(call_realloc(mapped, 2 * MIB) == NULL && errno == ENOMEM);
    MUST(fault_times(FAULT_foreign_pointer) == 3);
    libc_free(mapped);
}

static void free_goes_on_to_the_c_library(void *context) {
    (void)context;
    MUST(heap_process_start());
    void *block = take_of_the_break(1000);
    call_free(block);
    MUST(libc_malloc(1000) == block); // its cache gives the last one first
    MUST(faults_so_far() == 0);
}

static void realloc_goes_on_to_the_c_library(void *context) {
    (void)context;
    MUST(heap_process_start());
    unsigned char *block = take_of_the_break(1000);
    fill_pattern(block, 1000, 3);
    unsigned char *grown = call_realloc(block, 5000);
    MUST(grown != NULL && !window_contains(grown));
    MUST(holds_pattern(grown, 1000, 1000, 3));
    libc_free(grown);
    MUST(faults_so_far() == 0);
}

static void once_the_c_library_is_seen_its_mappings_are_believed(void *context) {
    struct mallinfo2 before = mallinfo2();
    (void)context;
    MUST(heap_process_start());
    call_free(take_of_the_break(100));
    void *mapped = libc_malloc(MIB);
    MUST(!is_of_the_break(mapped) && mallinfo2().hblks == before.hblks + 1);
    call_free(mapped);
    MUST(mallinfo2().hblks == before.hblks);
    MUST(faults_so_far() == 0);
}

static void errno_is_kept(void *context) {
    (void)context;
    MUST(heap_process_start());
    options.on_fault = OPTION_ON_FAULT_CONTINUE;
    errno = UNTOUCHED;
    call_free(&errno);
    MUST(errno == UNTOUCHED);
    void *block = take_of_the_break(100);
    errno = UNTOUCHED;
    call_free(block);
    MUST(errno == UNTOUCHED);
}

// Each in a process of its own: what was seen once is remembered.
static void in_a_child(void **state) {
    if (SANITIZED)
        skip(); // a sanitizer's malloc is not the C library's
    void (*body)(void *) = (void (*)(void *))(uintptr_t)*state;
    child_must_succeed(body, NULL);
}

#define TEST(name) \
    { #name, in_a_child, NULL, NULL, (void *)(uintptr_t)name }

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(before_anything_is_known_strangers_are_faults),
        TEST(free_goes_on_to_the_c_library),
        TEST(realloc_goes_on_to_the_c_library),
        TEST(once_the_c_library_is_seen_its_mappings_are_believed),
        TEST(errno_is_kept),
    };
    return cmocka_run_group_tests_name("foreign", tests, NULL, NULL);
}
