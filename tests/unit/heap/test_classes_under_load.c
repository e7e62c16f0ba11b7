// Size classes change again and again while threads allocate, free, pass blocks on, end, and are in sampling windows:
// blocks are as large as asked for, stay as they were, and none is lost.
#include "unit/unit.h"

#include "unit/heap/spares.h"

enum { WORKERS = 3, CHANGES = SANITIZED ? 30 : 200, MOST_CHANGES = 100 * CHANGES };

static size_t random_step(struct random *random) {
    return size_class_bytes_of_entry(1 + (unsigned)random_below(random, CLASS_MAP_COUNT - 1));
}

static void *passed[64]; // from thread to thread
static uint32_t is_over;

static void *churn(void *number) {
    struct random random = {(uintptr_t)number * 77 + (uintptr_t)time(NULL)};
    void *own[100] = {NULL};
    for (unsigned step = 0; step < (SANITIZED ? 5000 : 50000); step++) {
        void **slot = &own[random_below(&random, COUNT_OF(own))];
        if (random_below(&random, 100) == 0)
            open_window(50);
        drop(*slot);
        *slot = make(&random);
        // order: what was written to the block comes before another thread reads it
        if (random_below(&random, 4) == 0)
            *slot = __atomic_exchange_n(&passed[random_below(&random, COUNT_OF(passed))], *slot, __ATOMIC_ACQ_REL);
    }
    for (unsigned i = 0; i < COUNT_OF(own); i++)
        drop(own[i]);
    return NULL;
}

static void *churn_and_start_anew(void *number) {
    for (unsigned i = 0; i < 3 || load_relaxed(&is_over) == 0; i++) {
        pthread_t thread;
        MUST(pthread_create(&thread, NULL, churn, (void *)((uintptr_t)number + i * WORKERS)) == 0);
        MUST(pthread_join(thread, NULL) == 0);
    }
    return NULL;
}

static unsigned changes, used_again; // classes that got another size after blocks of the one before had been in use

static void change_at_random(struct random *random, struct snapshot *made) {
    size_t before[CLASS_SPARE_COUNT];
    for (unsigned i = 0; i < CLASS_SPARE_COUNT; i++) {
        before[i] = class_bytes(CLASS_COUNT + i);
        if (random_below(random, 3) == 0)
            made->spare_bytes[i] = random_below(random, 3) == 0 ? 0 : (uint32_t)random_step(random);
        snapshot_default_depth(made, CLASS_COUNT + i, made->spare_bytes[i]);
    }
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        made->closed[i] = random_below(random, 4) == 0;
    decide(made);
    for (unsigned tries = 0; !heap_change_classes() && tries < 1000; tries++)
        sched_yield();
    changes++;
    for (unsigned i = CLASS_COUNT; i < CLASS_END; i++) {
        bool is_new = class_bytes(i) != before[i - CLASS_COUNT];
        used_again += is_new && slab_count(i).made > 0;
    }
}

static void *change_again_and_again(void *unused) {
    struct random random = random_start();
    struct snapshot made;
    (void)unused;
    heap_default_snapshot(&made);
    while (changes < CHANGES || (used_again == 0 && changes < MOST_CHANGES)) { // threads may not have run yet
        change_at_random(&random, &made);
        drop(make(&random));
        heap_trim(0); // all let their leases go
        struct heap *heap = heap_enter();
        for (unsigned i = CLASS_COUNT; i < CLASS_END; i++)
            if (!size_class_is_open(i))
                give_idle_slabs(i);
        heap_leave(heap);
        sched_yield();
    }
    store_relaxed(&is_over, 1);
    return NULL;
}

static void blocks_stay_whole_while_classes_change_all_the_time(void **state) {
    pthread_t thread;
    (void)state;
    changes = used_again = 0;
    store_relaxed(&is_over, 0);
    assert_int_equal(pthread_create(&thread, NULL, change_again_and_again, NULL), 0);
    threads_run(WORKERS, churn_and_start_anew);
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (unsigned i = 0; i < COUNT_OF(passed); i++) {
        drop(passed[i]);
        passed[i] = NULL;
    }
    print_message("%u changes; %u times a class that was in use got another size\n", changes, used_again);
    assert_true(used_again > 0);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start_without_spares, end_without_spares)

int main(void) {
    const struct CMUnitTest tests[] = {
        EACH(blocks_stay_whole_while_classes_change_all_the_time),
    };
    return cmocka_run_group_tests_name("classes under load", tests, start_heap, NULL);
}
