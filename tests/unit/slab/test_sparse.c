// Sparse slabs: which pages go back, that what is in use stays as it was, when a look is due, and what it costs to need
// the pages again.
#include "unit/slab/slabs.h"

#include "unit/decide.h"

#include <sys/mman.h>

#include "slab/sparse.h"

static struct holder holder;
static void *blocks[MOST_BLOCKS];

static int start(void **state) {
    depot_holder_start(&holder, 1);
    int failed = start_slabs(state);
    DECIDE(retain_min, 0); // nothing idle may stay, but for a part of what is in use
    return failed;
}

static size_t resident_bytes_of(const struct slab *slab) {
    static unsigned char resident[SLAB_MAX_SLICES * SLICE_BYTES / 4096];
    size_t bytes = size_classes[slab->class_index].slices * SLICE_BYTES, count = 0;
    MUST(mincore(window_address(slab->first_slice), bytes, resident) == 0);
    for (size_t i = 0; i < bytes / os_facts.page_bytes; i++)
        count += resident[i] & 1;
    return count * os_facts.page_bytes;
}

// A slab whose blocks are all written, of which those from `first` on, in steps of `step`, are out and the others back.
static struct slab *make_sparse(unsigned class_index, unsigned first, unsigned step) {
    struct slab *slab = slab_make(class_index, &holder);
    unsigned all = carve_all(slab, blocks);
    for (unsigned i = 0; i < all; i++)
        memset(blocks[i], (int)(i % 251 + 1), class_bytes(class_index));
    for (unsigned i = 0; i < all; i++)
        if (i < first || (i - first) % step != 0)
            put_blocks(&blocks[i], 1, class_index);
    depot_unlease(slab);
    MUST(state_of(slab) == SLAB_LISTED);
    return slab;
}

static void expect_out_blocks_untouched(const struct slab *slab, unsigned first, unsigned step) {
    size_t bytes = class_bytes(slab->class_index);
    for (unsigned i = first; i < size_classes[slab->class_index].blocks; i += step) {
        const unsigned char *block = slab_block(slab, i);
        for (size_t k = 0; k < bytes; k++)
            assert_int_equal(block[k], i % 251 + 1);
    }
}

static void put_out_blocks(struct slab *slab, unsigned first, unsigned step) {
    for (unsigned i = first; i < size_classes[slab->class_index].blocks; i += step) {
        void *block = slab_block(slab, i);
        put_blocks(&block, 1, slab->class_index);
    }
}

static void end_sparse(struct slab *slab, unsigned first, unsigned step) {
    MUST(depot_lease(slab->class_index, &holder, 1) == slab); // also in a child
    put_out_blocks(slab, first, step);
    slab_give_back(slab);
}

// Of any class whose blocks leave a page between two that are out.
static void pages_between_blocks_in_use_go_back(void **state) {
    (void)state;
    for (unsigned i = CLASS_LAST_HELD + 1; i < CLASS_COUNT; i++) {
        unsigned step = (unsigned)(3 * os_facts.page_bytes / class_bytes(i)) + 4;
        if (size_classes[i].blocks < step)
            continue;
        struct slab *slab = make_sparse(i, 1, step);
        size_t before = resident_bytes_of(slab), out = (size_classes[i].blocks - 2u) / step + 1;
        uint64_t purged = runs_count().purged_bytes;
        assert_true(sparse_trim());
        size_t left = resident_bytes_of(slab);
        // Of each block that is out, the pages it touches, and two that neighbours share; and the slab's end.
        assert_true(left <= (out + 1) * (class_bytes(i) + 2 * os_facts.page_bytes));
        assert_int_equal(runs_count().purged_bytes - purged, *slab_purged_bytes(slab));
        assert_true(before - left <= *slab_purged_bytes(slab));
        assert_int_equal(state_of(slab), SLAB_LISTED);
        expect_out_blocks_untouched(slab, 1, step);
        uint64_t purges = runs_count().purges;
        assert_false(sparse_trim()); // there is nothing new
        assert_int_equal(runs_count().purges, purges);
        end_sparse(slab, 1, step);
    }
}

static void within_the_bound_all_stays_child(void *context) {
    unsigned class_index = class_of(16 * KIB);
    (void)context;
    DECIDE(retain_min, 16 * MIB);
    struct slab *slab = make_sparse(class_index, 0, 4);
    uint64_t purges = runs_count().purges;
    sparse_look(class_index, SPARSE_SOME_IDLE);
    MUST(runs_count().purges == purges);
    DECIDE(retain_min, 0);
    sparse_look(class_index, SPARSE_SOME_IDLE);
    MUST(runs_count().purges > purges);
    end_sparse(slab, 0, 4);
}

static void within_the_bound_all_stays(void **state) {
    (void)state;
    child_must_succeed(within_the_bound_all_stays_child, NULL); // with an allowance of its own
}

static void a_slab_that_may_end_soon_is_left_alone_child(void *context) {
    unsigned class_index = class_of(16 * KIB);
    (void)context;
    struct slab *half = make_sparse(class_index, 0, 2);
    uint64_t purges = runs_count().purges;
    sparse_look(class_index, SPARSE_MOSTLY_IDLE);
    MUST(runs_count().purges == purges);
    struct slab *mostly = make_sparse(class_index, 0, 8);
    sparse_look(class_index, SPARSE_MOSTLY_IDLE);
    MUST(runs_count().purges > purges && *slab_purged_bytes(mostly) > 0 && *slab_purged_bytes(half) == 0);
    for (unsigned slabs = 2; slabs > 0; slabs--) {
        struct slab *slab = depot_lease(class_index, &holder, 1);
        put_out_blocks(slab, 0, slab == half ? 2 : 8);
        slab_give_back(slab);
    }
}

static void a_slab_that_may_end_soon_is_left_alone(void **state) {
    (void)state;
    child_must_succeed(a_slab_that_may_end_soon_is_left_alone_child, NULL); // with an allowance of its own
}

static void what_is_needed_again_counts_as_refaulted_child(void *context) {
    unsigned class_index = class_of(8 * KIB);
    (void)context;
    struct slab *slab = make_sparse(class_index, 0, 8);
    sparse_look(class_index, SPARSE_SOME_IDLE);
    size_t purged = *slab_purged_bytes(slab);
    struct runs_totals before = runs_count();
    MUST(purged > 0);
    end_sparse(slab, 0, 8);
    struct runs_totals after = runs_count();
    MUST(after.refaulted_bytes - before.refaulted_bytes == purged);
    MUST(after.allowance_slices >= before.allowance_slices + purged / SLICE_BYTES);
}

static void what_is_needed_again_counts_as_refaulted(void **state) {
    (void)state;
    child_must_succeed(what_is_needed_again_counts_as_refaulted_child, NULL); // with an allowance of its own
}

// Also where the slab ends in between: its slices count as retained, and only then as taken again.
static void what_a_new_slab_needs_again_counts_child(void *context) {
    unsigned class_index = class_of(64 * KIB), slices = size_classes[class_index].slices;
    (void)context;
    struct slab *slab = make_sparse(class_index, 0, 8);
    size_t first = slab->first_slice;
    sparse_look(class_index, SPARSE_SOME_IDLE);
    size_t purged = *slab_purged_bytes(slab);
    DECIDE(retain_min, GIB); // no run goes
    MUST(purged > 0);
    put_out_blocks(slab, 0, 8); // ends it
    struct runs_totals before = runs_count();
    MUST(before.retained_slices == slices && before.refaulted_bytes == 0);
    bool zeroed;
    MUST(runs_take_at(first, slices / 2, &zeroed));
    MUST(runs_count().refaulted_bytes == purged / slices * (slices / 2)); // by their share
    MUST(runs_take_at(first + slices / 2, slices - slices / 2, &zeroed));
    MUST(runs_count().refaulted_bytes == purged); // all of it
    MUST(runs_count().allowance_slices == before.allowance_slices + purged / SLICE_BYTES);
    runs_give_purged(first, slices, purged);
    runs_purge(0);
    MUST(runs_take_at(first, slices, &zeroed)); // counts as purged slices do, and once
    MUST(runs_count().refaulted_bytes == purged + slices * SLICE_BYTES);
}

static void what_a_new_slab_needs_again_counts(void **state) {
    (void)state;
    child_must_succeed(what_a_new_slab_needs_again_counts_child, NULL); // with an allowance of its own
}

static void a_new_slab_has_nothing_purged(void **state) {
    (void)state;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        struct slab *slab = slab_make(i, &holder);
        assert_int_equal(*slab_purged_bytes(slab), 0);
        *slab_purged_bytes(slab) = 4096;
        slab_give_back(slab);
    }
}

static void a_trim_takes_all_that_is_idle(void **state) {
    (void)state;
    DECIDE(retain_min, 16 * MIB);
    struct slab *small = make_sparse(class_of(512), 0, 64), *large = make_sparse(class_of(32 * KIB), 0, 4);
    assert_true(sparse_trim());
    assert_true(*slab_purged_bytes(small) > 0 && *slab_purged_bytes(large) > 0);
    assert_false(sparse_trim());
    DECIDE(retain_min, 0);
    expect_out_blocks_untouched(small, 0, 64);
    expect_out_blocks_untouched(large, 0, 4);
    end_sparse(small, 0, 64);
    end_sparse(large, 0, 4);
}

static void a_slab_that_ends_meanwhile_is_given_back(void **state) {
    unsigned class_index = class_of(64 * KIB);
    (void)state;
    struct slab *slab = slab_make(class_index, &holder);
    unsigned all = carve_all(slab, blocks);
    put_blocks(blocks, all - 1, class_index);
    depot_unlease(slab);
    or_total(&slab->bits[0], UINT64_C(1) << (all - 1)); // total: as put.c does, by a thread that saw LEASED
    uint64_t alive = slabs_alive(class_index);
    sparse_trim();
    assert_int_equal(slabs_alive(class_index), alive - 1);
}

static size_t idle_bytes_of_all_depots(void) {
    size_t sum = 0;
    for (unsigned i = 0; i < CLASS_END; i++)
        sum += depots[i].idle_bytes;
    return sum;
}

// True for each `share`-th block, by turns, and for no other.
static void expect_due_after(unsigned class_index, unsigned share) {
    for (unsigned turn = 0; turn < 10; turn++)
        for (unsigned freed = 1; freed <= share; freed++)
            MUST(sparse_is_due(class_index, 1) == (freed == share));
}

static void a_look_is_due_when_much_was_freed_child(void *context) {
    unsigned class_index = class_of(4 * KIB), blocks_each = size_classes[class_index].blocks;
    unsigned least = SPARSE_LOOK_BYTES / (4 * KIB);
    (void)context;
    struct slab *slab = make_sparse(class_index, 0, 4);
    struct slab *other = slab_make(class_of(MIB), &holder);
    DECIDE(retain_min, MIB); // less than is in use, and more than can be idle
    for (unsigned freed = 0; freed < 10 * least; freed++)
        MUST(!sparse_is_due(class_index, 1));
    MUST(depots[class_index].idle_bytes <= slab_in_use_bytes(class_index)); // more can't be
    MUST(depots[class_index].idle_bytes > 0 && depots_idle_bytes() == idle_bytes_of_all_depots());
    slab_give_back(other);
    DECIDE(retain_min, 0);
    MUST(sparse_is_due(class_index, least));
    expect_due_after(class_index, least);
    sparse_look(class_index, SPARSE_SOME_IDLE);
    MUST(depots[class_index].idle_bytes == 0 && depots_idle_bytes() == 0); // counted and purged
    DECIDE(retain_min, GIB);                                               // nothing would come of it
    MUST(!sparse_is_due(class_index, least));
    DECIDE(retain_min, 0);
    MUST(!sparse_is_due(CLASS_LAST_HELD, SPARSE_LOOK_BYTES / 16));
    end_sparse(slab, 0, 4);
    size_t bytes_each = (size_t)size_classes[class_index].slices * SLICE_BYTES;
    for (size_t made = 0; made < 16 * SPARSE_LOOK_SHARE * SPARSE_LOOK_BYTES; made += bytes_each)
        MUST(slab_make(class_index, &holder) != NULL);
    unsigned share = (unsigned)(slab_in_use_bytes(class_index) / SPARSE_LOOK_SHARE / (4 * KIB));
    MUST(share > least && blocks_each < share);
    DECIDE(retain_share, 1000); // hardly anything may be idle
    MUST(sparse_is_due(class_index, share));
    expect_due_after(class_index, share);
    depots[class_index].idle_bytes -= 4 * KIB; // as where a thread was between the two
    depots_forget_changes();
    MUST(depots_idle_bytes() == idle_bytes_of_all_depots());
}

static void a_look_is_due_when_much_was_freed(void **state) {
    (void)state;
    child_must_succeed(a_look_is_due_when_much_was_freed_child, NULL); // with an allowance of its own
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_look_is_due_when_much_was_freed),
        cmocka_unit_test(within_the_bound_all_stays),
        cmocka_unit_test(a_slab_that_may_end_soon_is_left_alone),
        cmocka_unit_test(what_is_needed_again_counts_as_refaulted),
        cmocka_unit_test(what_a_new_slab_needs_again_counts),
        cmocka_unit_test(a_new_slab_has_nothing_purged),
        cmocka_unit_test(a_trim_takes_all_that_is_idle),
        cmocka_unit_test(a_slab_that_ends_meanwhile_is_given_back),
        TEST_BOTH(pages_between_blocks_in_use_go_back),
    };
    return cmocka_run_group_tests_name("sparse", tests, start, NULL);
}
