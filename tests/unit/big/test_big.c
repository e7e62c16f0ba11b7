// Blocks above the slab classes: runs of the window or mappings, whichever; the same behaviour for both.
#include "unit/decide.h"
#include "unit/unit.h"

#include "big/big.h"
#include "big/cache.h"
#include "region/runs.h"
#include "sys/options.h"
#include "sys/os.h"

static int start(void **state) {
    (void)state;
    os_start();
    return window_start() && runs_start() ? 0 : -1;
}

static const size_t sizes[] = {
    MIB + 1, 2 * MIB, 2 * MIB + 1, 7 * MIB, BIG_THRESHOLD_BYTES - 1, BIG_THRESHOLD_BYTES, 2 * BIG_THRESHOLD_BYTES};

static void *take(size_t bytes, size_t align) {
    bool zeroed;
    void *block = big_take(bytes, align, 0, &zeroed, NULL);
    assert_non_null(block);
    assert_int_equal((uintptr_t)block % align, 0);
    assert_true(big_usable_bytes(block) >= bytes);
    return block;
}

static void mark(char *block, size_t bytes, char letter) {
    for (size_t offset = 0; offset < bytes; offset += 4096)
        block[offset] = letter;
    block[bytes - 1] = letter;
}

static bool is_marked(const char *block, size_t bytes, char letter) {
    for (size_t offset = 0; offset < bytes; offset += 4096)
        if (block[offset] != letter)
            return false;
    return true;
}

static void small_ones_are_runs_and_large_ones_mappings(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        char *block = take(sizes[i], 1);
        assert_int_equal(window_contains(block), sizes[i] < BIG_THRESHOLD_BYTES);
        size_t waste = big_usable_bytes(block) - sizes[i];
        assert_true(waste < (sizes[i] < BIG_THRESHOLD_BYTES ? SLICE_BYTES : sizes[i] / 8));
        mark(block, big_usable_bytes(block), 'x');
        assert_true(big_give(block, NULL));
    }
    assert_int_equal(runs_count().in_use_slices, 0);
    assert_int_equal(mapping_count().blocks, 0);
}

static void blocks_are_aligned_as_asked(void **state) {
    (void)state;
    for (size_t align = 16; align <= 256 * MIB; align *= 2) {
        void *blocks[3];
        for (unsigned i = 0; i < COUNT_OF(blocks); i++)
            blocks[i] = take(i == 0 ? 1 : i * 3 * MIB, align);
        for (unsigned i = 0; i < COUNT_OF(blocks); i++)
            assert_true(big_give(blocks[i], NULL));
    }
    assert_int_equal(runs_count().in_use_slices, 0);
}

static void what_is_called_zeroed_is_zero(void **state) {
    struct random random = random_start();
    unsigned dirty = 0, clean = 0;
    (void)state;
    for (unsigned i = 0; i < (SANITIZED ? 60 : 200); i++) {
        bool zeroed = false;
        size_t bytes = sizes[random_below(&random, COUNT_OF(sizes))];
        char *block = big_take(bytes, 1, 0, &zeroed, NULL);
        assert_non_null(block);
        for (size_t offset = 0; zeroed && offset < bytes; offset += 1024)
            assert_int_equal(block[offset], 0);
        clean += zeroed;
        dirty += !zeroed;
        memset(block, 0xee, bytes < 3 * MIB ? bytes : 3 * MIB);
        big_give(block, NULL);
        if (random_below(&random, 20) == 0)
            runs_purge(0);
    }
    assert_true(dirty > 0 && clean > 0);
}

static void only_the_start_of_a_block_is_one(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        char *block = take(sizes[i], 1);
        const size_t offsets[] = {1, 16, 4096, SLICE_BYTES, MIB, sizes[i] - 1};
        for (size_t k = 0; k < COUNT_OF(offsets); k++) {
            assert_int_equal(big_usable_bytes(block + offsets[k]), 0);
            assert_false(big_give(block + offsets[k], NULL));
            assert_null(big_resize(block + offsets[k], 3 * MIB));
        }
        assert_true(big_give(block, NULL));
        assert_int_equal(big_usable_bytes(block), 0);
        assert_false(big_give(block, NULL)); // once
    }
}

static void slab_slices_are_no_big_block(void **state) {
    bool clean;
    (void)state;
    size_t first = runs_take(1, 1, &clean);
    window.info[first] = (intptr_t)&window; // any descriptor's address
    window_show_all(first, 1);
    assert_int_equal(big_usable_bytes(window_address(first)), 0);
    assert_false(big_give(window_address(first), NULL));
    window.info[first] = 0;
    window_show_all(first, CLASS_NONE);
    runs_give(first, 1);
}

static void addresses_of_others_are_no_big_block(void **state) {
    static int local;
    (void)state;
    assert_int_equal(big_usable_bytes(&local), 0);
    assert_false(big_give(&local, NULL));
    assert_null(big_resize(&local, 2 * MIB));
}

static void try_far_addresses(void *context) {
    (void)context;
    for (size_t slice = window.limit - 1; slice > 0; slice /= 2) {
        MUST(big_usable_bytes(window_address(slice)) == 0);
        MUST(!big_give(window_address(slice), NULL));
        MUST(big_resize(window_address(slice), 2 * MIB) == NULL);
    }
}

static void addresses_of_the_window_that_were_never_mapped_are_no_big_block(void **state) {
    (void)state;
    child_must_succeed(try_far_addresses, NULL);
}

static void a_run_grows_into_free_neighbours_and_gives_its_tail_back(void **state) {
    (void)state;
    runs_purge(0);
    char *block = take(2 * MIB, 1);
    mark(block, 2 * MIB, 'g');
    size_t in_use = runs_count().in_use_slices;
    assert_ptr_equal(big_resize(block, 6 * MIB), block);
    assert_int_equal(big_usable_bytes(block), 6 * MIB);
    assert_true(is_marked(block, 2 * MIB, 'g'));
    assert_int_equal(runs_count().in_use_slices, in_use + 64);
    mark(block, 6 * MIB, 'h');
    assert_ptr_equal(big_resize(block, 3 * MIB), block);
    assert_int_equal(big_usable_bytes(block), 3 * MIB);
    assert_int_equal(runs_count().in_use_slices, in_use + 16);
    assert_int_equal(big_usable_bytes(block + 3 * MIB), 0);
    assert_true(is_marked(block, 3 * MIB, 'h'));
    assert_true(big_give(block, NULL));
    assert_int_equal(runs_count().in_use_slices, in_use - 32);
}

static void a_run_whose_neighbour_is_taken_stays_as_it_is(void **state) {
    (void)state;
    char *block = take(2 * MIB, 1), *neighbour = take(2 * MIB, 1);
    assert_ptr_equal(neighbour, block + 2 * MIB);
    mark(block, 2 * MIB, 'k');
    assert_null(big_resize(block, 3 * MIB));
    assert_int_equal(big_usable_bytes(block), 2 * MIB);
    assert_true(is_marked(block, 2 * MIB, 'k'));
    assert_true(big_give(block, NULL) && big_give(neighbour, NULL));
}

static void random_blocks_never_overlap(void **state) {
    enum { BLOCKS = 40 };
    struct {
        char *block;
        size_t bytes;
    } held[BLOCKS] = {{NULL, 0}};
    struct random random = random_start();
    struct mapping_totals mappings = mapping_count();
    size_t in_use = runs_count().in_use_slices;
    (void)state;
    for (unsigned step = 0; step < (SANITIZED ? 200 : 600); step++) {
        unsigned which = (unsigned)random_below(&random, BLOCKS);
        char *block = held[which].block;
        size_t bytes = MIB + 1 + random_below(&random, random_below(&random, 10) == 0 ? 64 * MIB : 8 * MIB);
        char letter = (char)('0' + which);
        if (block != NULL)
            assert_true(is_marked(block, held[which].bytes, letter));
        if (block != NULL && random_below(&random, 2) == 0) {
            size_t kept = bytes < held[which].bytes ? bytes : held[which].bytes;
            block = big_resize(block, bytes);
            if (block == NULL)
                continue;
            assert_true(is_marked(block, kept, letter));
        } else {
            assert_true(block == NULL || big_give(block, NULL));
            block = take(bytes, (size_t)1 << random_below(&random, 22)); // up to a group
        }
        held[which].block = block;
        held[which].bytes = bytes;
        mark(block, bytes, letter);
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        assert_true(held[i].block == NULL || big_give(held[i].block, NULL));
    assert_int_equal(runs_count().in_use_slices, in_use);
    assert_int_equal(mapping_count().bytes, mappings.bytes);
}

// The same with blocks of all sizes in mappings, and what is freed cached.
static void random_mappings_never_overlap(void **state) {
    DECIDE(big_threshold, BIG_LEAST_BYTES);
    options.release = OPTION_RELEASE_PURGE;
    random_blocks_never_overlap(state);
    options.release = OPTION_RELEASE_UNMAP;
    random_blocks_never_overlap(state);
    DECIDE(big_threshold, BIG_THRESHOLD_BYTES);
    assert_true(cache_count().hits > 0 && cache_count().evictions > 0);
}

static void a_class_at_the_threshold_is_closed(void **state) {
    (void)state;
    DECIDE(big_threshold, BIG_LEAST_BYTES);
    assert_false(window_contains(take(600 * KIB, 1)));
    assert_true(window_contains(take(4096, 128 * KIB))); // aligned, and small
    DECIDE(big_threshold, BIG_THRESHOLD_BYTES);
}

// By the user's word any, by what was learned those that are not large.
static void prefaulted_blocks_are_resident(void **state) {
    static unsigned char resident[40 * MIB / 4096];
    bool cleared;
    (void)state;
    DECIDE(prefault, OPTION_PREFAULT_ON);
    runs_purge(0);
    cache_trim(0);
    char *large = big_take(39 * MIB, 1, 0, &cleared, NULL);
    assert_true(mincore(large, 39 * MIB, resident) == 0 && !(resident[39 * MIB / 4096 / 2] & 1));
    assert_true(big_give(large, NULL));
    options.prefault = OPTION_PREFAULT_ON;
    for (size_t bytes = 3 * MIB; bytes <= 40 * MIB; bytes *= 13) {
        bool zeroed;
        runs_purge(0);
        cache_trim(0);
        char *block = big_take(bytes, 1, 0, &zeroed, NULL);
        assert_true(zeroed && mincore(block, bytes, resident) == 0);
        for (size_t i = 0; i < bytes / os_facts.page_bytes; i++)
            assert_true(resident[i] & 1);
        assert_true(big_give(block, NULL));
    }
    DECIDE(prefault, OPTION_PREFAULT_OFF);
    options.prefault = OPTION_PREFAULT_OFF;
}

static void impossible_sizes_are_null(void **state) {
    bool zeroed;
    (void)state;
    errno = UNTOUCHED;
    assert_null(big_take(PTRDIFF_MAX, 1, 0, &zeroed, NULL));
    assert_null(big_take((size_t)1 << 47, 1, 0, &zeroed, NULL));
    assert_null(big_take(MIB, (size_t)1 << 62, 0, &zeroed, NULL));
    assert_int_equal(errno, UNTOUCHED);
}

// Runs and mappings alike: a loop gets its block back without the heap's knowledge, and nobody else can see it
// meanwhile.
static void a_loop_keeps_its_block(void **state) {
    static const size_t thresholds[] = {BIG_THRESHOLD_BYTES, BIG_LEAST_BYTES};
    size_t threshold = DECIDED(big_threshold);
    (void)state;
    for (size_t i = 0; i < COUNT_OF(thresholds); i++) {
        struct kept kept = {0};
        size_t before = runs_count().in_use_slices + mapping_count().blocks;
        bool zeroed;
        DECIDE(big_threshold, thresholds[i]);
        char *first = big_take(3 * MIB, 1, 1, &zeroed, &kept);
        mark(first, 3 * MIB, 'x');
        assert_true(big_give(first, &kept));
        for (unsigned round = 0; round < 5; round++) {
            char *block = big_take(3 * MIB, 1, 2, &zeroed, &kept);
            assert_ptr_equal(block, first);
            assert_false(zeroed);
            assert_true(big_usable_bytes(block) >= 3 * MIB);
            mark(block, 3 * MIB, 'y');
            assert_true(big_give(block, &kept));
            assert_int_equal(kept_bytes(&kept) > 0, 1);
            assert_int_equal(big_usable_bytes(block), 0);
            assert_false(big_give(block, &kept)); // twice
        }
        assert_int_equal(kept.hits, 4);
        assert_true(runs_count().in_use_slices + mapping_count().blocks > before); // Z3
        char *other = big_take(2 * MIB, 1, 2, &zeroed, &kept);                     // ends it
        assert_int_equal(kept_bytes(&kept), 0);
        assert_true(big_give(other, &kept));
        big_let_go(&kept);
        kept_end(&kept);
        assert_int_equal(runs_count().in_use_slices + mapping_count().blocks, before);
    }
    DECIDE(big_threshold, threshold);
    cache_trim(0);
}

static void take_where_nothing_can_be_mapped(void *unused) {
    struct rlimit no_more = {1, 1};
    bool zeroed;
    (void)unused;
    char *blocks[3];
    MUST(big_give(take(30 * MIB, 1), NULL)); // this much of the window is there
    cache_trim(0);
    DECIDE(big_threshold, BIG_LEAST_BYTES);
    MUST(setrlimit(RLIMIT_AS, &no_more) == 0);
    for (unsigned i = 0; i < COUNT_OF(blocks); i++) {
        size_t bytes = i == 0 ? BIG_LEAST_BYTES : 3 * MIB;
        blocks[i] = (char *)big_take(bytes, 1, 0, &zeroed, NULL);
        MUST(blocks[i] != NULL && window_contains(blocks[i]) && big_usable_bytes(blocks[i]) >= bytes);
        MUST(!zeroed || blocks[i][bytes - 1] == 0);
    }
    for (unsigned i = 0; i < COUNT_OF(blocks); i++)
        MUST(big_give(blocks[i], NULL));
}

static void where_nothing_can_be_mapped_the_windows_room_serves(void **state) {
    (void)state;
    if (!SANITIZED) // they map too
        child_must_succeed(take_where_nothing_can_be_mapped, NULL);
}

static void whoever_trims_gets_a_kept_block(void **state) {
    struct kept kept = {0};
    size_t before = runs_count().in_use_slices;
    bool zeroed;
    (void)state;
    for (unsigned round = 0; round < 3; round++)
        big_give(big_take(2 * MIB, 1, 0, &zeroed, &kept), &kept);
    assert_true(kept_bytes(&kept) > 0 && runs_count().in_use_slices > before);
    big_give_kept(kept_take(&kept));
    assert_int_equal(runs_count().in_use_slices, before);
    void *block = big_take(2 * MIB, 1, 0, &zeroed, &kept);
    assert_true(block != NULL && big_give(block, NULL));
    kept_end(&kept);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_ones_are_runs_and_large_ones_mappings),
        cmocka_unit_test(blocks_are_aligned_as_asked),
        cmocka_unit_test(what_is_called_zeroed_is_zero),
        cmocka_unit_test(only_the_start_of_a_block_is_one),
        cmocka_unit_test(slab_slices_are_no_big_block),
        cmocka_unit_test(addresses_of_others_are_no_big_block),
        cmocka_unit_test(addresses_of_the_window_that_were_never_mapped_are_no_big_block),
        cmocka_unit_test(a_run_grows_into_free_neighbours_and_gives_its_tail_back),
        cmocka_unit_test(a_run_whose_neighbour_is_taken_stays_as_it_is),
        cmocka_unit_test(random_blocks_never_overlap),
        cmocka_unit_test(random_mappings_never_overlap),
        cmocka_unit_test(a_class_at_the_threshold_is_closed),
        cmocka_unit_test(prefaulted_blocks_are_resident),
        cmocka_unit_test(impossible_sizes_are_null),
        cmocka_unit_test(where_nothing_can_be_mapped_the_windows_room_serves),
        cmocka_unit_test(a_loop_keeps_its_block),
        cmocka_unit_test(whoever_trims_gets_a_kept_block),
    };
    return cmocka_run_group_tests_name("big", tests, start, NULL);
}
