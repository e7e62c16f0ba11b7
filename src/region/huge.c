// Which groups are huge.
#include "region/huge.h"

#include "policy/snapshot.h"
#include "region/density.h"
#include "region/window.h"
#include "sys/options.h"
#include "sys/os.h"

static enum os_huge huge_support;

void huge_start(void) {
    huge_support = os_huge_pages(GROUP_BYTES);
}

// One that is huge already stays so a little longer, lest the kernel be told back and forth.
static bool heap_is_dense(enum huge_place place, size_t in_use_slices) {
    size_t least = DECIDED(huge_least);
    if (least == 0 && !density_is_known()) // it was in an earlier run
        return true;
    return in_use_slices >= least >> SLICE_SHIFT &&
           density_is_above(place == HUGE_ALREADY ? HUGE_STAYS_SHARE : HUGE_SPARSE_SHARE);
}

bool huge_is_wanted(enum huge_place place, size_t in_use_slices) {
    if (DECIDED(huge_pages) == OPTION_HUGE_PAGES_OFF || huge_support == OS_HUGE_NONE)
        return false;
    bool known = place == HUGE_IN_BLOCK || place == HUGE_TOUCHED;
    return DECIDED(huge_pages) == OPTION_HUGE_PAGES_ON || known || heap_is_dense(place, in_use_slices);
}

bool huge_looks_at_density(void) {
    return DECIDED(huge_pages) == OPTION_HUGE_PAGES_AUTO && huge_support != OS_HUGE_NONE;
}

bool huge_is_everywhere(void) {
    return huge_support == OS_HUGE_EVERYWHERE;
}

void huge_tell(const struct huge_change *change) {
    if (change->groups == 0 || huge_support == OS_HUGE_NONE)
        return;
    void *start = window_address(change->first * GROUP_SLICES);
    if (change->wanted)
        os_want_huge_pages(start, change->groups * GROUP_BYTES);
    else
        os_refuse_huge_pages(start, change->groups * GROUP_BYTES);
}

void huge_tell_block(void *block, size_t bytes) {
    if (huge_is_wanted(HUGE_IN_BLOCK, 0))
        os_want_huge_pages(block, bytes);
    else if (huge_is_everywhere())
        os_refuse_huge_pages(block, bytes);
}
