// Cells: apart from each other, aligned, and used again.
#include "unit/unit.h"

#include "unit/heap/heaps.h"

enum { MANY = 3 * CLASS_COUNT };

static void cells_are_apart_and_begin_with_null(void **state) {
    static void **cells[MANY];
    (void)state;
    struct heap *heap = heap_mine();
    for (unsigned i = 0; i < MANY; i++) {
        cells[i] = heap_take_cell(heap);
        assert_non_null(cells[i]);
        assert_int_equal((uintptr_t)cells[i] & STACK_MASK, 0);
        for (unsigned k = 0; k < STACK_SLOTS; k++) {
            assert_null(cells[i][k]); // nobody has had it before
            cells[i][k] = &cells[i];
        }
    }
    assert_int_equal(heap->own_cells_used, CLASS_COUNT);
    for (unsigned i = 0; i < MANY; i++)
        heap_spare_cell(heap, cells[i]);
    for (unsigned i = MANY; i > 0; i--) { // the newest first, its lowest slot NULL again (T1)
        void **cell = heap_take_cell(heap);
        assert_ptr_equal(cell, cells[i - 1]);
        assert_null(cell[0]);
    }
    for (unsigned i = 0; i < MANY; i++)
        heap_spare_cell(heap, cells[i]);
}

static void a_heap_used_again_uses_its_cells_again(void **state) {
    (void)state;
    struct heap *heap = heap_mine();
    for (unsigned turn = 0; turn < 10; turn++) {
        for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
            void *block = allocate(i);
            assert_non_null(block);
            release(block);
        }
        size_t metadata = meta_bytes();
        unsigned used = heap->own_cells_used;
        heap_empty(heap);
        for (unsigned i = 0; i < CLASS_COUNT; i++)
            store_relaxed(&thread_stacks.top[i], CONSTANT_TOP);
        registry_forget_stacks(heap); // as for the next thread
        assert_int_equal(heap->own_cells_used, used);
        assert_int_equal(meta_bytes(), metadata);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_are_apart_and_begin_with_null),
        cmocka_unit_test(a_heap_used_again_uses_its_cells_again),
    };
    return cmocka_run_group_tests_name("cells", tests, start_heap, NULL);
}
