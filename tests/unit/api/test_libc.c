// The C library's names: this program runs on them, cmocka included. What each adds to the calls behind it.
#include "unit/unit.h"

#include <malloc.h>

#include "unit/api/calls.h"

extern void cfree(void *block);
extern void free_sized(void *block, size_t bytes);
extern void free_aligned_sized(void *block, size_t align, size_t bytes);
extern void *pvalloc(size_t bytes);
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *block, size_t bytes);
extern void *__libc_memalign(size_t align, size_t bytes);
extern void *__libc_valloc(size_t bytes);
extern void *__libc_pvalloc(size_t bytes);
extern void __libc_free(void *block);
extern int __posix_memalign(void **block, size_t align, size_t bytes);

// Read anew each time: the compiler knows what these functions do, and must not.
static const volatile struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*reallocarray)(void *, size_t, size_t);
    void (*free)(void *);
    void *(*memalign)(size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    int (*posix_memalign)(void **, size_t, size_t);
} call = {malloc, calloc, realloc, reallocarray, free, memalign, aligned_alloc, valloc, pvalloc, posix_memalign};

static void expect_block(void *block, size_t bytes, size_t align) {
    assert_true(window_contains(block));
    assert_int_equal((uintptr_t)block % align, 0);
    assert_true(malloc_usable_size(block) >= bytes);
    fill_pattern(block, bytes, 1);
    assert_true(holds_pattern(block, bytes, bytes, 1));
}

static void the_whole_program_is_served(void **state) {
    (void)state;
    char *copy = strdup("the C library allocates for this");
    expect_block(copy, 33, 16);
    call.free(copy);
    char *formatted;
    assert_int_equal(asprintf(&formatted, "%d", 4711), 4);
    assert_true(window_contains(formatted));
    call.free(formatted);
}

static void every_name_allocates_and_frees(void **state) {
    size_t page = os_facts.page_bytes;
    void *block;
    (void)state;
    block = call.malloc(100), expect_block(block, 100, 16), call.free(block);
    block = call.calloc(10, 10), assert_true(is_zero(block, 100)), cfree(block);
    block = call.realloc(NULL, 100), expect_block(block, 100, 16), free_sized(block, 100);
    block = call.reallocarray(NULL, 10, 10), expect_block(block, 100, 16), call.free(block);
    block = call.aligned_alloc(256, 100), expect_block(block, 100, 256), free_aligned_sized(block, 256, 100);
    block = call.memalign(512, 100), expect_block(block, 100, 512), call.free(block);
    block = call.valloc(100), expect_block(block, 100, page), call.free(block);
    block = call.pvalloc(page + 1), expect_block(block, 2 * page, page), call.free(block);
    block = call.pvalloc(0), expect_block(block, page, page), call.free(block);
    assert_int_equal(call.posix_memalign(&block, 1024, 100), 0);
    expect_block(block, 100, 1024), call.free(block);
}

static void the_c_librarys_inner_names_are_the_same(void **state) {
    size_t page = os_facts.page_bytes;
    void *block;
    (void)state;
    block = __libc_malloc(100), expect_block(block, 100, 16), __libc_free(block);
    block = __libc_calloc(10, 10), assert_true(is_zero(block, 100)), call.free(block);
    block = __libc_realloc(__libc_malloc(5), 100), expect_block(block, 100, 16), call.free(block);
    block = __libc_memalign(128, 100), expect_block(block, 100, 128), call.free(block);
    block = __libc_valloc(100), expect_block(block, 100, page), call.free(block);
    block = __libc_pvalloc(1), expect_block(block, page, page), call.free(block);
    assert_int_equal(__posix_memalign(&block, 64, 100), 0);
    expect_block(block, 100, 64), call.free(block);
}

static void posix_memalign_returns_its_errors_and_leaves_errno(void **state) {
    const size_t wrong[] = {0, 1, 4, 7, 24, SIZE_MAX, SIZE_MAX / 2};
    static char untouched;
    void *block = &untouched;
    (void)state;
    errno = UNTOUCHED;
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_int_equal(call.posix_memalign(&block, wrong[i], 100), EINVAL);
    for (size_t i = 0; i < COUNT_OF(impossible_sizes); i++)
        assert_int_equal(call.posix_memalign(&block, 64, impossible_sizes[i]), ENOMEM);
    assert_ptr_equal(block, &untouched);
    assert_int_equal(errno, UNTOUCHED);
}

static void memalign_rounds_an_alignment_up(void **state) {
    const size_t aligns[][2] = {{0, 16}, {1, 16}, {3, 16}, {17, 32}, {33, 64}, {1000, 1024}, {5000, 8192}};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(aligns); i++) {
        void *block = call.memalign(aligns[i][0], 100);
        expect_block(block, 100, aligns[i][1]);
        call.free(block);
    }
    errno = 0;
    assert_null(call.memalign(SIZE_MAX, 100));
    assert_int_equal(errno, EINVAL);
}

static void products_and_pages_that_do_not_fit_are_enomem(void **state) {
    (void)state;
    void *block = call.malloc(100);
    fill_pattern(block, 100, 2);
    errno = 0;
    assert_null(call.reallocarray(block, SIZE_MAX / 2, 3));
    assert_int_equal(errno, ENOMEM);
    assert_true(holds_pattern(block, 100, 100, 2));
    call.free(block);
    errno = 0;
    assert_null(call.pvalloc(SIZE_MAX - 10));
    assert_int_equal(errno, ENOMEM);
    errno = 0;
    assert_null(call.valloc(SIZE_MAX - 10));
    assert_int_equal(errno, ENOMEM);
}

static void free_keeps_errno(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        void *block = call.malloc(sizes[i]);
        errno = UNTOUCHED;
        call.free(block);
        call.free(NULL);
        assert_int_equal(errno, UNTOUCHED);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_program_is_served),
        cmocka_unit_test(every_name_allocates_and_frees),
        cmocka_unit_test(the_c_librarys_inner_names_are_the_same),
        cmocka_unit_test(posix_memalign_returns_its_errors_and_leaves_errno),
        cmocka_unit_test(memalign_rounds_an_alignment_up),
        cmocka_unit_test(products_and_pages_that_do_not_fit_are_enomem),
        cmocka_unit_test(free_keeps_errno),
    };
    return cmocka_run_group_tests_name("libc", tests, start_calls, NULL);
}
