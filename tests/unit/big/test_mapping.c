// Blocks with mappings of their own: found by address, grown, moved and ended, alone and by several threads.
#include "unit/decide.h"
#include "unit/unit.h"

#include <sys/resource.h>

#include "base/tuning.h"
#include "region/huge.h"
#include "unit/big/mappings.h"

static int start(void **state) {
    (void)state;
    os_start();
    return 0;
}

static size_t page;

// Where the first mapping at or behind an address begins, or the address where it lies in one.
static uintptr_t next_mapped(uintptr_t address) {
    uintptr_t from, to, next = UINTPTR_MAX;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");
    assert_non_null(maps);
    while (next == UINTPTR_MAX && fgets(line, sizeof line, maps) != NULL)
        if (sscanf(line, "%zx-%zx", &from, &to) == 2 && to > address)
            next = from > address ? from : address;
    fclose(maps);
    return next;
}

static bool is_mapped(const void *start, size_t bytes) {
    return next_mapped((uintptr_t)start) < (uintptr_t)start + bytes;
}

static void fill(char *block, size_t bytes, char letter) {
    for (size_t offset = 0; offset < bytes; offset += page)
        block[offset] = (char)(letter + offset / page % 64);
}

static bool holds(const char *block, size_t bytes, char letter) {
    for (size_t offset = 0; offset < bytes; offset += page)
        if (block[offset] != (char)(letter + offset / page % 64))
            return false;
    return true;
}

static void a_block_is_found_by_its_start_alone(void **state) {
    struct mapping found = {0};
    (void)state;
    char *block = mapping_of(3 * MIB + 5, 1);
    assert_non_null(block);
    assert_true(mapping_find(block, &found));
    assert_int_equal(found.block, (uintptr_t)block);
    assert_true(found.start <= found.block);
    assert_int_equal(found.bytes, 3 * MIB + page);
    for (size_t offset = 1; offset < found.bytes; offset = offset * 2 + 1)
        assert_false(mapping_find(block + offset, &found));
    assert_false(mapping_find(block - 1, &found));
    assert_false(mapping_find(NULL, &found));
    assert_false(mapping_find(&found, &found));
    assert_false(mapping_find((void *)UINTPTR_MAX, &found));
    assert_true(mapping_end(block));
}

static void a_block_is_zeroed_and_all_of_it_usable(void **state) {
    (void)state;
    size_t bytes = 5 * MIB;
    char *block = mapping_of(bytes, 1);
    assert_true(is_zero(block, bytes));
    memset(block, 1, bytes);
    assert_true(mapping_end(block));
}

static void an_ended_block_is_gone_and_ends_once(void **state) {
    struct mapping found;
    (void)state;
    char *block = mapping_of(4 * MIB, 1);
    struct mapping_totals before = mapping_count();
    assert_true(mapping_end(block));
    assert_false(mapping_find(block, &found));
    assert_false(mapping_end(block));
    assert_false(is_mapped(block, 4 * MIB));
    assert_int_equal(mapping_count().blocks, before.blocks - 1);
    assert_int_equal(mapping_count().bytes, before.bytes - 4 * MIB);
}

static size_t mapped_bytes(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    return pages * page;
}

static void blocks_are_aligned_as_asked_and_nothing_is_left_behind(void **state) {
    struct mapping found;
    (void)state;
    mapped_bytes(); // what reading costs is there now
    for (size_t align = 1; align <= GIB; align *= 4) {
        assert_true(mapping_end(mapping_of(MIB, align))); // and the tables for about there
        size_t before = mapped_bytes();
        char *block = mapping_of(2 * MIB + 1, align);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % align, 0);
        assert_true(mapping_find(block, &found));
        block[0] = 1;
        block[2 * MIB] = 1;
        uintptr_t first = found.start;
        assert_true(mapping_end(block));
        assert_false(is_mapped((void *)first, (uintptr_t)block + 2 * MIB + page - first));
        assert_true(SANITIZED || mapped_bytes() == before); // sanitizers map memory of their own
    }
}

static void begin_with_huge_pages(void *context) {
    static const size_t sizes[] = {GROUP_BYTES, GROUP_BYTES + 1, 5 * MIB, 40 * MIB};
    struct mapping found;
    (void)context;
    huge_start();
    mapped_bytes(); // what reading costs is there now
    for (unsigned i = 0; i < COUNT_OF(sizes); i++) {
        MUST(mapping_end(mapping_of(sizes[i], 1))); // and the tables for about there
        size_t before = mapped_bytes();
        char *block = mapping_of(sizes[i], 1);
        MUST(mapping_find(block, &found) && found.start == found.block);
        MUST((uintptr_t)block % GROUP_BYTES == 0 || !huge_is_wanted(HUGE_IN_BLOCK, 0));
        block[0] = block[sizes[i] - 1] = 1;
        MUST(SANITIZED || mapped_bytes() == before + found.bytes);
        MUST(mapping_end(block));
        MUST(SANITIZED || mapped_bytes() == before);
    }
    DECIDE(huge_pages, 0);
    MUST(mapping_end(mapping_of(5 * MIB, 1)));
}

static void large_blocks_begin_with_huge_pages(void **state) {
    (void)state;
    child_must_succeed(begin_with_huge_pages, NULL);
}

static void have_no_room_to_align(void *context) {
    (void)context;
    huge_start();
    MUST(mapping_end(mapping_of(8 * MIB, 1)));
    const struct rlimit limit = {mapped_bytes() + 9 * MIB, mapped_bytes() + 9 * MIB};
    MUST(SANITIZED || setrlimit(RLIMIT_AS, &limit) == 0);
    char *block = mapping_of(8 * MIB, 1);
    MUST(block != NULL);
    block[8 * MIB - 1] = 1;
    MUST(mapping_end(block));
}

static void where_there_is_no_room_to_align_blocks_begin_anywhere(void **state) {
    (void)state;
    child_must_succeed(have_no_room_to_align, NULL);
}

static void what_cannot_be_mapped_is_null(void **state) {
    struct mapping_totals before = mapping_count();
    (void)state;
    errno = UNTOUCHED;
    assert_null(mapping_of(PTRDIFF_MAX, 1));
    assert_null(mapping_of(SIZE_MAX, 1));
    assert_null(mapping_of(SIZE_MAX - 4096, 4096));
    assert_null(mapping_of(MIB, (size_t)1 << 62));
    assert_null(mapping_of(PTRDIFF_MAX - 2 * page, 4 * page));
    assert_int_equal(errno, UNTOUCHED);
    assert_int_equal(mapping_count().blocks, before.blocks);
    assert_int_equal(mapping_count().bytes, before.bytes);
}

static void a_resized_block_keeps_its_content_and_can_be_found(void **state) {
    struct random random = random_start();
    struct mapping found;
    struct mapping_totals before = mapping_count();
    size_t bytes = 2 * MIB;
    (void)state;
    char *block = mapping_of(bytes, 1);
    fill(block, bytes, 'a');
    for (unsigned step = 0; step < 200; step++) {
        size_t wanted = MIB + random_below(&random, 20 * MIB);
        char *obstacle = random_below(&random, 2) == 0 ? mapping_of(MIB, 1) : NULL;
        size_t kept = wanted < bytes ? wanted : bytes;
        char *resized = mapping_resize(block, wanted);
        assert_non_null(resized);
        assert_true(holds(resized, kept, 'a'));
        assert_true(mapping_find(resized, &found));
        assert_true(found.bytes >= wanted && found.bytes < wanted + page);
        if (resized != block)
            assert_false(mapping_find(block, &found));
        if (found.bytes > kept + page)
            assert_int_equal(resized[found.bytes - 1], 0);
        block = resized;
        bytes = wanted;
        fill(block, bytes, 'a');
        if (obstacle != NULL)
            assert_true(mapping_end(obstacle));
    }
    assert_true(mapping_end(block));
    assert_int_equal(mapping_count().blocks, before.blocks);
    assert_int_equal(mapping_count().bytes, before.bytes);
}

static void an_aligned_block_can_be_resized(void **state) {
    struct mapping_totals before = mapping_count();
    (void)state;
    char *block = mapping_of(2 * MIB, 64 * MIB);
    char *wall = mapping_of(MIB, 1); // perhaps behind it
    fill(block, 2 * MIB, 'k');
    char *resized = mapping_resize(block, 90 * MIB);
    assert_non_null(resized);
    assert_true(holds(resized, 2 * MIB, 'k'));
    fill(resized, 90 * MIB, 'k');
    assert_true(mapping_end(resized));
    assert_true(mapping_end(wall));
    assert_int_equal(mapping_count().bytes, before.bytes);
}

static void a_hidden_block_grows_and_shrinks(void **state) {
    (void)state;
    struct mapping hidden;
    char *block = mapping_of(40 * page, 1);
    void *wall = mmap(block + 40 * page, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    fill(block, 40 * page, 'h');
    assert_true(mapping_hide(block, &hidden));
    assert_true(mapping_fit(&hidden, 80 * page)); // has to move where the wall is
    assert_int_equal(hidden.bytes, 80 * page);
    assert_true(wall == MAP_FAILED || hidden.block != (uintptr_t)block);
    block = mapping_show(&hidden);
    assert_true(holds(block, 40 * page, 'h') && block[80 * page - 1] == 0);
    assert_true(mapping_hide(block, &hidden) && mapping_fit(&hidden, 20 * page));
    assert_int_equal(hidden.bytes, 20 * page);
    assert_int_equal(hidden.block, block);
    assert_false(is_mapped(block + 20 * page, 60 * page));
    assert_true(holds(block, 20 * page, 'h'));
    assert_false(mapping_fit(&hidden, (size_t)1 << 50)); // and nothing has changed
    assert_true(hidden.bytes == 20 * page && holds(block, 20 * page, 'h'));
    mapping_release(&hidden);
    if (wall != MAP_FAILED)
        munmap(wall, page);
}

static void a_resize_that_cannot_be_changes_nothing(void **state) {
    struct mapping found;
    (void)state;
    char *block = mapping_of(2 * MIB, 1);
    struct mapping_totals before = mapping_count();
    fill(block, 2 * MIB, 'r');
    errno = UNTOUCHED;
    assert_null(mapping_resize(block, PTRDIFF_MAX));
    assert_null(mapping_resize(block, (size_t)1 << 46));
    assert_null(mapping_resize(block + page, 3 * MIB));
    assert_null(mapping_resize(NULL, 3 * MIB));
    assert_int_equal(errno, UNTOUCHED);
    assert_true(holds(block, 2 * MIB, 'r'));
    assert_true(mapping_find(block, &found) && found.bytes == 2 * MIB);
    assert_int_equal(mapping_count().bytes, before.bytes);
    assert_true(mapping_end(block));
}

// A block aligned to a huge power of two may be a byte long, and the kernel may place the next one right behind it: the
// table has one entry for 64 KiB.
static void a_block_right_behind_a_short_one_is_another(void **state) {
    enum { TRIES = 64 };
    struct mapping found;
    char *first = NULL, *behind = NULL, *fillers[TRIES];
    uintptr_t hole = 0;
    unsigned filled = 0;
    (void)state;
    while (filled < TRIES && behind == NULL) {
        first = mapping_of(1, 64 * MIB);
        assert_true(mapping_find(first, &found));
        hole = (uintptr_t)first + found.bytes;
        size_t room = next_mapped(hole) - hole;
        char *candidate = room >= MIB ? mapping_of(room, 1) : NULL; // fits that hole exactly, if the kernel chooses it
        if ((uintptr_t)candidate == hole) {
            behind = candidate;
            break;
        }
        fillers[filled++] = first;
        if (candidate != NULL && filled < TRIES) // it fills a hole that the kernel liked better
            fillers[filled++] = candidate;
        else
            assert_true(candidate == NULL || mapping_end(candidate));
    }
    if (behind != NULL) {
        assert_true(mapping_find(behind, &found));
        assert_true(mapping_find(first, &found));
        assert_int_equal(found.bytes, hole - (uintptr_t)first);
        assert_true(mapping_end(first));
        assert_true(mapping_find(behind, &found));
        assert_true(mapping_end(behind));
    }
    while (filled > 0)
        assert_true(mapping_end(fillers[--filled]));
    if (behind == NULL)
        skip(); // the kernel placed nothing there
}

static void many_blocks_are_told_apart(void **state) {
    enum { BLOCKS = 500 };
    static char *blocks[BLOCKS];
    struct random random = random_start();
    struct mapping_totals before = mapping_count();
    struct mapping found;
    size_t bytes = 0;
    (void)state;
    for (unsigned i = 0; i < BLOCKS; i++) {
        size_t wanted = MIB + random_below(&random, 40 * MIB);
        blocks[i] = mapping_of(wanted, (size_t)1 << random_below(&random, 26));
        assert_non_null(blocks[i]);
        assert_true(mapping_find(blocks[i], &found));
        bytes += found.bytes;
    }
    assert_int_equal(mapping_count().blocks, before.blocks + BLOCKS);
    assert_int_equal(mapping_count().bytes, before.bytes + bytes);
    for (unsigned i = 0; i < BLOCKS; i += 2)
        assert_true(mapping_end(blocks[i]));
    for (unsigned i = 0; i < BLOCKS; i++)
        assert_int_equal(mapping_find(blocks[i], &found), i % 2);
    for (unsigned i = 1; i < BLOCKS; i += 2)
        assert_true(mapping_end(blocks[i]));
    assert_int_equal(mapping_count().bytes, before.bytes);
}

// ---- threads

enum { THREADS = 4, SLOTS = 32 };
static char *slots[SLOTS];

static void *exchange_blocks(void *number) {
    struct random random = {(uintptr_t)number};
    char letter = (char)(uintptr_t)number;
    for (unsigned step = 0; step < 1500; step++) {
        struct mapping found;
        size_t bytes = MIB + random_below(&random, 3 * MIB);
        char *block = mapping_of(bytes, 1);
        MUST(block != NULL);
        block[0] = letter;
        block[bytes - 1] = letter;
        if (random_below(&random, 4) == 0) {
            block = mapping_resize(block, bytes * 2);
            MUST(block != NULL && block[0] == letter && block[bytes - 1] == letter);
        }
        MUST(mapping_find(block, &found));
        // acquire and release: the block goes with its address
        char *old = __atomic_exchange_n(&slots[random_below(&random, SLOTS)], block, __ATOMIC_ACQ_REL);
        MUST(old == NULL || mapping_end(old));
    }
    return NULL;
}

static void threads_end_each_others_blocks(void **state) {
    struct mapping_totals before = mapping_count();
    (void)state;
    threads_run(THREADS, exchange_blocks);
    for (unsigned i = 0; i < SLOTS; i++)
        assert_true(slots[i] == NULL || mapping_end(slots[i]));
    assert_int_equal(mapping_count().blocks, before.blocks);
    assert_int_equal(mapping_count().bytes, before.bytes);
}

static char *contested;
static uint32_t winners;
static struct meeting meeting;
enum { CONTESTS = SANITIZED ? 2000 : 20000 };

static void *end_contested(void *number) {
    for (unsigned i = 0; i < CONTESTS; i++) {
        if (number == NULL)
            contested = mapping_of(MIB, 1);
        meet(&meeting, 2);
        if (mapping_end(contested))
            shared_add(&winners, 1);
        meet(&meeting, 2);
    }
    return NULL;
}

static void of_two_who_end_a_block_one_does(void **state) {
    (void)state;
    threads_run(2, end_contested);
    assert_int_equal(winners, CONTESTS);
}

static int read_page(void **state) {
    int result = start(state);
    page = os_facts.page_bytes;
    return result;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_is_found_by_its_start_alone),
        cmocka_unit_test(a_block_is_zeroed_and_all_of_it_usable),
        cmocka_unit_test(an_ended_block_is_gone_and_ends_once),
        cmocka_unit_test(blocks_are_aligned_as_asked_and_nothing_is_left_behind),
        cmocka_unit_test(large_blocks_begin_with_huge_pages),
        cmocka_unit_test(where_there_is_no_room_to_align_blocks_begin_anywhere),
        cmocka_unit_test(what_cannot_be_mapped_is_null),
        cmocka_unit_test(a_resized_block_keeps_its_content_and_can_be_found),
        cmocka_unit_test(an_aligned_block_can_be_resized),
        cmocka_unit_test(a_hidden_block_grows_and_shrinks),
        cmocka_unit_test(a_resize_that_cannot_be_changes_nothing),
        cmocka_unit_test(a_block_right_behind_a_short_one_is_another),
        cmocka_unit_test(many_blocks_are_told_apart),
        cmocka_unit_test(threads_end_each_others_blocks),
        cmocka_unit_test(of_two_who_end_a_block_one_does),
    };
    return cmocka_run_group_tests_name("mapping", tests, read_page, NULL);
}
