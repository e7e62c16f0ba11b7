// Statistics: figures that agree with what was done, in all their forms, also while threads work and across fork.
#include "unit/unit.h"

#include <fcntl.h>

#include "api/statistics.h"
#include "heap/registry.h"
#include "learn/learn.h"
#include "policy/modes.h"
#include "region/runs.h"
#include "sample/lives.h"
#include "unit/api/calls.h"

enum { BLOCKS = 1000 };
static void *blocks[BLOCKS];
static char text[256 * 1024];

static struct hakmem_stats stats_now(void) {
    struct hakmem_stats stats = {.size = sizeof stats};
    statistics_fill(&stats);
    return stats;
}

static const char *said_by(void (*say)(struct report *report)) {
    struct report report;
    report_to_memory(&report, text, sizeof text);
    say(&report);
    report_end(&report);
    assert_true(report.length < sizeof text);
    return text;
}

static void allocated_bytes_are_those_of_the_programs_blocks(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        size_t before = stats_now().allocated_bytes;
        void *block = call_malloc(sizes[i]), *other = call_malloc(sizes[i]);
        size_t usable = call_usable_bytes(block) + call_usable_bytes(other);
        assert_int_equal(stats_now().allocated_bytes, before + usable);
        call_free(block);
        assert_int_equal(stats_now().allocated_bytes, before + usable / 2);
        call_free(other);
        assert_int_equal(stats_now().allocated_bytes, before);
    }
}

static void cached_bytes_are_those_of_the_stacks(void **state) {
    (void)state;
    heap_empty(heap_mine());
    assert_int_equal(stats_now().cached_bytes, 0);
    for (unsigned i = 0; i < 10; i++)
        blocks[i] = call_malloc(1000);
    size_t cached = stats_now().cached_bytes;
    for (unsigned i = 0; i < 10; i++)
        call_free(blocks[i]);
    size_t after = stats_now().cached_bytes;
    assert_int_equal(after, heap_stack_blocks(heap_mine(), class_of(1000)) * class_bytes(class_of(1000)));
    assert_true(after > cached);
}

static void batches_and_slabs_are_counted(void **state) {
    (void)state;
    struct hakmem_stats before = stats_now();
    for (unsigned i = 0; i < BLOCKS; i++)
        blocks[i] = call_malloc(2300);
    struct hakmem_stats full = stats_now();
    assert_true(full.refills > before.refills);
    assert_true(full.refilled_blocks - before.refilled_blocks >= BLOCKS);
    assert_true(full.slabs_made > before.slabs_made);
    for (unsigned i = 0; i < BLOCKS; i++)
        call_free(blocks[i]);
    heap_trim(0);
    struct hakmem_stats after = stats_now();
    assert_true(after.flushes > full.flushes);
    assert_int_equal(after.refilled_blocks, after.flushed_blocks); // all that came has gone
    assert_true(after.slabs_returned > before.slabs_returned);
    assert_true(after.purged_bytes > before.purged_bytes && after.purges > before.purges);
    assert_int_equal(after.retained_bytes, 0);
}

static void memory_of_all_kinds_is_accounted_for(void **state) {
    (void)state;
    struct hakmem_stats stats = stats_now();
    struct runs_totals runs = runs_count();
    assert_int_equal(stats.mapped_bytes, (runs.in_use_slices + runs.free_slices) * SLICE_BYTES + mapping_count().bytes);
    assert_int_equal(stats.retained_bytes, runs.retained_slices * SLICE_BYTES);
    assert_true(stats.metadata_bytes > 0 && stats.resident_bytes > stats.retained_bytes);
    assert_int_equal(stats.threads, 1);
}

static void faults_are_counted(void **state) {
    static int variable;
    (void)state;
    uint64_t before = stats_now().faults;
    assert_one_fault(FAULT_foreign_pointer, call_free(&variable));
    assert_int_equal(stats_now().faults, before + 1);
    assert_non_null(strstr(said_by(statistics_say_json), "\"foreign_pointer\": 1,"));
}

// Without a parser: brackets and quotes pair up, and nothing stands where nothing may.
static void expect_sound_json(const char *json) {
    char open[16];
    size_t depth = 0;
    bool quoted = false;
    for (const char *letter = json; *letter != '\0'; letter++) {
        if (*letter == '"')
            quoted = !quoted;
        if (quoted)
            continue;
        if (*letter == '{' || *letter == '[')
            open[depth++] = *letter;
        if (*letter == '}' || *letter == ']')
            assert_true(depth > 0 && open[--depth] == (*letter == '}' ? '{' : '['));
        assert_true(depth < sizeof open);
        if ((*letter == '}' || *letter == ']') && depth > 0) {
            const char *next = letter + 1 + strspn(letter + 1, " \n");
            assert_true(*next == ',' || *next == '}' || *next == ']');
        }
        if (*letter == ',') {
            const char *next = letter + 1 + strspn(letter + 1, " \n");
            assert_true(*next == '"' || *next == '{' || (*next >= '0' && *next <= '9'));
        }
    }
    assert_true(depth == 0 && !quoted);
}

static void json_and_text_have_every_field_and_every_counter(void **state) {
    (void)state;
    char name[128];
    const char *json = said_by(statistics_say_json);
    expect_sound_json(json);
#define COUNTER(name, what) assert_non_null(strstr(json, "\"" #name "\": "));
#include "count/counters.def"
#undef COUNTER
#define FAULT(name, title, hint) assert_non_null(strstr(json, "\"" #name "\": "));
#include "sys/faults.def"
#undef FAULT
    static const char *const fields[] = {"allocated_bytes",
                                         "cached_bytes",
                                         "mapped_bytes",
                                         "resident_bytes",
                                         "retained_bytes",
                                         "metadata_bytes",
                                         "refills",
                                         "refilled_blocks",
                                         "flushes",
                                         "flushed_blocks",
                                         "remote_flushed_blocks",
                                         "passed_blocks",
                                         "slabs_made",
                                         "slabs_returned",
                                         "purged_bytes",
                                         "refaulted_bytes",
                                         "purges",
                                         "faults",
                                         "threads",
                                         "big_hits",
                                         "big_misses",
                                         "big_evictions",
                                         "big_cached_bytes",
                                         "released_bytes",
                                         "reused_bytes",
                                         "allowance_bytes",
                                         "huge_bytes",
                                         "kept_hits",
                                         "learn_state",
                                         "learn_run_ns",
                                         "learn_looks",
                                         "learn_look_ns",
                                         "learn_changes",
                                         "learn_promoted",
                                         "learn_rolled_back",
                                         "learn_anew",
                                         "learn_windows",
                                         "learn_seen_blocks",
                                         "learn_fault_ns",
                                         "learn_purge_ns",
                                         "learn_trial_ns"};
    // All but `size`, all of them 64 bits.
    assert_int_equal(COUNT_OF(fields), sizeof(struct hakmem_stats) / sizeof(uint64_t) - 1);
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        snprintf(name, sizeof name, "\n  \"%s\": ", fields[i]);
        assert_non_null(strstr(json, name));
    }
    said_by(statistics_say_text);
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        assert_non_null(strstr(text, fields[i]));
}

static void a_class_appears_once_it_was_used(void **state) {
    (void)state;
    assert_null(strstr(said_by(statistics_say_json), "\"block_bytes\": 7168,"));
    void *block = call_malloc(7168);
    assert_non_null(strstr(said_by(statistics_say_json), "\"block_bytes\": 7168, \"out_blocks\": 1,"));
    call_free(block);
    assert_non_null(strstr(said_by(statistics_say_json), "\"block_bytes\": 7168, \"out_blocks\": 0,"));
}

static void a_shorter_struct_is_filled_as_far_as_it_goes(void **state) {
    struct hakmem_stats stats;
    (void)state;
    memset(&stats, 0xab, sizeof stats);
    stats.size = offsetof(struct hakmem_stats, mapped_bytes);
    statistics_fill(&stats);
    assert_int_equal(stats.size, offsetof(struct hakmem_stats, mapped_bytes));
    assert_true(stats.allocated_bytes < GIB);
    assert_int_equal(stats.mapped_bytes, (size_t)0xabababababababab);
}

static void *free_all(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < BLOCKS; i++)
        call_free(blocks[i]);
    return NULL;
}

static void blocks_that_went_home_by_an_outbox_are_out_no_more(void **state) {
    pthread_t other;
    (void)state;
    struct hakmem_stats before = stats_now();
    for (unsigned i = 0; i < BLOCKS; i++)
        blocks[i] = call_malloc(40);
    assert_int_equal(stats_now().allocated_bytes, before.allocated_bytes + BLOCKS * 48);
    assert_int_equal(pthread_create(&other, NULL, free_all, NULL), 0);
    assert_int_equal(pthread_join(other, NULL), 0);
    struct hakmem_stats after = stats_now();
    assert_int_equal(after.allocated_bytes, before.allocated_bytes);
    assert_true(after.remote_flushed_blocks > before.remote_flushed_blocks);
}

static void xml_lists_the_sizes_that_are_kept(void **state) {
    (void)state;
    heap_empty(heap_mine());
    assert_string_equal(said_by(statistics_say_xml_sizes), "");
    call_free(call_malloc(17));
    unsigned kept = heap_stack_blocks(heap_mine(), class_of(17));
    char expected[256];
    snprintf(expected, sizeof expected, "  <size from=\"17\" to=\"32\" total=\"%u\" count=\"%u\"/>\n", kept * 32, kept);
    assert_string_equal(said_by(statistics_say_xml_sizes), expected);
}

// ---- at the end

static void say_at_exit(void *context) {
    (void)context;
    statistics_at_exit();
}

static int at_exit(struct capture *capture, unsigned form, const char *file) {
    struct options before = options;
    options.stats = form;
    options.stats_file = file;
    int status = child_run(capture, say_at_exit, NULL);
    options = before;
    return status;
}

static void at_the_end_they_are_told_where_the_options_say(void **state) {
    struct capture capture;
    char path[] = "/tmp/hakmem-statistics-XXXXXX";
    (void)state;
    assert_int_equal(at_exit(&capture, OPTION_STATS_OFF, ""), 0);
    assert_string_equal(capture.text, "");
    assert_int_equal(at_exit(&capture, OPTION_STATS_TEXT, ""), 0);
    assert_memory_equal(capture.text, "hakmem ", 7);
    assert_int_equal(at_exit(&capture, OPTION_STATS_JSON, ""), 0);
    assert_memory_equal(capture.text, "{\n", 2);
    int file = mkstemp(path);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(at_exit(&capture, OPTION_STATS_JSON, path), 0);
        assert_string_equal(capture.text, "");
    }
    ssize_t length = pread(file, text, sizeof text - 1, 0);
    text[length] = '\0';
    assert_ptr_not_equal(strstr(text, "\"allocator\""), NULL);
    assert_non_null(strstr(strstr(text, "\"allocator\"") + 1, "\"allocator\"")); // appended
    close(file);
    unlink(path);
}

static void a_file_that_cannot_be_opened_is_told_in_one_line(void **state) {
    static const char line[] =
        "hakmem: option stats_file: '/no/such/file' can't be opened for writing; the statistics follow here\n";
    struct capture capture;
    (void)state;
    assert_int_equal(at_exit(&capture, OPTION_STATS_TEXT, "/no/such/file"), 0);
    assert_memory_equal(capture.text, line, strlen(line));
    assert_memory_equal(capture.text + strlen(line), "hakmem ", 7);
}

// A signal handler ends the program that has interrupted a look.
static void end_in_a_look(void *context) {
    options.mode = MODE_learning;
    learn_start();
    struct heap *heap = heap_enter();
    lock_acquire(&learn_lock);
    alarm(10);
    say_at_exit(context);
    lock_release(&learn_lock);
    heap_leave(heap);
    say_at_exit(context);
}

static void in_a_look_they_are_told_without_what_was_learned(void **state) {
    struct capture capture;
    (void)state;
    unsigned before = options.stats;
    options.stats = OPTION_STATS_TEXT;
    int status = child_run(&capture, end_in_a_look, NULL);
    options.stats = before;
    assert_int_equal(status, 0);
    assert_memory_equal(capture.text, "hakmem ", 7);
    const char *second = strstr(capture.text + 1, "\nhakmem "), *learning = strstr(capture.text, "\nlearning: ");
    assert_true(second != NULL && learning > second);
}

// ---- with threads

static uint32_t stop;

static void *fill_all_the_time(void *unused) {
    (void)unused;
    while (load_relaxed(&stop) == 0)
        (void)stats_now();
    return NULL;
}

static void ask_in_child(void *context) {
    (void)context;
    MUST(stats_now().threads == 1);
    MUST(strlen(said_by(statistics_say_json)) > 100);
}

static void a_child_can_ask_though_another_thread_was_asking(void **state) {
    pthread_t asker;
    (void)state;
    store_relaxed(&stop, 0);
    assert_int_equal(pthread_create(&asker, NULL, fill_all_the_time, NULL), 0);
    for (unsigned i = 0; i < (SANITIZED ? 20 : 100); i++)
        child_must_succeed(ask_in_child, NULL); // it hangs, and ends by its alarm, when it cannot
    store_relaxed(&stop, 1);
    assert_int_equal(pthread_join(asker, NULL), 0);
}

static void *allocate_all_the_time(void *number) {
    struct random random = {(uintptr_t)number};
    void *some[50] = {NULL};
    while (load_relaxed(&stop) == 0) {
        size_t which = random_below(&random, COUNT_OF(some));
        call_free(some[which]);
        some[which] = call_malloc(random_below(&random, 100000));
    }
    for (size_t i = 0; i < COUNT_OF(some); i++)
        call_free(some[i]);
    return NULL;
}

static void figures_are_exact_again_when_threads_have_ended(void **state) {
    pthread_t threads[3];
    (void)state;
    size_t before = stats_now().allocated_bytes;
    store_relaxed(&stop, 0);
    for (uintptr_t i = 0; i < COUNT_OF(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, allocate_all_the_time, (void *)i), 0);
    for (unsigned i = 0; i < 200; i++) {
        struct hakmem_stats stats = stats_now();
        assert_true(stats.threads <= 1 + COUNT_OF(threads));
        assert_true(stats.mapped_bytes >= stats.retained_bytes);
    }
    store_relaxed(&stop, 1);
    for (unsigned i = 0; i < COUNT_OF(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(stats_now().allocated_bytes, before);
    assert_int_equal(stats_now().threads, 1);
}

static void lifetimes_are_listed_by_kinds_of_size(void **state) {
    (void)state;
    assert_non_null(strstr(said_by(statistics_say_json), "\"short_lived_permille\": 0,\n  \"lifetimes\": [\n  ],\n"));
    lives_followed[sizes_entry(64)] = 10;
    lives_kept[sizes_entry(64)] = 4;
    for (unsigned i = 0; i < LIVES_SPANS; i++)
        lives_by_kind[sizes_kind(64)][i] = i;
    lives_by_kind[sizes_kind(1000)][LIVES_SPAN_KEPT] = 7;
    const char *json = said_by(statistics_say_json);
    expect_sound_json(json);
    assert_non_null(strstr(json, "\"short_lived_permille\": 600,"));
    assert_non_null(strstr(json, "{\"least_bytes\": 48, \"freed\": [0, 1, 2, 3, 4, 5, 6, 7, 8], \"kept\": 9},\n"));
    assert_non_null(
        strstr(json, "{\"least_bytes\": 752, \"freed\": [0, 0, 0, 0, 0, 0, 0, 0, 0], \"kept\": 7}\n  ],\n"));
    memset(lives_followed, 0, sizeof lives_followed);
    memset(lives_kept, 0, sizeof lives_kept);
    memset(lives_by_kind, 0, sizeof lives_by_kind);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocated_bytes_are_those_of_the_programs_blocks),
        cmocka_unit_test(cached_bytes_are_those_of_the_stacks),
        cmocka_unit_test(batches_and_slabs_are_counted),
        cmocka_unit_test(memory_of_all_kinds_is_accounted_for),
        cmocka_unit_test(faults_are_counted),
        cmocka_unit_test(a_shorter_struct_is_filled_as_far_as_it_goes),
        cmocka_unit_test(blocks_that_went_home_by_an_outbox_are_out_no_more),
        cmocka_unit_test(json_and_text_have_every_field_and_every_counter),
        cmocka_unit_test(lifetimes_are_listed_by_kinds_of_size),
        cmocka_unit_test(a_class_appears_once_it_was_used),
        cmocka_unit_test(xml_lists_the_sizes_that_are_kept),
        cmocka_unit_test(at_the_end_they_are_told_where_the_options_say),
        cmocka_unit_test(in_a_look_they_are_told_without_what_was_learned),
        cmocka_unit_test(a_file_that_cannot_be_opened_is_told_in_one_line),
        cmocka_unit_test(a_child_can_ask_though_another_thread_was_asking),
        cmocka_unit_test(figures_are_exact_again_when_threads_have_ended),
    };
    return cmocka_run_group_tests_name("statistics", tests, start_calls, NULL);
}
