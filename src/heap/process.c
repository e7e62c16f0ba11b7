// The process as a whole: start, and trimming on request.
#include "big/cache.h"
#include "heap/registry.h"
#include "heap/transfer.h"
#include "policy/snapshot.h"
#include "region/runs.h"
#include "slab/sparse.h"
#include "sys/options.h"
#include "sys/os.h"

#define TRIM_BLOCKS 32 // taken at a time

enum process_state { PROCESS_NEW, PROCESS_STARTING, PROCESS_STARTED };

static uint32_t process_state;
static struct snapshot first_snapshot;

void heap_obey_options(struct snapshot *snapshot) {
    for (unsigned i = 0; i < DECISION_COUNT; i++)
        (void)options_given(decision_rows[i].name, snapshot_field(snapshot, (enum decision)i));
}

void heap_default_snapshot(struct snapshot *snapshot) {
    snapshot_default(snapshot);
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++)
        snapshot_default_depth(snapshot, i, class_bytes(i));
    heap_obey_options(snapshot);
}

// What can't fail, once.
static void process_start_tables(void) {
    static bool done; // by the one thread that starts the process
    if (done)
        return;
    done = true;
    os_start();
    options_read(os_environment());
    if (options.stats != OPTION_STATS_OFF)
        os_keep_standard_error();
    size_class_start();
    heap_default_snapshot(&first_snapshot);
    snapshot_publish(&first_snapshot);
    depot_start();
    transfer_start();
}

static bool process_start_parts(void) {
    static bool again; // as above
    process_start_tables();
    if (again)
        os_read_limits(); // a second try may find others
    again = true;
    if (!window_start() || !runs_start())
        return false;
    registry_start();
    return registry.spare != NULL && os_thread_exit_register(registry_thread_ended);
}

static COLD bool process_start_slow(void) {
    uint32_t expected = PROCESS_NEW;
    if (swap_acquire(&process_state, expected, PROCESS_STARTING)) { // acquire: none before; one thread wins
        bool started = process_start_parts();
        // release: what was set up comes before; pairs with the load in heap_process_start
        // Where it failed for lack of memory, the next call tries again.
        store_release(&process_state, (uint32_t)(started ? PROCESS_STARTED : PROCESS_NEW)); // order: as above
        os_wake_all(&process_state);
        if (started)
            os_fork_register(heap_fork_prepare, heap_fork_parent, heap_fork_child); // may allocate: after the start
        return started;
    }
    while (load_acquire(&process_state) == PROCESS_STARTING) // acquire: pairs with the release above
        os_wait(&process_state, PROCESS_STARTING);
    return load_acquire(&process_state) == PROCESS_STARTED; // acquire: as above
}

bool heap_process_start(void) {
    if (LIKELY(load_acquire(&process_state) == PROCESS_STARTED)) // acquire: pairs with process_start_slow
        return true;
    return process_start_slow();
}

// Blocks that threads kept.
struct taken {
    unsigned count;
    uintptr_t blocks[TRIM_BLOCKS];
};

static void take_kept_of(struct heap *heap, void *context) {
    struct taken *taken = context;
    uintptr_t block = taken->count < TRIM_BLOCKS ? kept_take(&heap->kept) : 0;
    if (block != 0)
        taken->blocks[taken->count++] = block;
}

// They go home without the registry's lock: that may purge.
void heap_give_all_kept(void) {
    struct taken taken;
    for (taken.count = TRIM_BLOCKS; taken.count == TRIM_BLOCKS;) {
        taken.count = 0;
        heap_for_each(take_kept_of, &taken);
        for (unsigned i = 0; i < taken.count; i++)
            big_give_kept(taken.blocks[i]);
    }
}

bool heap_trim(size_t keep_bytes) {
    if (!heap_process_start())
        return false;
    shared_add(&heap_trim_turn, 1);
    struct heap *heap = heap_enter();
    if (heap != NULL)
        heap_look_around(heap, CLASS_NONE);
    transfer_empty_all(heap != NULL ? heap : registry.spare);
    heap_give_all_kept();
    bool purged = keep_bytes == 0 && sparse_trim();
    purged = cache_trim(keep_bytes) || purged;
    size_t cached = cache_count().bytes;
    purged = runs_purge(keep_bytes - (cached < keep_bytes ? cached : keep_bytes)) || purged;
    // What others had begun to purge goes back before the program looks at what it has won.
    for (unsigned waits = 0; waits < TRIM_WAITS && runs_wait_for_purge();)
        waits++;
    heap_leave(heap);
    return purged;
}
