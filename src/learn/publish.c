// Puts decisions in force: copies, one after the other, in a ring (P2).
#include "learn/publish.h"

#include "sys/os.h"

#define END_PATIENCE_MS 200 // a look takes less than one

static struct snapshot snapshot_ring[SNAPSHOT_RING];
static unsigned snapshot_turn;
static size_t pinned_values[DECISION_COUNT];
static bool is_pinned[DECISION_COUNT];

typedef uint64_t __attribute__((may_alias)) snapshot_word;
_Static_assert(sizeof(struct snapshot) % sizeof(snapshot_word) == 0, "copied word by word");

// P2: somebody may still read what was here before.
static void snapshot_copy(struct snapshot *to, const struct snapshot *from) {
    snapshot_word *fields = (snapshot_word *)to;
    for (size_t i = 0; i < sizeof *to / sizeof(snapshot_word); i++)
        store_relaxed(&fields[i], ((const snapshot_word *)from)[i]);
}

static bool snapshot_is(const struct snapshot *one, const struct snapshot *other) {
    const snapshot_word *fields = (const snapshot_word *)one, *others = (const snapshot_word *)other;
    for (size_t i = 0; i < sizeof *one / sizeof(snapshot_word); i++)
        if (fields[i] != others[i])
            return false;
    return true;
}

struct heap *learn_enter_locked(void) {
    struct heap *heap = heap_enter();
    lock_acquire(&learn_lock);
    return heap;
}

bool learn_try_lock_at_end(void) {
    for (unsigned slept = 0; slept < END_PATIENCE_MS * 1000; slept += FORK_SLEEP_US) {
        if (lock_try(&learn_lock))
            return true;
        os_sleep(FORK_SLEEP_US);
    }
    return false;
}

void learn_publish(const struct snapshot *snapshot) {
    struct snapshot made = *snapshot;
    heap_obey_options(&made);
    for (unsigned i = 0; i < DECISION_COUNT; i++)
        if (is_pinned[i])
            *snapshot_field(&made, (enum decision)i) = pinned_values[i];
    if (snapshot_is(&made, snapshot_now())) // nobody else writes
        return;
    struct snapshot *next = &snapshot_ring[snapshot_turn++ % SNAPSHOT_RING];
    snapshot_copy(next, &made);
    snapshot_publish(next);
}

bool learn_is_pinned(enum decision decision) {
    return is_pinned[decision];
}

void learn_pin(enum decision decision, size_t value) {
    is_pinned[decision] = true;
    pinned_values[decision] = value;
}
