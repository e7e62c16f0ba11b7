// Free slices: a bitmap per group, and an index that finds the lowest group with room for a length.
#include "region/runs.h"

#include "base/bits.h"
#include "sys/options.h"
#include "sys/os.h"

INTERNAL struct lock runs_lock = LOCK_INIT(runs);
INTERNAL struct lock runs_grow_lock = LOCK_INIT(grow);

struct group {
    uint32_t free;   // R1, a bit a slice
    uint32_t clean;  // subset of free
    uint32_t purged; // subset of clean: was resident before
    uint8_t longest; // longest run of free bits
    uint8_t padding[3];
};
_Static_assert(sizeof(struct group) <= WINDOW_GROUP_RECORD_BYTES, "group records must fit their table");

// The index has a bit a group on each level; level i: the group has a free run of run_levels[i] slices. The lengths are
// those that size classes ask for, then coarser. The last level but one: the group is free as a whole.
static const uint8_t run_levels[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 24, 32};
#define RUN_LEVELS COUNT_OF(run_levels)
#define RUN_LEVEL_WHOLE (RUN_LEVELS - 1)
#define RUN_LEVEL_RETAINED RUN_LEVELS // the group has free slices that are not clean

struct index_record {
    uint64_t groups[RUN_LEVELS + 1]; // bit g: group 64 * record + g
    uint64_t padding;
};
_Static_assert(sizeof(struct index_record) <= WINDOW_INDEX_RECORD_BYTES, "index records must fit their table");

static struct group *groups;
static struct index_record *group_index;
static size_t group_count;               // groups that exist so far
static size_t lowest_record[RUN_LEVELS]; // no record below has a bit on the level
static size_t highest_retained;          // no record above has a bit on the retained level
static struct runs_totals totals;
static size_t lowest_retained_slices, highest_retained_slices; // since the allowance last faded
static size_t most_slices;                                     // in use and retained together, since then
static size_t grown_slices;                                    // clean ones taken since growth last purged others (R5)
static size_t purging_slices;                                  // neither in use nor free now
static uint32_t purge_turn;                                    // grows whenever a purge ends
static uint8_t levels_reached[GROUP_SLICES + 1]; // length of the longest run → number of levels it reaches

bool runs_start(void) {
    groups = window_group_table();
    group_index = window_group_index();
    for (unsigned length = 0; length <= GROUP_SLICES; length++)
        while (levels_reached[length] < RUN_LEVELS && run_levels[levels_reached[length]] <= length)
            levels_reached[length]++;
    return true;
}

// Brings the index in line with a group whose bits have changed.
static void group_update(size_t number) {
    struct group *group = &groups[number];
    struct index_record *record = &group_index[number / 64];
    uint64_t bit = UINT64_C(1) << (number % 64);
    unsigned longest = bits_longest_run(group->free);
    unsigned reached = levels_reached[longest];
    for (unsigned level = levels_reached[group->longest]; level < reached; level++) {
        record->groups[level] |= bit;
        if (lowest_record[level] > number / 64)
            lowest_record[level] = number / 64;
    }
    for (unsigned level = levels_reached[group->longest]; level > reached; level--)
        record->groups[level - 1] &= ~bit;
    group->longest = (uint8_t)longest;
    if ((group->free & ~group->clean) != 0) {
        record->groups[RUN_LEVEL_RETAINED] |= bit;
        if (highest_retained < number / 64)
            highest_retained = number / 64;
    } else {
        record->groups[RUN_LEVEL_RETAINED] &= ~bit;
    }
}

static uint32_t group_mask(unsigned start, unsigned length) {
    return (uint32_t)(bits_low_mask(length) << start);
}

// Applies `change` to each group that [first, first + slices) touches.
static void groups_visit(size_t first, size_t slices, void (*change)(struct group *, uint32_t mask)) {
    while (slices > 0) {
        unsigned start = (unsigned)(first % GROUP_SLICES);
        unsigned length = slices < GROUP_SLICES - start ? (unsigned)slices : GROUP_SLICES - start;
        change(&groups[first / GROUP_SLICES], group_mask(start, length));
        group_update(first / GROUP_SLICES);
        first += length;
        slices -= length;
    }
}

// free → in use
static void group_free_to_used(struct group *group, uint32_t mask) {
    CHECK((group->free & mask) == mask); // R1
    unsigned clean = bits_count(group->clean & mask);
    totals.retained_slices -= bits_count(mask) - clean;
    if (lowest_retained_slices > totals.retained_slices)
        lowest_retained_slices = totals.retained_slices;
    totals.free_slices -= bits_count(mask);
    totals.in_use_slices += bits_count(mask);
    unsigned purged = bits_count(group->purged & mask);
    totals.refaulted_slices += purged;
    if (most_slices < totals.in_use_slices + totals.retained_slices)
        most_slices = totals.in_use_slices + totals.retained_slices;
    totals.allowance_slices += purged; // R4; no program needs more than it had
    if (totals.allowance_slices > most_slices)
        totals.allowance_slices = most_slices;
    grown_slices += clean;
    group->free &= ~mask;
    group->clean &= ~mask;
    group->purged &= ~mask;
}

// in use → free, possibly resident
static void group_used_to_free(struct group *group, uint32_t mask) {
    CHECK((group->free & mask) == 0); // R1
    totals.retained_slices += bits_count(mask);
    totals.free_slices += bits_count(mask);
    totals.in_use_slices -= bits_count(mask);
    if (highest_retained_slices < totals.retained_slices)
        highest_retained_slices = totals.retained_slices;
    group->free |= mask;
}

// free → being purged
static void group_free_to_purging(struct group *group, uint32_t mask) {
    totals.retained_slices -= bits_count(mask);
    totals.free_slices -= bits_count(mask);
    purging_slices += bits_count(mask);
    group->free &= ~mask;
}

// being purged → free, still resident (the kernel would not)
static void group_purging_to_free(struct group *group, uint32_t mask) {
    totals.retained_slices += bits_count(mask);
    totals.free_slices += bits_count(mask);
    purging_slices -= bits_count(mask);
    group->free |= mask;
}

// being purged → free and clean
static void group_purging_to_clean(struct group *group, uint32_t mask) {
    totals.free_slices += bits_count(mask);
    totals.purged_slices += bits_count(mask);
    purging_slices -= bits_count(mask);
    group->free |= mask;
    group->clean |= mask;
    group->purged |= mask;
}

// new → free and clean
static void group_new_to_clean(struct group *group, uint32_t mask) {
    totals.free_slices += bits_count(mask);
    group->free |= mask;
    group->clean |= mask;
}

static bool run_is_clean(size_t first, size_t slices) {
    for (size_t slice = first; slice < first + slices; slice++)
        if ((groups[slice / GROUP_SLICES].clean >> (slice % GROUP_SLICES) & 1) == 0)
            return false;
    return true;
}

// Start of a run inside one group that begins at a multiple of `align`, or GROUP_SLICES.
static unsigned group_find(const struct group *group, unsigned slices, unsigned align) {
    uint32_t mask = group->free;
    unsigned start = bits_find_run(mask, slices);
    while (start < GROUP_SLICES && start % align != 0) { // at most 32 turns
        mask &= ~group_mask(0, start + 1);
        start = bits_find_run(mask, slices);
    }
    return start;
}

// Lowest run of at most a group, inside a group.
static size_t find_in_group(unsigned slices, unsigned align) {
    unsigned level = 0;
    while (run_levels[level] < slices)
        level++;
    size_t records = (group_count + 63) / 64;
    size_t record = lowest_record[level];
    for (; record < records; record++) {
        uint64_t candidates = group_index[record].groups[level];
        if (candidates == 0 && record == lowest_record[level])
            lowest_record[level]++;
        for (; candidates != 0; candidates &= candidates - 1) {
            size_t number = record * 64 + bits_lowest(candidates);
            unsigned start = group_find(&groups[number], slices, align);
            if (start < GROUP_SLICES)
                return number * GROUP_SLICES + start;
        }
    }
    return NO_SLICE;
}

// Lowest row of wholly free groups that holds a longer run.
static size_t find_across_groups(size_t slices, size_t align) {
    size_t want = (slices + GROUP_SLICES - 1) / GROUP_SLICES;
    size_t step = align > GROUP_SLICES ? align / GROUP_SLICES : 1;
    size_t have = 0;
    for (size_t number = lowest_record[RUN_LEVEL_WHOLE] * 64; number < group_count; number++) {
        bool whole = group_index[number / 64].groups[RUN_LEVEL_WHOLE] >> (number % 64) & 1;
        have = whole && (have > 0 || number % step == 0) ? have + 1 : 0;
        if (have == want)
            return (number + 1 - want) * GROUP_SLICES;
    }
    return NO_SLICE;
}

static size_t find_run(size_t slices, size_t align) {
    if (slices <= GROUP_SLICES && align <= GROUP_SLICES)
        return find_in_group((unsigned)slices, (unsigned)align);
    return find_across_groups(slices, align);
}

// Adds new slices at the window's end. False: there are none.
static bool runs_grow(size_t slices) {
    size_t first;
    size_t count;
    lock_acquire(&runs_grow_lock);
    bool grown = window_extend(slices, &first, &count);
    if (grown) {
        lock_acquire(&runs_lock);
        group_count = (first + count) / GROUP_SLICES;
        groups_visit(first, count, group_new_to_clean);
        lock_release(&runs_lock);
    }
    lock_release(&runs_grow_lock);
    return grown;
}

// R5: how many slices may stay retained after one more run was taken. The lock is held.
static size_t growth_keeps(void) {
    if (grown_slices < GROWTH_BYTES >> SLICE_SHIFT)
        return totals.retained_slices;
    size_t asked = load_relaxed(&options.retain_min); // whoever wants more than the default to stay gets it
    size_t keep = totals.allowance_slices + (asked > RETAIN_MIN_BYTES ? asked >> SLICE_SHIFT : 0);
    size_t most = totals.retained_slices > grown_slices ? totals.retained_slices - grown_slices : 0;
    grown_slices = 0;
    return keep > most ? keep : most;
}

// One try, without growing the window.
static size_t take_free(size_t slices, size_t align, bool *clean) {
    lock_acquire(&runs_lock);
    size_t first = find_run(slices, align);
    if (first != NO_SLICE) {
        *clean = run_is_clean(first, slices);
        groups_visit(first, slices, group_free_to_used);
    }
    size_t keep = growth_keeps();
    bool over = totals.retained_slices > keep;
    lock_release(&runs_lock);
    if (UNLIKELY(over))
        runs_purge(keep << SLICE_SHIFT);
    return first;
}

void runs_forget_purges(void) {
    purging_slices = 0;
}

// Waits until a purge under way has ended; false where none is.
static bool wait_for_purge(void) {
    lock_acquire(&runs_lock);
    uint32_t turn = purge_turn;
    bool purging = purging_slices > 0;
    lock_release(&runs_lock);
    if (purging)
        os_wait(&purge_turn, turn);
    return purging;
}

size_t runs_take(size_t slices, size_t align, bool *clean) {
    CHECK(slices > 0 && bits_is_power_of_two(align));
    // Growing may be beaten to its new slices by others, and purges under way hold some back; the bound is for safety.
    for (int try = 0; try < 1000; try++) {
        size_t first = take_free(slices, align, clean);
        if (first != NO_SLICE)
            return first;
        if (!runs_grow(align > GROUP_SLICES ? slices + align : slices) && !wait_for_purge())
            return take_free(slices, align, clean);
    }
    return NO_SLICE;
}

bool runs_take_behind(size_t end, size_t slices) {
    bool taken = false;
    lock_acquire(&runs_lock);
    if (end + slices <= group_count * GROUP_SLICES) {
        taken = true;
        for (size_t slice = end; slice < end + slices && taken; slice++)
            taken = groups[slice / GROUP_SLICES].free >> (slice % GROUP_SLICES) & 1;
        if (taken)
            groups_visit(end, slices, group_free_to_used);
    }
    lock_release(&runs_lock);
    return taken;
}

// Bytes that may be retained now. The lock is held.
static size_t retain_bound_bytes(void) {
    size_t share = (totals.in_use_slices << SLICE_SHIFT) / options.retain_share;
    size_t least = load_relaxed(&options.retain_min); // mallopt may change it
    return (share > least ? share : least) + (totals.allowance_slices << SLICE_SHIFT);
}

struct run {
    size_t first;
    size_t slices;
};

// Marks retained runs, from the highest group down, as being purged until at most `keep` slices remain retained.
static unsigned purge_begin(struct run *runs, size_t keep) {
    unsigned count = 0;
    for (size_t record = highest_retained + 1;
         record-- > 0 && count < PURGE_BATCH_RUNS && totals.retained_slices > keep;) {
        while (group_index[record].groups[RUN_LEVEL_RETAINED] != 0 && count < PURGE_BATCH_RUNS &&
               totals.retained_slices > keep) {
            size_t number = record * 64 + bits_highest(group_index[record].groups[RUN_LEVEL_RETAINED]);
            struct group *group = &groups[number];
            uint32_t retained = group->free & ~group->clean;
            unsigned end = bits_highest(retained) + 1;
            unsigned start = end;
            while (start > 0 && (retained >> (start - 1) & 1) != 0 && end - start < totals.retained_slices - keep)
                start--;
            runs[count++] = (struct run){number * GROUP_SLICES + start, end - start};
            groups_visit(number * GROUP_SLICES + start, end - start, group_free_to_purging);
        }
        if (group_index[record].groups[RUN_LEVEL_RETAINED] == 0)
            highest_retained = record == 0 ? 0 : record - 1;
    }
    return count;
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

bool runs_purge(size_t keep_bytes) {
    struct run runs[PURGE_BATCH_RUNS];
    bool purged[PURGE_BATCH_RUNS];
    bool any = false;
    // Ends when enough is clean, or when the kernel keeps what it is asked to take (locked memory).
    for (bool all = true; all;) {
        lock_acquire(&runs_lock);
        unsigned count = purge_begin(runs, keep_bytes >> SLICE_SHIFT);
        lock_release(&runs_lock);
        if (count == 0)
            break;
        for (unsigned i = 0; i < count; i++) {
            purged[i] = os_purge(window_address(runs[i].first), runs[i].slices << SLICE_SHIFT);
            all = all && purged[i];
            any = any || purged[i];
        }
        purge_end(runs, purged, count);
    }
    return any;
}

// R4: what was never used while many times the allowance went by is not needed. The lock is held.
static void fade_allowance(size_t given_slices) {
    static size_t given; // since it last faded
    given += given_slices;
    if (given <= REFAULT_FADE_TRAFFIC * totals.allowance_slices)
        return;
    size_t needed = highest_retained_slices - lowest_retained_slices; // all of it: growth leaves nothing else (R5)
    if (totals.allowance_slices > needed)
        totals.allowance_slices -= (totals.allowance_slices - needed + REFAULT_FADE_SHARE - 1) / REFAULT_FADE_SHARE;
    lowest_retained_slices = highest_retained_slices = totals.retained_slices;
    most_slices = totals.in_use_slices + totals.retained_slices;
    given = 0;
}

void runs_give(size_t first, size_t slices) {
    lock_acquire(&runs_lock);
    groups_visit(first, slices, group_used_to_free);
    fade_allowance(slices);
    size_t retained = totals.retained_slices << SLICE_SHIFT;
    size_t bound = retain_bound_bytes();
    lock_release(&runs_lock);
    if (UNLIKELY(retained > bound)) // R2
        runs_purge(bound - bound / PURGE_SLACK_SHARE);
}

struct runs_totals runs_count(void) {
    lock_acquire(&runs_lock);
    struct runs_totals copy = totals;
    lock_release(&runs_lock);
    return copy;
}
