// free, cfree, malloc_usable_size: NULL is nothing, errno is kept, all that is said to be usable is.
#include "api_test.h"
#include <pthread.h>

static void null_is_nothing(void **state) {
    (void)state;
    errno = UNTOUCHED;
    call.free(NULL);
    assert_int_equal(errno, UNTOUCHED);
    assert_int_equal(call.usable_size(NULL), 0);
}

// free may call the kernel, which may fail; the caller must not notice.
static void errno_is_kept(void **state) {
    (void)state;
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < COUNT_OF(interesting_sizes); i++) {
            void *block = call.malloc(interesting_sizes[i]);
            assert_non_null(block);
            memset(block, 1, interesting_sizes[i]);
            errno = UNTOUCHED;
            call.free(block);
            assert_int_equal(errno, UNTOUCHED);
        }
    }
}

static void errno_is_kept_over_a_hundred_thousand_blocks(void **state) {
    (void)state;
    enum { BLOCKS = 100000 };
    void **blocks = call.malloc(BLOCKS * sizeof *blocks);
    assert_non_null(blocks);
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = call.malloc(16 + i % 1009);
        assert_non_null(blocks[i]);
    }
    errno = UNTOUCHED;
    for (size_t i = 0; i < BLOCKS; i++) {
        call.free(blocks[i]);
    }
    assert_int_equal(errno, UNTOUCHED);
    call.free(blocks);
}

static void all_usable_bytes_can_be_written(void **state) {
    (void)state;
    void *blocks[COUNT_OF(interesting_sizes)];
    for (size_t i = 0; i < COUNT_OF(interesting_sizes); i++) {
        blocks[i] = call.malloc(interesting_sizes[i]);
        assert_non_null(blocks[i]);
        assert_true(call.usable_size(blocks[i]) >= interesting_sizes[i]);
        fill_pattern(blocks[i], call.usable_size(blocks[i]), i);
    }
    for (size_t i = 0; i < COUNT_OF(interesting_sizes); i++) {
        assert_true(holds_pattern(blocks[i], call.usable_size(blocks[i]), i));
        call.free(blocks[i]);
    }
}

// No class may waste more than a quarter of a block, small ones apart, nor any big block more than that.
static void the_usable_size_is_near_the_size_asked_for(void **state) {
    (void)state;
    for (size_t size = 1; size < 8 * MIB; size += 1 + size / 50) {
        void *block = call.malloc(size);
        assert_non_null(block);
        size_t more = size > 128 * KIB ? size : size / 3; // a large one that is at hand may serve, two classes above
        assert_true(call.usable_size(block) <= size + 64 + more);
        call.free(block);
    }
}

static void the_usable_size_stays_while_the_block_lives(void **state) {
    (void)state;
    for (size_t size = 1; size < 3 * MIB; size = size * 2 + 1) {
        void *block = call.malloc(size);
        assert_non_null(block);
        size_t usable = call.usable_size(block);
        void *others[50];
        for (size_t i = 0; i < COUNT_OF(others); i++) {
            others[i] = call.malloc(size);
        }
        assert_int_equal(call.usable_size(block), usable);
        for (size_t i = 0; i < COUNT_OF(others); i++) {
            call.free(others[i]);
        }
        assert_int_equal(call.usable_size(block), usable);
        call.free(block);
    }
}

// Not in any header any more, but old programs link it.
static void cfree_frees(void **state) {
    (void)state;
    void (*old_free)(void *) = (void (*)(void *))dlvsym(RTLD_DEFAULT, "cfree", "GLIBC_2.2.5");
    if (old_free == NULL || hakmem_is_loaded()) {
        old_free = (void (*)(void *))dlsym(RTLD_DEFAULT, "cfree");
    }
    assert_non_null(old_free);
    size_t before = resident_bytes();
    for (int round = 0; round < 10000; round++) {
        void *block = call.malloc(100000);
        assert_non_null(block);
        memset(block, 1, 100000);
        old_free(block);
    }
    old_free(NULL);
    assert_true(resident_bytes() < before + 100 * MIB);
}

static void *free_it(void *block) {
    call.free(block);
    return NULL;
}

// A thread whose first and only call is free.
static void another_thread_may_free(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(interesting_sizes); i++) {
        void *block = call.malloc(interesting_sizes[i]);
        assert_non_null(block);
        memset(block, 1, interesting_sizes[i]);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, free_it, block), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hakmem_is_in_use),
        cmocka_unit_test(null_is_nothing),
        cmocka_unit_test(errno_is_kept),
        cmocka_unit_test(errno_is_kept_over_a_hundred_thousand_blocks),
        cmocka_unit_test(all_usable_bytes_can_be_written),
        cmocka_unit_test(the_usable_size_is_near_the_size_asked_for),
        cmocka_unit_test(the_usable_size_stays_while_the_block_lives),
        cmocka_unit_test(cfree_frees),
        cmocka_unit_test(another_thread_may_free),
    };
    return cmocka_run_group_tests_name("free", tests, NULL, NULL);
}
