// Two threads that call malloc_trim at the same time: who returns finds the memory gone, also what the other one gives
// back.
#include "api_test.h"
#include <pthread.h>

enum { ROUNDS = 16, BLOCKS = 60 };
static pthread_barrier_t trims_begin;

// What one of them purges in one turn.
static void use_and_free(void) {
    void *blocks[BLOCKS];
    for (unsigned i = 0; i < BLOCKS; i++) {
        blocks[i] = call.malloc(1000000);
        assert_non_null(blocks[i]);
        memset(blocks[i], 1, 1000000);
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        call.free(blocks[i]);
}

static void *trim_and_look(void *most_bytes) {
    (void)pthread_barrier_wait(&trims_begin);
    (void)malloc_trim(0);
    return resident_bytes() < *(const size_t *)most_bytes ? most_bytes : NULL;
}

static void both_wait(void **state) {
    (void)state;
    assert_int_equal(mallopt(M_TRIM_THRESHOLD, 512 * MIB), 1); // all that is freed stays until then
    (void)malloc_trim(0);
    size_t most_bytes = resident_bytes() + 24 * MIB;
    for (unsigned round = 0; round < ROUNDS; round++) {
        use_and_free();
        assert_true(resident_bytes() > most_bytes);
        pthread_t thread;
        void *others;
        assert_int_equal(pthread_barrier_init(&trims_begin, NULL, 2), 0);
        assert_int_equal(pthread_create(&thread, NULL, trim_and_look, &most_bytes), 0);
        void *mine = trim_and_look(&most_bytes);
        assert_int_equal(pthread_join(thread, &others), 0);
        assert_int_equal(pthread_barrier_destroy(&trims_begin), 0);
        assert_non_null(mine);
        assert_non_null(others);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hakmem_is_in_use),
        cmocka_unit_test(both_wait),
    };
    return cmocka_run_group_tests_name("malloc_trim_at_once", tests, NULL, NULL);
}
