// The __libc_ names and the C23 sized frees: the same allocator under other names.
#include "api_test.h"

static void *named(const char *name) {
    void *function = dlsym(RTLD_DEFAULT, name);
    if (function == NULL) {
        print_error("no symbol %s\n", name);
    }
    assert_non_null(function);
    return function;
}

static void every_name_comes_from_one_library(void **state) {
    (void)state;
    static const char *const names[] = {
        "malloc",
        "calloc",
        "realloc",
        "free",
        "reallocarray",
        "posix_memalign",
        "aligned_alloc",
        "memalign",
        "valloc",
        "pvalloc",
        "cfree",
        "malloc_usable_size",
        "mallinfo",
        "mallinfo2",
        "malloc_trim",
        "mallopt",
        "malloc_info",
        "malloc_stats",
        "__libc_malloc",
        "__libc_calloc",
        "__libc_realloc",
        "__libc_free",
        "__libc_memalign",
        "__libc_valloc",
        "__libc_pvalloc",
        "free_sized",
        "free_aligned_sized",
        "_Znwm",
        "_Znam",
        "_ZdlPv",
        "_ZdaPv",
        "_ZnwmRKSt9nothrow_t",
        "_ZnamRKSt9nothrow_t",
        "_ZdlPvRKSt9nothrow_t",
        "_ZdaPvRKSt9nothrow_t",
        "_ZdlPvm",
        "_ZdaPvm",
        "_ZnwmSt11align_val_t",
        "_ZnamSt11align_val_t",
        "_ZnwmSt11align_val_tRKSt9nothrow_t",
        "_ZnamSt11align_val_tRKSt9nothrow_t",
        "_ZdlPvSt11align_val_t",
        "_ZdaPvSt11align_val_t",
        "_ZdlPvSt11align_val_tRKSt9nothrow_t",
        "_ZdaPvSt11align_val_tRKSt9nothrow_t",
        "_ZdlPvmSt11align_val_t",
        "_ZdaPvmSt11align_val_t",
    };
    if (!hakmem_is_loaded()) {
        skip();
    }
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        (void)named(names[i]);
        if (object_defining(names[i]) != object_defining("hakmem_version")) {
            print_error("%s does not come from hakmem\n", names[i]);
            fail();
        }
    }
}

static void blocks_pass_between_both_sets_of_names(void **state) {
    (void)state;
    void *(*libc_malloc)(size_t) = (void *(*)(size_t))named("__libc_malloc");
    void *(*libc_calloc)(size_t, size_t) = (void *(*)(size_t, size_t))named("__libc_calloc");
    void *(*libc_realloc)(void *, size_t) = (void *(*)(void *, size_t))named("__libc_realloc");
    void (*libc_free)(void *) = (void (*)(void *))named("__libc_free");
    for (size_t i = 0; i < COUNT_OF(interesting_sizes); i++) {
        size_t size = interesting_sizes[i];
        void *block = libc_malloc(size);
        assert_non_null(block);
        fill_pattern(block, size, i);
        block = call.realloc(block, size * 2);
        assert_non_null(block);
        assert_true(holds_pattern(block, size, i));
        block = libc_realloc(block, size);
        assert_non_null(block);
        assert_true(holds_pattern(block, size, i));
        call.free(block);
        block = libc_calloc(2, size);
        assert_non_null(block);
        assert_true(is_zero(block, 2 * size));
        call.free(block);
        block = call.malloc(size);
        assert_non_null(block);
        libc_free(block);
    }
    libc_free(NULL);
}

static void the_aligned_names_align(void **state) {
    (void)state;
    void *(*libc_memalign)(size_t, size_t) = (void *(*)(size_t, size_t))named("__libc_memalign");
    void *(*libc_valloc)(size_t) = (void *(*)(size_t))named("__libc_valloc");
    void *(*libc_pvalloc)(size_t) = (void *(*)(size_t))named("__libc_pvalloc");
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t alignment = 16; alignment <= 4 * MIB; alignment *= 2) {
        void *block = libc_memalign(alignment, 1000);
        assert_non_null(block);
        assert_true(is_aligned(block, alignment));
        call.free(block);
    }
    void *v = libc_valloc(100), *p = libc_pvalloc(100);
    assert_non_null(v);
    assert_non_null(p);
    assert_true(is_aligned(v, page));
    assert_true(is_aligned(p, page));
    assert_true(call.usable_size(p) >= page);
    call.free(v);
    call.free(p);
}

static void failures_are_the_same_under_these_names(void **state) {
    (void)state;
    void *(*libc_malloc)(size_t) = (void *(*)(size_t))named("__libc_malloc");
    void *(*libc_calloc)(size_t, size_t) = (void *(*)(size_t, size_t))named("__libc_calloc");
    errno = UNTOUCHED;
    assert_null(libc_malloc(SIZE_MAX));
    assert_int_equal(errno, ENOMEM);
    errno = UNTOUCHED;
    assert_null(libc_calloc(SIZE_MAX, 2));
    assert_int_equal(errno, ENOMEM);
}

// In the C library only from version 2.43 on; hakmem has them always.
static void sized_frees_free(void **state) {
    (void)state;
    void (*free_sized)(void *, size_t) = (void (*)(void *, size_t))dlsym(RTLD_DEFAULT, "free_sized");
    void (*free_aligned_sized)(void *, size_t, size_t) =
        (void (*)(void *, size_t, size_t))dlsym(RTLD_DEFAULT, "free_aligned_sized");
    if (free_sized == NULL && !hakmem_is_loaded()) {
        skip();
    }
    assert_non_null(free_sized);
    assert_non_null(free_aligned_sized);
    size_t before = resident_bytes();
    for (int round = 0; round < 30; round++) {
        for (size_t i = 0; i < COUNT_OF(interesting_sizes); i++) {
            size_t size = interesting_sizes[i];
            void *block = round % 2 == 0 ? call.malloc(size) : call.calloc(1, size);
            assert_non_null(block);
            memset(block, 1, size);
            errno = UNTOUCHED;
            free_sized(block, size);
            size_t alignment = (size_t)16 << (i % 12);
            block = call.aligned_alloc(alignment, size);
            assert_non_null(block);
            memset(block, 1, size);
            free_aligned_sized(block, alignment, size);
            assert_int_equal(errno, UNTOUCHED);
        }
    }
    free_sized(NULL, 10);
    free_sized(call.malloc(0), 0);
    free_aligned_sized(NULL, 16, 10);
    assert_true(resident_bytes() < before + 200 * MIB);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hakmem_is_in_use),
        cmocka_unit_test(every_name_comes_from_one_library),
        cmocka_unit_test(blocks_pass_between_both_sets_of_names),
        cmocka_unit_test(the_aligned_names_align),
        cmocka_unit_test(failures_are_the_same_under_these_names),
        cmocka_unit_test(sized_frees_free),
    };
    return cmocka_run_group_tests_name("libc_names", tests, NULL, NULL);
}
