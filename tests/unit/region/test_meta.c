// Metadata memory: aligned, zeroed, never handed out twice, between pages that nobody can touch.
#include "unit/unit.h"

#include "base/tuning.h"
#include "region/meta.h"

static int start(void **state) {
    (void)state;
    os_start();
    return 0;
}

struct piece {
    char *start;
    size_t bytes;
};

static int compare_pieces(const void *left, const void *right) {
    const struct piece *a = left, *b = right;
    return a->start < b->start ? -1 : a->start > b->start;
}

static void expect_disjoint(struct piece *pieces, size_t count) {
    qsort(pieces, count, sizeof *pieces, compare_pieces);
    for (size_t i = 1; i < count; i++)
        assert_true(pieces[i - 1].start + pieces[i - 1].bytes <= pieces[i].start);
}

static void memory_is_aligned_zeroed_and_apart(void **state) {
    enum { PIECES = 2000 };
    static struct piece pieces[PIECES];
    struct random random = random_start();
    (void)state;
    for (size_t i = 0; i < PIECES; i++) {
        size_t align = (size_t)1 << random_below(&random, 13);
        size_t bytes = 1 + random_below(&random, i % 100 == 0 ? 3 * META_MAPPING_BYTES : 2000);
        pieces[i] = (struct piece){meta_take(bytes, align), bytes};
        assert_non_null(pieces[i].start);
        assert_int_equal((uintptr_t)pieces[i].start % align, 0);
        assert_true(is_zero(pieces[i].start, bytes < 4096 ? bytes : 4096));
        assert_true(is_zero(pieces[i].start + bytes - 1, 1));
        memset(pieces[i].start, 0xff, bytes);
    }
    expect_disjoint(pieces, PIECES);
}

static void what_was_taken_is_counted(void **state) {
    size_t before = meta_bytes();
    (void)state;
    meta_take(100, 8);
    meta_take(4096, 4096);
    size_t taken = meta_bytes() - before;
    assert_true(taken >= 4196 && taken <= 4196 + 2 * 4096);
}

static void chunks_lie_between_pages_nobody_can_touch(void **state) {
    size_t page = os_facts.page_bytes;
    (void)state;
    // A piece as large as a chunk is a chunk of its own, and what follows starts the next one.
    char *chunk = meta_take(META_MAPPING_BYTES, page);
    assert_non_null(chunk);
    assert_true(can_touch(chunk, true) && can_touch(chunk + META_MAPPING_BYTES - 1, true));
    assert_false(can_touch(chunk - 1, false));
    assert_false(can_touch(chunk + META_MAPPING_BYTES, false));
}

enum { THREADS = 4, PIECES_EACH = 3000 };
static struct piece taken[THREADS * PIECES_EACH];

static void *take_many(void *number) {
    size_t first = (size_t)number * PIECES_EACH;
    for (size_t i = first; i < first + PIECES_EACH; i++) {
        size_t bytes = 64 + i % 7 * 64;
        taken[i] = (struct piece){meta_take(bytes, 64), bytes};
        memset(taken[i].start, (int)i, bytes);
    }
    return NULL;
}

static void threads_get_different_memory(void **state) {
    (void)state;
    threads_run(THREADS, take_many);
    expect_disjoint(taken, COUNT_OF(taken));
}

static void take_until_there_is_no_more(void *context) {
    struct rlimit limit = {256 * MIB, 256 * MIB};
    size_t count = 0;
    (void)context;
    MUST(setrlimit(RLIMIT_AS, &limit) == 0);
    errno = UNTOUCHED;
    MUST(meta_take(512 * MIB, 64) == NULL);
    while (meta_take(1000 * 64, 64) != NULL)
        count++;
    MUST(count > 1000);
    while (meta_take(64, 64) != NULL) // where a large chunk can't be had, a small one can
        count++;
    MUST(errno == UNTOUCHED);
}

static void without_memory_the_answer_is_null(void **state) {
    (void)state;
    if (SANITIZED)
        skip(); // sanitizers need more address space
    child_must_succeed(take_until_there_is_no_more, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_aligned_zeroed_and_apart),        cmocka_unit_test(what_was_taken_is_counted),
        cmocka_unit_test(chunks_lie_between_pages_nobody_can_touch), cmocka_unit_test(threads_get_different_memory),
        cmocka_unit_test(without_memory_the_answer_is_null),
    };
    return cmocka_run_group_tests_name("meta", tests, start, NULL);
}
