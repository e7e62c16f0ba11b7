// The helper thread: it gives back what nobody took for a while, leaves what is used, goes when there is nothing to do,
// and fork does not mind it.
#include "unit/decide.h"
#include "unit/unit.h"

#include <dirent.h>

#include "heap/helper.h"
#include "region/runs.h"
#include "unit/heap/heaps.h"

enum { DELAY_MS = 30, BLOCKS = 1000, BLOCK_BYTES = 64 * KIB };
static void *blocks[BLOCKS];

static unsigned threads_now(void) {
    unsigned count = 0;
    DIR *tasks = opendir("/proc/self/task");
    MUST(tasks != NULL);
    for (struct dirent *task = readdir(tasks); task != NULL; task = readdir(tasks))
        count += task->d_name[0] != '.';
    closedir(tasks);
    return count;
}

static size_t retained(void) {
    return runs_count().retained_slices << SLICE_SHIFT;
}

static bool few_are_retained(void) {
    return retained() < MIB;
}

static unsigned threads_before;

static bool it_is_alone(void) {
    return SANITIZED || threads_now() == threads_before; // a sanitizer starts some of its own
}

static bool it_has_company(void) {
    return SANITIZED || threads_now() == threads_before + 1; // as above
}

// Waits for it, at most a minute.
static bool comes_true(bool (*condition)(void)) {
    for (unsigned i = 0; i < 60 * 1000 && !condition(); i++)
        os_sleep(1000);
    return condition();
}

static void allocate_written(unsigned count) {
    allocate_many(class_of(BLOCK_BYTES), blocks, count);
    for (unsigned i = 0; i < count; i++)
        memset(blocks[i], 1, BLOCK_BYTES);
    helper_look();
}

static void begin(void) {
    MUST(heap_mine() != NULL);
    DECIDE(purge_delay, DELAY_MS);
    threads_before = threads_now();
    allocate_written(BLOCKS);
    MUST(it_has_company()); // at once
}

static void idle(void *context) {
    (void)context;
    begin();
    release_many(blocks + BLOCKS / 2, BLOCKS / 2);
    MUST(comes_true(few_are_retained) && it_has_company());
    release_many(blocks, BLOCKS / 2);
    heap_trim(8 * MIB); // as a program of which little is left
    MUST(comes_true(few_are_retained) && comes_true(it_is_alone));
    allocate_written(BLOCKS);
    MUST(it_has_company()); // again
}

static void what_lies_idle_goes_back(void **state) {
    (void)state;
    child_must_succeed(idle, NULL);
}

static void busy(void *context) {
    (void)context;
    begin();
    size_t slices = (8 * MIB) >> SLICE_SHIFT;
    uint64_t purged = 0;
    for (unsigned i = 0; i < 20 * DELAY_MS; i++) {
        bool zeroed;
        size_t first = runs_take(slices, 1, &zeroed);
        os_sleep(500);
        runs_give(first, slices);
        if (i == 10 * DELAY_MS)
            purged = runs_count().purged_bytes;
    }
    MUST(runs_count().purged_bytes == purged && retained() >= 8 * MIB);
}

static void what_is_used_stays(void **state) {
    (void)state;
    child_must_succeed(busy, NULL);
}

static void small(void *context) {
    (void)context;
    MUST(heap_mine() != NULL);
    threads_before = threads_now();
    DECIDE(purge_delay, DELAY_MS);
    allocate_written(BLOCKS / 8);
    MUST(it_is_alone());
    DECIDE(purge_delay, 0);
    allocate_written(BLOCKS);
    MUST(it_is_alone());
}

// The delay was decided, by what came before, when hardly anything of the heap was left.
static void late(void *context) {
    (void)context;
    MUST(heap_mine() != NULL);
    DECIDE(allowance_least, GIB);
    threads_before = threads_now();
    allocate_written(BLOCKS);
    release_many(blocks, BLOCKS);
    heap_trim(SIZE_MAX);
    MUST(retained() > 32 * MIB && runs_in_use_bytes() < 4 * MIB);
    DECIDE(purge_delay, DELAY_MS);
    allocate_written(8);
    MUST(it_has_company() && comes_true(few_are_retained));
}

static uint32_t looks; // by the helper

static void note_look(void) {
    MUST(thread_stacks.heap->entries > 0); // inside the gate
    store_relaxed(&looks, load_relaxed(&looks) + 1);
}

static bool it_looks(void) {
    return load_relaxed(&looks) > 3;
}

static void look_too(void *context) {
    (void)context;
    helper_let_look(note_look);
    begin();
    MUST(it_has_company() && comes_true(it_looks));
}

static void the_learner_looks_through_it(void **state) {
    (void)state;
    child_must_succeed(look_too, NULL);
}

static void come_and_go(void) {
    allocate_written(BLOCKS);
    release_many(blocks, BLOCKS);
    heap_trim(SIZE_MAX);
    MUST(retained() > 32 * MIB);
}

// Whether who looks visits threads by now; what they did is new to a visit.
static bool is_visited(void) {
    struct heap *heap = heap_mine();
    allocate_many(class_of(BLOCK_BYTES), blocks, BLOCKS);
    release_many(blocks, BLOCKS);
    MUST(heap->visit_turn != heap->turn);
    for (unsigned i = 0; i < 4; i++) // of several delays one may be that in which idle memory goes
        helper_let_idle_go();
    return heap->visit_turn == heap->turn;
}

// Those that wait for a processor must have had one since the last visit.
static void visit_more_seldom(void *context) {
    (void)context;
    MUST(heap_mine() != NULL);
    const struct helper_idle wanted = {.delay = DELAY_MS};
    helper_want_idle(&wanted);
    struct heap *heap = heap_enter();
    MUST(is_visited()); // the first time
    os_sleep(VISIT_NS / 1000);
    store_relaxed(&registry.threads, 1000000000u);
    MUST(!is_visited());
    store_relaxed(&registry.threads, 1u);
    MUST(is_visited());
    heap_leave(heap);
}

static void of_many_threads_each_has_time_to_run_between_visits(void **state) {
    (void)state;
    child_must_succeed(visit_more_seldom, NULL);
}

// Twice, with a delay between, by who looks: the first time it has not lain idle yet. Used meanwhile, it stays.
static void let_go(void *context) {
    (void)context;
    MUST(heap_mine() != NULL);
    DECIDE(allowance_least, GIB);
    come_and_go();
    struct heap *heap = heap_enter();
    const struct helper_idle wanted = {.delay = DELAY_MS};
    helper_want_idle(&wanted);
    helper_let_idle_go();
    come_and_go();
    helper_let_idle_go();
    MUST(retained() > 32 * MIB);
    helper_let_idle_go();
    MUST(few_are_retained());
    heap_leave(heap);
}

static void what_who_looks_says_lies_idle_goes(void **state) {
    (void)state;
    child_must_succeed(let_go, NULL);
}

// Where what went came back, two delays are waited for, and what was used in the first of them has not lain idle.
static void wait_longer(void *context) {
    (void)context;
    MUST(heap_mine() != NULL);
    DECIDE(allowance_least, GIB);
    struct heap *heap = heap_enter();
    const struct helper_idle wanted = {.delay = DELAY_MS};
    helper_want_idle(&wanted);
    come_and_go();
    helper_let_idle_go();
    helper_let_idle_go();
    MUST(few_are_retained());
    come_and_go();
    helper_let_idle_go(); // it came back: the first of two
    helper_let_idle_go();
    MUST(retained() > 32 * MIB);
    helper_let_idle_go();
    MUST(retained() > 32 * MIB);
    helper_let_idle_go();
    MUST(few_are_retained());
    heap_leave(heap);
}

static void what_came_back_is_waited_for_longer(void **state) {
    (void)state;
    child_must_succeed(wait_longer, NULL);
}

// What came, went and came again lies idle and stays for as long as is said, though it came between two calls.
static void keep(void *context) {
    (void)context;
    MUST(heap_mine() != NULL);
    DECIDE(allowance_least, GIB);
    struct heap *heap = heap_enter();
    struct helper_idle wanted = {.delay = DELAY_MS, .hold_ms = 3600 * 1000};
    helper_want_idle(&wanted);
    come_and_go();
    helper_let_idle_go();
    come_and_go();
    for (unsigned i = 0; i < 10; i++)
        helper_let_idle_go();
    MUST(retained() > 32 * MIB);
    wanted.hold_ms = 0;
    helper_want_idle(&wanted);
    helper_let_idle_go();
    MUST(few_are_retained());
    heap_leave(heap);
}

static void what_came_again_stays(void **state) {
    (void)state;
    child_must_succeed(keep, NULL);
}

// Where there is a helper, it does so though nobody looks any more, long before its own delay.
static void watched(void *context) {
    (void)context;
    MUST(heap_mine() != NULL);
    DECIDE(allowance_least, GIB);
    DECIDE(purge_delay, 3600 * 1000);
    struct helper_idle wanted = {.delay = DELAY_MS, .hold_ms = 3600 * 1000};
    helper_want_idle(&wanted);
    come_and_go();
    MUST(comes_true(few_are_retained)); // it came once
    come_and_go();
    os_sleep(1500 * 1000); // more than it sleeps
    MUST(retained() > 32 * MIB);
    wanted.hold_ms = 0;
    helper_want_idle(&wanted);
    MUST(comes_true(few_are_retained));
}

static void the_helper_goes_on_where_nobody_looks(void **state) {
    (void)state;
    child_must_succeed(watched, NULL);
}

static void begin_and_end(void) {
    begin();
    DECIDE(purge_delay, 0);
    MUST(comes_true(it_is_alone));
}

// What a delay is may change, and end.
static void change(void *context) {
    (void)context;
    begin();
    DECIDE(allowance_least, GIB);
    release_many(blocks, BLOCKS / 2);
    heap_trim(SIZE_MAX);
    size_t before = retained();
    DECIDE(purge_delay, 0);
    MUST(comes_true(it_is_alone) && retained() >= before && before > 16 * MIB); // it goes without another purge
    DECIDE(purge_delay, DELAY_MS);
    helper_start();
    MUST(it_has_company() && comes_true(few_are_retained));
}

static void without_a_delay_it_ends(void **state) {
    (void)state;
    child_must_succeed(change, NULL);
}

static void start_inside(void *context) {
    (void)context;
    begin_and_end();
    DECIDE(purge_delay, DELAY_MS);
    struct heap *heap = heap_enter();
    helper_start();
    MUST(it_is_alone());
    heap_leave(heap);
    helper_start();
    MUST(it_has_company());
}

static void it_starts_outside_of_heaps_alone(void **state) {
    (void)state;
    if (SANITIZED)
        skip(); // their threads hide it
    child_must_succeed(start_inside, NULL);
}

static void what_was_left_before_goes_back(void **state) {
    (void)state;
    child_must_succeed(late, NULL);
}

static void a_small_heap_and_one_without_the_option_have_none(void **state) {
    (void)state;
    child_must_succeed(small, NULL);
}

static void fork_often(void *context) {
    (void)context;
    begin();
    for (unsigned i = 0; i < 50; i++) {
        int status;
        release_many(blocks, BLOCKS / 2);
        os_sleep(i * 1000);
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            threads_before = threads_now();
            allocate_written(BLOCKS / 2);
            MUST(it_has_company());
            heap_trim(0);
            _exit(0);
        }
        MUST(child > 0 && waitpid(child, &status, 0) == child);
        MUST(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        allocate_written(BLOCKS / 2);
    }
}

static void fork_leaves_it_behind(void **state) {
    (void)state;
    if (SANITIZED)
        skip(); // sanitizers have threads of their own, and forks of threads are not theirs
    child_must_succeed(fork_often, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_lies_idle_goes_back),
        cmocka_unit_test(what_is_used_stays),
        cmocka_unit_test(the_learner_looks_through_it),
        cmocka_unit_test(what_who_looks_says_lies_idle_goes),
        cmocka_unit_test(of_many_threads_each_has_time_to_run_between_visits),
        cmocka_unit_test(what_came_back_is_waited_for_longer),
        cmocka_unit_test(what_came_again_stays),
        cmocka_unit_test(the_helper_goes_on_where_nobody_looks),
        cmocka_unit_test(without_a_delay_it_ends),
        cmocka_unit_test(it_starts_outside_of_heaps_alone),
        cmocka_unit_test(what_was_left_before_goes_back),
        cmocka_unit_test(a_small_heap_and_one_without_the_option_have_none),
        cmocka_unit_test(fork_leaves_it_behind),
    };
    return cmocka_run_group_tests_name("helper", tests, start_heap, NULL);
}
