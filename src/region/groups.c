// Groups and their index.
#include "region/groups.h"

#include "sys/options.h"

// The index has a bit a group on each level; level i: a free run of run_levels[i] slices begins in the group, and may
// end in the next. The lengths are those that size classes ask for, then coarser.
static const uint8_t run_levels[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 24, 32};
#define RUN_LEVELS COUNT_OF(run_levels)
#define RUN_LEVEL_HALF (RUN_LEVELS - 3)

struct index_record {
    uint64_t groups[RUN_LEVELS]; // bit g: group 64 * record + g
    uint64_t purgeable[2];       // by enum purgeable
};
_Static_assert(sizeof(struct index_record) <= WINDOW_INDEX_RECORD_BYTES, "index records must fit their table");

INTERNAL struct group *groups;
INTERNAL size_t group_count;
INTERNAL size_t group_borders;
static struct index_record *group_index;
static size_t lowest_record[RUN_LEVELS];         // no record below has a bit on the level
static size_t highest_purgeable[2];              // no record above has a bit on the level
static uint8_t levels_reached[GROUP_SLICES + 1]; // length of the longest run → number of levels it reaches

void groups_start(void) {
    groups = window_group_table();
    group_index = window_group_index();
    for (unsigned length = 0; length <= GROUP_SLICES; length++)
        while (levels_reached[length] < RUN_LEVELS && run_levels[levels_reached[length]] <= length)
            levels_reached[length]++;
}

static void index_purgeable(size_t number, enum purgeable how, bool purgeable) {
    uint64_t *bits = &group_index[number / 64].purgeable[how];
    uint64_t bit = UINT64_C(1) << (number % 64);
    *bits = purgeable ? *bits | bit : *bits & ~bit;
    size_t *highest = &highest_purgeable[how];
    if (purgeable && *highest < number / 64)
        *highest = number / 64;
}

static unsigned free_head(uint32_t free) {
    return free == GROUP_WHOLE ? GROUP_SLICES : bits_lowest(~free);
}

static unsigned group_free_tail(size_t number) {
    uint32_t used = ~groups[number].free;
    return used == 0 ? GROUP_SLICES : GROUP_SLICES - 1 - bits_highest(used);
}

// Slices of the free run that begins in the group's last slices and goes on in the next group, at most a group's.
static unsigned group_free_across(size_t number) {
    unsigned tail = group_free_tail(number);
    unsigned head = tail > 0 && number + 1 < group_count ? groups[number + 1].head : 0;
    return tail + head < GROUP_SLICES ? tail + head : GROUP_SLICES;
}

static void index_run(size_t number) {
    struct group *group = &groups[number];
    struct index_record *record = &group_index[number / 64];
    uint64_t bit = UINT64_C(1) << (number % 64);
    unsigned longest = bits_longest_run(group->free), across = group_free_across(number);
    if (across >= RUN_ACROSS_SLICES && across > longest)
        longest = across;
    unsigned reached = levels_reached[longest];
    for (unsigned level = levels_reached[group->longest]; level < reached; level++) {
        record->groups[level] |= bit;
        if (lowest_record[level] > number / 64)
            lowest_record[level] = number / 64;
    }
    for (unsigned level = levels_reached[group->longest]; level > reached; level--)
        record->groups[level - 1] &= ~bit;
    group->longest = (uint8_t)longest;
}

// Brings the index in line with a group whose bits have changed.
static void group_update(size_t number) {
    struct group *group = &groups[number];
    unsigned head = free_head(group->free);
    if (head != group->head && number > 0) {
        group->head = (uint8_t)head;
        index_run(number - 1);
    }
    group->head = (uint8_t)head;
    index_run(number);
    bool retained = (group->free & ~group->clean) != 0;
    index_purgeable(number, PURGEABLE, retained);
    index_purgeable(number, PURGEABLE_EASILY, retained && (!group->is_huge || group->free == GROUP_WHOLE));
}

// How many of these slices lie in the first one's group.
static unsigned length_in_group(size_t first, size_t slices) {
    unsigned rest = GROUP_SLICES - (unsigned)(first % GROUP_SLICES);
    return slices < rest ? (unsigned)slices : rest;
}

void groups_visit(size_t first, size_t slices, void (*change)(struct group *, uint32_t mask)) {
    for (unsigned length; slices > 0; first += length, slices -= length) {
        length = length_in_group(first, slices);
        change(&groups[first / GROUP_SLICES], group_mask(first % GROUP_SLICES, length));
        group_update(first / GROUP_SLICES);
    }
}

// Slices that read as zero.
static uint32_t zero_slices(const struct group *group) {
    if (options.purge == OPTION_PURGE_LAZILY)
        return group->clean ^ group->marked; // what was purged may still have its content
    return group->clean | group->marked;
}

bool groups_are_zero(size_t first, size_t slices) {
    for (unsigned length; slices > 0; first += length, slices -= length) {
        length = length_in_group(first, slices);
        const struct group *group = &groups[first / GROUP_SLICES];
        if ((~zero_slices(group) & group_mask(first % GROUP_SLICES, length)) != 0)
            return false;
    }
    return true;
}

// Start of a run that begins in the group, at a multiple of `align`, or GROUP_SLICES.
static unsigned group_find(size_t number, unsigned slices, unsigned align) {
    uint32_t mask = groups[number].free;
    unsigned start = bits_find_run(mask, slices);
    while (start < GROUP_SLICES && start % align != 0) { // at most 32 turns
        mask &= ~group_mask(0, start + 1);
        start = bits_find_run(mask, slices);
    }
    if (start < GROUP_SLICES || slices < RUN_ACROSS_SLICES)
        return start;
    start = (unsigned)bits_align_up(GROUP_SLICES - group_free_tail(number), align);
    bool fits =
        start < GROUP_SLICES && number + 1 < group_count && GROUP_SLICES - start + groups[number + 1].head >= slices;
    return fits ? start : GROUP_SLICES;
}

// Lowest run of at most a group.
static size_t find_short(unsigned slices, unsigned align) {
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
            unsigned start = group_find(number, slices, align);
            if (start < GROUP_SLICES)
                return number * GROUP_SLICES + start;
        }
    }
    return NO_SLICE;
}

// Whether the free run from `first` on, which comes into a group, is long enough. Returns its first slice that is
// aligned, or NO_SLICE; *next: the group behind the last that was looked at.
static size_t find_from(size_t first, size_t number, size_t slices, size_t align, size_t *next) {
    size_t start = bits_align_up(first, align);
    size_t end = number * GROUP_SLICES;
    for (unsigned head = GROUP_SLICES; head == GROUP_SLICES && number < group_count && end < start + slices; number++) {
        head = groups[number].head;
        end += head;
    }
    *next = number;
    return end >= start + slices ? start : NO_SLICE;
}

// Lowest run that is longer than a group: half of a group is free somewhere in it, which the index knows.
static size_t find_long(size_t slices, size_t align) {
    size_t *lowest = &lowest_record[RUN_LEVEL_HALF];
    size_t next = 0; // the runs that come into lower groups have been looked at
    size_t found = NO_SLICE;
    for (size_t record = *lowest; record < (group_count + 63) / 64; record++) {
        uint64_t candidates = group_index[record].groups[RUN_LEVEL_HALF];
        if (candidates == 0 && record == *lowest)
            ++*lowest;
        for (; candidates != 0; candidates &= candidates - 1) {
            size_t number = record * 64 + bits_lowest(candidates);
            size_t before = number > 0 ? group_free_tail(number - 1) : 0;
            if (number >= next)
                found = find_from(number * GROUP_SLICES - before, number, slices, align, &next);
            if (found == NO_SLICE && number + 1 >= next)
                found =
                    find_from((number + 1) * GROUP_SLICES - group_free_tail(number), number + 1, slices, align, &next);
            if (found != NO_SLICE)
                return found;
        }
    }
    return NO_SLICE;
}

size_t groups_find(size_t slices, size_t align) {
    if (slices <= GROUP_SLICES && align <= GROUP_SLICES)
        return find_short((unsigned)slices, (unsigned)align);
    return find_long(slices, align);
}

bool groups_are_free(size_t first, size_t slices) {
    if (first + slices > group_count * GROUP_SLICES)
        return false;
    for (unsigned length; slices > 0; first += length, slices -= length) {
        length = length_in_group(first, slices);
        if ((~groups[first / GROUP_SLICES].free & group_mask(first % GROUP_SLICES, length)) != 0)
            return false;
    }
    return true;
}

size_t groups_find_purgeable(enum purgeable how) {
    size_t *highest = &highest_purgeable[how];
    while (group_index[*highest].purgeable[how] == 0) {
        if (*highest == 0)
            return NO_SLICE;
        --*highest;
    }
    return *highest * 64 + bits_highest(group_index[*highest].purgeable[how]);
}

static bool is_border(const struct group *one, const struct group *other) {
    return one->is_huge != other->is_huge || one->is_refused != other->is_refused;
}

// Behind the last one nothing was told.
static size_t borders_of(const struct group *group) {
    static const struct group none;
    const struct group *next = group + 1 < groups + group_count ? group + 1 : &none;
    return (group > groups && is_border(group, group - 1)) + is_border(group, next);
}

static void set_told(struct group *group, bool is_huge, bool is_refused) {
    group_borders -= borders_of(group);
    group->is_huge = is_huge;
    group->is_refused = is_refused;
    group_borders += borders_of(group);
}

void groups_make_huge(struct group *group) {
    set_told(group, true, false);
}

void groups_make_plain(struct group *group) {
    set_told(group, false, group->is_huge || group->is_refused);
}

void groups_refuse_huge(struct group *group) {
    set_told(group, false, true);
}

struct groups_plain groups_count_plain(void) {
    struct groups_plain sum = {0};
    for (size_t number = 0; number < group_count; number++) {
        const struct group *group = &groups[number];
        if (group->is_huge || group->free == GROUP_WHOLE)
            continue;
        sum.in_use_slices += GROUP_SLICES - bits_count(group->free);
        sum.clean_slices += bits_count(group->clean);
    }
    return sum;
}

size_t groups_mark_cold(void) {
    size_t cold = 0;
    for (size_t number = 0; number < group_count; number++) {
        struct group *group = &groups[number];
        cold += bits_count(group->cold);
        group->cold = group->free & ~group->clean;
    }
    return cold;
}
