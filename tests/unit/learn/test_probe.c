// What a page costs, as it is measured here.
#include "unit/unit.h"

#include "learn/probe.h"
#include "sys/os.h"

static void before_it_is_measured_the_default_counts(void **state) {
    (void)state;
    assert_int_equal(probe_cost().fault_ns, COST_FAULT_NS);
    assert_int_equal(probe_cost().purge_ns, COST_PURGE_NS);
}

static void a_measured_page_costs_something(void **state) {
    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        probe_measure();
        struct cost_page page = probe_cost();
        assert_in_range(page.fault_ns, 20, 20000);
        assert_in_range(page.purge_ns, 20, 20000);
    }
    assert_true(probe_cost().fault_ns != COST_FAULT_NS || probe_cost().purge_ns != COST_PURGE_NS);
}

static uint64_t touch_all(unsigned char *pages, size_t bytes) {
    uint64_t begin = os_thread_ns();
    for (size_t i = 0; i < bytes; i += os_facts.page_bytes)
        *(volatile unsigned char *)&pages[i] = 1;
    return os_thread_ns() - begin;
}

// Within what a busy machine makes of it.
static void it_is_what_touching_new_memory_costs(void **state) {
    size_t bytes = 16 * MIB;
    unsigned char *pages = os_map(bytes);
    (void)state;
    assert_non_null(pages);
    os_refuse_huge_pages(pages, bytes);
    uint64_t each_ns = touch_all(pages, bytes) / (bytes / PAGE_LEAST_BYTES);
    os_unmap(pages, bytes);
    probe_measure();
    assert_in_range(probe_cost().fault_ns, each_ns / 8, 8 * each_ns);
}

static int start(void **state) {
    (void)state;
    os_start();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_it_is_measured_the_default_counts),
        cmocka_unit_test(a_measured_page_costs_something),
        cmocka_unit_test(it_is_what_touching_new_memory_costs),
    };
    return cmocka_run_group_tests_name("probe", tests, start, NULL);
}
