// Learning: observes, asks the policy, and alone publishes what it decides.
//
// Nothing here runs on the fast path. learn_look is called where a slow call ends, and looks at the clock now and then.
#ifndef LEARN_LEARN_H
#define LEARN_LEARN_H

#include "heap/heap.h"
#include "learn/history.h"
#include "learn/observe.h"
#include "policy/policy.h"
#include "sample/callers.h"
#include "sys/os.h"

// What learning did in this process; a fork child begins anew.
struct learn_told {
    bool learns;
    enum evolution_state state;
    uint64_t run_ns; // since it began
    uint64_t looks;
    uint64_t look_ns;     // spent in looks and in opening windows
    uint64_t trial_ns;    // that trying settings took beyond what the same work takes without
    uint64_t changes;     // looks that decided something
    uint64_t windows;     // sampling windows opened
    uint64_t seen_blocks; // asked for in them
    struct cost_page page;
    struct history history;
};

enum learn_is_on {
    LEARN_OFF,
    LEARN_COLLAPSES, // nothing is learned, but groups are collapsed (decision collapse)
    LEARN_ON,
};
// One of them. Relaxed: a hint to the threads.
SHARED uint32_t learn_is_on;
// 1: the sites of calls for big blocks are noted, for site rules. As above.
SHARED uint32_t learn_notes_callers;

// Reads mode, profile and policy file, once; after heap_process_start. By any thread: one that comes while another is
// at it has the mode's decisions at least.
INTERNAL void learn_start(void);
// The user's own decision, which nothing learned changes from now on.
INTERNAL void learn_obey_user(enum decision decision, size_t value);
// What the next ones do where something is learned.
INTERNAL NOINLINE uint64_t learn_begin_slow(void);
INTERNAL NOINLINE void learn_look_slow(uint64_t begin_ns);
// What it did so far. Under learn_lock; some 27 KiB, which callers keep off stacks.
INTERNAL void learn_tell(struct learn_told *told);
// Saves what was learned so far, while the program goes on. By any thread, outside of locks and handlers. Returns 0, or
// an error number: ENOTSUP nothing is learned or no file named, EPERM the process has confined itself, EAGAIN there was
// no look yet, EBUSY another thread is at it, EEXIST the file is another program's, or why it can't be written.
INTERNAL int learn_save(void);
enum learn_notes {
    LEARN_NOTES_MEANWHILE,
    LEARN_NOTES_AT_END, // there is no look any more
};
// Brings what is known about the program up to date, in *policy, for its file. Returns 0, EAGAIN: there was no look of
// this process, or it has ended; EBUSY: somebody keeps the lock.
INTERNAL int learn_note(struct policy *policy, enum learn_notes when);
// Whether this is a fork child of a process that learned.
INTERNAL bool learn_is_childs(void);
// The program ends: saves what was learned, if that was asked for and the process has not confined itself.
INTERNAL void learn_end(void);

// The time in which the learner lives.
ALWAYS_INLINE uint64_t learn_now_ns(void) {
    return os_now_ns() * LEARN_HASTE;
}

// A slow call begins: its time, where it is one of those that are timed, or 0.
ALWAYS_INLINE uint64_t learn_begin(void) {
    return UNLIKELY(load_relaxed(&learn_is_on) == LEARN_ON) ? learn_begin_slow() : 0;
}

// A block that grows by small steps had to be copied.
ALWAYS_INLINE void learn_note_growth(size_t bytes) {
    if (LIKELY(load_relaxed(&learn_is_on) != LEARN_ON))
        return;
    shared_add(&observed_grown_blocks, (uint64_t)1);
    shared_add(&observed_grown_bytes, (uint64_t)bytes);
}

// A block above the slab classes was asked for.
ALWAYS_INLINE void learn_note_big(uintptr_t site, size_t bytes) {
    if (LIKELY(load_relaxed(&learn_is_on) != LEARN_ON) || bytes <= CLASS_LARGE_MAX || bytes >= BIG_THRESHOLD_MAX_BYTES)
        return;
    uint64_t sites = load_relaxed(&observed_spread.sites), bit = spread_site(site);
    shared_add(&observed_spread.requests[spread_range(bytes)], (uint64_t)1);
    if ((sites & bit) == 0)
        store_relaxed(&observed_spread.sites, sites | bit); // what others lose they add again
}

// The same, while site rules are learned.
ALWAYS_INLINE void learn_note_caller(uintptr_t site, size_t bytes) {
    if (UNLIKELY(load_relaxed(&learn_notes_callers) != 0))
        callers_note(site, bytes);
}

// It has ended.
ALWAYS_INLINE void learn_look(uint64_t begin_ns) {
    if (UNLIKELY(load_relaxed(&learn_is_on) != LEARN_OFF))
        learn_look_slow(begin_ns);
}

#endif
