// The learner: one for the process, run by whichever thread comes by when a look is due.
#include "learn/learn.h"

#include <errno.h>

#include "base/bits.h"
#include "heap/helper.h"
#include "heap/registry.h"
#include "heap/sampling.h"
#include "learn/collapsing.h"
#include "learn/cycle.h"
#include "learn/decide.h"
#include "learn/file.h"
#include "learn/history.h"
#include "learn/observe.h"
#include "learn/parts.h"
#include "learn/probe.h"
#include "learn/publish.h"
#include "learn/saving.h"
#include "learn/trials.h"
#include "policy/budget.h"
#include "policy/modes.h"
#include "policy/retention.h"
#include "region/runs.h"
#include "sample/sizes.h"
#include "sys/options.h"
#include "sys/os.h"

#define IDLE_LEAST_MS 20 // between a helper's looks for idle memory

INTERNAL uint32_t learn_is_on;
INTERNAL uint32_t learn_notes_callers;

// Under learn_lock.
static struct {
    uint64_t start_ns;
    uint32_t process; // a fork child begins anew
    uint32_t forks;   // registry.forks then
    unsigned looks;
    uint64_t cost_ns; // of a look
    struct observation seen;
    bool is_endless;  // mode research: nothing is ever frozen
    bool is_child;    // of a fork
    bool has_ended;   // no look any more: the program ends
    uint64_t idle_ns; // when what lay idle went last
    // For learn_tell:
    uint64_t looks_ns;
    uint64_t changes;
    uint64_t windows_before, windows_ns_before, seen_before; // in the parent
    struct history history;
} learner;
static uint64_t opened_windows; // added by all threads, as the next one
static uint64_t opened_windows_ns;
static uint64_t next_look_ns;            // read without the lock, as the next one
static size_t next_look_high = SIZE_MAX; // bytes of slices from which on a look is due before that time
static size_t next_look_low;             // and down to which
static uint64_t least_look_ns;           // but not before this one

static void put_in_force(const struct snapshot *snapshot) {
    learn_publish(snapshot);
    (void)heap_change_classes(); // where a thread was inside the next look tries again
}

// Requests whose sizes were seen.
static uint64_t count_seen(void) {
    uint64_t all = 0;
    for (unsigned i = 0; i < SIZES_KINDS; i++)
        all += load_relaxed(&sizes_by_kind[i]);
    return all;
}

static void begin_life(uint64_t now_ns) {
    learner.process = os_process_id();
    learner.forks = load_relaxed(&registry.forks); // no other thread writes it
    learner.start_ns = now_ns;
    learner.looks = 0;
    learner.looks_ns = 0;
    learner.idle_ns = now_ns;
    learner.changes = 0;
    collapsing_begin_life();
    learner.windows_before = load_relaxed(&opened_windows); // counts, as the next ones
    learner.windows_ns_before = load_relaxed(&opened_windows_ns);
    learner.seen_before = count_seen();
    history_start(&learner.history);
}

// Its number alone may be that of its parent: both are the first of their name spaces.
static bool is_another_process(void) {
    return learner.forks != load_relaxed(&registry.forks) || learner.process != os_process_id(); // order: as above
}

// What the parent ended goes on here.
static bool has_ended(void) {
    return learner.has_ended && !is_another_process();
}

// What was decided stays.
static void begin_child_life(uint64_t now_ns) {
    learner.is_child = true;
    learner.has_ended = false;
    saving_begin_life();
    begin_life(now_ns);
    decide_begin_life(now_ns);
    cycle_start(now_ns);
}

// The decisions before anything is known about the program.
static void begin_with_mode(void) {
    static struct snapshot base;
    begin_life(learn_now_ns());
    learner.cost_ns = LEARN_COST_NS;
    learner.is_endless = mode_learning((enum mode)options.mode) == LEARN_ALWAYS;
    heap_default_snapshot(&base);
    mode_apply((enum mode)options.mode, &base);
    profile_apply((enum profile)options.profile, &base);
    decide_start(&base, learner.is_endless ? DECIDE_ALL : DECIDE_USUAL, learner.start_ns);
    cycle_start(learner.start_ns);
    learn_publish(&decided);
}

// False: another thread has begun. It may be at its file still, which nobody waits for.
static bool begin_first(void) {
    static bool has_begun; // under learn_lock
    struct heap *heap = learn_enter_locked();
    bool is_first = !has_begun;
    has_begun = true;
    if (is_first)
        begin_with_mode();
    lock_release(&learn_lock);
    heap_leave(heap);
    return is_first;
}

// The time of the next look: later the longer nothing has changed, and the more looks cost.
static uint64_t next_look_after(uint64_t now_ns, uint64_t debt_ns) {
    uint64_t wait = (now_ns - cycle_begin_ns()) / LEARN_GROWTH_SHARE;
    wait = wait < LEARN_LEAST_NS ? LEARN_LEAST_NS : wait > LEARN_MOST_NS ? LEARN_MOST_NS : wait;
    if (evolution_suspects(cycle_evolution()))
        wait = LEARN_LEAST_NS;
    uint64_t cost = learner.cost_ns * LEARN_COST_SHARE;
    cost = cost > debt_ns ? cost : debt_ns;
    return now_ns + (wait > cost ? wait : cost);
}

// What was seen, and what is in force now.
static void note_row(uint64_t at_ns) {
    struct history_row row = {
        .at_ns = at_ns,
        .in_use_bytes = learner.seen.in_use_bytes,
        .retained_bytes = learner.seen.retained_bytes,
        .stacked_bytes = learner.seen.cached_bytes,
        .thread_bytes = DECIDED(thread_bytes),
        .allowance_least = DECIDED(allowance_least),
        .purge_delay = DECIDED(purge_delay),
        .big_threshold = DECIDED(big_threshold),
        .state = (uint8_t)cycle_evolution()->state,
    };
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++)
        row.batches += learner.seen.classes[i].refills + learner.seen.classes[i].flushes;
    tournament_list_ratings(row.ratings);
    history_note(&learner.history, &row);
}

static void step_cycle(uint64_t now_ns) {
    enum evolution_state before = cycle_evolution()->state;
    cycle_step(&learner.seen);
    if (cycle_evolution()->state != before)
        history_note_change(&learner.history, (now_ns - learner.start_ns) / LEARN_HASTE, cycle_evolution());
}

// What a look took: without the time in which it waited for a processor, where the system says.
static uint64_t spent_ns(uint64_t began_ns, uint64_t thread_ns, uint64_t now_ns) {
    return thread_ns != 0 ? (os_thread_ns() - thread_ns) * LEARN_HASTE : now_ns - began_ns;
}

// How long the program was busy: not how long it slept, where the system says.
static uint64_t busy_ns(uint64_t now_ns) {
    return learner.seen.busy_ns != 0 ? learner.seen.busy_ns * LEARN_HASTE : now_ns - learner.start_ns;
}

// Where nothing is learned: all that there is to be done. Since a run before had use for it, there is more time for it.
static void collapse_alone(uint64_t now_ns) {
    if (is_another_process())
        begin_life(now_ns);
    learner.seen.busy_ns = os_is_confined() ? 0 : os_process_ns();
    collapsing_go_on(now_ns, busy_ns(now_ns) * COLLAPSE_KNOWN_TIMES, runs_in_use_bytes());
    if (!collapsing_is_due(UINT64_MAX - 1)) // no more was found
        collapsing_try_at(now_ns + COLLAPSE_LOOK_NS);
}

// It has its own budget, apart from what a look costs.
static void collapse_too(uint64_t now_ns) {
    if (part_learns(PART_collapse))
        collapsing_go_on(now_ns, busy_ns(now_ns), learner.seen.in_use_bytes);
}

// Whether it is time for what lies idle to go. What that takes is the price of less memory, as where memory is freed:
// it does not count as learning.
static bool is_idle_due(uint64_t now_ns) {
    uint64_t hold_ns = retention_hold_ns(retention_ns(&learner.seen.page, options.memory_price));
    uint64_t delay_ns = retention_idle_ns(hold_ns);
    bool goes = decide_lets_idle_go();
    struct helper_idle wanted = {
        .hold_ms = hold_ns / LEARN_HASTE / MS_NS,
        .back_bytes = retention_idle_back_bytes(&learner.seen.page, hold_ns),
    };
    if (goes) {
        size_t delay = delay_ns / LEARN_HASTE / MS_NS;
        wanted.delay = delay < IDLE_LEAST_MS ? IDLE_LEAST_MS : delay;
    }
    helper_want_idle(&wanted);
    if (!goes || now_ns - learner.idle_ns < delay_ns)
        return false;
    learner.idle_ns = now_ns;
    return true;
}

// For a look: the helper's, or one of the program's own threads, which was due when the first look was that the helper
// had in its place.
static void see(uint64_t now_ns, bool is_helpers) {
    uint64_t due_ns = learner.seen.is_helpers ? learner.seen.due_ns : load_relaxed(&next_look_ns);
    observe(&learner.seen, now_ns);
    observe_course(&learner.seen);
    learner.seen.due_ns = due_ns;
    learner.seen.is_helpers = is_helpers;
}

static void look(uint64_t began_ns, bool is_helpers) {
    uint64_t began_thread_ns = os_is_confined() ? 0 : os_thread_ns();
    if (is_another_process())
        begin_child_life(began_ns);
    uint64_t probed_ns = 0;
    if (bits_count(++learner.looks) == 1) { // ever more rarely
        probe_measure();
        probed_ns = spent_ns(began_ns, began_thread_ns, learn_now_ns());
    }
    see(began_ns, is_helpers);
    bool soon = false;
    if (cycle_learns() && decide_step(&learner.seen, &soon)) {
        cycle_note_change();
        learner.changes++;
    }
    if (cycle_is_frozen())
        decide_hold(&learner.seen);
    decide_fade_sizes(count_seen());
    if (!learner.is_endless && cycle_is_due(began_ns))
        step_cycle(began_ns);
    put_in_force(cycle_shown());
    uint64_t at_ns = (began_ns - learner.start_ns) / LEARN_HASTE;
    if (history_is_due(&learner.history, at_ns))
        note_row(at_ns);
    uint64_t now = learn_now_ns();
    uint64_t spent = spent_ns(began_ns, began_thread_ns, now);
    learner.cost_ns = budget_look_ns(learner.cost_ns, spent, probed_ns);
    learner.looks_ns += spent;
    uint64_t debt = budget_debt_ns(learner.looks_ns, busy_ns(now)), early = learner.cost_ns * LEARN_COST_SHARE / 4;
    uint64_t next = soon && debt <= TRYOUT_NS ? now + TRYOUT_NS : next_look_after(now, debt);
    store_relaxed(&next_look_ns, next); // read without the lock, as the next ones
    store_relaxed(&least_look_ns, now + (debt > early ? debt : early));
    size_t in_use = runs_in_use_bytes();
    bool waits = !cycle_learns(); // for time alone
    store_relaxed(&next_look_high, waits ? SIZE_MAX : in_use < MIB ? MIB : in_use * 2);
    store_relaxed(&next_look_low, waits || in_use < MIB ? 0 : in_use / LEARN_FALL_SHARE);
    collapse_too(now);
}

// By the helper: no thread came by when a look was due. What lies idle is the helper's own to let go.
static void look_unseen(void) {
    uint64_t now = learn_now_ns();
    if (now < load_relaxed(&next_look_ns) || !lock_try(&learn_lock)) // read without the lock, as in learn_look_slow
        return;
    if (!has_ended() && now > learner.seen.now_ns) {
        look(now, true);
        is_idle_due(now);
    }
    lock_release(&learn_lock);
}

// The file is read without the lock, and outside: modules are found under the dynamic linker's, which a thread that
// waits for ours may hold. What is written meanwhile (learned, the parts, site rules) is this thread's alone until it
// has had the lock again: there is no look before learn_is_on.
void learn_start(void) {
    if (!heap_process_start() || !begin_first())
        return;
    parts_read();
    bool has_file = file_find() && file_read(&learned);
    if (has_file)
        decide_take_sites();
    struct heap *heap = learn_enter_locked();
    if (has_file)
        decide_take_policy();
    cycle_start(learner.start_ns);
    put_in_force(&decided);
    lock_release(&learn_lock);
    heap_leave(heap);
    // No look has been: nobody else writes is_endless.
    store_relaxed(&learn_notes_callers, learner.is_endless && part_learns(PART_sites)); // a hint, as the next one
    bool learns = mode_learning((enum mode)options.mode) != LEARN_NOTHING;
    if (learns) {
        saving_start();
        helper_let_look(look_unseen);
    }
    if (!learns && DECIDED(collapse) != 0)
        collapsing_try_at(learner.start_ns + COLLAPSE_LOOK_NS); // nobody looks before the next one
    store_relaxed(&learn_is_on, learns ? LEARN_ON : DECIDED(collapse) != 0 ? LEARN_COLLAPSES : LEARN_OFF);
}

void learn_obey_user(enum decision decision, size_t value) {
    learn_start();
    struct heap *heap = learn_enter_locked();
    learn_pin(decision, value);
    learn_publish(cycle_shown());
    lock_release(&learn_lock);
    heap_leave(heap);
}

uint64_t learn_begin_slow(void) {
    const struct heap *heap = thread_stacks.heap;
    return heap != NULL && heap->learn_left == 1 ? learn_now_ns() : 0;
}

// Returns the time when it is open.
static uint64_t open_window(struct heap *heap, uint64_t now_ns) {
    heap->window_ns = now_ns;
    heap_open_window(heap, SAMPLE_CALLS);
    uint64_t opened_ns = learn_now_ns();
    shared_add(&opened_windows, (uint64_t)1);
    shared_add(&opened_windows_ns, opened_ns - now_ns);
    return opened_ns;
}

// Until the next look at the clock. False: this is the first one.
static bool begin_turns(struct heap *heap, uint64_t now_ns) {
    bool is_first = heap->learn_turns == 0;
    uint32_t clock = (uint32_t)(now_ns / 1000), took = clock - heap->learn_clock;
    unsigned turns = is_first ? LEARN_TURNS : budget_turns(heap->learn_turns, (uint64_t)took * 1000);
    heap->learn_turns = heap->learn_left = (uint16_t)turns;
    heap->learn_clock = clock;
    return !is_first;
}

// Much more or much less is in use than at the last look.
static bool moves_much(void) {
    size_t in_use = runs_in_use_bytes();
    return in_use >= load_relaxed(&next_look_high) || in_use < load_relaxed(&next_look_low);
}

// Returns whether what lies idle is to go. Taken: what the call took, where it was timed.
static bool learn_and_look(struct heap *heap, uint64_t now, bool is_timed, uint64_t taken_ns) {
    if (now - heap->window_ns >= SAMPLE_NS)
        now = open_window(heap, now);
    bool due = now >= load_relaxed(&next_look_ns) || (moves_much() && now >= load_relaxed(&least_look_ns));
    bool is_idle = false, collapses = collapsing_is_due(now);
    if ((!due && !collapses && !is_timed) || !lock_try(&learn_lock))
        return false;
    if (is_timed)
        cycle_note_latency(taken_ns);
    if (due && !has_ended() && now > learner.seen.now_ns) { // nobody else was faster
        look(now, false);
        is_idle = is_idle_due(now);
    } else if (collapses && !learner.has_ended && !is_another_process()) {
        collapse_too(now);
    }
    lock_release(&learn_lock);
    return is_idle;
}

void learn_look_slow(uint64_t begin_ns) {
    struct heap *heap = thread_stacks.heap;
    if (heap == NULL)
        return;
    bool is_time = heap->learn_left-- <= 1;
    if (!is_time && (heap->learn_left % LEARN_MOVED_TURNS != 0 || !moves_much()))
        return;
    uint64_t now = learn_now_ns(), taken_ns = now - begin_ns;
    if (is_time && !begin_turns(heap, now))
        return;
    heap_enter();
    if (load_relaxed(&learn_is_on) == LEARN_COLLAPSES) {
        if (collapsing_is_due(now) && lock_try(&learn_lock)) {
            collapse_alone(now);
            lock_release(&learn_lock);
        }
    } else if (learn_and_look(heap, now, begin_ns != 0, taken_ns)) {
        helper_let_idle_go();
    }
    heap_leave(heap);
    saving_obey();
}

// What came since the last look, for the next run. With the lock.
static void look_at_last(uint64_t now_ns, struct policy *policy) {
    bool soon;
    if (cycle_learns()) {
        see(now_ns, false);
        decide_step(&learner.seen, &soon);
    }
    decide_note(now_ns);
    *policy = learned;
    learner.has_ended = true;
}

static void look_meanwhile(uint64_t now_ns, struct policy *policy) {
    if (now_ns > learner.seen.now_ns)
        look(now_ns, false);
    decide_note_apart(now_ns, policy);
}

int learn_note(struct policy *policy, enum learn_notes when) {
    int error = EBUSY;
    struct heap *heap = heap_enter();
    if (learn_try_lock_at_end()) {
        bool has_learned = learner.looks > 0 && !is_another_process();
        error = has_learned && !learner.has_ended ? 0 : EAGAIN;
        if (error == 0)
            (when == LEARN_NOTES_AT_END ? look_at_last : look_meanwhile)(learn_now_ns(), policy);
        lock_release(&learn_lock);
    }
    heap_leave(heap);
    return error;
}

bool learn_is_childs(void) {
    return learner.is_child;
}

void learn_tell(struct learn_told *told) {
    uint64_t now = learn_now_ns();
    if (is_another_process())
        begin_child_life(now);
    told->learns = load_relaxed(&learn_is_on) == LEARN_ON; // a hint
    told->state = cycle_evolution()->state;
    told->run_ns = (now - learner.start_ns) / LEARN_HASTE;
    told->looks = learner.looks;
    told->changes = learner.changes;
    told->windows = load_relaxed(&opened_windows) - learner.windows_before; // counts, as the next ones
    uint64_t windows_ns = load_relaxed(&opened_windows_ns) - learner.windows_ns_before;
    told->look_ns = (learner.looks_ns + collapsing_spent_ns() + windows_ns) / LEARN_HASTE;
    told->trial_ns = (uint64_t)trials_regret_ns();
    told->seen_blocks = count_seen() - learner.seen_before;
    told->page = learner.seen.page;
    history_copy(&told->history, &learner.history);
}
