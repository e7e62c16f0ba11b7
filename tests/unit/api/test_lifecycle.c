// The constructor starts the library before main; the destructor tells the statistics. The source is part of this
// program, since nothing refers to it by name.
#include "unit/unit.h"

#include "api/lifecycle.c"

#include "region/window.h"
#include "unit/api/calls.h"

static size_t limit_before_main;
static void *early_block;

#define EARLY "HAKMEM_TEST_EARLY" // in the environment: allocate before the library's constructor

__attribute__((constructor(101))) static void allocate_before_the_library(void) {
    if (getenv(EARLY) != NULL)
        early_block = call_malloc(100);
}

__attribute__((constructor)) static void look_before_main(void) {
    limit_before_main = window.limit;
}

static void the_library_has_started_before_main(void **state) {
    (void)state;
    assert_true(limit_before_main > 0);
}

static void run_with_an_early_block(void *context) {
    (void)context;
    setenv(EARLY, "1", 1);
    execl("/proc/self/exe", "lifecycle", (char *)NULL);
}

static int use_early_block(void) {
    if (!window_contains(early_block))
        return 1;
    memset(early_block, 1, 100);
    call_free(early_block);
    return 0;
}

static void what_comes_before_the_constructor_is_served(void **state) {
    (void)state;
    child_must_succeed(run_with_an_early_block, NULL);
}

static void *late_block;

__attribute__((destructor(101))) static void free_after_the_library(void) {
    if (late_block == NULL)
        return;
    call_free(late_block);
    late_block = call_malloc(5000);
    dprintf(2, "late: %d\n", late_block != NULL);
}

static void end_with_statistics(void *context) {
    options.stats = *(unsigned *)context;
    late_block = call_malloc(100);
    exit(0);
}

static void the_end_tells_statistics_and_serves_on(void **state) {
    struct capture capture;
    (void)state;
    unsigned form = OPTION_STATS_TEXT;
    assert_int_equal(child_run(&capture, end_with_statistics, &form), 0);
    assert_memory_equal(capture.text, "hakmem ", 7);
    assert_non_null(strstr(capture.text, "\nlate: 1\n"));
    form = OPTION_STATS_OFF;
    assert_int_equal(child_run(&capture, end_with_statistics, &form), 0);
    assert_string_equal(capture.text, "late: 1\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_library_has_started_before_main),
        cmocka_unit_test(what_comes_before_the_constructor_is_served),
        cmocka_unit_test(the_end_tells_statistics_and_serves_on),
    };
    if (getenv(EARLY) != NULL)
        return use_early_block();
    return cmocka_run_group_tests_name("lifecycle", tests, NULL, NULL);
}
