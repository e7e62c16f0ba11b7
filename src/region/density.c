// Which of the pages in use are resident, by samples.
#include "region/density.h"

#include "base/atomics.h"
#include "region/groups.h"
#include "region/window.h"
#include "sys/os.h"

// The last groups that were opened without a huge page.
static struct {
    size_t group;
    size_t turn; // opened_groups then
} plain_groups[DENSITY_PLAIN_GROUPS];
static size_t plain_count;   // ever
static size_t opened_groups; // ever
static size_t control_turn;  // opened_groups at the last control or other plain group
static size_t look_turn;     // opened_groups at the last look
static size_t old_cursor;    // group behind the one that V3 looked at last
static uint64_t last_seen;   // by the last look: pages in use, and in the upper half those that nobody has touched

bool density_is_known(void) {
    return load_relaxed(&last_seen) != 0; // a hint
}

bool density_is_above(unsigned share) {
    uint64_t pages = load_relaxed(&last_seen); // a hint
    return pages > 0 && (pages >> 32) * share <= (uint32_t)pages;
}

static size_t within(size_t number, size_t least, size_t most) {
    return number < least ? least : number > most ? most : number;
}

bool density_wants_control(size_t in_use_slices) {
    size_t groups_in_use = in_use_slices / GROUP_SLICES;
    if (UNLIKELY(plain_count == 0))
        return opened_groups + 1 >= DENSITY_CONTROL_FIRST;
    return opened_groups - control_turn >=
           within(groups_in_use / DENSITY_CONTROL_SHARE, DENSITY_CONTROL_LEAST, DENSITY_CONTROL_MOST);
}

void density_note_huge(void) {
    opened_groups++;
}

void density_note_plain(size_t group) {
    opened_groups++;
    control_turn = opened_groups;
    plain_groups[plain_count % DENSITY_PLAIN_GROUPS].group = group;
    plain_groups[plain_count % DENSITY_PLAIN_GROUPS].turn = opened_groups;
    plain_count++;
}

// The newest groups that looks go at.
static bool is_needed(size_t number, unsigned newest) {
    for (size_t i = 1; i <= newest && i <= plain_count; i++)
        if (plain_groups[(plain_count - i) % DENSITY_PLAIN_GROUPS].group == number)
            return true;
    return false;
}

// V3. Places of strangers that the window stepped over belong to nobody either.
static bool is_full(size_t number) {
    return groups[number].free == 0 && load_relaxed(&window.info[number * GROUP_SLICES]) != 0;
}

// V5. Slabs of large blocks are of many slices, and a run is one block.
static bool is_of_large_blocks(size_t number) {
    if (!group_has_no_clean(&groups[number]))
        return false;
    unsigned shared_by = 0;
    intptr_t before = SLICE_RUN_INSIDE, any = 0;
    for (size_t slice = number * GROUP_SLICES; slice < (number + 1) * GROUP_SLICES; slice++) {
        intptr_t info = load_relaxed(&window.info[slice]); // a hint where it is not free: W2
        shared_by += info != 0 && info != before && info != SLICE_RUN_INSIDE;
        any |= info;
        before = info;
    }
    return any != 0 && shared_by <= DENSITY_LARGE_PARTS;
}

// The next group from the cursor on that is meant and has no huge page, but for the newest controls; looks at few.
// There may be no group at all: all blocks have mappings of their own.
static size_t next_plain_group(bool (*is_meant)(size_t), unsigned newest) {
    for (unsigned i = 0; i < DENSITY_OLD_LOOKS && i < group_count; i++) {
        size_t number = old_cursor < group_count ? old_cursor : 0;
        old_cursor = number + 1;
        if (!groups[number].is_huge && is_meant(number) && !is_needed(number, newest))
            return number;
    }
    return NO_GROUP;
}

// The group of the i-th newest entry is also that of a newer one.
static bool was_opened_again(size_t i) {
    size_t group = plain_groups[(plain_count - i) % DENSITY_PLAIN_GROUPS].group;
    while (--i > 0)
        if (plain_groups[(plain_count - i) % DENSITY_PLAIN_GROUPS].group == group)
            return true;
    return false;
}

bool density_begin_look(struct density_look *look, size_t in_use_slices) {
    size_t wait = within(in_use_slices / GROUP_SLICES / DENSITY_LOOK_SHARE, DENSITY_LOOK_LEAST, DENSITY_LOOK_MOST);
    if (LIKELY(opened_groups - look_turn < wait))
        return false;
    look_turn = opened_groups;
    look->old_group = next_plain_group(is_full, DENSITY_LOOK_GROUPS);
    look->count = 0;
    size_t known = plain_count < DENSITY_PLAIN_GROUPS ? plain_count : DENSITY_PLAIN_GROUPS;
    size_t age = within(in_use_slices / GROUP_SLICES / DENSITY_AGE_SHARE, DENSITY_AGE, DENSITY_AGE_MOST);
    for (size_t i = 1; i <= known && look->count < DENSITY_LOOK_GROUPS; i++) {
        size_t place = (plain_count - i) % DENSITY_PLAIN_GROUPS;
        const struct group *group = &groups[plain_groups[place].group];
        if (opened_groups - plain_groups[place].turn < age || group->is_huge ||
            bits_count(group->free) > GROUP_SLICES / 2 || was_opened_again(i))
            continue;
        look->at[look->count].group = plain_groups[place].group;
        look->at[look->count++].used = ~group->free;
    }
    return look->count > 0 || look->old_group != NO_GROUP;
}

struct touched {
    unsigned pages; // looked at
    unsigned touched;
};

// Adds a group's slices; false: the kernel does not say.
static bool count_touched(size_t group, uint32_t slices, struct touched *sum) {
    unsigned char resident[GROUP_BYTES / 4096]; // pages are no smaller
    unsigned slice_pages = (unsigned)(SLICE_BYTES / os_facts.page_bytes);
    if (!os_look_resident(window_address(group * GROUP_SLICES), GROUP_BYTES, resident))
        return false;
    for (; slices != 0; slices &= slices - 1) {
        const unsigned char *first = resident + bits_lowest(slices) * slice_pages;
        for (unsigned i = 0; i < slice_pages; i++)
            sum->touched += first[i] & 1;
        sum->pages += slice_pages;
    }
    return true;
}

static bool is_touched(size_t group) {
    struct touched sum = {0};
    return count_touched(group, GROUP_WHOLE, &sum) && (sum.pages - sum.touched) * DENSITY_COLLAPSE_SHARE <= sum.pages;
}

bool density_is_large(size_t group) {
    return is_of_large_blocks(group) && !is_needed(group, 1);
}

size_t density_next_large(void) {
    return next_plain_group(is_of_large_blocks, 1);
}

bool density_is_touched(size_t group) {
    return !os_is_confined() && is_touched(group);
}

size_t density_finish_look(const struct density_look *look) {
    struct touched sum = {0};
    if (os_is_confined())
        return NO_GROUP;
    for (unsigned i = 0; i < look->count; i++)
        if (!count_touched(look->at[i].group, look->at[i].used, &sum))
            return NO_GROUP;
    if (sum.pages > 0) // read without the lock in density_is_above
        store_relaxed(&last_seen, (uint64_t)(sum.pages - sum.touched) << 32 | sum.pages);
    return look->old_group != NO_GROUP && is_touched(look->old_group) ? look->old_group : NO_GROUP;
}
