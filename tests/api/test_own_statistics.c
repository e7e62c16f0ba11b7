// hakmem_stats and hakmem_stats_json: figures that follow what the program holds, a struct that may be older or newer,
// a text that says its length.
// Modes: HAKMEM_PURGE_DELAY=0, since the helper's start allocates: the C library keeps a block for each thread.
#include "api_test.h"

#include <hakmem/hakmem.h>

#include "json_check.h"

#include <pthread.h>

static struct hakmem_stats stats_now(void) {
    struct hakmem_stats stats = {.size = sizeof stats};
    assert_int_equal(hakmem_stats(&stats), 0);
    return stats;
}

// While one thread runs the figure is exact: the sum of the usable sizes.
static void allocated_bytes_are_exact(void **state) {
    (void)state;
    void *blocks[COUNT_OF(interesting_sizes)];
    size_t usable = 0, before = stats_now().allocated_bytes;
    for (size_t i = 0; i < COUNT_OF(interesting_sizes); i++) {
        blocks[i] = hakmem_malloc(interesting_sizes[i]);
        assert_non_null(blocks[i]);
        usable += hakmem_usable_size(blocks[i]);
        assert_int_equal(stats_now().allocated_bytes, before + usable);
    }
    for (size_t i = 0; i < COUNT_OF(interesting_sizes); i++) {
        usable -= hakmem_usable_size(blocks[i]);
        hakmem_free(blocks[i]);
        assert_int_equal(stats_now().allocated_bytes, before + usable);
    }
}

static void aligned_and_resized_blocks_are_counted(void **state) {
    (void)state;
    size_t before = stats_now().allocated_bytes;
    for (size_t alignment = 32; alignment <= 8 * MIB; alignment *= 2) {
        void *block = hakmem_aligned_alloc(alignment, 5000);
        assert_non_null(block);
        assert_int_equal(stats_now().allocated_bytes, before + hakmem_usable_size(block));
        for (size_t size = 100; size < 40 * MIB; size *= 6) {
            block = hakmem_realloc(block, size);
            assert_non_null(block);
            assert_int_equal(stats_now().allocated_bytes, before + hakmem_usable_size(block));
        }
        assert_null(hakmem_realloc(block, 0));
        assert_int_equal(stats_now().allocated_bytes, before);
    }
}

static void *allocate_in_thread(void *argument) {
    void **blocks = argument;
    for (size_t i = 0; i < 1000; i++) {
        blocks[i] = hakmem_malloc(i * 3);
        hakmem_free(hakmem_malloc(i * 5));
    }
    return NULL;
}

static void blocks_of_ended_threads_are_counted(void **state) {
    (void)state;
    static void *blocks[1000];
    (void)hakmem_trim(0);
    size_t before = stats_now().allocated_bytes, usable = 0;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, allocate_in_thread, blocks), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        assert_non_null(blocks[i]);
        usable += hakmem_usable_size(blocks[i]);
    }
    size_t during = stats_now().allocated_bytes;
    assert_true(during >= before + usable);
    assert_true(during <= before + usable + 4 * KIB); // the C library keeps a little for the thread's stack
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        hakmem_free(blocks[i]);
    }
    assert_true(stats_now().allocated_bytes <= before + 4 * KIB);
}

static void the_figures_fit_together(void **state) {
    (void)state;
    struct hakmem_stats before = stats_now();
    enum { BLOCKS = 50000 };
    void **blocks = hakmem_malloc(BLOCKS * sizeof *blocks);
    assert_non_null(blocks);
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = hakmem_malloc(1000);
        assert_non_null(blocks[i]);
        memset(blocks[i], 1, 1000);
    }
    struct hakmem_stats full = stats_now();
    for (size_t i = 0; i < BLOCKS; i++) {
        hakmem_free(blocks[i]);
    }
    hakmem_free(blocks);
    struct hakmem_stats freed = stats_now();
    assert_true(full.mapped_bytes >= full.allocated_bytes);
    assert_true(full.resident_bytes >= BLOCKS * 1000u);
    assert_true(full.metadata_bytes > 0 && full.metadata_bytes < full.allocated_bytes / 4);
    assert_true(full.refilled_blocks >= before.refilled_blocks + BLOCKS * 9 / 10); // some were cached already
    assert_true(full.refills > before.refills && full.refills < before.refills + BLOCKS);
    assert_true(full.slabs_made > before.slabs_made);
    assert_true(freed.flushed_blocks + freed.cached_bytes / 1000 >= BLOCKS);
    assert_true(freed.flushes > full.flushes);
    assert_true(freed.slabs_returned > full.slabs_returned && freed.slabs_returned <= freed.slabs_made);
    assert_true(freed.allocated_bytes <= before.allocated_bytes);
    assert_int_equal(freed.faults, 0);
    assert_true(freed.threads >= 1);
}

static void trimming_takes_what_is_retained(void **state) {
    (void)state;
    void *blocks[100];
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        blocks[i] = hakmem_malloc(600 * KIB);
        assert_non_null(blocks[i]);
        memset(blocks[i], 1, 600 * KIB);
    }
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        hakmem_free(blocks[i]);
    }
    struct hakmem_stats freed = stats_now();
    assert_true(freed.retained_bytes + freed.purged_bytes + freed.cached_bytes > 0);
    (void)hakmem_trim(0);
    struct hakmem_stats trimmed = stats_now();
    assert_int_equal(trimmed.retained_bytes, 0);
    assert_int_equal(trimmed.cached_bytes, 0);
    assert_true(trimmed.purged_bytes >= freed.purged_bytes);
}

// A program built with an older header has a shorter struct: what lies behind it must not be written.
static void an_older_struct_is_filled_as_far_as_it_goes(void **state) {
    (void)state;
    const size_t old_size = offsetof(struct hakmem_stats, metadata_bytes);
    union {
        struct hakmem_stats stats;
        unsigned char bytes[sizeof(struct hakmem_stats)];
    } out;
    memset(&out, 0xaa, sizeof out);
    out.stats.size = old_size;
    assert_int_equal(hakmem_stats(&out.stats), 0);
    assert_true(out.stats.mapped_bytes < (size_t)1 << 46);
    for (size_t i = old_size; i < sizeof out; i++) {
        assert_int_equal(out.bytes[i], 0xaa);
    }
}

// One built with a newer header has a longer struct: the fields the library does not know are told by the size.
static void a_newer_struct_says_how_far_it_was_filled(void **state) {
    (void)state;
    struct {
        struct hakmem_stats stats;
        uint64_t of_the_future[8];
    } out;
    memset(&out, 0xaa, sizeof out);
    out.stats.size = sizeof out;
    assert_int_equal(hakmem_stats(&out.stats), 0);
    assert_int_equal(out.stats.size, sizeof out.stats);
    for (size_t i = 0; i < COUNT_OF(out.of_the_future); i++) {
        assert_true(out.of_the_future[i] == 0xaaaaaaaaaaaaaaaau);
    }
}

static void no_struct_and_too_small_a_struct_are_refused(void **state) {
    (void)state;
    struct hakmem_stats stats = {.size = sizeof stats.size};
    errno = UNTOUCHED;
    assert_int_equal(hakmem_stats(NULL), -1);
    assert_int_equal(errno, EINVAL);
    errno = UNTOUCHED;
    assert_int_equal(hakmem_stats(&stats), -1);
    assert_int_equal(errno, EINVAL);
    stats.size = 0;
    assert_int_equal(hakmem_stats(&stats), -1);
}

static void the_checker_of_json_tells_good_from_bad(void **state) {
    (void)state;
    assert_true(is_json("{\"a\": 1, \"b\": [true, -2.5, {\"c\": \"d\\\"e\"}, []], \"f\": {}}\n"));
    static const char *const bad[] = {"",       "{",    "{\"a\" 1}",    "{\"a\": 1,}", "[1 2]", "{\"a\": 01}",
                                      "{a: 1}", "[1]]", "{\"a\": \"b}", "[1,]",        "nul",   "{\"a\": }"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_false(is_json(bad[i]));
    }
}

static void the_json_is_json_and_has_the_fields(void **state) {
    (void)state;
    static char text[1 << 18];
    static const char *const names[] = {
        "allocated_bytes", "cached_bytes", "mapped_bytes", "resident_bytes", "retained_bytes",       "metadata_bytes",
        "refills",         "flushes",      "slabs_made",   "slabs_returned", "remote_flushed_blocks"};
    void *block = hakmem_malloc(5000);
    assert_non_null(block);
    int length = hakmem_stats_json(text, sizeof text);
    assert_true(length > 0 && (size_t)length < sizeof text);
    assert_int_equal(strlen(text), length);
    assert_true(is_json(text));
    assert_int_equal(text[0], '{');
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char quoted[64];
        (void)snprintf(quoted, sizeof quoted, "\"%s\":", names[i]);
        assert_non_null(strstr(text, quoted));
    }
    hakmem_free(block);
}

static void a_small_buffer_gets_the_beginning_and_the_length(void **state) {
    (void)state;
    char text[40];
    memset(text, 'x', sizeof text);
    int needed = hakmem_stats_json(NULL, 0);
    assert_true(needed > 100);
    int length = hakmem_stats_json(text, 30);
    assert_true(length > 100);
    assert_int_equal(strlen(text), 29);
    assert_int_equal(text[30], 'x');
    assert_true(hakmem_stats_json(text, 1) > 100);
    assert_int_equal(text[0], '\0');
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocated_bytes_are_exact),
        cmocka_unit_test(aligned_and_resized_blocks_are_counted),
        cmocka_unit_test(blocks_of_ended_threads_are_counted),
        cmocka_unit_test(the_figures_fit_together),
        cmocka_unit_test(trimming_takes_what_is_retained),
        cmocka_unit_test(an_older_struct_is_filled_as_far_as_it_goes),
        cmocka_unit_test(a_newer_struct_says_how_far_it_was_filled),
        cmocka_unit_test(no_struct_and_too_small_a_struct_are_refused),
        cmocka_unit_test(the_checker_of_json_tells_good_from_bad),
        cmocka_unit_test(the_json_is_json_and_has_the_fields),
        cmocka_unit_test(a_small_buffer_gets_the_beginning_and_the_length),
    };
    return cmocka_run_group_tests_name("own_statistics", tests, NULL, NULL);
}
