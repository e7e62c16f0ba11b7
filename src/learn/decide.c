// Asks the policy what it makes of what was observed.
#include "learn/decide.h"

#include <string.h>

#include "big/routes.h"
#include "heap/heap.h"
#include "learn/next_depths.h"
#include "learn/next_run.h"
#include "learn/parts.h"
#include "learn/publish.h"
#include "learn/rules.h"
#include "learn/tournament.h"
#include "learn/trials.h"
#include "policy/classes.h"
#include "policy/depths.h"
#include "policy/headroom.h"
#include "policy/retention.h"
#include "policy/tolerance.h"
#include "sample/lives.h"
#include "sys/options.h"
#include "sys/os.h"

#define CHANGE_SHARE 4 // a number that moves by less than this part (1/N) has not changed

INTERNAL struct snapshot decided;
INTERNAL struct policy learned;

static struct {
    uint64_t start_ns;
    enum decide_reach reach;
    unsigned steps;
    unsigned threads;       // at the last step
    struct snapshot base;   // what there was before anything was learned
    struct snapshot stable; // decided when the last change was noted
    struct retention retention;
    struct depths depths;
    struct {
        uint64_t ns, blocks, bytes;
    } grown;                                      // when the headroom was weighed last
    struct policy_class later[CLASS_SPARE_COUNT]; // classes for the next run
    unsigned later_count;
} decider;

// --- Beginning -------------------------------------------------------------------------------------------------------

// P1: a file may name sizes that no class can have.
static void place_classes(void) {
    uint32_t bytes[CLASS_SPARE_COUNT];
    unsigned count = 0;
    for (unsigned i = 0; i < learned.class_count; i++)
        if (size_class_step(learned.classes[i].bytes) == learned.classes[i].bytes)
            bytes[count++] = learned.classes[i].bytes;
    heap_place_spares(&decided, bytes, count);
}

static void close_classes(void) {
    uint32_t sizes[CLASS_END];
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++)
        sizes[i] = (uint32_t)class_bytes(i);
    tolerance_apply(&decided, sizes);
}

void decide_start(const struct snapshot *base, enum decide_reach reach, uint64_t now_ns) {
    decider.reach = reach;
    decider.base = *base;
    decider.stable = *base;
    decider.start_ns = now_ns;
    decided = *base;
    tournament_start();
}

static unsigned class_with_bytes(uint32_t bytes) {
    unsigned found = CLASS_FIRST;
    while (found < CLASS_END && class_bytes(found) != bytes)
        found++;
    return found;
}

// What is merged with the file at the end counts the looks of this run alone.
static void forget_looks(void) {
    for (unsigned i = 0; i < DECISION_COUNT; i++)
        learned.values[i].evidence.windows = 0;
    for (unsigned i = 0; i < learned.class_count; i++)
        learned.classes[i].evidence.windows = 0;
    for (unsigned i = 0; i < learned.closed_count; i++)
        learned.closed[i].evidence.windows = 0;
    for (unsigned i = 0; i < decider.later_count; i++)
        decider.later[i].evidence.windows = 0;
}

void decide_begin_life(uint64_t now_ns) {
    decider.start_ns = now_ns;
    decider.steps = 0;
    decider.stable = decided;
    decider.grown.ns = 0;
    decider.depths.last_ns = 0;
    depths_settle(&decider.depths);
    retention_begin_life(&decider.retention, now_ns);
    decider.depths.limited_ns = decider.depths.doubled_ns = 0;
    next_depths_begin_life();
    forget_looks();
    next_run_begin_life();
    trials_begin_life(&decided);
}

void decide_take_sites(void) {
    for (unsigned i = 0; i < learned.site_count; i++) {
        const struct policy_site *site = &learned.sites[i];
        uintptr_t base;
        if (os_find_module(site->module, &base)) // else it is not loaded (yet)
            routes_set(base + site->offset, site->threshold_bytes);
    }
}

void decide_take_policy(void) {
    forget_looks();
    policy_apply(&learned, &decided);
    place_classes();
    close_classes();
    for (unsigned i = 0; i < learned.closed_count; i++) {
        unsigned found = class_with_bytes(learned.closed[i].bytes);
        if (found < CLASS_COUNT)
            decided.closed[found] = 1;
    }
    for (unsigned i = 0; i < learned.depth_count; i++) {
        unsigned found = class_with_bytes(learned.depths[i].bytes);
        if (found == CLASS_END)
            continue;
        decided.depth[found] = (uint8_t)learned.depths[i].depth;
        decided.batch[found] = (uint8_t)((learned.depths[i].depth + 1) / 2);
    }
}

// --- Deciding --------------------------------------------------------------------------------------------------------

bool decide_lets_idle_go(void) {
    const struct snapshot *base = &decider.base;
    bool is_held = base->retain_min > RETAIN_MIN_BYTES || base->retain_share < RETAIN_SHARE;
    return part_learns(PART_memory) && options.free_policy == OPTION_FREE_POLICY_ADAPTIVE && !is_held &&
           base->purge_delay == 0 && !learn_is_pinned(DECISION_retain_min);
}

void decide_hold(const struct observation *seen) {
    if (!part_learns(PART_memory))
        return;
    uint64_t worth_ns = retention_ns(&seen->page, options.memory_price);
    struct retention_seen levels = {
        .now_ns = seen->now_ns,
        .in_use = seen->course,
        .retained_bytes = seen->retained_bytes,
        .highest_retained_bytes = seen->highest_retained_bytes,
        .allowance_bytes = seen->allowance_bytes,
        .refaulted_bytes = seen->refaulted_bytes - trials_refaulted_bytes(),
        .worth_ns = worth_ns,
        .hold_ns = retention_hold_ns(worth_ns),
        .due_ns = seen->due_ns,
        .busy_ns = seen->busy_ns * LEARN_HASTE,
        .threads = seen->threads,
        .is_helpers = seen->is_helpers,
    };
    struct retention_choice choice = retention_step(&decider.retention, &levels);
    if (!trials_are_on())
        decided.allowance_least = choice.allowance_least;
    retention_note_held(&decider.retention, seen->now_ns, decided.allowance_least);
    if (choice.purge_delay != 0 && decide_lets_idle_go())
        decided.purge_delay = choice.purge_delay;
}

static void decide_headroom(const struct observation *seen) {
    struct headroom_seen past = {seen->now_ns - decider.grown.ns, seen->grown_blocks - decider.grown.blocks,
                                 seen->grown_bytes - decider.grown.bytes};
    if (past.elapsed_ns < HEADROOM_LEAST_NS) // looks may come more often
        return;
    if (decider.grown.ns != 0)
        decided.headroom_share = headroom_choose(decided.headroom_share, &past);
    decider.grown.ns = seen->now_ns;
    decider.grown.blocks = seen->grown_blocks;
    decider.grown.bytes = seen->grown_bytes;
}

static void decide_depths(const struct observation *seen) {
    static uint64_t batches[CLASS_END], denied[CLASS_END];
    static uint32_t sizes[CLASS_END];
    static uint8_t usual[CLASS_END];
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++) {
        usual[i] = class_bytes(i) > 0 ? (uint8_t)heap_usual_depth(i) : 0;
        batches[i] = seen->classes[i].refills + seen->classes[i].flushes;
        denied[i] = seen->classes[i].denied;
        sizes[i] = (uint32_t)class_bytes(i);
    }
    struct depths_seen now = {
        .now_ns = seen->now_ns,
        .threads = seen->threads,
        .in_use_bytes = seen->in_use_bytes,
        .batches = batches,
        .denied = denied,
        .class_bytes = sizes,
        .defaults = decider.base.depth,
        .usual = usual,
        .thread_bytes = decider.base.thread_bytes,
        .all_threads_bytes = decider.base.all_threads_bytes,
        .granted_bytes = seen->granted_bytes,
        .cached_bytes = seen->cached_bytes,
        .price = options.memory_price,
    };
    next_depths_note(&now, decided.depth, seen->busy_ns * LEARN_HASTE);
    decider.threads = seen->threads;
    depths_step(&decider.depths, &now, &decided);
}

// Where a list has that size; its end: nowhere.
static unsigned place_of(const struct policy_class *classes, unsigned count, uint32_t bytes) {
    unsigned place = 0;
    while (place < count && classes[place].bytes != bytes)
        place++;
    return place;
}

// Adds a class to a list, or its evidence; false: there it is, or there is no room.
static bool class_adopt(struct policy_class *classes, unsigned *count, const struct size_choice *choice,
                        const struct observation *seen) {
    unsigned place = place_of(classes, *count, choice->bytes);
    if (place == CLASS_SPARE_COUNT)
        return false;
    bool is_new = place == *count;
    *count += is_new;
    struct policy_class *row = &classes[place];
    *row = (struct policy_class){.bytes = choice->bytes};
    row->evidence.gain_permille = (int32_t)(choice->saved_bytes * 1000 / (seen->in_use_bytes + 1));
    row->evidence.since_seconds = (uint32_t)((seen->now_ns - decider.start_ns) / SECOND_NS);
    row->evidence.windows = decider.steps;
    memcpy(row->evidence.why, "rounding", sizeof "rounding");
    return is_new;
}

// Of each class the size that is worth it, the one that saves most first. True: there is a new one.
static bool classes_adopt(struct policy_class *classes, unsigned *count, struct size_report report,
                          const struct observation *seen) {
    static uint8_t chosen[CLASS_END];
    struct size_choice choice;
    bool any = false;
    memset(chosen, 0, sizeof chosen);
    for (report.class_chosen = chosen; classes_choose(&report, &choice); chosen[choice.class_index] = 1)
        any |= class_adopt(classes, count, &choice, seen);
    return any;
}

// Half as many again since the last look, and not so many yet that they would stand beside the new class's for long.
static void note_growth(const struct observation *seen, uint8_t *grows, uint64_t *blocks) {
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++) {
        uint64_t now = observed_out_blocks(seen, i);
        grows[i] = now > blocks[i] + blocks[i] / 2 && now * class_bytes(i) <= DYN_GROWING_BYTES;
        blocks[i] = now;
    }
}

// Classes that were to wait for the next run, and whose sizes the program has hardly any blocks of now: for its next
// phase. True: there is one.
static bool adopt_waiting(const uint8_t *class_of, const uint64_t *blocks) {
    bool any = false;
    for (unsigned i = 0; i < decider.later_count; i++) {
        const struct policy_class *waiting = &decider.later[i];
        unsigned served_by = class_of[sizes_entry(waiting->bytes)];
        bool is_there = place_of(learned.classes, learned.class_count, waiting->bytes) < learned.class_count;
        if (is_there || learned.class_count == CLASS_SPARE_COUNT ||
            blocks[served_by] * class_bytes(served_by) > DYN_WAITING_BYTES)
            continue;
        learned.classes[learned.class_count++] = *waiting;
        any = true;
    }
    return any;
}

// What windows have seen, as the policy wants it.
static struct size_report report_sizes(const struct observation *seen, const uint8_t *grows, const uint64_t *blocks) {
    static uint32_t bytes[CLASS_MAP_COUNT], counts[CLASS_MAP_COUNT], kept[CLASS_MAP_COUNT], sizes[CLASS_END];
    static uint8_t classes[CLASS_MAP_COUNT];
    for (unsigned i = 0; i < CLASS_MAP_COUNT; i++) {
        bytes[i] = (uint32_t)size_class_bytes_of_entry(i);
        counts[i] = load_relaxed(&sizes_seen[i]);
        kept[i] = load_relaxed(&lives_kept[i]);
        classes[i] = load_relaxed(&class_map[i]);
    }
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++)
        sizes[i] = (uint32_t)class_bytes(i);
    return (struct size_report){
        .entries = CLASS_MAP_COUNT,
        .bytes = bytes,
        .seen = counts,
        .kept = kept,
        .class_of = classes,
        .class_bytes = sizes,
        .class_blocks = blocks,
        .class_grows = grows,
        .threads = seen->threads,
        .least_seen = DYN_LEAST_SEEN,
        .in_use_bytes = seen->in_use_bytes,
    };
}

static bool decide_classes(const struct observation *seen) {
    static uint64_t blocks[CLASS_END];
    static uint8_t grows[CLASS_END];
    note_growth(seen, grows, blocks);
    struct size_report report = report_sizes(seen, grows, blocks);
    bool adopted = classes_adopt(learned.classes, &learned.class_count, report, seen);
    adopted |= adopt_waiting(report.class_of, blocks);
    if (adopted)
        place_classes();
    report.class_grows = NULL;
    report.least_seen = DYN_LATER_LEAST_SEEN;
    classes_adopt(decider.later, &decider.later_count, report, seen);
    return adopted;
}

void decide_fade_sizes(uint64_t seen) {
    static uint64_t seen_when_faded;
    if (seen - seen_when_faded <= SIZES_FADE_SEEN)
        return;
    seen_when_faded = seen;
    sizes_fade();
    lives_fade();
}

static bool has_moved(size_t before, size_t now) {
    size_t difference = before > now ? before - now : now - before;
    return difference > MIB && difference > before / CHANGE_SHARE;
}

// Depths wander a little all the time; what counts is what they may hold together, and the other decisions.
static bool is_change(void) {
    bool changed = has_moved(decider.stable.thread_bytes, decided.thread_bytes) ||
                   has_moved(decider.stable.allowance_least, decided.allowance_least) ||
                   decider.stable.headroom_share != decided.headroom_share;
    if (changed)
        decider.stable = decided;
    return changed;
}

// Nothing was counted since it was frozen: rates begin anew.
void decide_anew(void) {
    depths_settle(&decider.depths);
    decider.depths.last_ns = 0;
    decider.grown.ns = 0;
    decider.stable = decided;
}

void decide_give_up(const struct snapshot *before) {
    decided = *before;
    decider.stable = decided;
    depths_settle(&decider.depths);
    decider.depths.limited_ns = decider.depths.doubled_ns = 0;
    next_depths_begin_life();
}

bool decide_step(const struct observation *seen, bool *soon) {
    decider.steps++;
    *soon = decider.reach == DECIDE_ALL && trials_step(seen, &decided);
    decide_hold(seen);
    if (part_learns(PART_depths))
        decide_depths(seen);
    if (part_learns(PART_headroom))
        decide_headroom(seen);
    bool adopted = part_learns(PART_classes) && decide_classes(seen);
    next_run_note(seen);
    return is_change() || adopted || *soon;
}

// --- For the file ----------------------------------------------------------------------------------------------------

static void note_value(enum decision decision, const char *why, uint64_t now_ns) {
    struct policy_value *row = &learned.values[decision];
    size_t value = *snapshot_field(&decided, decision);
    row->is_given = value != *snapshot_field(&decider.base, decision); // what the user set was not learned
    row->value = value;
    row->evidence.windows = decider.steps;
    row->evidence.since_seconds = (uint32_t)((now_ns - decider.start_ns) / SECOND_NS);
    memcpy(row->evidence.why, why, strlen(why) + 1);
}

static size_t least_size(size_t one, size_t other) {
    return one < other ? one : other;
}

static bool is_in_file(unsigned class_index) {
    for (unsigned i = 0; i < learned.depth_count; i++)
        if (learned.depths[i].bytes == class_bytes(class_index))
            return true;
    return false;
}

static size_t budget_for_file(enum decision decision, size_t budget, size_t usual, size_t more) {
    size_t lasting = least_size(usual << depths_lasting_doublings(&decider.depths), decision_rows[decision].most);
    size_t deepened = least_size(budget, usual + more);
    return deepened > lasting ? deepened : lasting;
}

// The next run's budget has room for the depths that it begins with, and for what stacks were denied without it. A
// depth that the file has says so where it has gone back to the default.
static void note_depths(uint64_t now_ns) {
    uint8_t depths[CLASS_COUNT] = {0};
    bool is_named[CLASS_COUNT];
    size_t more = 0;
    next_depths_choose(decider.base.depth, decided.depth, depths);
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        is_named[i] = depths[i] != decider.base.depth[i] || is_in_file(i);
    learned.depth_count = 0;
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        unsigned depth = depths[i], usual = decider.base.depth[i];
        more += depth > usual ? (depth - usual) * class_bytes(i) : 0;
        if (is_named[i])
            learned.depths[learned.depth_count++] = (struct policy_depth){(uint32_t)class_bytes(i), (uint8_t)depth};
    }
    decided.thread_bytes =
        budget_for_file(DECISION_thread_bytes, decided.thread_bytes, decider.base.thread_bytes, more);
    decided.all_threads_bytes = budget_for_file(DECISION_all_threads_bytes, decided.all_threads_bytes,
                                                decider.base.all_threads_bytes, more * decider.threads);
    note_value(DECISION_thread_bytes, "depths", now_ns);
    note_value(DECISION_all_threads_bytes, "depths", now_ns);
}

// The next run begins with what this one had better held from its beginning; whoever learns nothing forgets it as it
// does all allowances.
static void note_allowance(uint64_t now_ns) {
    decided.allowance_first = retention_to_begin_with(&decider.retention);
    note_value(DECISION_allowance_first, "refaults", now_ns);
}

// Of parts that are off the file stays right, without further evidence.
void decide_note(uint64_t now_ns) {
    tournament_end(&decided);
    for (unsigned i = 0; i < DECISION_COUNT; i++)
        if (tournament_has_decided((enum decision)i))
            note_value((enum decision)i, "tournament", now_ns);
    if (part_learns(PART_headroom))
        note_value(DECISION_headroom_share, "copies", now_ns);
    if (part_learns(PART_memory)) {
        note_allowance(now_ns);
        if (retention_has_slept(&decider.retention))
            note_value(DECISION_purge_delay, "idle", now_ns);
    }
    if (part_learns(PART_depths))
        note_depths(now_ns);
    for (unsigned i = 0; i < decider.later_count && learned.class_count < CLASS_SPARE_COUNT; i++)
        if (place_of(learned.classes, learned.class_count, decider.later[i].bytes) == learned.class_count)
            learned.classes[learned.class_count++] = decider.later[i];
    next_run_decide(&learned);
    rules_note(decider.start_ns);
}

void decide_note_apart(uint64_t now_ns, struct policy *policy) {
    static struct policy learned_so_far;
    struct snapshot decided_so_far = decided;
    learned_so_far = learned;
    decide_note(now_ns);
    *policy = learned;
    learned = learned_so_far;
    decided = decided_so_far;
    decider.steps = 0;
    forget_looks();
    next_run_forget_looks();
}
