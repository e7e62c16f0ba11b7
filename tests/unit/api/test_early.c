// Before the dynamic linker is through: tops that are still zero are pointed to the constant stack, others stay.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "heap/heap.h"
#include "sys/os.h"

static void tops_that_are_zero_are_set(void **state) {
    (void)state;
    struct stacks before = thread_stacks;
    void **other = (void **)(uintptr_t)0x1000;
    for (unsigned i = 0; i < CLASS_COUNT; i++)
        thread_stacks.top[i] = NULL;
    thread_stacks.top[5] = other;
    stacks_set_early();
    struct stacks set = thread_stacks;
    thread_stacks = before;
    for (unsigned i = 0; i < CLASS_COUNT; i++)
        assert_ptr_equal(set.top[i], i == 5 ? other : (void **)CONSTANT_TOP);
}

static void a_running_program_has_thread_storage(void **state) {
    (void)state;
    assert_true(os_has_thread_storage());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tops_that_are_zero_are_set),
        cmocka_unit_test(a_running_program_has_thread_storage),
    };
    return cmocka_run_group_tests_name("early", tests, NULL, NULL);
}
