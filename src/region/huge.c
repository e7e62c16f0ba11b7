// Which groups are huge.
#include "region/huge.h"

#include "region/window.h"
#include "sys/options.h"
#include "sys/os.h"

INTERNAL size_t huge_sparse_slices;

enum support {
    SUPPORT_UNKNOWN,
    SUPPORT_NONE,
    SUPPORT_THERE,
};
static uint32_t huge_support; // enum support

// Looks when first needed: most programs are too small for huge pages.
static bool huge_look(void) {
    uint32_t support = load_relaxed(&huge_support);
    if (support == SUPPORT_UNKNOWN) { // two threads may both look, and see the same
        support = os_has_huge_pages(GROUP_BYTES) ? SUPPORT_THERE : SUPPORT_NONE;
        store_relaxed(&huge_support, support);
    }
    return support == SUPPORT_THERE;
}

static bool heap_is_dense(enum huge_place place, size_t in_use_slices) {
    size_t sparse = load_relaxed(&huge_sparse_slices); // a hint, as others change it
    // One that is huge already stays so a little longer, lest the kernel be told back and forth.
    size_t most = in_use_slices / HUGE_SPARSE_SHARE * (place == HUGE_ALREADY ? 2 : 1);
    return in_use_slices >= HUGE_LEAST_BYTES >> SLICE_SHIFT && sparse <= most;
}

bool huge_is_wanted(enum huge_place place, size_t in_use_slices) {
    if (options.huge_pages == OPTION_HUGE_PAGES_OFF || load_relaxed(&huge_support) == SUPPORT_NONE)
        return false;
    return options.huge_pages == OPTION_HUGE_PAGES_ON || place == HUGE_IN_BLOCK || heap_is_dense(place, in_use_slices);
}

void huge_tell(const struct huge_change *change) {
    if (change->groups == 0 || !huge_look())
        return;
    void *start = window_address(change->first * GROUP_SLICES);
    if (change->wanted)
        os_want_huge_pages(start, change->groups * GROUP_BYTES);
    else
        os_refuse_huge_pages(start, change->groups * GROUP_BYTES);
}

void huge_tell_block(void *block, size_t bytes) {
    if (huge_is_wanted(HUGE_IN_BLOCK, 0) && huge_look())
        os_want_huge_pages(block, bytes);
}
