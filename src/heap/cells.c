// Cells, the storage of stacks: a heap has one a class to begin with, and takes more as metadata where it parks.
#include "heap/heap.h"
#include "region/meta.h"

// A page of them where the heap's own have run out.
#define CELLS_AT_ONCE (4096 / STACK_BYTES)

void **heap_take_cell(struct heap *heap) {
    void **cell = heap->spare_cells;
    if (cell != NULL) {
        heap->spare_cells = cell[0];
        cell[0] = NULL; // T1
        return cell;
    }
    if (heap->own_cells_used < CLASS_COUNT)
        return heap->cells[heap->own_cells_used++];
    cell = meta_take(CELLS_AT_ONCE * STACK_BYTES, CELLS_AT_ONCE * STACK_BYTES);
    for (unsigned i = 1; cell != NULL && i < CELLS_AT_ONCE; i++)
        heap_spare_cell(heap, cell + (size_t)i * STACK_SLOTS);
    return cell;
}

void heap_spare_cell(struct heap *heap, void **cell) {
    cell[0] = heap->spare_cells;
    heap->spare_cells = cell;
}
