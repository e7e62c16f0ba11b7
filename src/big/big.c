// Blocks above the slab classes.
//
// A run's slices say so in their info; no view shows them, so that every free of a run takes the cold path.
#include "big/big.h"

#include "base/bits.h"
#include "base/tuning.h"
#include "big/cache.h"
#include "big/routes.h"
#include "policy/snapshot.h"
#include "region/runs.h"
#include "sys/options.h"
#include "sys/os.h"

static void run_mark(size_t first, size_t slices, size_t from) {
    for (size_t i = from; i < slices; i++)
        store_relaxed(&window.info[first + i], SLICE_RUN_INSIDE);
    store_relaxed(&window.info[first], -(intptr_t)slices);
}

static void run_give(size_t first, size_t slices) {
    for (size_t i = 0; i < slices; i++)
        store_relaxed(&window.info[first + i], 0);
    runs_give(first, slices);
}

// The slices of the run block that starts at an address; 0: none does.
static size_t run_slices(const void *block) {
    if (!window_contains(block) || ((uintptr_t)block & (SLICE_BYTES - 1)) != 0)
        return 0;
    intptr_t info = load_relaxed(&window.info[window_slice_of(block)]);
    return info < 0 && info != SLICE_RUN_INSIDE && !window_is_kept(info) ? (size_t)-info : 0;
}

static void *run_take(size_t bytes, size_t align, bool *zeroed) {
    size_t slices = (bytes + SLICE_BYTES - 1) >> SLICE_SHIFT;
    size_t first = runs_take(slices, align > SLICE_BYTES ? align >> SLICE_SHIFT : 1, zeroed);
    if (first == NO_SLICE)
        return NULL;
    run_mark(first, slices, 0);
    return window_address(first);
}

// Shows one out of the cache, brought to the class's size first where it does not fit. NULL: it can't be; it has gone.
static void *mapping_reuse(struct mapping *found, unsigned class_index, uintptr_t site, bool fits) {
    size_t wanted = cache_class_bytes(class_index);
    if (!fits && found->bytes < wanted)
        cache_make_room(wanted - found->bytes);
    found->site = site;
    void *block = fits || mapping_fit(found, wanted) ? mapping_show(found) : NULL;
    if (block == NULL)
        mapping_release(found);
    return block;
}

// A mapping has its class's bytes, so that it fits all requests of the class once it is cached; where that is more than
// the system gives, what is needed.
static void *mapping_take(size_t bytes, unsigned class_index, uintptr_t site, bool *zeroed) {
    struct mapping found;
    bool fits;
    if (cache_take(class_index, site, &found, zeroed, &fits)) {
        void *block = mapping_reuse(&found, class_index, site, fits);
        if (block != NULL)
            return block;
    }
    *zeroed = true;
    cache_make_room(bytes);
    void *block = mapping_make(cache_class_bytes(class_index), 1, site);
    return block != NULL ? block : mapping_make(bytes, 1, site);
}

// A mapping gets its class's bytes also when it grows or shrinks: what grows step by step has headroom for some.
static void *mapping_resize_to_class(void *block, size_t bytes) {
    unsigned class_index = cache_class_of(bytes);
    size_t wanted = class_index != CACHE_NO_CLASS ? cache_class_bytes(class_index) : bytes;
    struct mapping found;
    if (mapping_find(block, &found) && found.bytes == wanted)
        return block;
    void *resized = mapping_resize(block, wanted);
    return resized != NULL ? resized : mapping_resize(block, bytes);
}

void *big_take_mapping(size_t bytes, size_t align, uintptr_t site, bool *zeroed) {
    unsigned class_index = align <= os_facts.page_bytes ? cache_class_of(bytes) : CACHE_NO_CLASS;
    if (class_index != CACHE_NO_CLASS)
        return mapping_take(bytes, class_index, site, zeroed);
    *zeroed = true;
    return mapping_make(bytes, align, site);
}

// Only what was asked for: what is behind it may never be used. And not what is large unless the user wants that: a
// trial must not bring in what the program hardly touches.
static void prefault(void *block, size_t bytes) {
    if (bytes > PREFAULT_MOST_BYTES && options.prefault != OPTION_PREFAULT_ON)
        return;
    uintptr_t start = bits_align_down((uintptr_t)block, os_facts.page_bytes);
    os_populate((void *)start, bits_align_up((uintptr_t)block + bytes, os_facts.page_bytes) - start);
}

// A kept block goes home.
void big_give_kept(uintptr_t block) {
    struct mapping hidden;
    size_t first = window_slice_of((void *)block);
    if (window_contains((void *)block)) {
        run_give(first, (size_t)(load_relaxed(&window.info[first]) - SLICE_RUN_KEPT));
    } else {
        mapping_hide_kept(block, &hidden);
        cache_put(&hidden);
    }
}

void big_let_go(struct kept *kept) {
    uintptr_t block = kept_take(kept);
    if (block != 0)
        big_give_kept(block);
}

// Length of the block that serves a request; 0: it is not known before.
static size_t kept_length(size_t bytes, bool has_run) {
    if (has_run)
        return bits_align_up(bytes, SLICE_BYTES);
    unsigned class_index = cache_class_of(bytes);
    return class_index != CACHE_NO_CLASS ? cache_class_bytes(class_index) : 0;
}

// The thread's kept block, if it has the right length; NULL: it has none, or no more.
static void *take_kept(struct kept *kept, size_t length, uintptr_t site) {
    bool fits = length == kept->granted;
    uintptr_t block = kept_take(kept);
    kept_note_request(kept, length);
    if (block != 0 && !fits)
        big_give_kept(block);
    if (block == 0 || !fits)
        return NULL;
    count_add(&kept->hits, 1);
    if (window_contains((void *)block))
        store_relaxed(&window.info[window_slice_of((void *)block)], -(intptr_t)(length >> SLICE_SHIFT));
    else
        mapping_show_kept(block, site);
    return (void *)block;
}

void *big_take(size_t bytes, size_t align, uintptr_t site, bool *zeroed, struct kept *kept) {
    void *block = NULL;
    bytes = bytes == 0 ? 1 : bytes; // an aligned block of no bytes is a block nonetheless
    // A run's address is a multiple of what its slice's number is, up to the window's own alignment.
    bool closed = bytes <= CLASS_LARGE_MAX && align == 1; // else the class would have served it
    bool has_run = bytes < routes_threshold(site, bytes, DECIDED(big_threshold)) && !closed;
    // Each mapping may be one of the few that the kernel lets a process have.
    bool too_many = bytes < BIG_THRESHOLD_MAX_BYTES && mapping_count().blocks >= BIG_MAPPINGS_MOST;
    if (kept != NULL && align <= os_facts.page_bytes) {
        block = take_kept(kept, kept_length(bytes, has_run || too_many), site);
        if (block != NULL) {
            *zeroed = false;
            return block;
        }
    }
    if ((has_run || too_many) && align <= GROUP_BYTES)
        block = run_take(bytes, align, zeroed);
    if (block == NULL)
        block = big_take_mapping(bytes, align, site, zeroed);
    if (UNLIKELY(block == NULL) && bytes < BIG_THRESHOLD_MAX_BYTES && align <= GROUP_BYTES) // the window may have room
        block = run_take(bytes, align, zeroed);
    if (UNLIKELY(DECIDED(prefault) != 0) && block != NULL && *zeroed)
        prefault(block, bytes);
    return block;
}

size_t big_usable_bytes(const void *block) {
    struct mapping found;
    if (window_contains(block))
        return run_slices(block) << SLICE_SHIFT;
    return mapping_find(block, &found) ? found.bytes : 0;
}

static bool give_mapping(const void *block, struct kept *kept) {
    struct mapping seen, hidden;
    if (!mapping_find(block, &seen))
        return false;
    if (kept != NULL && kept_accepts(kept, seen.start == seen.block ? seen.bytes : 0)) {
        if (!mapping_keep(&seen))
            return false;
        kept_put(kept, seen.block);
        return true;
    }
    bool given = mapping_hide(block, &hidden);
    if (given)
        cache_put(&hidden);
    return given;
}

bool big_give(void *block, struct kept *kept) {
    if (!window_contains(block))
        return give_mapping(block, kept);
    size_t slices = run_slices(block), first = window_slice_of(block);
    if (slices == 0)
        return false;
    if (kept != NULL && kept_accepts(kept, slices << SLICE_SHIFT)) {
        store_relaxed(&window.info[first], SLICE_RUN_KEPT + (intptr_t)slices);
        kept_put(kept, (uintptr_t)block);
    } else {
        run_give(first, slices);
    }
    return true;
}

static void *run_resize(void *block, size_t bytes) {
    size_t first = window_slice_of(block);
    size_t old_slices = run_slices(block);
    size_t slices = (bytes + SLICE_BYTES - 1) >> SLICE_SHIFT;
    bool zeroed;
    if (slices > old_slices && !runs_take_at(first + old_slices, slices - old_slices, &zeroed))
        return NULL;
    if (slices > old_slices)
        run_mark(first, slices, old_slices);
    if (slices < old_slices) {
        store_relaxed(&window.info[first], -(intptr_t)slices);
        run_give(first + slices, old_slices - slices);
    }
    return block;
}

void *big_resize(void *block, size_t bytes) {
    if (!window_contains(block))
        return mapping_resize_to_class(block, bytes);
    return run_slices(block) == 0 ? NULL : run_resize(block, bytes);
}
