// The big block that a thread keeps: when it is granted, what ends the grant, and who may take it out.
#include "unit/unit.h"

#include "base/tuning.h"
#include "big/kept.h"

enum { BLOCK = 4096 * 16 };

static struct kept kept;

// A request of a length that is then given back. True: the block is to be kept.
static bool use(struct kept *of, size_t bytes) {
    kept_note_request(of, bytes);
    return kept_accepts(of, bytes);
}

static void a_length_is_kept_once_it_was_asked_for_again(void **state) {
    (void)state;
    assert_false(use(&kept, 2 * MIB));
    assert_true(use(&kept, 2 * MIB));
    assert_false(kept_accepts(&kept, MIB)); // of another length
    assert_true(kept_accepts(&kept, 2 * MIB));
    assert_int_equal(kept_bytes(&kept), 0);
    kept_put(&kept, BLOCK);
    assert_int_equal(kept_bytes(&kept), 2 * MIB);
    assert_false(kept_accepts(&kept, 2 * MIB)); // one only
    assert_int_equal(kept_take(&kept), BLOCK);
    assert_int_equal(kept_take(&kept), 0);
    assert_false(use(&kept, 3 * MIB));
    assert_false(use(&kept, 2 * MIB)); // anew
    assert_true(use(&kept, 2 * MIB));
    assert_false(use(&kept, KEPT_BYTES + 1));
    assert_false(use(&kept, KEPT_BYTES + 1)); // too large
    kept_end(&kept);
}

static void kinds_that_are_never_kept_end_a_row(void **state) {
    (void)state;
    use(&kept, MIB);
    kept_note_request(&kept, MIB);
    assert_false(kept_accepts(&kept, 0));
    assert_false(use(&kept, MIB));
    kept_end(&kept);
}

static void all_threads_together_keep_no_more_than_the_bound(void **state) {
    enum { THREADS = KEPT_ALL_BYTES / KEPT_BYTES + 3 };
    static struct kept threads[THREADS];
    size_t granted = 0;
    (void)state;
    for (unsigned i = 0; i < THREADS; i++) {
        use(&threads[i], KEPT_BYTES);
        granted += use(&threads[i], KEPT_BYTES);
    }
    assert_int_equal(granted, KEPT_ALL_BYTES / KEPT_BYTES);
    kept_end(&threads[0]);
    assert_true(use(&threads[THREADS - 1], KEPT_BYTES));
    for (unsigned i = 0; i < THREADS; i++)
        kept_end(&threads[i]);
}

static void idle_is_what_served_no_request(void **state) {
    (void)state;
    assert_true(kept_is_idle(&kept));
    count_add(&kept.hits, 1);
    assert_false(kept_is_idle(&kept));
    assert_true(kept_is_idle(&kept));
}

// One thread puts and takes, another takes: each block is got once.
enum { ROUNDS = 200000 };
static uint64_t stolen;
static bool is_over;

static void *steal(void *unused) {
    (void)unused;
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        uintptr_t block = kept_take(&kept);
        if (block != 0)
            stolen += *(uint64_t *)block;
    }
    return NULL;
}

static void a_block_is_got_once(void **state) {
    static uint64_t blocks[ROUNDS + 1]; // each once: a thief may be late to read
    pthread_t thief;
    uint64_t put = 0, got = 0;
    (void)state;
    assert_int_equal(pthread_create(&thief, NULL, steal, NULL), 0);
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        uint64_t *block = &blocks[i];
        if (kept_bytes(&kept) == 0 && load_relaxed(&kept.block) == 0 && i % 2 == 0) {
            __atomic_store_n(block, i, __ATOMIC_RELAXED);
            put += i;
            kept_put(&kept, (uintptr_t)block);
        }
        uintptr_t taken = i % 3 == 0 ? kept_take(&kept) : 0;
        got += taken != 0 ? *(uint64_t *)taken : 0;
        if (i % 64 == 0)
            sched_yield();
    }
    __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
    pthread_join(thief, NULL);
    uintptr_t left = kept_take(&kept);
    assert_int_equal(got + stolen + (left != 0 ? *(uint64_t *)left : 0), put);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_length_is_kept_once_it_was_asked_for_again),
        cmocka_unit_test(kinds_that_are_never_kept_end_a_row),
        cmocka_unit_test(all_threads_together_keep_no_more_than_the_bound),
        cmocka_unit_test(idle_is_what_served_no_request),
        cmocka_unit_test(a_block_is_got_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
