// Metadata memory: mappings with guard pages, handed out by a bump pointer.
#include "region/meta.h"

#include "base/bits.h"
#include "base/tuning.h"
#include "sys/os.h"

INTERNAL struct lock meta_lock = LOCK_INIT(meta);

static uintptr_t meta_place; // of the current mapping
static uintptr_t meta_end;
static size_t meta_taken_bytes;

// Maps memory that begins and ends with a page nobody may touch. Called without the lock.
static uintptr_t meta_map(size_t bytes) {
    size_t guard = os_facts.page_bytes;
    char *memory = os_reserve(bytes + 2 * guard);
    if (memory == NULL)
        return 0;
    if (os_commit(memory + guard, bytes) != 0) {
        os_unmap(memory, bytes + 2 * guard);
        return 0;
    }
    os_name(memory + guard, bytes, "hakmem metadata");
    return (uintptr_t)memory + guard;
}

static void *meta_take_locked(size_t bytes, size_t align) {
    uintptr_t place = bits_align_up(meta_place, align);
    if (meta_place == 0 || place + bytes > meta_end)
        return NULL;
    meta_place = place + bytes;
    store_relaxed(&meta_taken_bytes, meta_taken_bytes + bytes); // read without the lock
    return (void *)place;
}

void *meta_take(size_t bytes, size_t align) {
    CHECK(bits_is_power_of_two(align) && align <= os_facts.page_bytes);
    for (size_t mapping_bytes = META_MAPPING_BYTES;;
         mapping_bytes /= 2) { // ends when even a small mapping can't be had
        lock_acquire(&meta_lock);
        void *memory = meta_take_locked(bytes, align);
        lock_release(&meta_lock);
        if (memory != NULL)
            return memory;
        mapping_bytes = bits_align_up(mapping_bytes < bytes ? bytes : mapping_bytes, os_facts.page_bytes);
        uintptr_t start = meta_map(mapping_bytes);
        if (start == 0 && (mapping_bytes <= os_facts.page_bytes || mapping_bytes / 2 < bytes))
            return NULL;
        if (start == 0)
            continue;
        // Two threads may map a mapping each; the rest of the earlier one is lost then, which M1 allows.
        lock_acquire(&meta_lock);
        meta_place = start;
        meta_end = start + mapping_bytes;
        memory = meta_take_locked(bytes, align);
        lock_release(&meta_lock);
        return memory;
    }
}

size_t meta_bytes(void) {
    return load_relaxed(&meta_taken_bytes);
}
