// mallinfo and mallinfo2: the figures are true, they follow what the program holds.
#include "api_test.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // mallinfo: programs still call it

enum { SLACK = 2 * 1024 * 1024 }; // what caches may hide or count twice

// Bytes the program holds: in heaps and in mappings of their own.
static size_t bytes_held(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void expect_to_follow(size_t size, size_t count) {
    void **blocks = call.calloc(count, sizeof *blocks);
    assert_non_null(blocks);
    size_t before = bytes_held();
    for (size_t i = 0; i < count; i++) {
        blocks[i] = call.malloc(size);
        assert_non_null(blocks[i]);
        memset(blocks[i], 1, size);
    }
    size_t during = bytes_held();
    assert_true(during + SLACK >= before + size * count);
    assert_true(during <= before + (size + 32 + size / 3) * count + SLACK);
    for (size_t i = 0; i < count; i++) {
        call.free(blocks[i]);
    }
    size_t after = bytes_held();
    assert_true(after <= before + SLACK);
    assert_true(after + SLACK >= before);
    call.free(blocks);
}

static void bytes_in_use_follow_small_blocks(void **state) {
    (void)state;
    expect_to_follow(24, 1000000);
    expect_to_follow(1000, 64000);
}

static void bytes_in_use_follow_middle_blocks(void **state) {
    (void)state;
    expect_to_follow(20000, 3200);
    expect_to_follow(100000, 640);
}

static void bytes_in_use_follow_big_blocks(void **state) {
    (void)state;
    expect_to_follow(900000, 70);
    expect_to_follow(5 * MIB, 20);
}

static void the_parts_add_up(void **state) {
    (void)state;
    void *blocks[1000];
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        blocks[i] = call.malloc(i * 50);
        assert_non_null(blocks[i]);
    }
    struct mallinfo2 info = mallinfo2();
    assert_true(info.uordblks > 0);
    assert_true(info.uordblks + info.fordblks <= info.arena);
    assert_true(info.arena < (size_t)1 << 46);
    assert_true(info.hblkhd < (size_t)1 << 46);
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        call.free(blocks[i]);
    }
}

static void the_old_structure_says_the_same(void **state) {
    (void)state;
    void *block = call.malloc(10 * MIB);
    assert_non_null(block);
    struct mallinfo old = mallinfo();
    struct mallinfo2 new = mallinfo2();
    assert_int_equal((unsigned)old.uordblks, (unsigned)new.uordblks);
    assert_int_equal((unsigned)old.hblkhd, (unsigned)new.hblkhd);
    assert_int_equal((unsigned)old.arena, (unsigned)new.arena);
    call.free(block);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hakmem_is_in_use),
        cmocka_unit_test(bytes_in_use_follow_small_blocks),
        cmocka_unit_test(bytes_in_use_follow_middle_blocks),
        cmocka_unit_test(bytes_in_use_follow_big_blocks),
        cmocka_unit_test(the_parts_add_up),
        cmocka_unit_test(the_old_structure_says_the_same),
    };
    return cmocka_run_group_tests_name("mallinfo", tests, NULL, NULL);
}
