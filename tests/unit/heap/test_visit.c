// Visits: what a blocked thread holds goes back, what is used stays, and a thread that uses its stacks meanwhile loses
// nothing. In which order things may happen is tested by race/interleave/visit.
#include "unit/unit.h"

#include "unit/heap/stamped.h"

#include "heap/visit.h"

enum { FEW = 40, WORKERS = 3, LEAST_VISITS = 20, ROUNDS = SANITIZED ? 20000 : 300000 };

static void visit(void) {
    struct heap *heap = heap_enter();
    visit_idle();
    heap_leave(heap);
}

// ---- one thread that is blocked

static struct {
    unsigned class_index;
    unsigned blocks; // that it allocates, and frees
    struct heap *heap;
    void *block[FEW];
    uint64_t sum; // of what it could allocate afterwards
} other;

static bool is_none_of(unsigned count, void *block) {
    for (unsigned i = 0; i < count; i++)
        if (other.block[i] == block)
            return false;
    return true;
}

static void *use_and_wait(void *unused) {
    (void)unused;
    other.heap = heap_mine();
    allocate_many(other.class_index, other.block, other.blocks);
    release_many(other.block, other.blocks);
    come_to(1);
    wait_for_stage(2);
    for (unsigned i = 0; i < other.blocks; i++) { // goes on as if nothing had happened
        other.block[i] = allocate(other.class_index);
        MUST(other.block[i] != NULL && is_none_of(i, other.block[i]));
        memset(other.block[i], (int)i, class_bytes(other.class_index));
    }
    release_many(other.block, other.blocks);
    come_to(3);
    wait_for_stage(4);
    return NULL;
}

// Runs `act` while the other thread is blocked.
static void while_blocked(size_t bytes, unsigned blocks, void (*act)(void)) {
    pthread_t thread;
    other.class_index = class_of(bytes);
    other.blocks = blocks;
    come_to(0);
    assert_int_equal(pthread_create(&thread, NULL, use_and_wait, NULL), 0);
    wait_for_stage(1);
    act();
    come_to(2);
    wait_for_stage(3);
    come_to(4);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static const struct heap_class *others_class(void) {
    return &other.heap->classes[other.class_index];
}

static void expect_leases_to_go(void) {
    assert_true(others_class()->slab != NULL || others_class()->fresh != NULL);
    visit(); // it has used the class since the last visit
    assert_true(others_class()->slab != NULL || others_class()->fresh != NULL);
    visit();
    assert_null(others_class()->slab);
    assert_null(others_class()->fresh);
}

static void a_blocked_thread_gives_up_its_leases(void **state) {
    (void)state;
    while_blocked(3000, 5, expect_leases_to_go);
    while_blocked(32, 5, expect_leases_to_go); // a held class
}

static void expect_stack_to_go(void) {
    unsigned had = heap_stack_blocks(other.heap, other.class_index);
    size_t granted = other.heap->granted_bytes;
    unsigned depth = others_class()->depth;
    assert_true(had > 2);
    visit(); // used since the last one
    assert_int_equal(heap_stack_blocks(other.heap, other.class_index), had);
    visit();
    assert_int_equal(heap_stack_blocks(other.heap, other.class_index), 1);
    assert_int_equal(others_class()->depth, depth - (had - 1));
    assert_true(others_class()->batch <= others_class()->depth); // H4
    assert_int_equal(other.heap->granted_bytes, granted - (had - 1) * class_bytes(other.class_index));
    assert_null(heap_bottom(other.heap, other.class_index)[-1]); // T1
    assert_false(other.heap->is_in_doubt);
    visit();
    assert_int_equal(heap_stack_blocks(other.heap, other.class_index), 1);
}

static void a_blocked_threads_stacks_go_but_for_their_newest_blocks(void **state) {
    (void)state;
    for (size_t bytes = 32; bytes <= 20000; bytes *= 5)
        while_blocked(bytes, 4, expect_stack_to_go);
}

// ---- a thread whose stack was cut, and that is busy again

static struct {
    unsigned class_index;
    void *given[FEW];     // to it
    bool allocates;       // else it frees alone
    unsigned begins_with; // the depth of a new stack
    unsigned ends_with;
} cut;

static void *be_cut_and_work(void *unused) {
    const struct heap_class *own = &heap_mine()->classes[cut.class_index];
    void *mine[4];
    (void)unused;
    release(cut.given[0]);
    cut.begins_with = own->depth;
    allocate_many(cut.class_index, mine, 4);
    release_many(mine, 4);
    come_to(1);
    wait_for_stage(2);
    MUST(own->is_cut && own->depth < cut.begins_with);
    if (cut.allocates)
        allocate_many(cut.class_index, mine, 4);
    release_many(&cut.given[1], FEW - 1);
    if (cut.allocates)
        release_many(mine, 4);
    cut.ends_with = own->depth;
    MUST(!own->is_cut && cut.ends_with <= STACK_MAX_DEPTH);
    return NULL;
}

static void expect_depth_to_come_back(size_t bytes, bool allocates) {
    pthread_t thread;
    cut.class_index = class_of(bytes);
    cut.allocates = allocates;
    allocate_many(cut.class_index, cut.given, FEW);
    come_to(0);
    assert_int_equal(pthread_create(&thread, NULL, be_cut_and_work, NULL), 0);
    wait_for_stage(1);
    for (unsigned i = 0; i < 3; i++)
        visit();
    come_to(2);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(cut.ends_with >= cut.begins_with);
}

// One that frees alone would pass on ever fewer blocks at a time.
static void a_stack_that_was_cut_is_as_deep_as_a_new_one_once_it_is_used(void **state) {
    (void)state;
    expect_depth_to_come_back(600, false);
    expect_depth_to_come_back(600, true);
    expect_depth_to_come_back(3000, false);
    expect_depth_to_come_back(3000, true);
}

static void expect_blocks_to_be_had(void) {
    void *mine[FEW];
    visit();
    visit();
    visit();
    unsigned had = 0;
    allocate_many(other.class_index, mine, FEW);
    for (unsigned i = 0; i < FEW; i++)
        had += !is_none_of(other.blocks, mine[i]);
    assert_int_equal(had, other.blocks - 1);
    release_many(mine, FEW);
}

static void what_was_taken_serves_other_threads(void **state) {
    (void)state;
    while_blocked(5000, 4, expect_blocks_to_be_had);
}

static void expect_window_to_be_let_be(void) {
    unsigned had = heap_stack_blocks(other.heap, other.class_index);
    store_relaxed(&other.heap->window_calls, 1);
    for (unsigned i = 0; i < CLASS_END; i++)
        store_relaxed(&other.heap->shadow[i], other.heap->stacks->top[i]);
    for (unsigned i = 0; i < 4; i++)
        visit();
    assert_int_equal(heap_stack_blocks(other.heap, other.class_index), had);
    store_relaxed(&other.heap->window_calls, 0);
}

static void stacks_of_a_thread_in_a_sampling_window_are_let_be(void **state) {
    (void)state;
    while_blocked(700, 4, expect_window_to_be_let_be);
}

// Of a slab that can't end, since one of its blocks is out.
static void idle_pages_of_a_class_that_nobody_uses_go_once(void **state) {
    unsigned class_index = class_of(9000);
    void *block[6];
    (void)state;
    allocate_many(class_index, block, 6);
    release_many(block + 1, 5);
    struct heap *heap = heap_enter();
    heap_flush(heap, class_index, 0);
    heap_leave(heap);
    visit();
    uint64_t purged = runs_count().purged_bytes;
    visit(); // idle: the lease goes, and then the pages of the slab
    assert_true(runs_count().purged_bytes - purged >= 3 * class_bytes(class_index));
    purged = runs_count().purged_bytes;
    visit();
    assert_int_equal(runs_count().purged_bytes, purged);
    release(block[0]);
}

// ---- the visitor's own thread, and others that go on

static void a_class_in_use_keeps_its_leases(void **state) {
    unsigned class_index = class_of(1500);
    struct heap *heap = heap_mine();
    void *block[3][10 * FEW]; // more than a stack has
    (void)state;
    visit();
    for (unsigned i = 0; i < 3; i++) {
        allocate_many(class_index, block[i], COUNT_OF(block[i]));
        const struct slab *slab = heap->classes[class_index].slab, *fresh = heap->classes[class_index].fresh;
        assert_true(slab != NULL || fresh != NULL);
        visit();
        assert_ptr_equal(heap->classes[class_index].slab, slab);
        assert_ptr_equal(heap->classes[class_index].fresh, fresh);
    }
    for (unsigned i = 0; i < 3; i++)
        release_many(block[i], COUNT_OF(block[i]));
}

// All that its thread asks for is in its stack: no slow path says that it is in use.
static void a_class_whose_stack_moves_keeps_its_leases(void **state) {
    unsigned class_index = class_of(1500);
    const struct heap_class *own = &heap_mine()->classes[class_index];
    void *block[8];
    (void)state;
    allocate_many(class_index, block, 4);
    release_many(block, 4);
    uint32_t turn = own->last_turn;
    visit();
    const struct slab *slab = own->slab, *fresh = own->fresh;
    assert_true(slab != NULL || fresh != NULL);
    for (unsigned i = 0; i < 3; i++) {
        block[i] = allocate(class_index);
        visit();
        assert_ptr_equal(own->slab, slab);
        assert_ptr_equal(own->fresh, fresh);
    }
    assert_int_equal(own->last_turn, turn);
    visit(); // as it was
    assert_true(own->slab == NULL && own->fresh == NULL);
    release_many(block, 3);
}

static uint32_t running, visits;

static void *churn(void *number) {
    struct random random = {(uintptr_t)number * 31 + (uintptr_t)time(NULL)};
    void *own[50] = {NULL};
    for (unsigned i = 0; i < ROUNDS || load_relaxed(&visits) < LEAST_VISITS; i++) { // the visitor may have no processor
        void **slot = &own[random_below(&random, COUNT_OF(own))];
        drop(*slot); // it must be as it was made
        *slot = make(&random);
        if (random_below(&random, 2000) == 0)
            sched_yield();
    }
    for (unsigned i = 0; i < COUNT_OF(own); i++)
        drop(own[i]);
    shared_add(&running, -1u);
    return NULL;
}

static void blocks_stay_whole_while_threads_are_visited_all_the_time(void **state) {
    pthread_t threads[WORKERS];
    (void)state;
    store_relaxed(&running, WORKERS);
    for (uintptr_t i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn, (void *)i), 0);
    while (load_relaxed(&running) != 0) {
        visit();
        shared_add(&visits, 1u);
        sched_yield();
    }
    for (unsigned i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (unsigned i = CLASS_LAST_HELD + 1; i < CLASS_COUNT; i++)
        assert_int_equal(slabs_with_blocks_out(i), 0);
    expect_no_lock_held();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_blocked_thread_gives_up_its_leases),
        cmocka_unit_test(a_blocked_threads_stacks_go_but_for_their_newest_blocks),
        cmocka_unit_test(what_was_taken_serves_other_threads),
        cmocka_unit_test(a_stack_that_was_cut_is_as_deep_as_a_new_one_once_it_is_used),
        cmocka_unit_test(stacks_of_a_thread_in_a_sampling_window_are_let_be),
        cmocka_unit_test(idle_pages_of_a_class_that_nobody_uses_go_once),
        cmocka_unit_test(a_class_in_use_keeps_its_leases),
        cmocka_unit_test(a_class_whose_stack_moves_keeps_its_leases),
        cmocka_unit_test(blocks_stay_whole_while_threads_are_visited_all_the_time),
    };
    return cmocka_run_group_tests(tests, start_heap, NULL);
}
