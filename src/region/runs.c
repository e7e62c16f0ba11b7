// Free slices: a bitmap per group, and an index that finds the lowest group with room for a length.
#include "region/runs.h"

#include "base/bits.h"
#include "region/collapse.h"
#include "region/density.h"
#include "region/groups.h"
#include "region/huge.h"
#include "region/retain.h"
#include "sys/options.h"
#include "sys/os.h"

INTERNAL struct lock runs_lock = LOCK_INIT(runs);
INTERNAL struct lock runs_grow_lock = LOCK_INIT(grow);

static struct {
    size_t free_slices;
    uint64_t purged_bytes;
    uint64_t refaulted_bytes;
    uint64_t purges;
    uint64_t reused_bytes;
} totals;                        // see struct runs_totals
static size_t purging_slices;    // neither in use nor free now
static uint32_t purge_turn;      // grows whenever a purge ends
static uint32_t outside_is_over; // the bound (R5)

bool runs_start(void) {
    groups_start();
    huge_start();
    return true;
}

// The lock is held.
static void note_refault(size_t bytes) {
    totals.refaulted_bytes += bytes;
    retain_note_refault(bytes);
}

// clean → will be resident
static void group_clean_to_retained(struct group *group, uint32_t mask) {
    mask &= group->clean;
    retain.retained_slices += bits_count(mask);
    note_refault((size_t)bits_count(group->marked & mask) << SLICE_SHIFT);
    retain_note_growth(bits_count(mask));
    group->clean &= ~mask;
    group->marked = options.purge == OPTION_PURGE_LAZILY ? group->marked ^ mask : group->marked | mask; // reads as zero
}

// free → in use
static void group_free_to_used(struct group *group, uint32_t mask) {
    CHECK((group->free & mask) == mask); // R1
    size_t retained = bits_count(mask & ~group->clean);
    totals.reused_bytes += (uint64_t)retained << SLICE_SHIFT;
    note_refault(retain_take_purged_inside(retained));
    group_clean_to_retained(group, group->is_huge ? GROUP_WHOLE : mask); // HP1
    retain.retained_slices -= bits_count(mask);
    totals.free_slices -= bits_count(mask);
    store_relaxed(&retain.in_use_slices, retain.in_use_slices + bits_count(mask)); // read without the lock in runs_grow
    retain_note_change();
    group->free &= ~mask;
    group->marked &= ~mask;
    group->cold &= ~mask;
}

// in use → free, possibly resident
static void group_used_to_free(struct group *group, uint32_t mask) {
    CHECK((group->free & mask) == 0); // R1
    retain.retained_slices += bits_count(mask);
    totals.free_slices += bits_count(mask);
    store_relaxed(&retain.in_use_slices, retain.in_use_slices - bits_count(mask)); // as above
    retain_note_change();
    group->free |= mask;
}

// free → being purged; what is clean stays so
static void group_free_to_purging(struct group *group, uint32_t mask) {
    (void)retain_take_purged_inside(bits_count(mask & ~group->clean)); // counts when these are taken again, once
    retain.retained_slices -= bits_count(mask & ~group->clean);
    retain_note_change();
    totals.free_slices -= bits_count(mask);
    purging_slices += bits_count(mask);
    group->free &= ~mask;
    group->cold &= ~mask;
}

// being purged → free, still resident (the kernel would not)
static void group_purging_to_free(struct group *group, uint32_t mask) {
    retain.retained_slices += bits_count(mask & ~group->clean);
    retain_note_change();
    totals.free_slices += bits_count(mask);
    purging_slices -= bits_count(mask);
    group->free |= mask;
}

// being purged → free and clean
static void group_purging_to_clean(struct group *group, uint32_t mask) {
    uint32_t purged = mask & ~group->clean;
    totals.free_slices += bits_count(mask);
    totals.purged_bytes += (uint64_t)bits_count(purged) << SLICE_SHIFT;
    purging_slices -= bits_count(mask);
    group->free |= mask;
    group->clean |= mask;
    group->marked |= purged;
}

// new → free and clean
static void group_new_to_clean(struct group *group, uint32_t mask) {
    totals.free_slices += bits_count(mask);
    group->free |= mask;
    group->clean |= mask;
}

static void group_to_plain(struct group *group, uint32_t mask) {
    (void)mask;
    groups_make_plain(group);
}

static void group_new_to_huge(struct group *group, uint32_t mask) {
    groups_make_huge(group);
    group_new_to_clean(group, mask);
}

static void group_new_to_refused(struct group *group, uint32_t mask) {
    groups_refuse_huge(group);
    group_new_to_clean(group, mask);
}

static bool group_is_wanted_huge(const struct group *group, enum huge_place place) {
    if (group_borders >= HUGE_MOST_BORDERS) // HP4
        return group->is_huge;
    bool control = place != HUGE_IN_BLOCK && huge_looks_at_density() && density_wants_control(retain.in_use_slices);
    return !control && huge_is_wanted(place, retain.in_use_slices);
}

// HP1: says anew whether groups are huge of which a run is about to take the first slices. Returns the first row of
// those that change; further ones stay as they were. The lock is held.
static struct huge_change groups_choose(size_t first, size_t slices) {
    struct huge_change change = {0};
    size_t last = (first + slices - 1) / GROUP_SLICES;
    for (size_t number = first / GROUP_SLICES; number <= last; number++) {
        struct group *group = &groups[number];
        bool inside = number * GROUP_SLICES >= first && (number + 1) * GROUP_SLICES <= first + slices;
        enum huge_place place = inside ? HUGE_IN_BLOCK : group->is_huge ? HUGE_ALREADY : HUGE_IN_HEAP;
        bool opens = group->clean == GROUP_WHOLE;
        bool wanted = opens ? group_is_wanted_huge(group, place) : group->is_huge;
        bool follows = change.groups > 0 && change.first + change.groups == number && change.wanted == wanted;
        if (wanted != group->is_huge && (change.groups == 0 || follows)) {
            (wanted ? groups_make_huge : groups_make_plain)(group);
            change = (struct huge_change){follows ? change.first : number, change.groups + 1, wanted};
        }
        if (opens && group->is_huge)
            density_note_huge();
        else if (opens)
            density_note_plain(number);
    }
    return change;
}

// Adds new slices at the window's end. False: there are none.
static bool runs_grow(size_t slices) {
    size_t first;
    size_t count;
    lock_acquire(&runs_grow_lock);
    bool grown = window_extend(slices, &first, &count);
    if (grown) {
        // The kernel is told before another thread can touch a page.
        bool huge = huge_is_wanted(HUGE_IN_HEAP, load_relaxed(&retain.in_use_slices)); // a hint
        bool refused = !huge && huge_is_everywhere();
        struct huge_change change = {first / GROUP_SLICES, huge || refused ? count / GROUP_SLICES : 0, huge};
        huge_tell(&change);
        lock_acquire(&runs_lock);
        group_count = (first + count) / GROUP_SLICES;
        groups_visit(first, count, huge ? group_new_to_huge : refused ? group_new_to_refused : group_new_to_clean);
        lock_release(&runs_lock);
    }
    lock_release(&runs_grow_lock);
    return grown;
}

static bool purge_down_to(size_t keep_slices, enum purgeable how);

// One try, without growing the window.
static size_t take_free(size_t slices, size_t align, bool *zeroed) {
    struct huge_change change = {0};
    struct density_look look = {.old_group = NO_GROUP};
    lock_acquire(&runs_lock);
    size_t first = retain_is_above_hard_limit(slices) ? NO_SLICE : groups_find(slices, align);
    if (first != NO_SLICE) {
        *zeroed = groups_are_zero(first, slices);
        change = groups_choose(first, slices);
        groups_visit(first, slices, group_free_to_used);
    }
    bool owes;
    size_t keep = retain_growth_keeps(&owes);
    bool over = retain.retained_slices > keep;
    bool is_above = retain.outside.idle_bytes > 0 && retain_all_slices() > retain_limit_slices();
    if (is_above || owes)
        store_relaxed(&outside_is_over, 1); // read without the lock in runs_outside_is_over
    bool looks = huge_looks_at_density() && density_begin_look(&look, retain.in_use_slices);
    lock_release(&runs_lock);
    huge_tell(&change);
    size_t dense = UNLIKELY(looks) ? density_finish_look(&look) : NO_GROUP;
    if (UNLIKELY(dense != NO_GROUP))
        collapse_by_kernel(dense);
    if (UNLIKELY(over))
        purge_down_to(keep, PURGEABLE_EASILY);
    return first;
}

void runs_forget_purges(void) {
    purging_slices = 0;
}

bool runs_are_purged(void) {
    return purging_slices > 0;
}

bool runs_wait_for_purge(void) {
    lock_acquire(&runs_lock);
    uint32_t turn = purge_turn;
    bool purging = purging_slices > 0;
    lock_release(&runs_lock);
    if (purging)
        (void)os_wait_for(&purge_turn, turn, PURGE_PATIENCE_MS);
    return purging;
}

static bool is_limited(size_t slices) {
    if (options.limit_hard == 0)
        return false;
    lock_acquire(&runs_lock);
    bool limited = retain_is_above_hard_limit(slices);
    lock_release(&runs_lock);
    return limited;
}

size_t runs_take(size_t slices, size_t align, bool *zeroed) {
    CHECK(slices > 0 && bits_is_power_of_two(align));
    // Growing may be beaten to its new slices by others, and purges under way hold some back; the bound is for safety.
    for (int try = 0; try < 1000; try++) {
        size_t first = take_free(slices, align, zeroed);
        if (first != NO_SLICE)
            return first;
        if (is_limited(slices))
            return NO_SLICE;
        if (!runs_grow(align > GROUP_SLICES ? slices + align : slices) && !runs_wait_for_purge())
            return take_free(slices, align, zeroed);
    }
    return NO_SLICE;
}

bool runs_take_at(size_t first, size_t slices, bool *zeroed) {
    struct huge_change change = {0};
    lock_acquire(&runs_lock);
    bool taken = !retain_is_above_hard_limit(slices) && groups_are_free(first, slices);
    if (taken) {
        *zeroed = groups_are_zero(first, slices);
        change = groups_choose(first, slices);
        groups_visit(first, slices, group_free_to_used);
    }
    lock_release(&runs_lock);
    huge_tell(&change);
    return taken;
}

struct run {
    size_t first;
    size_t slices;
    bool splits; // a huge page
};

// The highest retained run of a group, at most `most` slices of it, or all of it where it lies in a huge page. A group
// that is free as a whole goes as a whole: the kernel drops its page table then, and can map a huge page there again.
static struct run group_begin_purge(size_t number, size_t most) {
    struct group *group = &groups[number];
    uint32_t retained = group->free == GROUP_WHOLE ? GROUP_WHOLE : group->free & ~group->clean;
    most = group->free == GROUP_WHOLE ? GROUP_SLICES : most;
    unsigned end = bits_highest(retained) + 1;
    unsigned start = end;
    while (start > 0 && (retained >> (start - 1) & 1) != 0 && (group->is_huge || end - start < most))
        start--;
    bool splits = group->is_huge && end - start < GROUP_SLICES && group_borders < 2 * HUGE_MOST_BORDERS; // HP4
    struct run run = {number * GROUP_SLICES + start, end - start, splits};
    if (run.splits)
        groups_make_plain(group); // HP3
    groups_visit(run.first, run.slices, group_free_to_purging);
    return run;
}

// Marks retained runs, from the highest group down, as being purged until at most `keep` slices remain retained.
static unsigned purge_begin(struct run *runs, size_t keep, enum purgeable how) {
    unsigned count = 0;
    while (count < PURGE_BATCH_RUNS && retain.retained_slices > keep) {
        size_t number = groups_find_purgeable(how);
        if (number == NO_SLICE)
            break;
        runs[count++] = group_begin_purge(number, retain.retained_slices - keep);
    }
    return count;
}

static bool purge_pages(void *start, size_t bytes) {
    return options.purge == OPTION_PURGE_LAZILY ? os_purge_lazily(start, bytes) : os_purge(start, bytes);
}

static bool purge_run(const struct run *run) {
    struct huge_change change = {run->first / GROUP_SLICES, run->splits, false};
    huge_tell(&change);
    return purge_pages(window_address(run->first), run->slices << SLICE_SHIFT);
}

static void purge_end(const struct run *runs, const bool *purged, unsigned count) {
    lock_acquire(&runs_lock);
    for (unsigned i = 0; i < count; i++)
        groups_visit(runs[i].first, runs[i].slices, purged[i] ? group_purging_to_clean : group_purging_to_free);
    totals.purges += count;
    store_relaxed(&purge_turn, purge_turn + 1);
    lock_release(&runs_lock);
    os_wake_all(&purge_turn);
}

static bool purge_down_to(size_t keep_slices, enum purgeable how) {
    struct run runs[PURGE_BATCH_RUNS];
    bool purged[PURGE_BATCH_RUNS];
    bool any = false;
    // Ends when enough is clean, or when the kernel keeps what it is asked to take (locked memory).
    for (bool all = true; all;) {
        lock_acquire(&runs_lock);
        unsigned count = purge_begin(runs, keep_slices, how);
        lock_release(&runs_lock);
        if (count == 0)
            break;
        for (unsigned i = 0; i < count; i++) {
            purged[i] = purge_run(&runs[i]);
            all = all && purged[i];
            any = any || purged[i];
        }
        purge_end(runs, purged, count);
    }
    return any;
}

bool runs_purge(size_t keep_bytes) {
    bool easily = purge_down_to(keep_bytes >> SLICE_SHIFT, PURGEABLE_EASILY);
    return purge_down_to(keep_bytes >> SLICE_SHIFT, PURGEABLE) || easily;
}

// The lock is held.
static void note_given(size_t slices) {
    if (retain_note_given(slices))
        retain_fade(groups_mark_cold());
}

void runs_give_purged(size_t first, size_t slices, size_t purged_bytes) {
    lock_acquire(&runs_lock);
    groups_visit(first, slices, group_used_to_free);
    retain_note_purged_inside(purged_bytes);
    note_given(slices);
    size_t retained = retain.retained_slices << SLICE_SHIFT;
    size_t bound = retain_bound_bytes();
    // read without the lock in runs_outside_is_over
    size_t outside = retain.outside.idle_bytes;
    store_relaxed(&outside_is_over, outside > 0 && retained + outside > bound);
    lock_release(&runs_lock);
    if (UNLIKELY(retained > bound)) // N1
        runs_purge(retain_target_bytes(bound));
}

bool runs_try_outside(size_t bytes) {
    lock_acquire(&runs_lock);
    bool may = !retain_is_above_hard_limit((bytes + SLICE_BYTES - 1) >> SLICE_SHIFT);
    if (may) {
        retain.outside.in_use_bytes += bytes;
        retain_note_change();
    }
    size_t keep = retain_limit_slices();
    bool over = retain.retained_slices > keep;
    lock_release(&runs_lock);
    if (UNLIKELY(over))
        runs_purge(keep << SLICE_SHIFT);
    return may;
}

bool runs_outside_is_over(void) {
    return load_relaxed(&outside_is_over) != 0;
}

void runs_note_outside(ptrdiff_t in_use_bytes, ptrdiff_t idle_bytes) {
    lock_acquire(&runs_lock);
    retain.outside.in_use_bytes += (size_t)in_use_bytes;
    retain.outside.idle_bytes += (size_t)idle_bytes;
    retain_note_change();
    if (idle_bytes > 0)
        note_given((size_t)idle_bytes >> SLICE_SHIFT);
    else
        store_relaxed(&outside_is_over, 0); // as in runs_give
    if (idle_bytes < 0)
        retain_note_less_idle((size_t)-idle_bytes);
    lock_release(&runs_lock);
}

size_t runs_surplus_bytes(size_t idle_bytes) {
    lock_acquire(&runs_lock);
    size_t surplus = retain_surplus_bytes(idle_bytes);
    lock_release(&runs_lock);
    return surplus;
}

size_t runs_owed_bytes(void) {
    lock_acquire(&runs_lock);
    size_t owed = retain_owed_bytes();
    store_relaxed(&outside_is_over, 0); // as in runs_give
    lock_release(&runs_lock);
    return owed;
}

size_t runs_growth_surplus_bytes(size_t bytes) {
    lock_acquire(&runs_lock);
    size_t surplus = retain_surplus_of_growth(bytes);
    lock_release(&runs_lock);
    return surplus;
}

struct runs_extremes runs_take_extremes(enum retain_watcher watcher) {
    lock_acquire(&runs_lock);
    struct retain_extremes taken = retain_take_extremes(watcher);
    lock_release(&runs_lock);
    return (struct runs_extremes){taken.lowest_retained_slices << SLICE_SHIFT,
                                  taken.highest_retained_slices << SLICE_SHIFT,
                                  {.lowest_bytes = taken.lowest_in_use_slices << SLICE_SHIFT,
                                   .highest_bytes = taken.highest_in_use_slices << SLICE_SHIFT,
                                   .now_bytes = taken.in_use_slices << SLICE_SHIFT}};
}

size_t runs_in_use_bytes(void) {
    return load_relaxed(&retain.in_use_slices) << SLICE_SHIFT;
}

size_t runs_held_bytes(void) {
    return load_relaxed(&retain.held_slices) << SLICE_SHIFT;
}

bool runs_purge_inside(void *start, size_t bytes) {
    size_t first = window_slice_of(start), last = window_slice_of((char *)start + bytes - 1);
    struct huge_change change = {first / GROUP_SLICES, 0, false};
    lock_acquire(&runs_lock);
    for (size_t number = change.first; number <= last / GROUP_SLICES; number++)
        if (groups[number].is_huge)
            change.groups = number + 1 - change.first;
    if (change.groups > 0)
        groups_visit(first, last + 1 - first, group_to_plain); // HP3
    lock_release(&runs_lock);
    huge_tell(&change);
    bool purged = purge_pages(start, bytes);
    lock_acquire(&runs_lock);
    totals.purged_bytes += purged ? bytes : 0;
    totals.purges++;
    lock_release(&runs_lock);
    return purged;
}

void runs_note_refaulted(size_t bytes) {
    lock_acquire(&runs_lock);
    note_refault(bytes);
    lock_release(&runs_lock);
}

struct runs_totals runs_count(void) {
    lock_acquire(&runs_lock);
    struct runs_totals copy = {
        .in_use_slices = retain.in_use_slices,
        .free_slices = totals.free_slices,
        .retained_slices = retain.retained_slices,
        .allowance_slices = retain.allowance_slices,
        .purged_bytes = totals.purged_bytes,
        .refaulted_bytes = totals.refaulted_bytes,
        .purges = totals.purges,
        .reused_bytes = totals.reused_bytes,
    };
    lock_release(&runs_lock);
    return copy;
}

struct groups_plain runs_count_plain(void) {
    lock_acquire(&runs_lock);
    struct groups_plain sum = groups_count_plain();
    lock_release(&runs_lock);
    return sum;
}

size_t runs_huge_bytes(void) {
    size_t count = 0;
    lock_acquire(&runs_lock);
    for (size_t number = 0; number < group_count; number++)
        count += groups[number].is_huge && groups[number].clean != GROUP_WHOLE;
    lock_release(&runs_lock);
    return count * GROUP_BYTES;
}
