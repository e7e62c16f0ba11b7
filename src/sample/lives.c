// Follows the blocks of a window: a list in the order of requests, and a table that finds the newest of an address.
#include "sample/lives.h"

#include <string.h>

#define TABLE_BITS 9 // at most half of it is taken
_Static_assert(1u << TABLE_BITS >= 2 * LIVES_MOST, "a search ends soon");
#define NOT_FREED UINT32_MAX

INTERNAL uint32_t lives_followed[CLASS_MAP_COUNT];
INTERNAL uint32_t lives_kept[CLASS_MAP_COUNT];
INTERNAL uint64_t lives_by_kind[SIZES_KINDS][LIVES_SPANS];
INTERNAL const void *lives_owner;

struct life {
    const void *block;
    uint32_t bytes;
    uint32_t asked_left; // calls left of the window after the one that asked for it
    uint32_t freed_left; // with the one that freed it, or NOT_FREED
};

// U3.
static struct {
    unsigned count;
    struct life lives[LIVES_MOST];
    uint16_t newest[1u << TABLE_BITS]; // 1 + index of the newest life at an address; 0: nothing is here
} lives;

// Where the table has the address, or room for it. Multiplied by the golden ratio, neighbours lie apart (Knuth, "The
// Art of Computer Programming", 6.4).
static uint16_t *lives_place(const void *block) {
    uint32_t place = (uint32_t)((uintptr_t)block / BLOCK_ALIGN) * UINT32_C(0x9E3779B9) >> (32 - TABLE_BITS);
    while (lives.newest[place] != 0 && lives.lives[lives.newest[place] - 1].block != block)
        place = (place + 1) % COUNT_OF(lives.newest);
    return &lives.newest[place];
}

static void life_end(uint16_t number, unsigned calls_left) {
    if (number != 0 && lives.lives[number - 1].freed_left == NOT_FREED)
        lives.lives[number - 1].freed_left = calls_left;
}

void lives_begin(const void *owner) {
    const void *nobody = NULL;
    // acquire: after all that the owner before did; pairs: lives_drop
    if (load_relaxed(&lives_owner) != NULL || !swap_acquire(&lives_owner, nobody, owner))
        return;
    lives.count = 0;
    memset(lives.newest, 0, sizeof lives.newest);
}

void lives_drop(const void *owner) {
    if (lives_are_of(owner))
        store_release(&lives_owner, NULL); // release: pairs with lives_begin
}

void lives_note_request(const void *owner, const void *block, size_t bytes, unsigned calls_left) {
    if (!lives_are_of(owner))
        return;
    uint16_t *newest = lives_place(block);
    life_end(*newest, calls_left + 1); // U2
    if (calls_left < LIVES_CALLS || lives.count == LIVES_MOST)
        return;
    lives.lives[lives.count] = (struct life){block, (uint32_t)bytes, calls_left, NOT_FREED};
    *newest = (uint16_t)++lives.count;
}

void lives_note_free(const void *owner, const void *block, unsigned calls_left) {
    if (lives_are_of(owner))
        life_end(*lives_place(block), calls_left);
}

static unsigned life_span(const struct life *life) {
    uint32_t calls = life->freed_left != NOT_FREED ? life->asked_left - life->freed_left : LIVES_CALLS;
    if (calls >= LIVES_CALLS)
        return LIVES_SPAN_KEPT;
    return calls > 0 ? bits_highest(calls) + 1 : 0;
}

void lives_end(const void *owner, unsigned calls_left) {
    if (!lives_are_of(owner))
        return;
    // U1. The oldest come first.
    for (unsigned i = 0; i < lives.count && lives.lives[i].asked_left - calls_left >= LIVES_CALLS; i++) {
        const struct life *life = &lives.lives[i];
        unsigned entry = sizes_entry(life->bytes), span = life_span(life);
        shared_add(&lives_followed[entry], 1u); // who learns takes away meanwhile
        if (span == LIVES_SPAN_KEPT)
            shared_add(&lives_kept[entry], 1u);
        count_add(&lives_by_kind[sizes_kind(life->bytes)][span], 1); // U3
    }
    lives_drop(owner);
}

void lives_fade(void) {
    for (unsigned i = 0; i < CLASS_MAP_COUNT; i++) {
        uint32_t followed = load_relaxed(&lives_followed[i]), kept = load_relaxed(&lives_kept[i]);
        if (followed > 0)
            shared_add(&lives_followed[i], -(followed - followed / 2)); // its owner adds meanwhile
        if (kept > 0)
            shared_add(&lives_kept[i], -(kept - kept / 2)); // as above
    }
}

unsigned lives_short_permille(void) {
    uint64_t asked = 0, kept = 0;
    for (unsigned i = 0; i < CLASS_MAP_COUNT; i++) {
        uint64_t bytes = size_class_bytes_of_entry(i), all = load_relaxed(&lives_followed[i]);
        uint64_t some = load_relaxed(&lives_kept[i]);
        asked += all * bytes;
        kept += (some < all ? some : all) * bytes; // they are not counted at once
    }
    return asked > 0 ? (unsigned)((asked - kept) * 1000 / asked) : 0;
}
