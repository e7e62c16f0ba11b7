// glibc's names that tell about the heap: figures that agree with the statistics, XML, and what mallopt sets.
#include "unit/decide.h"
#include "unit/unit.h"

#include <limits.h>
#include <malloc.h>

#include "api/statistics.h"
#include "unit/api/calls.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // mallinfo, which programs still call

static struct hakmem_stats stats_now(void) {
    struct hakmem_stats stats = {.size = sizeof stats};
    statistics_fill(&stats);
    return stats;
}

static void mallinfo2_tells_true_figures(void **state) {
    (void)state;
    void *small = call_malloc(1000), *run = call_malloc(3 * MIB), *mapping = call_malloc(100 * MIB);
    struct mallinfo2 info = mallinfo2();
    struct hakmem_stats stats = stats_now();
    struct mapping_totals mappings = mapping_count();
    assert_int_equal(info.hblks, mappings.blocks);
    assert_int_equal(info.hblkhd, mappings.bytes);
    assert_true(info.hblkhd >= 100 * MIB);
    assert_int_equal(info.arena + info.hblkhd, stats.mapped_bytes);
    assert_int_equal(info.uordblks + info.hblkhd, stats.allocated_bytes);
    assert_int_equal(info.uordblks + info.fordblks, info.arena);
    assert_int_equal(info.fsmblks, stats.cached_bytes);
    assert_int_equal(info.keepcost, stats.retained_bytes);
    call_free(run);
    call_free(mapping);
    struct mallinfo2 after = mallinfo2();
    assert_int_equal(info.uordblks - after.uordblks, 3 * MIB);
    assert_int_equal(after.hblks, info.hblks - 1);
    assert_true(after.keepcost >= info.keepcost);
    call_free(small);
}

// A mapping that its thread keeps is not allocated: no figure wraps around.
static void mallinfo2_counts_kept_mappings_as_free(void **state) {
    size_t threshold = DECIDED(big_threshold), used = mallinfo2().uordblks;
    (void)state;
    DECIDE(big_threshold, MIB);
    for (int round = 0; round < 4; round++)
        call_free(call_malloc(2 * MIB));
    struct mallinfo2 info = mallinfo2();
    assert_true(info.uordblks <= used);
    DECIDE(big_threshold, threshold);
    call_free(call_malloc(3 * MIB)); // another length: it goes home
}

static void mallinfo_clamps_what_an_int_cannot_hold(void **state) {
    (void)state;
    struct mallinfo2 full = mallinfo2();
    struct mallinfo info = mallinfo();
    assert_int_equal((size_t)info.uordblks, full.uordblks);
    assert_int_equal((size_t)info.arena, full.arena);
    void *huge = call_malloc(4 * GIB);
    if (huge == NULL)
        skip(); // not on this machine
    assert_int_equal(mallinfo().hblkhd, INT_MAX);
    assert_true(mallinfo2().hblkhd >= 4 * GIB);
    call_free(huge);
}

static char *info_text(int settings, int *result) {
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    assert_non_null(stream);
    *result = malloc_info(settings, stream);
    fclose(stream);
    return text;
}

static void malloc_info_is_xml_in_the_shape_of_glibcs(void **state) {
    static const char *const parts[] = {"<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n",
                                        "</sizes>\n",
                                        "<total type=\"fast\" ",
                                        "<total type=\"rest\" ",
                                        "<total type=\"mmap\" count=\"0\"",
                                        "<system type=\"current\" ",
                                        "<system type=\"max\" ",
                                        "</heap>\n",
                                        "<aspace type=\"total\" ",
                                        "</malloc>\n"};
    int result;
    (void)state;
    call_free(call_malloc(100));
    char *text = info_text(0, &result);
    assert_int_equal(result, 0);
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        assert_non_null(strstr(text, parts[i]));
    assert_non_null(strstr(text, "<size from=\"97\" to=\"112\" "));
    assert_string_equal(text + strlen(text) - strlen("</malloc>\n"), "</malloc>\n");
    unsigned open = 0, closed = 0;
    for (const char *letter = text; *letter != '\0'; letter++) {
        open += *letter == '<' && letter[1] != '/';
        closed += (*letter == '/' && letter[1] == '>') || (*letter == '<' && letter[1] == '/');
    }
    assert_int_equal(open, closed);
    free(text);
}

static void malloc_info_knows_no_settings(void **state) {
    int result;
    (void)state;
    char *text = info_text(1, &result);
    assert_int_not_equal(result, 0);
    assert_string_equal(text, "");
    free(text);
}

static void malloc_trim_says_whether_something_went_back(void **state) {
    (void)state;
    char *run = call_malloc(8 * MIB);
    memset(run, 1, 8 * MIB);
    call_free(run);
    assert_int_equal(malloc_trim(0), 1);
    assert_int_equal(malloc_trim(0), 0);
    assert_int_equal(stats_now().retained_bytes, 0);
}

static void malloc_stats_goes_to_standard_error(void **state) {
    struct capture capture;
    (void)state;
    capture_begin(&capture);
    malloc_stats();
    const char *text = capture_end(&capture);
    assert_memory_equal(text, "hakmem ", 7);
    assert_non_null(strstr(text, "allocated_bytes"));
}

static void mallopt_sets_what_may_stay_resident(void **state) {
    size_t before = DECIDED(retain_min);
    (void)state;
    assert_int_equal(mallopt(M_TRIM_THRESHOLD, 12345678), 1);
    assert_int_equal(DECIDED(retain_min), 12345678);
    assert_int_equal(mallopt(M_TRIM_THRESHOLD, -1), 1); // glibc: never
    assert_true(DECIDED(retain_min) >= (size_t)1 << 40);
    DECIDE(retain_min, before);
}

static void mallopt_takes_glibcs_other_parameters_for_hints(void **state) {
    const int known[] = {M_MXFAST, M_TOP_PAD, M_MMAP_THRESHOLD, M_MMAP_MAX, M_ARENA_TEST, M_ARENA_MAX};
    (void)state;
    struct options before = options;
    for (size_t i = 0; i < COUNT_OF(known); i++)
        assert_int_equal(mallopt(known[i], 1), 1);
    assert_int_equal(mallopt(4711, 1), 0);
    assert_memory_equal(&before, &options, sizeof before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mallinfo2_counts_kept_mappings_as_free),
        cmocka_unit_test(malloc_info_is_xml_in_the_shape_of_glibcs),
        cmocka_unit_test(malloc_info_knows_no_settings),
        cmocka_unit_test(mallinfo2_tells_true_figures),
        cmocka_unit_test(mallinfo_clamps_what_an_int_cannot_hold),
        cmocka_unit_test(malloc_trim_says_whether_something_went_back),
        cmocka_unit_test(malloc_stats_goes_to_standard_error),
        cmocka_unit_test(mallopt_sets_what_may_stay_resident),
        cmocka_unit_test(mallopt_takes_glibcs_other_parameters_for_hints),
    };
    return cmocka_run_group_tests_name("info", tests, start_calls, NULL);
}
