// Grants, and the slot.
#include "big/kept.h"

#include "base/tuning.h"
#include "policy/snapshot.h"

static size_t kept_granted_bytes; // to all threads

uintptr_t kept_take(struct kept *kept) {
    if (load_relaxed(&kept->block) == 0) // only this thread puts one in
        return 0;
    return exchange_acquire(&kept->block, (uintptr_t)0); // acquire: its marks were set before; pairs with kept_put
}

void kept_end(struct kept *kept) {
    if (kept->granted == 0)
        return;
    shared_add(&kept_granted_bytes, -kept->granted);
    store_relaxed(&kept->granted, 0); // others read it
}

static void grant(struct kept *kept, size_t bytes) {
    if (shared_add(&kept_granted_bytes, bytes) + bytes <= KEPT_ALL_BYTES)
        store_relaxed(&kept->granted, bytes); // others read it
    else
        shared_add(&kept_granted_bytes, -bytes);
}

void kept_note_request(struct kept *kept, size_t bytes) {
    size_t most = DECIDED(retain_min);
    bool again = bytes == kept->last_bytes && bytes <= (most < KEPT_BYTES ? most : KEPT_BYTES);
    if (again && kept->granted == bytes)
        return;
    kept_end(kept);
    if (again)
        grant(kept, bytes);
}

bool kept_accepts(struct kept *kept, size_t bytes) {
    kept->last_bytes = bytes;
    return bytes > 0 && bytes == kept->granted && load_relaxed(&kept->block) == 0;
}

void kept_put(struct kept *kept, uintptr_t block) {
    store_release(&kept->block, block); // release: its marks come before; pairs with kept_take
}

bool kept_is_idle(struct kept *kept) {
    bool idle = kept->hits == kept->seen_hits;
    kept->seen_hits = kept->hits;
    return idle;
}
