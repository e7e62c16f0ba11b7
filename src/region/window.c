// Chooses and grows the window and its tables.
#include "region/window.h"

#include "base/bits.h"
#include "sys/os.h"

INTERNAL struct window window;

// Lowest and highest base: above what programs and sanitizers put low, below where the kernel puts position
// independent programs (0x5555...) and mappings (0x7fff...).
#define WINDOW_LOWEST ((uintptr_t)8 << 40)
#define WINDOW_HIGHEST ((uintptr_t)64 << 40)
#define WINDOW_TRIES 4
// Places of strangers that one growth steps over.
#define WINDOW_STEPS_OVER 16

static size_t window_slices;    // usable so far
static bool window_is_reserved; // its addresses are all ours already: commit; else map as it grows
// Each of the tables begins in its page here. Blocks of whole pages are often written at their pages' starts: those
// lines evict each other from a processor's caches, and a load that agrees with a store under way in its lowest 12 bits
// waits. What small heaps use of the tables, the beginning, lies elsewhere.
#define WINDOW_TABLE_OFFSET 1280
static uintptr_t window_group_records;
static uintptr_t window_index_records;
static size_t window_table_slices; // slices that the committed tables cover

// The tables are committed for this many slices at a time: a page or more of each.
#define WINDOW_TABLE_STEP_SLICES ((size_t)16384) // 1 GiB of window

// Whole pages that hold so many bytes of a table.
static size_t window_table_bytes(size_t bytes) {
    return bits_align_up(WINDOW_TABLE_OFFSET + bytes, os_facts.page_bytes);
}

static bool window_reserve_tables(void) {
    size_t slices = window.limit;
    size_t groups = slices / GROUP_SLICES;
    size_t views = window_table_bytes(slices * TAG_COUNT);
    size_t info = window_table_bytes(slices * sizeof(uintptr_t));
    size_t records = window_table_bytes(groups * WINDOW_GROUP_RECORD_BYTES);
    size_t index = window_table_bytes((groups / 64 + 1) * WINDOW_INDEX_RECORD_BYTES);
    size_t guard = os_facts.page_bytes;
    char *tables = os_reserve(views + info + records + index + 5 * guard);
    if (tables == NULL)
        return false;
    char *view_table = tables + guard, *info_table = view_table + views + guard;
    char *record_table = info_table + info + guard, *index_table = record_table + records + guard;
    window.views = (uint8_t *)view_table + WINDOW_TABLE_OFFSET;
    window.info = (intptr_t *)(void *)(info_table + WINDOW_TABLE_OFFSET);
    window_group_records = (uintptr_t)record_table + WINDOW_TABLE_OFFSET;
    window_index_records = (uintptr_t)index_table + WINDOW_TABLE_OFFSET;
    return os_commit(index_table, index) == 0 && os_commit_readable(view_table, views) == 0 &&
           os_commit_readable(info_table, info) == 0;
}

// Commits each table's part for slices [window_table_slices, slices).
static bool window_commit_tables(size_t slices) {
    if (slices <= window_table_slices)
        return true;
    slices = bits_align_up(slices, WINDOW_TABLE_STEP_SLICES);
    if (slices > window.limit)
        slices = window.limit;
    struct {
        uintptr_t start; // of what the first group needs
        size_t bytes_per_group;
    } tables[] = {
        {(uintptr_t)window.views, (size_t)TAG_COUNT * GROUP_SLICES},
        {(uintptr_t)window.info, sizeof(uintptr_t) * GROUP_SLICES},
        {window_group_records, WINDOW_GROUP_RECORD_BYTES},
    };
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        uintptr_t old_end = tables[i].start + window_table_slices / GROUP_SLICES * tables[i].bytes_per_group;
        uintptr_t end = tables[i].start + slices / GROUP_SLICES * tables[i].bytes_per_group;
        uintptr_t from = bits_align_down(old_end, os_facts.page_bytes);
        if (os_commit((void *)from, bits_align_up(end, os_facts.page_bytes) - from) != 0)
            return false;
    }
    window_table_slices = slices;
    return true;
}

static size_t window_want_bytes(void) {
    size_t bytes = WINDOW_MAX_BYTES;
    if (os_facts.memory_bytes < WINDOW_MAX_BYTES / WINDOW_MEMORY_MULTIPLE)
        bytes = os_facts.memory_bytes * WINDOW_MEMORY_MULTIPLE;
    if (bytes < WINDOW_MIN_BYTES)
        bytes = WINDOW_MIN_BYTES;
    if (bytes > os_facts.address_limit_bytes)
        bytes = os_facts.address_limit_bytes;
    return bits_align_down(bytes, GROUP_BYTES);
}

// Maps the first group to see whether the kernel lets us have the place.
static bool window_try_base(uintptr_t base) {
    void *probe = os_map_at(base, GROUP_BYTES);
    if (probe == NULL)
        return false;
    os_unmap(probe, GROUP_BYTES);
    window.base = base;
    return true;
}

// Sanitizers, whose builds override nothing, place their shadows by fixed rules: there the kernel has to choose.
static bool window_may_choose_place(void) {
#ifdef HAKMEM_NO_OVERRIDE
    return false;
#else
    return sizeof(uintptr_t) == 8;
#endif
}

static bool window_place_freely(void) {
    size_t bytes = window.limit << SLICE_SHIFT;
    uint64_t random = os_facts.random;
    for (int try = 0; try < WINDOW_TRIES && window_may_choose_place(); try++) {
        uintptr_t room = WINDOW_HIGHEST - WINDOW_LOWEST - bytes;
        if (window_try_base(bits_align_down(WINDOW_LOWEST + random % room, GIB)))
            return true;
        random = random * 6364136223846793005u + 1442695040888963407u; // Knuth's MMIX generator
    }
    return false;
}

static bool window_place_reserved(void) {
    size_t bytes = window.limit << SLICE_SHIFT;
    if (bytes > WINDOW_FALLBACK_BYTES)
        bytes = WINDOW_FALLBACK_BYTES;
    if (bytes > os_facts.address_limit_bytes / WINDOW_LIMIT_SHARE)
        bytes = os_facts.address_limit_bytes / WINDOW_LIMIT_SHARE;
    for (; bytes >= 2 * GROUP_BYTES; bytes /= 2) {
        void *reserved = os_reserve(bytes);
        if (reserved == NULL)
            continue;
        window.base = bits_align_up((uintptr_t)reserved, GROUP_BYTES);
        window.limit = bits_align_down((uintptr_t)reserved + bytes - window.base, GROUP_BYTES) >> SLICE_SHIFT;
        window_is_reserved = true;
        return true;
    }
    return false;
}

bool window_start(void) {
    window.limit = window_want_bytes() >> SLICE_SHIFT;
    if (!window_place_freely() && !window_place_reserved()) {
        window.limit = 0;
        return false;
    }
    if (window_reserve_tables())
        return true;
    window.limit = 0;
    return false;
}

// Maps [slice, slice + count). Somebody else's mapping inside makes it fail as a whole.
static bool window_map(size_t slice, size_t count) {
    void *start = window_address(slice);
    if (window_is_reserved)
        return os_commit(start, count << SLICE_SHIFT) == 0;
    if (os_map_at((uintptr_t)start, count << SLICE_SHIFT) == NULL)
        return false;
    os_name(start, count << SLICE_SHIFT, "hakmem");
    return true;
}

bool window_extend(size_t slices, size_t *first, size_t *count) {
    size_t have = window_slices;
    size_t least = bits_align_up(slices, GROUP_SLICES);
    size_t step = bits_align_down((have << SLICE_SHIFT) / 8, GROUP_BYTES);
    step = step < GROW_MIN_BYTES ? GROW_MIN_BYTES : step > GROW_MAX_BYTES ? GROW_MAX_BYTES : step;
    size_t want = step >> SLICE_SHIFT;
    want = want < least ? least : want;
    // A stranger's mapping is stepped over, a limit met with less; the bound keeps a full address space from costing
    // more than a moment.
    for (int try = 0; try < WINDOW_STEPS_OVER; try++) {
        if (have > window.limit || least > window.limit - have)
            return false;
        if (want > window.limit - have)
            want = least;
        if (!window_commit_tables(have + want))
            return false;
        if (window_map(have, want)) {
            window_slices = have + want;
            *first = have;
            *count = want;
            return true;
        }
        if (want > least)
            want = least;
        else
            have += window_is_reserved ? window.limit : GROUP_SLICES;
    }
    return false;
}

void *window_group_table(void) {
    return (void *)window_group_records;
}

void *window_group_index(void) {
    return (void *)window_index_records;
}
