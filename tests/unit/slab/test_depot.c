// Depots: which slab a lease gets, where slabs of held classes wait, and that a slab has one lessee at a time.
#include "unit/unit.h"

#include "unit/slab/slabs.h"

static struct holder holder, other, third;
static void *blocks[MOST_BLOCKS];

static int start(void **state) {
    depot_holder_start(&holder, 1);
    depot_holder_start(&other, 2);
    depot_holder_start(&third, 3);
    return start_slabs(state);
}

// A slab with `out` blocks with the program and the rest free, LISTED. `kept` gets the blocks that are out.
static struct slab *make_listed(unsigned class_index, struct holder *owner, unsigned out, void **kept) {
    struct slab *slab = slab_make(class_index, owner);
    unsigned all = carve_all(slab, blocks);
    memcpy(kept, blocks + all - out, out * sizeof *kept);
    put_blocks(blocks, all - out, class_index);
    depot_unlease(slab);
    assert_int_equal(state_of(slab), SLAB_LISTED);
    assert_ptr_equal(slab->holder, owner);
    return slab;
}

static void an_empty_depot_has_no_slab(void **state) {
    (void)state;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        assert_null(depot_lease(i, &holder, 1));
}

static void a_listed_slab_is_leased_once(void **state) {
    void *kept[1];
    (void)state;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        if (size_classes[i].blocks == 1)
            continue; // out or back: never in between
        struct slab *slab = make_listed(i, &holder, 1, kept);
        assert_int_equal(depots[i].slabs, 1);
        assert_ptr_equal(depot_lease(i, &holder, 1), slab);
        assert_int_equal(state_of(slab), SLAB_LEASED);
        assert_int_equal(depots[i].slabs, 0);
        assert_null(depot_lease(i, &other, 1));
        put_blocks(kept, 1, i);
        slab_give_back(slab);
    }
}

static void a_lease_changes_who_sees_a_held_slab(void **state) {
    void *kept[1];
    (void)state;
    for (unsigned i = CLASS_FIRST; i <= CLASS_LAST_HELD; i++) {
        struct slab *slab = make_listed(i, &holder, 1, kept);
        const uint8_t *views = &window.views[(size_t)slab->first_slice * TAG_COUNT];
        assert_ptr_equal(depot_lease(i, &other, 1), slab);
        assert_ptr_equal(slab->holder, &other);
        assert_int_equal(views[holder.tag], CLASS_NONE);
        assert_int_equal(views[other.tag], i);
        put_blocks(kept, 1, i);
        slab_give_back(slab);
    }
}

static void the_fullest_slab_that_has_enough_is_chosen(void **state) {
    unsigned class_index = class_of(2048), all = size_classes[class_index].blocks;
    void *kept[3][MOST_BLOCKS];
    const unsigned free_blocks[3] = {all / 2, 2, all - 1};
    struct slab *slabs[3];
    const struct {
        unsigned want;
        unsigned expected;
    } cases[] = {{1, 1}, {2, 1}, {3, 0}, {all / 2, 0}, {all / 2 + 1, 2}, {all, 2}};
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        slabs[i] = make_listed(class_index, &holder, all - free_blocks[i], kept[i]);
    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        struct slab *slab = depot_lease(class_index, &holder, cases[k].want);
        assert_ptr_equal(slab, slabs[cases[k].expected]);
        depot_unlease(slab);
    }
    for (unsigned i = 0; i < 3; i++)
        put_blocks(kept[i], all - free_blocks[i], class_index);
    end_all_listed(class_index, &holder);
}

static void ones_own_held_slabs_come_first_then_everybodys_then_others(void **state) {
    unsigned class_index = CLASS_FIRST + 1;
    void *kept[4];
    (void)state;
    struct slab *of_other = make_listed(class_index, &other, 1, &kept[0]);
    struct slab *of_third = make_listed(class_index, &third, 1, &kept[1]);
    struct slab *own = make_listed(class_index, &holder, 1, &kept[2]);
    depot_holder_ended(&third); // now everybody's
    assert_ptr_equal(depot_lease(class_index, &holder, 1), own);
    assert_ptr_equal(depot_lease(class_index, &holder, 1), of_third);
    assert_ptr_equal(depot_lease(class_index, &holder, 1), of_other);
    assert_null(depot_lease(class_index, &holder, 1));
    depot_holder_revived(&third);
    put_blocks(kept, 3, class_index);
    slab_give_back(own);
    slab_give_back(of_third);
    slab_give_back(of_other);
}

static void slabs_of_an_ended_holder_are_everybodys_also_those_listed_later(void **state) {
    unsigned class_index = CLASS_FIRST;
    void *kept[3];
    (void)state;
    struct slab *before = make_listed(class_index, &third, 1, &kept[0]);
    depot_holder_ended(&third);
    struct slab *later = make_listed(class_index, &third, 1, &kept[1]);
    assert_true(list_is_empty(&third.listed[class_index]));
    depot_holder_revived(&third);
    struct slab *revived = make_listed(class_index, &third, 1, &kept[2]);
    assert_false(list_is_empty(&third.listed[class_index]));
    assert_int_equal(depots[class_index].slabs, 3);
    // The common ones go before the one that the living holder has.
    struct slab *first = depot_lease(class_index, &other, 1), *second = depot_lease(class_index, &other, 1);
    assert_true((first == before && second == later) || (first == later && second == before));
    assert_ptr_equal(depot_lease(class_index, &other, 1), revived);
    assert_true(list_is_empty(&third.listed[class_index]));
    put_blocks(kept, 3, class_index);
    slab_give_back(before);
    slab_give_back(later);
    slab_give_back(revived);
}

static void a_full_slab_is_listed_by_one_of_those_who_saw_it_full(void **state) {
    unsigned class_index = class_of(3000);
    (void)state;
    struct slab *slab = make_full(class_index, &holder, blocks);
    uint64_t word = slab->state;
    or_total(&slab->bits[0], 1); // total: as put.c does
    depot_list_full(slab, word);
    assert_int_equal(state_of(slab), SLAB_LISTED);
    assert_ptr_equal(slab->holder, &holder); // whose lines are still warm
    depot_list_full(slab, word);             // who comes second changes nothing
    assert_int_equal(depots[class_index].slabs, 1);
    assert_int_equal(state_of(slab), SLAB_LISTED);
    put_blocks(blocks + 1, size_classes[class_index].blocks - 1u, class_index);
    end_all_listed(class_index, &holder);
}

static void of_wholly_free_slabs_at_most_one_waits(void **state) {
    enum { SLABS = 5 };
    static void *kept[SLABS][MOST_BLOCKS];
    (void)state;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        struct slab *slabs[SLABS];
        for (unsigned k = 0; k < SLABS; k++)
            slabs[k] = slab_make(i, &holder);
        for (unsigned k = 0; k < SLABS; k++) {
            unsigned count = carve(slabs[k], kept[k], 10);
            put_blocks(kept[k], count, i);
            depot_unlease(slabs[k]);
        }
        assert_true(slabs_alive(i) <= 1);
        assert_int_equal(slabs_alive(i), depots[i].slabs);
        end_all_listed(i, &holder);
    }
}

static void reclaim_ends_a_wholly_free_slab_and_knows_an_old_word(void **state) {
    unsigned class_index = class_of(500);
    void *kept[2];
    (void)state;
    struct slab *slab = make_listed(class_index, &holder, 1, &kept[0]);
    struct slab *further = make_listed(class_index, &holder, 1, &kept[1]);
    uint64_t word = slab->state, made = slab_count(class_index).returned;
    depot_reclaim(slab, word, class_index); // a block is out
    assert_int_equal(slab->state, word);
    or_total(&slab->bits[index_of(slab, kept[0]) / 64], UINT64_C(1) << index_of(slab, kept[0]) % 64); // total: as put.c
    depot_reclaim(slab, slab_word_with(word, SLAB_LISTED) + ((uint64_t)1 << SLAB_STATE_BITS), class_index);
    assert_int_equal(slab->state, word); // another generation was meant
    depot_reclaim(slab, word, class_index);
    assert_int_equal(state_of(slab), SLAB_NONE);
    assert_int_equal(slab_count(class_index).returned, made + 1);
    depot_reclaim(slab, word, class_index); // who comes late changes nothing
    assert_int_equal(slab_count(class_index).returned, made + 1);
    assert_ptr_equal(depot_lease(class_index, &holder, 1), further);
    put_blocks(&kept[1], 1, class_index);
    slab_give_back(further);
}

// ---- threads

enum { THREADS = 4, SHARED_SLABS = 12 };
static struct holder thread_holders[THREADS];
static struct slab *shared_slabs[SHARED_SLABS];
static uint32_t lessees[SHARED_SLABS];

static uint32_t *lessee_of(const struct slab *slab) {
    for (unsigned i = 0; i < SHARED_SLABS; i++)
        if (shared_slabs[i] == slab)
            return &lessees[i];
    MUST(!"a slab that this test made");
    return NULL;
}

static void *lease_and_unlease(void *number) {
    struct holder *me = &thread_holders[(uintptr_t)number];
    struct random random = {(uintptr_t)number};
    for (unsigned step = 0; step < 20000; step++) {
        unsigned class_index = random_below(&random, 2) == 0 ? CLASS_FIRST : class_of(512);
        struct slab *slab = depot_lease(class_index, me, 1 + (unsigned)random_below(&random, 50));
        if (slab == NULL)
            continue;
        MUST(slab->class_index == class_index && slab->holder == me);
        MUST(exchange_acquire(lessee_of(slab), 1) == 0); // acquire: nothing of ours moves before it
        slab->next_word = 0;                             // plain: the lessee's alone
        MUST(exchange_release(lessee_of(slab), 0) == 1); // release: nor behind it
        depot_unlease(slab);
    }
    return NULL;
}

static void a_slab_has_one_lessee_at_a_time(void **state) {
    void *kept[SHARED_SLABS];
    (void)state;
    for (unsigned i = 0; i < THREADS; i++)
        depot_holder_start(&thread_holders[i], i);
    for (unsigned i = 0; i < SHARED_SLABS; i++)
        shared_slabs[i] =
            make_listed(i % 2 == 0 ? CLASS_FIRST : class_of(512), &thread_holders[i % THREADS], 1, &kept[i]);
    threads_run(THREADS, lease_and_unlease);
    assert_int_equal(depots[CLASS_FIRST].slabs, SHARED_SLABS / 2);
    assert_int_equal(depots[class_of(512)].slabs, SHARED_SLABS / 2);
    put_mixed_blocks(kept, SHARED_SLABS);
    end_all_listed(CLASS_FIRST, &holder);
    end_all_listed(class_of(512), &holder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_BOTH(an_empty_depot_has_no_slab),
        TEST_BOTH(a_listed_slab_is_leased_once),
        TEST_BOTH(a_lease_changes_who_sees_a_held_slab),
        TEST_BOTH(the_fullest_slab_that_has_enough_is_chosen),
        TEST_BOTH(ones_own_held_slabs_come_first_then_everybodys_then_others),
        TEST_BOTH(slabs_of_an_ended_holder_are_everybodys_also_those_listed_later),
        TEST_BOTH(a_full_slab_is_listed_by_one_of_those_who_saw_it_full),
        TEST_BOTH(of_wholly_free_slabs_at_most_one_waits),
        TEST_BOTH(reclaim_ends_a_wholly_free_slab_and_knows_an_old_word),
        cmocka_unit_test(a_slab_has_one_lessee_at_a_time),
    };
    return cmocka_run_group_tests_name("depot", tests, start, NULL);
}
