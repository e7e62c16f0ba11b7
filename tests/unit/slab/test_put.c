// Blocks on their way home: every batch lands where it belongs, misuse is seen and left out, and slabs move on.
#include "unit/unit.h"

#include "unit/slab/slabs.h"

static struct holder holder, other;
static void *blocks[MOST_BLOCKS];
static struct capture capture;

static int start(void **state) {
    depot_holder_start(&holder, 1);
    depot_holder_start(&other, 2);
    options.on_fault = OPTION_ON_FAULT_CONTINUE;
    return start_slabs(state);
}

#define ANY_CLASS CLASS_NONE // by the call for blocks of any class

static void put(void *const *batch, unsigned count, unsigned class_index) {
    if (class_index == ANY_CLASS)
        put_mixed_blocks(batch, count);
    else
        put_blocks(batch, count, class_index);
}

static void put_one(void *block, unsigned class_index) {
    put(&block, 1, class_index);
}

static void what_is_put_can_be_taken_again(void **state) {
    static void *again[MOST_BLOCKS];
    (void)state;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        struct slab *slab = slab_make(i, &holder);
        unsigned all = carve_all(slab, blocks);
        put(blocks, all, i % 2 == 0 ? i : ANY_CLASS);
        assert_int_equal(state_of(slab), SLAB_LEASED); // the lessee's to move
        assert_true(slab_is_wholly_free(slab));
        assert_int_equal(take(slab, again, MOST_BLOCKS), all);
        assert_memory_equal(blocks, again, all * sizeof *blocks);
        put_blocks(again, all, i);
        slab_give_back(slab);
    }
}

static void the_first_block_that_comes_back_lists_a_full_slab(void **state) {
    (void)state;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        unsigned all = size_classes[i].blocks;
        if (all == 1)
            continue;
        struct slab *slab = make_full(i, &holder, blocks);
        put_one(blocks[all / 2], i);
        assert_int_equal(state_of(slab), SLAB_LISTED);
        assert_int_equal(slab_free_blocks(slab), 1);
        put_blocks(blocks, all / 2, i);
        put_blocks(blocks + all / 2 + 1, all - all / 2 - 1, i);
        end_all_listed(i, &holder);
    }
}

static void slabs_whose_blocks_are_all_back_go_back_themselves(void **state) {
    enum { SLABS = 6 };
    static void *all_blocks[SLABS * MOST_BLOCKS];
    struct random random = random_start();
    (void)state;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        unsigned count = 0;
        for (unsigned k = 0; k < SLABS; k++) {
            make_full(i, &holder, all_blocks + count);
            count += size_classes[i].blocks;
        }
        for (unsigned k = count - 1; k > 0; k--) { // shuffled (Fisher and Yates)
            size_t swap = random_below(&random, k + 1);
            void *block = all_blocks[k];
            all_blocks[k] = all_blocks[swap];
            all_blocks[swap] = block;
        }
        for (unsigned done = 0; done < count;) {
            unsigned batch = 1 + (unsigned)random_below(&random, 64);
            batch = batch < count - done ? batch : count - done;
            put(all_blocks + done, batch, random_below(&random, 2) == 0 ? i : ANY_CLASS);
            done += batch;
        }
        assert_true(slabs_alive(i) <= 1); // one may wait for the next lease
        end_all_listed(i, &holder);
    }
}

static void a_batch_may_come_from_many_slabs_and_classes(void **state) {
    enum { SLABS = 64 };
    static void *kept[SLABS][MOST_BLOCKS];
    void *batch[SLABS];
    struct slab *slabs[SLABS];
    (void)state;
    for (unsigned i = 0; i < SLABS; i++) { // more bitmap words than are gathered at a time
        slabs[i] = make_full(CLASS_FIRST + 5 + i % 20, &holder, kept[i]);
        batch[i] = kept[i][1];
    }
    put_mixed_blocks(batch, SLABS);
    for (unsigned i = 0; i < SLABS; i++) {
        assert_int_equal(state_of(slabs[i]), SLAB_LISTED);
        assert_int_equal(slab_free_blocks(slabs[i]), 1);
        put_one(kept[i][0], ANY_CLASS);
        put_mixed_blocks(kept[i] + 2, size_classes[slabs[i]->class_index].blocks - 2u);
    }
    for (unsigned i = 0; i < 20; i++)
        end_all_listed(CLASS_FIRST + 5 + i, &holder);
}

// Neighbours are put by the row: up and down, from and to any place in the bitmap's words.
static void rows_of_neighbours_land_where_each_belongs(void **state) {
    static void *batch[MOST_BLOCKS], *again[MOST_BLOCKS];
    struct random random = random_start();
    (void)state;
    for (unsigned i = CLASS_FIRST; i < CLASS_FIRST_LARGE; i += 4) {
        struct slab *slab = slab_make(i, &holder);
        unsigned all = carve_all(slab, blocks);
        for (unsigned step = 0; step < 200; step++) {
            unsigned first = (unsigned)random_below(&random, all);
            unsigned count = 1 + (unsigned)random_below(&random, all - first < 127 ? all - first : 127);
            bool down = random_below(&random, 2) == 0;
            for (unsigned k = 0; k < count; k++)
                batch[k] = blocks[down ? first + count - 1 - k : first + k];
            put(batch, count, step % 3 == 0 ? ANY_CLASS : i);
            assert_int_equal(slab_free_blocks(slab), count);
            assert_int_equal(take(slab, again, MOST_BLOCKS), count);
            for (unsigned k = 0; k < count; k++) // from where the last search ended, around
                assert_true(index_of(slab, again[k]) >= first && index_of(slab, again[k]) < first + count);
        }
        put(blocks, all, i);
        slab_give_back(slab);
    }
}

static void a_row_may_run_from_one_slab_into_the_next(void **state) {
    static void *kept[2][MOST_BLOCKS];
    unsigned class_index = class_of(256); // fills its slices to the last byte
    unsigned all = size_classes[class_index].blocks;
    (void)state;
    struct slab *slabs[2] = {make_full(class_index, &holder, kept[0]), make_full(class_index, &holder, kept[1])};
    assert_int_equal(slabs[1]->first_slice, slabs[0]->first_slice + 1);
    void *up[] = {kept[0][all - 2], kept[0][all - 1], kept[1][0], kept[1][1]};
    put(up, 4, class_index);
    void *down[] = {kept[1][3], kept[1][2], kept[0][all - 3], kept[0][all - 4]};
    put(down, 4, class_index);
    void *across[] = {kept[1][4], kept[0][all - 5]};
    put(across, 2, class_index);
    assert_int_equal(slab_free_blocks(slabs[0]), 5);
    assert_int_equal(slab_free_blocks(slabs[1]), 5);
    put(kept[0], all - 5, class_index);
    put(kept[1] + 5, all - 5, class_index);
    end_all_listed(class_index, &holder);
}

// ---- misuse

// Puts a batch that has one fault at `address`; it is reported or, from the second of its kind on, counted.
static void expect_fault(enum fault fault, const void *address, void *const *batch, unsigned count,
                         unsigned class_index) {
    char where[64];
    uint64_t before = fault_times(fault), sum_before = 0, sum = 0;
    for (unsigned i = 0; i < FAULT_COUNT; i++)
        sum_before += fault_times((enum fault)i);
    capture_begin(&capture);
    put(batch, count, class_index);
    const char *said = capture_end(&capture);
    snprintf(where, sizeof where, " at %p (block of ", address);
    assert_int_equal(fault_times(fault), before + 1);
    for (unsigned i = 0; i < FAULT_COUNT; i++)
        sum += fault_times((enum fault)i);
    assert_int_equal(sum, sum_before + 1);
    assert_int_equal(lines_in(said), before == 0);
    assert_true(before > 0 || strstr(said, where) != NULL);
}

static void a_block_put_twice_is_seen_and_stays_single(void **state) {
    unsigned class_index = class_of(80);
    void *again[8];
    (void)state;
    struct slab *slab = slab_make(class_index, &holder);
    carve(slab, blocks, 8);
    void *twice[] = {blocks[2], blocks[3], blocks[2], blocks[4]};
    void *scattered[] = {blocks[0], blocks[5], blocks[7], blocks[5]};
    expect_fault(FAULT_double_free, blocks[2], twice, 4, class_index);     // in one batch
    expect_fault(FAULT_double_free, blocks[3], &twice[1], 1, class_index); // in two
    expect_fault(FAULT_double_free, blocks[4], &twice[3], 1, ANY_CLASS);
    assert_int_equal(take(slab, again, 8), 3);
    expect_fault(FAULT_double_free, blocks[5], scattered, 4, class_index); // no neighbours
    assert_int_equal(take(slab, again, 8), 3);
    expect_fault(FAULT_double_free, blocks[5], scattered, 4, ANY_CLASS);
    assert_int_equal(take(slab, again, 8), 3);
    put_blocks(blocks, 8, class_index);
    slab_give_back(slab);
}

static void a_double_free_among_many_slabs_is_seen(void **state) {
    enum { SLABS = 40 };
    static void *kept[SLABS][MOST_BLOCKS];
    void *batch[SLABS + 1];
    unsigned class_index = class_of(1024);
    (void)state;
    for (unsigned i = 0; i < SLABS; i++) {
        make_full(class_index, &holder, kept[i]);
        batch[i] = kept[i][7];
    }
    batch[SLABS] = kept[0][7]; // its first bit may be set by now, or not
    expect_fault(FAULT_double_free, kept[0][7], batch, SLABS + 1, class_index);
    for (unsigned i = 0; i < SLABS; i++) {
        put_blocks(kept[i], 7, class_index);
        put_blocks(kept[i] + 8, size_classes[class_index].blocks - 8u, class_index);
    }
    end_all_listed(class_index, &holder);
}

static void a_block_of_a_slab_that_has_gone_was_put_twice(void **state) {
    unsigned class_index = class_of(700);
    (void)state;
    struct slab *slab = slab_make(class_index, &holder);
    carve(slab, blocks, 1);
    put_one(blocks[0], class_index);
    slab_give_back(slab);
    expect_fault(FAULT_double_free, blocks[0], blocks, 1, class_index);
    slab = slab_make(class_of(100), &holder); // the slices serve another class now
    assert_ptr_equal(slab_block(slab, 0), blocks[0]);
    expect_fault(FAULT_double_free, blocks[0], blocks, 1, class_index);
    slab_give_back(slab);
}

static void an_address_inside_a_block_is_misaligned(void **state) {
    (void)state;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i += 5) {
        struct slab *slab = slab_make(i, &holder);
        carve_all(slab, blocks);
        for (size_t offset = 1; offset < class_bytes(i); offset = offset * 3 + 1) {
            void *inside = (char *)blocks[0] + offset;
            expect_fault(FAULT_misaligned_pointer, inside, &inside, 1, i);
        }
        assert_int_equal(slab_free_blocks(slab), 0);
        put_blocks(blocks, size_classes[i].blocks, i);
        slab_give_back(slab);
    }
}

static void a_block_that_was_never_handed_out_is_invalid(void **state) {
    unsigned class_index = class_of(48);
    (void)state;
    struct slab *slab = slab_make(class_index, &holder);
    carve(slab, blocks, 10);
    void *beyond = slab_block(slab, 10);
    expect_fault(FAULT_invalid_pointer, beyond, &beyond, 1, class_index);
    assert_int_equal(carve(slab, blocks + 10, 1), 1);
    put_blocks(blocks, 11, class_index);
    slab_give_back(slab);
}

static void a_fault_inside_a_row_leaves_the_others_in(void **state) {
    unsigned class_index = class_of(96);
    void *again[MOST_BLOCKS];
    (void)state;
    struct slab *slab = slab_make(class_index, &holder);
    carve(slab, blocks, 100);
    put_one(blocks[70], class_index);
    expect_fault(FAULT_double_free, blocks[70], blocks + 60, 20, class_index); // 60 to 79, up
    assert_int_equal(slab_free_blocks(slab), size_classes[class_index].blocks - 100u + 20);
    void *batch[12];
    for (unsigned i = 0; i < 12; i++)
        batch[i] = slab_block(slab, 100 - i); // the first was never handed out
    expect_fault(FAULT_invalid_pointer, batch[0], batch, 12, class_index);
    for (unsigned i = 0; i < 12; i++)
        batch[i] = slab_block(slab, 40 + i);
    batch[5] = (char *)batch[5] + 8;
    expect_fault(FAULT_misaligned_pointer, batch[5], batch, 12, class_index);
    assert_int_equal(take(slab, again, MOST_BLOCKS), 20 + 11 + 11);
    put(blocks, 100, class_index);
    slab_give_back(slab);
}

// ---- threads that hand each other's blocks back

enum { THREADS = 4, SLOTS = 2000, BATCH = 32 };
static struct holder thread_holders[THREADS];
static void *slots[SLOTS];

// Takes as refills do: what the lease has, then the depot, then a new slab.
static unsigned take_some(struct holder *me, struct slab **lease, unsigned class_index, void **taken) {
    unsigned count = 0;
    for (unsigned turn = 0; turn < 100 && count == 0; turn++) {
        if (*lease == NULL)
            *lease = depot_lease(class_index, me, BATCH);
        if (*lease == NULL)
            *lease = slab_make(class_index, me);
        MUST(*lease != NULL);
        count = take(*lease, taken, BATCH);
        count += carve(*lease, taken + count, BATCH - count);
        if (slab_is_exhausted(*lease) && slab_leased_to_full(*lease))
            *lease = NULL;
    }
    MUST(count > 0);
    return count;
}

static void *exchange_blocks(void *number) {
    static const size_t sizes[THREADS] = {16, 48, 1024, 200 * KIB};
    struct holder *me = &thread_holders[(uintptr_t)number];
    struct random random = {(uintptr_t)number};
    struct slab *leases[THREADS] = {NULL};
    void *taken[BATCH], *given[BATCH];
    for (unsigned step = 0; step < (SANITIZED ? 3000 : 30000); step++) {
        unsigned which = (unsigned)random_below(&random, THREADS);
        unsigned count = take_some(me, &leases[which], class_of(sizes[which]), taken), back = 0;
        for (unsigned i = 0; i < count; i++) {
            uint32_t *mark = taken[i];
            MUST(exchange_acquire(mark, 1) == 0); // acquire: the block is ours alone
            // release and acquire: the mark goes with the block
            void *old = __atomic_exchange_n(&slots[random_below(&random, SLOTS)], taken[i], __ATOMIC_ACQ_REL);
            if (old == NULL)
                continue;
            MUST(exchange_release((uint32_t *)old, 0) == 1); // release: as above
            given[back++] = old;
        }
        put_mixed_blocks(given, back);
        if (step % 64 == 0 && leases[which] != NULL) {
            depot_unlease(leases[which]);
            leases[which] = NULL;
        }
    }
    for (unsigned i = 0; i < THREADS; i++)
        if (leases[i] != NULL)
            depot_unlease(leases[i]);
    return NULL;
}

static void no_block_is_lost_or_doubled_between_threads(void **state) {
    static const size_t sizes[] = {16, 48, 1024, 200 * KIB};
    (void)state;
    uint64_t faults = fault_times(FAULT_double_free);
    for (unsigned i = 0; i < THREADS; i++)
        depot_holder_start(&thread_holders[i], i + 1);
    threads_run(THREADS, exchange_blocks);
    for (unsigned i = 0; i < SLOTS; i++)
        if (slots[i] != NULL)
            put_one(slots[i], ANY_CLASS);
    assert_int_equal(fault_times(FAULT_double_free), faults);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        assert_true(slabs_alive(class_of(sizes[i])) <= 1);
        end_all_listed(class_of(sizes[i]), &holder);
    }
    assert_int_equal(runs_count().in_use_slices, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_BOTH(what_is_put_can_be_taken_again),
        TEST_BOTH(the_first_block_that_comes_back_lists_a_full_slab),
        TEST_BOTH(slabs_whose_blocks_are_all_back_go_back_themselves),
        TEST_BOTH(a_batch_may_come_from_many_slabs_and_classes),
        TEST_BOTH(rows_of_neighbours_land_where_each_belongs),
        TEST_BOTH(a_row_may_run_from_one_slab_into_the_next),
        TEST_BOTH(a_block_put_twice_is_seen_and_stays_single),
        TEST_BOTH(a_double_free_among_many_slabs_is_seen),
        TEST_BOTH(a_block_of_a_slab_that_has_gone_was_put_twice),
        TEST_BOTH(an_address_inside_a_block_is_misaligned),
        TEST_BOTH(a_block_that_was_never_handed_out_is_invalid),
        TEST_BOTH(a_fault_inside_a_row_leaves_the_others_in),
        cmocka_unit_test(no_block_is_lost_or_doubled_between_threads),
    };
    return cmocka_run_group_tests_name("put", tests, start, NULL);
}
