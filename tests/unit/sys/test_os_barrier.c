// The barrier on all processors: stores of one thread and loads of the other around it agree, without a fence of the
// thread that is not to pay for it.
#include "unit/unit.h"

#include "base/atomics.h"
#include "sys/os.h"

enum { ROUNDS = SANITIZED ? 2000 : 20000 };

static uint32_t x, y, turn;
static uint32_t seen[ROUNDS];

static void *store_and_look(void *unused) {
    (void)unused;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        while (load_acquire(&turn) != 2 * i + 1)
            spin_pause();
        store_relaxed(&x, i + 1);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        seen[i] = load_relaxed(&y);
        store_release(&turn, 2 * i + 2);
    }
    return NULL;
}

static void one_of_two_threads_sees_the_others_store(void **state) {
    pthread_t thread;
    (void)state;
    if (!os_barrier())
        skip(); // the kernel has none
    assert_int_equal(pthread_create(&thread, NULL, store_and_look, NULL), 0);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        store_release(&turn, 2 * i + 1);
        store_relaxed(&y, i + 1);
        assert_true(os_barrier());
        bool saw = load_relaxed(&x) == i + 1;
        while (load_acquire(&turn) != 2 * i + 2)
            spin_pause();
        assert_true(saw || seen[i] == i + 1);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void errno_is_kept(void **state) {
    (void)state;
    errno = 77;
    os_barrier();
    assert_int_equal(errno, 77);
}

static void a_child_has_it_too(void **state) {
    (void)state;
    bool here = os_barrier();
    pid_t child = fork();
    if (child == 0)
        _exit(os_barrier() == here ? 0 : 1);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_of_two_threads_sees_the_others_store),
        cmocka_unit_test(errno_is_kept),
        cmocka_unit_test(a_child_has_it_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
