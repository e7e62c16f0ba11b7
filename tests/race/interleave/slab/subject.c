// The subject: the library's own sources from locks to fork, as they are, with small numbers (shadow/base/tuning.h) and
// with the operating system replaced (world.c). Compiled with -fsanitize=thread.
#include "subject.h"

#include "sys/lock.c"

#include "policy/snapshot.c"

#include "region/meta.c"

#include "region/collapse.c"

#include "region/groups.c"

#include "region/density.c"

#include "region/huge.c"

#include "region/retain.c"

#include "region/runs.c"

#include "slab/slab.c"

#include "slab/depot.c"

#include "slab/sparse.c"

#include "slab/put.c"

#include "sample/sizes.c"

#include "sample/lives.c"

#include "heap/cells.c"

#include "heap/sampling.c"

#include "heap/depth.c"

#include "heap/park.c"

#include "heap/transfer.c"

#include "heap/refill.c"

#include "heap/flush.c"

#include "heap/idle.c"

#include "heap/registry.c"

#include "heap/visit.c"

#include "heap/fork.c"

// Thread-local storage: the machine's threads share one of the operating system's.
static struct {
    struct stacks *stacks;
    uint32_t ranks;
} local[THREADS_MOST];

void subject_enter(unsigned thread) {
    thread_stacks_pointer = local[thread].stacks;
    lock_ranks_held = local[thread].ranks;
}

void subject_leave(unsigned thread) {
    local[thread].stacks = thread_stacks_pointer;
    local[thread].ranks = lock_ranks_held;
}

void subject_new_thread(unsigned thread) {
    local[thread].stacks = &stacks_not_started;
    local[thread].ranks = 0;
}

void subject_each_waiting(void (*visit)(const struct slab *slab)) {
    for (unsigned lines = 0; lines <= SLAB_MAX_LINES; lines++) {
        const struct list *waiting = &free_slabs[lines];
        for (const struct list *node = waiting->next; node != NULL && node != waiting; node = node->next)
            visit(LIST_OWNER(node, struct slab, link));
    }
}

bool subject_is_in_transfer(const void *block, unsigned class_index) {
    for (unsigned i = 0; i < transfers[class_index].count; i++)
        if (transfer_slots[class_index][i] == block)
            return true;
    return false;
}

bool subject_is_purging(void) {
    return purging_slices > 0;
}
