// What is published is a copy in force, in which the user's own decisions are as the user said.
#include "unit/unit.h"

#include "learn/publish.h"

static struct snapshot made;

static int start(void **state) {
    (void)state;
    if (!heap_process_start())
        return -1;
    heap_default_snapshot(&made);
    return 0;
}

static void publish(void) {
    lock_acquire(&learn_lock);
    learn_publish(&made);
    lock_release(&learn_lock);
}

static void a_copy_is_put_in_force(void **state) {
    (void)state;
    made.thread_bytes = 3 * MIB;
    made.depth[CLASS_FIRST] = 7;
    made.spare_bytes[CLASS_SPARE_COUNT - 1] = 1040;
    made.closed[CLASS_COUNT - 1] = 1;
    made.batch[CLASS_END - 1] = 5;
    publish();
    const struct snapshot *now = snapshot_now();
    assert_ptr_not_equal(now, &made);
    assert_memory_equal(now, &made, sizeof made);
    made.thread_bytes = 4 * MIB; // not yet
    assert_int_equal(DECIDED(thread_bytes), 3 * MIB);
}

static void what_is_in_force_is_not_published_again(void **state) {
    (void)state;
    publish();
    const struct snapshot *before = snapshot_now();
    publish();
    assert_ptr_equal(snapshot_now(), before);
}

static void a_snapshot_stays_as_it_was_while_others_follow(void **state) {
    (void)state;
    made.thread_bytes = 5 * MIB;
    publish();
    const struct snapshot *first = snapshot_now();
    struct snapshot copy = *first;
    for (unsigned i = 1; i < SNAPSHOT_RING; i++) {
        made.thread_bytes = 5 * MIB + i;
        publish();
        assert_ptr_not_equal(snapshot_now(), first);
        assert_memory_equal(first, &copy, sizeof copy);
    }
}

static void pin_and_publish(void *unused) {
    (void)unused;
    lock_acquire(&learn_lock);
    learn_pin(DECISION_retain_min, 77 * MIB);
    lock_release(&learn_lock);
    publish();
    MUST(learn_is_pinned(DECISION_retain_min) && !learn_is_pinned(DECISION_retain_share));
    MUST(DECIDED(retain_min) == 77 * MIB && DECIDED(retain_share) == RETAIN_SHARE);
    made.retain_min = 1;
    made.retain_share = 3;
    publish();
    MUST(DECIDED(retain_min) == 77 * MIB && DECIDED(retain_share) == 3);
    lock_acquire(&learn_lock);
    learn_pin(DECISION_retain_min, 78 * MIB); // the last word
    lock_release(&learn_lock);
    publish();
    MUST(DECIDED(retain_min) == 78 * MIB);
}

static void the_users_own_decision_stays(void **state) {
    (void)state;
    child_must_succeed(pin_and_publish, NULL);
}

static void an_option_of_the_same_name_stays(void **state) {
    (void)state;
    made.purge_delay = 99;
    publish();
    assert_int_equal(DECIDED(purge_delay), 1234);
    assert_int_equal(made.purge_delay, 99); // the caller's is left alone
}

// Readers may see a mixture, but each value is one that was published (P2).
enum { TURNS = 30000 };
static uint32_t published_all;

static void *read_decisions(void *unused) {
    (void)unused;
    size_t wrong = 0;
    while (load_relaxed(&published_all) == 0) {
        size_t bytes = DECIDED(thread_bytes), depth = DECIDED(depth[CLASS_FIRST]);
        wrong += bytes < 5 * MIB || bytes > 5 * MIB + TURNS || depth == 0;
    }
    return (void *)(uintptr_t)wrong;
}

static void readers_see_published_values_alone(void **state) {
    pthread_t reader;
    void *wrong;
    (void)state;
    made.thread_bytes = 5 * MIB;
    publish();
    assert_int_equal(pthread_create(&reader, NULL, read_decisions, NULL), 0);
    for (unsigned i = 1; i <= TURNS; i++) {
        made.thread_bytes = 5 * MIB + i;
        made.depth[CLASS_FIRST] = (uint8_t)(1 + i % 100);
        publish();
    }
    store_relaxed(&published_all, 1u);
    assert_int_equal(pthread_join(reader, &wrong), 0);
    assert_null(wrong);
}

int main(void) {
    setenv("HAKMEM_PURGE_DELAY", "1234", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_copy_is_put_in_force, start),
        cmocka_unit_test_setup(what_is_in_force_is_not_published_again, start),
        cmocka_unit_test_setup(a_snapshot_stays_as_it_was_while_others_follow, start),
        cmocka_unit_test_setup(the_users_own_decision_stays, start),
        cmocka_unit_test_setup(an_option_of_the_same_name_stays, start),
        cmocka_unit_test_setup(readers_see_published_values_alone, start),
    };
    return cmocka_run_group_tests_name("publish", tests, NULL, NULL);
}
