// malloc_trim gives free memory back, also what other threads' caches hold; mallopt takes the settings that mean
// something.
#include "api_test.h"
#include <pthread.h>

// Allocates and writes this much in blocks of mixed small and middle sizes, then frees all in a scattered order.
static void use_and_free(size_t total, size_t least, size_t spread) {
    size_t count = total / (least + spread / 2);
    void **blocks = call.malloc(count * sizeof *blocks);
    assert_non_null(blocks);
    uint32_t random = 99;
    for (size_t i = 0; i < count; i++) {
        random = random * 1664525 + 1013904223;
        size_t size = least + (random >> 8) % spread;
        blocks[i] = call.malloc(size);
        assert_non_null(blocks[i]);
        memset(blocks[i], 1, size);
    }
    for (size_t step = 0; step < 7; step++) {
        for (size_t i = step; i < count; i += 7) {
            call.free(blocks[i]);
        }
    }
    call.free(blocks);
}

static void resident_memory_falls(void **state) {
    (void)state;
    (void)malloc_trim(0);
    size_t before = resident_bytes();
    use_and_free(256 * MIB, 16, 1000);
    use_and_free(256 * MIB, 1000, 60000);
    use_and_free(256 * MIB, 100000, 900000);
    int gave_back = malloc_trim(0);
    assert_true(gave_back == 0 || gave_back == 1);
    assert_true(resident_bytes() < before + 24 * MIB);
}

// Some of what was freed is always kept for reuse, so there is something to give back and it says so.
static void the_result_tells_that_memory_was_given_back(void **state) {
    (void)state;
    use_and_free(64 * MIB, 500, 3000);
    assert_int_equal(malloc_trim(0), 1);
    int again = malloc_trim(0);
    assert_true(again == 0 || again == 1);
}

static void live_blocks_survive(void **state) {
    (void)state;
    void *blocks[COUNT_OF(interesting_sizes)];
    for (size_t i = 0; i < COUNT_OF(interesting_sizes); i++) {
        blocks[i] = call.malloc(interesting_sizes[i]);
        assert_non_null(blocks[i]);
        fill_pattern(blocks[i], interesting_sizes[i], i);
        call.free(call.malloc(interesting_sizes[i]));
        errno = UNTOUCHED;
        (void)malloc_trim(0);
        assert_int_equal(errno, UNTOUCHED);
    }
    for (size_t i = 0; i < COUNT_OF(interesting_sizes); i++) {
        assert_true(holds_pattern(blocks[i], interesting_sizes[i], i));
        call.free(blocks[i]);
    }
}

static void a_pad_is_accepted(void **state) {
    (void)state;
    use_and_free(64 * MIB, 500, 3000);
    int result = malloc_trim(32 * MIB);
    assert_true(result == 0 || result == 1);
    result = malloc_trim(SIZE_MAX);
    assert_true(result == 0 || result == 1);
}

static void *use_in_thread(void *unused) {
    (void)unused;
    use_and_free(64 * MIB, 16, 1000);
    return NULL;
}

static void memory_of_ended_threads_goes_back(void **state) {
    (void)state;
    (void)malloc_trim(0);
    size_t before = resident_bytes();
    for (int round = 0; round < 8; round++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, use_in_thread, NULL), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    (void)malloc_trim(0);
    assert_true(resident_bytes() < before + 16 * MIB);
}

static void mallopt_takes_known_settings(void **state) {
    (void)state;
    assert_int_equal(mallopt(M_MMAP_THRESHOLD, 1024 * 1024), 1);
    assert_int_equal(mallopt(M_TRIM_THRESHOLD, 1024 * 1024), 1);
    assert_int_equal(mallopt(M_TOP_PAD, 64 * 1024), 1);
    assert_int_equal(mallopt(M_MMAP_MAX, 1000), 1);
    assert_int_equal(mallopt(M_ARENA_MAX, 2), 1);
    assert_int_equal(mallopt(M_ARENA_TEST, 2), 1);
    int unknown = mallopt(-12345, 1);
    assert_true(unknown == 0 || unknown == 1);
    void *block = call.malloc(100000);
    assert_non_null(block);
    call.free(block);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hakmem_is_in_use),
        cmocka_unit_test(resident_memory_falls),
        cmocka_unit_test(the_result_tells_that_memory_was_given_back),
        cmocka_unit_test(live_blocks_survive),
        cmocka_unit_test(a_pad_is_accepted),
        cmocka_unit_test(memory_of_ended_threads_goes_back),
        cmocka_unit_test(mallopt_takes_known_settings),
    };
    return cmocka_run_group_tests_name("malloc_trim", tests, NULL, NULL);
}
