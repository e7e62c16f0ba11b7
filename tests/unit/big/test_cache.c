// BigCache: what is kept, for whom, how much of it, what goes first, and that it learns which blocks come back.
#include "unit/big/mappings.h"

#include "base/tuning.h"
#include "big/cache.h"
#include "region/runs.h"
#include "sys/options.h"
#include "sys/os.h"

static int start(void **state) {
    (void)state;
    os_start();
    return window_start() && runs_start() ? 0 : -1;
}

// Each test in a child of its own: the bound's allowance and the sites are the process's.
static void (*test_now)(void);

static void call_test(void *context) {
    (void)context;
    test_now();
}

static char *make(size_t bytes, uintptr_t site) {
    char *block = mapping_make(cache_class_bytes(cache_class_of(bytes)), 1, site);
    MUST(block != NULL);
    return block;
}

static void put(void *block) {
    struct mapping hidden;
    MUST(mapping_hide(block, &hidden));
    cache_put(&hidden);
}

// NULL: nothing was cached that fits.
static char *take(size_t bytes, uintptr_t site, bool *zeroed) {
    struct mapping found;
    bool fits;
    if (!cache_take(cache_class_of(bytes), site, &found, zeroed, &fits))
        return NULL;
    found.site = site;
    MUST(fits || mapping_fit(&found, bytes));
    return mapping_show(&found);
}

// As big.c does it.
static char *take_or_make(size_t bytes, uintptr_t site) {
    bool zeroed;
    char *block = take(bytes, site, &zeroed);
    return block != NULL ? block : make(bytes, site);
}

static void classes_fit_test(void) {
    for (unsigned i = 0; i < CACHE_CLASS_COUNT; i++) {
        MUST(cache_class_of(cache_class_bytes(i)) == i);
        MUST(cache_class_of(cache_class_bytes(i) + 1) == (i + 1 < CACHE_CLASS_COUNT ? i + 1 : CACHE_NO_CLASS));
        MUST(i == 0 || cache_class_bytes(i) - cache_class_bytes(i - 1) <= cache_class_bytes(i) / 8);
        MUST(cache_class_bytes(i) % (64 * KIB) == 0);
    }
    MUST(cache_class_bytes(0) == 512 * KIB && cache_class_bytes(CACHE_CLASS_COUNT - 1) == 16 * GIB);
    MUST(cache_class_of(PTRDIFF_MAX) == CACHE_NO_CLASS);
}

static void a_freed_block_comes_back_test(void) {
    bool zeroed;
    char *block = make(3 * MIB, 1);
    memset(block, 'x', 3 * MIB);
    put(block);
    MUST(cache_count().blocks == 1 && cache_count().bytes == 3 * MIB);
    MUST(mapping_count().blocks == 0 && mapping_count().bytes == 0); // Q1
    MUST(take(MIB, 1, &zeroed) == NULL);
    MUST(take(3 * MIB, 1, &zeroed) == block && !zeroed && block[3 * MIB - 1] == 'x');
    MUST(cache_count().blocks == 0 && cache_count().bytes == 0);
    MUST(cache_count().hits == 1 && cache_count().misses == 1);
    MUST(cache_count().reused_bytes == 3 * MIB && cache_count().released_bytes == 0);
    MUST(mapping_count().blocks == 1);
}

static void a_sites_own_blocks_come_first_test(void) {
    bool zeroed;
    char *of_one = make(MIB, 1), *of_two = make(MIB, 2), *of_three = make(MIB, 3);
    put(of_one);
    put(of_two);
    put(of_three);
    MUST(take(MIB, 1, &zeroed) == of_one);
    MUST(take(MIB, 1, &zeroed) == of_three); // the newest of the class
    MUST(take(MIB, 2, &zeroed) == of_two);
    MUST(take(MIB, 2, &zeroed) == NULL);
}

// What is cached of the one size, and how it is handed out for the other: as it is, or to be resized.
static size_t bytes_of_near(size_t cached, size_t asked, unsigned uses, bool *fits) {
    struct mapping found;
    bool zeroed;
    for (unsigned i = 0; i < uses; i++)
        put(take_or_make(cached, 5));
    MUST(cache_take(cache_class_of(asked), 6, &found, &zeroed, fits) && !zeroed);
    mapping_release(&found);
    return found.bytes;
}

static void one_of_a_near_class_serves_test(void) {
    bool fits;
    options.free_policy = OPTION_FREE_POLICY_KEEP;
    MUST(bytes_of_near(36 * MIB, 32 * MIB, 1, &fits) == 36 * MIB && fits);
    MUST(bytes_of_near(56 * MIB, 32 * MIB, 1, &fits) == 56 * MIB && !fits);
    MUST(bytes_of_near(16 * MIB, 32 * MIB, 1, &fits) == 16 * MIB && !fits);
    MUST(bytes_of_near(56 * MIB, 32 * MIB, 20, &fits) == 56 * MIB && fits); // its site asks again and again
    put(make(9 * MIB, 1));
    put(make(4 * MIB, 1));
    MUST(!cache_take(cache_class_of(20 * MIB), 6, &(struct mapping){0}, &fits, &fits)); // too far
    put(make(13 * MIB, 1));
    struct mapping found;
    MUST(cache_take(cache_class_of(11 * MIB), 6, &found, &fits, &fits) && found.bytes == 9 * MIB); // rather than shrink
}

static void what_is_above_the_bound_goes_test(void) {
    char *blocks[20];
    for (unsigned i = 0; i < COUNT_OF(blocks); i++)
        blocks[i] = make(4 * MIB, i);
    for (unsigned i = 0; i < COUNT_OF(blocks); i++) {
        put(blocks[i]);
        MUST(runs_surplus_bytes(0) == 0);
    }
    MUST(cache_count().bytes <= RETAIN_MIN_BYTES && cache_count().bytes >= RETAIN_MIN_BYTES / 4);
    MUST(cache_count().evictions == COUNT_OF(blocks) - cache_count().blocks);
    MUST(cache_count().released_bytes == cache_count().evictions * 4 * MIB);
}

static void a_loop_soon_keeps_what_it_needs_test(void) {
    enum { BLOCKS = 10 };
    char *blocks[BLOCKS];
    for (unsigned turn = 0; turn < 6; turn++) {
        uint64_t hits = cache_count().hits;
        for (unsigned i = 0; i < BLOCKS; i++)
            blocks[i] = take_or_make(40 * MIB, 7);
        if (turn >= 3)
            MUST(cache_count().hits == hits + BLOCKS);
        for (unsigned i = 0; i < BLOCKS; i++)
            put(blocks[i]);
        if (turn == 0)
            MUST(cache_count().bytes == 0); // the first burst goes back
    }
    MUST(runs_count().refaulted_bytes >= BLOCKS * 40 * MIB);
}

static void the_oldest_large_block_goes_first_test(void) {
    bool zeroed;
    options.release_batch = 0;
    char *blocks[5];
    for (unsigned i = 0; i < COUNT_OF(blocks); i++)
        blocks[i] = make(4 * MIB, 10 + i);
    for (unsigned i = 0; i < COUNT_OF(blocks); i++)
        put(blocks[i]); // the fifth is too much
    MUST(take(4 * MIB, 14, &zeroed) == blocks[4]);
    MUST(take(4 * MIB, 11, &zeroed) == blocks[1]);
    MUST(cache_count().blocks == 2 && cache_count().evictions == 1);
}

static void of_small_blocks_those_of_the_site_used_least_go_first_test(void) {
    enum { BLOCKS = RETAIN_MIN_BYTES / MIB };
    options.release_batch = 0;
    for (unsigned i = 0; i < 100; i++)
        put(take_or_make(MIB, 1)); // much used, and cached first
    char *blocks[BLOCKS];
    for (uintptr_t i = 0; i < BLOCKS; i++)
        blocks[i] = make(MIB, 100 + i);
    for (unsigned i = 0; i < BLOCKS; i++)
        put(blocks[i]);
    bool zeroed;
    uint64_t hits = cache_count().hits;
    MUST(take(MIB, 1, &zeroed) != NULL && cache_count().hits == hits + 1);
    MUST(cache_count().evictions == 1);
}

static void free_memory_of_the_heap_goes_before_less_that_is_cached_test(void) {
    enum { BYTES = RETAIN_MIN_BYTES / 8 };
    bool clean;
    size_t first = runs_take(7 * BYTES / SLICE_BYTES, 1, &clean);
    runs_give(first, 7 * BYTES / SLICE_BYTES);
    MUST(runs_count().retained_slices * SLICE_BYTES == 7 * BYTES);
    put(make(4 * RETAIN_MIN_BYTES, 9)); // goes, and with it what growth has owed
    uint64_t before = cache_count().evictions;
    MUST(cache_count().bytes == 0 && runs_owed_bytes() == 0);
    char *blocks[8];
    for (unsigned i = 0; i < COUNT_OF(blocks); i++)
        blocks[i] = make(BYTES, i);
    for (unsigned i = 0; i < 4; i++)
        put(blocks[i]);
    MUST(cache_count().evictions == before && cache_count().bytes == 4 * BYTES && runs_surplus_bytes(0) == 0);
    size_t retained = runs_count().retained_slices * SLICE_BYTES;
    MUST(retained > 0 && retained <= 4 * BYTES);
    for (unsigned i = 4; i < COUNT_OF(blocks); i++)
        put(blocks[i]);
    MUST(cache_count().evictions > before && runs_surplus_bytes(0) == 0); // by now there is more here
}

static void growth_takes_from_what_is_cached_test(void) {
    for (unsigned i = 0; i < 4; i++)
        put(make(3 * MIB, 1));
    char *more[3];
    for (unsigned i = 0; i < 3; i++)
        more[i] = make(3 * MIB, 2);
    for (unsigned i = 0; i < 3; i++)
        put(more[i]);
    size_t bytes = cache_count().bytes;
    cache_make_room(5 * MIB);
    MUST(cache_count().bytes < bytes && cache_count().bytes + 6 * MIB >= bytes);
}

static void growth_of_slices_takes_from_it_too_test(void) {
    enum { BYTES = 8 * MIB };
    bool clean;
    put(make(BYTES, 1));
    runs_take((BYTES / CACHE_OWED_PARTS - MIB) / SLICE_BYTES, 1, &clean);
    cache_settle();
    MUST(cache_count().blocks == 1); // too little for so large a block
    runs_take(MIB / SLICE_BYTES, 1, &clean);
    cache_settle();
    MUST(cache_count().bytes == 0 && runs_owed_bytes() == 0);
    put(take_or_make(BYTES, 1)); // needed again: it earns allowance
    runs_take(GIB / SLICE_BYTES / 8, 1, &clean);
    cache_settle();
    MUST(cache_count().bytes == BYTES);
}

static void a_purged_block_keeps_its_addresses_and_is_zero_test(void) {
    bool zeroed;
    options.release = OPTION_RELEASE_PURGE;
    char *block = make(64 * MIB, 1);
    memset(block, 1, 64 * MIB);
    put(block);
    MUST(cache_count().bytes == 0 && cache_count().clean_bytes == 64 * MIB && cache_count().clean_blocks == 1);
    MUST(take(64 * MIB, 1, &zeroed) == block && zeroed);
    for (size_t offset = 0; offset < 64 * MIB; offset += 1000)
        MUST(block[offset] == 0);
    char *blocks[2 * CACHE_CLEAN_BLOCKS];
    for (unsigned i = 0; i < COUNT_OF(blocks); i++)
        blocks[i] = make(128 * MIB, 2);
    for (unsigned i = 0; i < COUNT_OF(blocks); i++)
        put(blocks[i]);
    MUST(cache_count().clean_blocks <= CACHE_CLEAN_BLOCKS);
    cache_trim(0);
    MUST(cache_count().clean_blocks == 0 && cache_count().blocks == 0);
}

static void a_trim_leaves_what_it_is_asked_to_test(void) {
    for (unsigned i = 0; i < 8; i++)
        put(make(2 * MIB, 1)); // one and the same
    char *blocks[6];
    for (unsigned i = 0; i < COUNT_OF(blocks); i++)
        blocks[i] = take_or_make(2 * MIB, 1);
    for (unsigned i = 0; i < COUNT_OF(blocks); i++)
        put(blocks[i]);
    size_t bytes = cache_count().bytes;
    MUST(bytes > 4 * MIB);
    MUST(cache_trim(4 * MIB));
    MUST(cache_count().bytes == 4 * MIB);
    MUST(cache_trim(0));
    MUST(cache_count().bytes == 0);
    MUST(!cache_trim(0));
}

static void free_policies_test(void) {
    options.free_policy = OPTION_FREE_POLICY_KEEP;
    char *blocks[4];
    for (unsigned i = 0; i < COUNT_OF(blocks); i++)
        blocks[i] = make(50 * MIB, 1);
    for (unsigned i = 0; i < COUNT_OF(blocks); i++)
        put(blocks[i]);
    MUST(cache_count().bytes >= 200 * MIB && cache_count().evictions == 0);
    MUST(cache_trim(0));
    options.free_policy = OPTION_FREE_POLICY_BATCH;
    options.release_batch = 8 * MIB;
    char *small[5];
    for (unsigned i = 0; i < COUNT_OF(small); i++)
        small[i] = make(2 * MIB, 1);
    for (unsigned i = 0; i < COUNT_OF(small); i++) {
        put(small[i]);
        MUST(cache_count().blocks == (i < 4 ? i + 1 : 0)); // the fifth makes all of them go
    }
}

static void a_resized_block_is_kept_by_its_new_size_test(void) {
    bool zeroed;
    char *block = mapping_make(3 * MIB, 1, 1);
    block = mapping_resize(block, 5 * MIB + 4096);
    put(block);
    MUST(take(5 * MIB, 1, &zeroed) == block);
    char *aligned = mapping_make(2 * MIB, 64 * MIB, 1); // may begin before the block
    put(aligned);
    char *tiny = mapping_make(100 * KIB, 1, 1); // below all classes
    put(tiny);
    MUST(cache_count().blocks <= 1);
}

static void forgetting_starts_anew_test(void) {
    bool zeroed;
    put(make(2 * MIB, 1));
    cache_forget_changes();
    MUST(cache_count().blocks == 0 && take(2 * MIB, 1, &zeroed) == NULL);
    char *block = make(2 * MIB, 1);
    put(block);
    MUST(take(2 * MIB, 1, &zeroed) == block);
}

static struct meeting meeting;

static void *take_and_put(void *number) {
    enum { BLOCKS = 8 };
    struct random random = {.state = (uintptr_t)number + 99};
    char *blocks[BLOCKS] = {NULL};
    size_t sizes[BLOCKS] = {0};
    meet(&meeting, 3);
    for (unsigned i = 0; i < (SANITIZED ? 500 : 3000); i++) {
        size_t which = random_below(&random, BLOCKS), bytes = BIG_LEAST_BYTES + random_below(&random, 4 * MIB);
        if (blocks[which] != NULL) {
            MUST(blocks[which][0] == (char)which && blocks[which][sizes[which] - 1] == (char)which);
            put(blocks[which]);
        }
        blocks[which] = take_or_make(bytes, random_below(&random, 5));
        sizes[which] = bytes;
        blocks[which][0] = blocks[which][bytes - 1] = (char)which;
        if (random_below(&random, 100) == 0)
            cache_trim(MIB);
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        if (blocks[i] != NULL)
            put(blocks[i]);
    return NULL;
}

static void threads_test(void) {
    pretend_single_threaded(false);
    threads_run(3, take_and_put);
    cache_trim(0);
    MUST(cache_count().blocks == 0 && mapping_count().blocks == 0 && mapping_count().bytes == 0);
}

#define TEST(name)                           \
    static void name(void **state) {         \
        (void)state;                         \
        test_now = name##_test;              \
        child_must_succeed(call_test, NULL); \
    }

TEST(classes_fit)
TEST(a_freed_block_comes_back)
TEST(a_sites_own_blocks_come_first)
TEST(one_of_a_near_class_serves)
TEST(what_is_above_the_bound_goes)
TEST(a_loop_soon_keeps_what_it_needs)
TEST(the_oldest_large_block_goes_first)
TEST(of_small_blocks_those_of_the_site_used_least_go_first)
TEST(free_memory_of_the_heap_goes_before_less_that_is_cached)
TEST(growth_takes_from_what_is_cached)
TEST(growth_of_slices_takes_from_it_too)
TEST(a_purged_block_keeps_its_addresses_and_is_zero)
TEST(a_trim_leaves_what_it_is_asked_to)
TEST(free_policies)
TEST(a_resized_block_is_kept_by_its_new_size)
TEST(forgetting_starts_anew)
TEST(threads)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_fit),
        cmocka_unit_test(a_freed_block_comes_back),
        cmocka_unit_test(a_sites_own_blocks_come_first),
        cmocka_unit_test(one_of_a_near_class_serves),
        cmocka_unit_test(what_is_above_the_bound_goes),
        cmocka_unit_test(a_loop_soon_keeps_what_it_needs),
        cmocka_unit_test(the_oldest_large_block_goes_first),
        cmocka_unit_test(of_small_blocks_those_of_the_site_used_least_go_first),
        cmocka_unit_test(free_memory_of_the_heap_goes_before_less_that_is_cached),
        cmocka_unit_test(growth_takes_from_what_is_cached),
        cmocka_unit_test(growth_of_slices_takes_from_it_too),
        cmocka_unit_test(a_purged_block_keeps_its_addresses_and_is_zero),
        cmocka_unit_test(a_trim_leaves_what_it_is_asked_to),
        cmocka_unit_test(free_policies),
        cmocka_unit_test(a_resized_block_is_kept_by_its_new_size),
        cmocka_unit_test(forgetting_starts_anew),
        cmocka_unit_test(threads),
    };
    return cmocka_run_group_tests_name("cache", tests, start, NULL);
}
