// What programs under test do among themselves, compiled like the subject so that it is a turn.
#include "heap/heap_fast.h"
#include "world.h"

void *world_malloc(unsigned class_index) {
    void *block = stack_pop(class_index);
    block = block != NULL ? block : heap_refill(class_index);
    if (block != NULL)
        world_got(block, class_index);
    return block;
}

void world_free(void *block) {
    const struct slab *slab = slab_of_slice(window_slice_of(block));
    world_gives(block, slab->class_index);
    if (!stack_free(block))
        heap_take_back(block, slab);
}

static uintptr_t mailbox;

void world_send(void *block) {
    store_release(&mailbox, (uintptr_t)block); // release: pairs with world_receive
}

void *world_receive(void) {
    return (void *)load_acquire(&mailbox); // acquire: pairs with world_send
}
