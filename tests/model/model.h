// A simple model of the heap: which blocks live, where, and what they contain; every operation is checked against it.
//
// An operation is computed from the seed and its index alone, so any subset of the operations can be replayed in order.
// M1. Live blocks never overlap over their usable size (a sorted map of intervals).
// M2. A block contains what was last written, until it is freed; a zeroed one is zero; a resized one keeps the common
// part. M3. A block is aligned as asked, and to 16; its usable size is at least its size and does not change. M4. What
// cannot be had is NULL with ENOMEM and changes nothing. M5. The library's own figure of allocated bytes is never below
// what the model holds (one thread only).
#ifndef HAKMEM_TESTS_MODEL_H
#define HAKMEM_TESTS_MODEL_H

#include <errno.h>
#include <hakmem/hakmem.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define KIB ((size_t)1024)
#define MIB (KIB * 1024)

enum { SLOTS = 2048, MAILBOX = 64, OPERATIONS_PER_PHASE = 3000 };
static const size_t live_bytes_limit = 96 * MIB;

struct live {
    unsigned char *block;
    size_t size, usable;
    uint64_t contents; // seed of what is written in it
};

struct model {
    uint64_t seed;
    uint64_t index;    // of the operation under way
    const char *doing; // what it does, for messages
    bool alone;        // no other model runs in this process
    bool tells;        // print each operation
    size_t live_bytes;
    size_t live_count;
    struct live slots[SLOTS];
    struct live *by_address[SLOTS]; // the live blocks, sorted
};

// Blocks on their way to other threads' models.
static struct {
    atomic_flag taken;
    struct live live;
} mailbox[MAILBOX];

#define EXPECT(model, condition)                                                                                       \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "FAIL: --seed %llu, operation %llu (%s): not true: %s [%s:%d]\n",                          \
                    (unsigned long long)(model)->seed, (unsigned long long)(model)->index, (model)->doing, #condition, \
                    __FILE__, __LINE__);                                                                               \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

static inline uint64_t mix(uint64_t z) {
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// ---- contents

// Small blocks are written wholly, larger ones in the first and last 64 bytes and one word of each 512.
static inline size_t next_written(size_t offset, size_t size) {
    size_t tail = size < 128 ? 64 : (size - 64) / 8 * 8;
    if (size <= 2048 || offset < 64 || offset >= tail) {
        return offset + 8;
    }
    return offset + 512 < tail ? offset + 512 : tail;
}

static inline void write_contents(const struct live *live) {
    for (size_t offset = 0; offset < live->usable; offset = next_written(offset, live->usable)) {
        uint64_t word = mix(live->contents ^ offset);
        size_t length = live->usable - offset < 8 ? live->usable - offset : 8;
        memcpy(live->block + offset, &word, length);
    }
}

// Compares the first bytes of a block with what was written to `live`, which may be the block before it was resized.
static inline bool has_contents(const unsigned char *block, const struct live *live, size_t limit) {
    for (size_t offset = 0; offset < limit; offset = next_written(offset, live->usable)) {
        uint64_t word = mix(live->contents ^ offset);
        size_t length = limit - offset < 8 ? limit - offset : 8;
        if (memcmp(block + offset, &word, length) != 0) {
            return false;
        }
    }
    return true;
}

static inline bool is_zero(const unsigned char *block, size_t size) {
    return size == 0 || (block[0] == 0 && memcmp(block, block + 1, size - 1) == 0);
}

// ---- the map of live blocks

static inline size_t position_of(const struct model *model, const unsigned char *address) {
    size_t low = 0, high = model->live_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (model->by_address[middle]->block < address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static inline void model_insert(struct model *model, struct live *live) {
    size_t position = position_of(model, live->block);
    if (position > 0) {
        const struct live *before = model->by_address[position - 1];
        EXPECT(model, before->block + before->usable <= live->block); // M1
    }
    if (position < model->live_count) {
        EXPECT(model, live->block + live->usable <= model->by_address[position]->block); // M1
    }
    memmove(&model->by_address[position + 1], &model->by_address[position],
            (model->live_count - position) * sizeof model->by_address[0]);
    model->by_address[position] = live;
    model->live_count++;
    model->live_bytes += live->usable;
}

static inline void model_remove(struct model *model, const struct live *live) {
    size_t position = position_of(model, live->block);
    EXPECT(model, position < model->live_count && model->by_address[position] == live);
    model->live_count--;
    model->live_bytes -= live->usable;
    memmove(&model->by_address[position], &model->by_address[position + 1],
            (model->live_count - position) * sizeof model->by_address[0]);
}

// ---- operations

struct operation {
    struct live *slot;
    size_t size, alignment;
    uint64_t choice;       // which operation, below 1000
    uint64_t contents;     // of what it writes
    unsigned frees_of_100; // how often a full slot is freed, in this phase
};

static inline size_t size_from(uint64_t random) {
    unsigned kind = (unsigned)(random % 1000);
    random = mix(random);
    if (kind < 30) { // just at, before and behind powers of two and their eighths
        size_t power = (size_t)16 << random % 17;
        return power + power / 8 * (mix(random) % 8) + mix(random + 1) % 3 - 1;
    }
    if (kind < 650) {
        return random % (kind < 350 ? 129 : 1025);
    }
    size_t base = kind < 950 ? KIB << random % 5 : kind < 996 ? 32 * KIB << random % 5 : MIB << random % 3;
    return base + mix(random) % base;
}

static inline struct operation operation_at(struct model *model, uint64_t index) {
    uint64_t phase = mix(model->seed * 31 + index / OPERATIONS_PER_PHASE), random = mix(mix(model->seed) ^ index);
    static const unsigned frees[] = {8, 30, 50, 70, 95};
    struct operation operation = {.slot = &model->slots[random % SLOTS],
                                  .size = phase % 4 == 0 ? size_from(phase)
                                                         : size_from(mix(random + 1)), // some phases use one size
                                  .alignment = (size_t)1 << mix(random + 2) % (mix(random + 3) % 8 == 0 ? 23 : 13),
                                  .choice = mix(random + 4) % 1000,
                                  .contents = mix(random + 5),
                                  .frees_of_100 = frees[mix(phase) % COUNT_OF(frees)]};
    return operation;
}

static inline void expect_fresh_block(struct model *model, struct live *live, size_t alignment) {
    EXPECT(model, live->block != NULL);
    EXPECT(model, (uintptr_t)live->block % 16 == 0 && (uintptr_t)live->block % alignment == 0); // M3
    live->usable = hakmem_usable_size(live->block);
    EXPECT(model, live->usable >= live->size); // M3
    model_insert(model, live);
}

static inline void allocate(struct model *model, const struct operation *operation) {
    struct live *live = operation->slot;
    unsigned kind = (unsigned)(operation->choice % 10);
    size_t alignment = 1;
    *live = (struct live){.size = operation->size, .contents = operation->contents};
    errno = 4711;
    if (kind < 5) {
        model->doing = "malloc";
        live->block = hakmem_malloc(live->size);
    } else if (kind < 7) {
        model->doing = "calloc";
        size_t count = 1 + operation->contents % 7;
        live->size -= live->size % count;
        live->block = hakmem_calloc(count, live->size / count);
        EXPECT(model, live->block != NULL && is_zero(live->block, live->size)); // M2
    } else if (kind < 9) {
        model->doing = "aligned_alloc";
        alignment = operation->alignment;
        live->block = hakmem_aligned_alloc(alignment, live->size);
    } else {
        model->doing = "realloc of NULL";
        live->block = hakmem_realloc(NULL, live->size);
    }
    EXPECT(model, errno == 4711);
    expect_fresh_block(model, live, alignment);
    write_contents(live);
}

static inline void release(struct model *model, struct live *live, bool by_realloc) {
    model->doing = by_realloc ? "realloc to 0" : "free";
    EXPECT(model, has_contents(live->block, live, live->usable));   // M2
    EXPECT(model, hakmem_usable_size(live->block) == live->usable); // M3
    model_remove(model, live);
    errno = 4711;
    if (by_realloc) {
        EXPECT(model, hakmem_realloc(live->block, 0) == NULL);
    } else {
        hakmem_free(live->block);
    }
    EXPECT(model, errno == 4711);
    live->block = NULL;
}

static inline void resize(struct model *model, const struct operation *operation) {
    struct live *live = operation->slot, before = *live;
    size_t size = operation->size == 0 ? 1 : operation->size;
    model->doing = "realloc";
    model_remove(model, live);
    errno = 4711;
    live->block = hakmem_realloc(before.block, size);
    EXPECT(model, live->block != NULL && errno == 4711);
    EXPECT(model, has_contents(live->block, &before, before.size < size ? before.size : size)); // M2
    live->size = size;
    live->contents = operation->contents;
    expect_fresh_block(model, live, 1);
    write_contents(live);
}

static inline void ask_for_the_impossible(struct model *model, const struct operation *operation) {
    static const size_t impossible[] = {SIZE_MAX, SIZE_MAX - 100, (size_t)PTRDIFF_MAX, (size_t)1 << 62,
                                        SIZE_MAX - 65536};
    struct live *live = operation->slot;
    size_t size = impossible[operation->contents % COUNT_OF(impossible)];
    model->doing = "an impossible size";
    errno = 4711;
    EXPECT(model, hakmem_malloc(size) == NULL && errno == ENOMEM); // M4
    errno = 4711;
    EXPECT(model, hakmem_calloc(size / 2, 3) == NULL && errno == ENOMEM);
    errno = 4711;
    EXPECT(model, hakmem_aligned_alloc(64, size) == NULL && errno == ENOMEM);
    if (live->block != NULL) {
        errno = 4711;
        EXPECT(model, hakmem_realloc(live->block, size) == NULL && errno == ENOMEM);
        EXPECT(model, has_contents(live->block, live, live->usable));
    }
}

static inline void give_away(struct model *model, const struct operation *operation) {
    size_t index = operation->contents % MAILBOX;
    model->doing = "hand over";
    model_remove(model, operation->slot);
    while (atomic_flag_test_and_set_explicit(&mailbox[index].taken, memory_order_acquire)) {}
    struct live found = mailbox[index].live;
    mailbox[index].live = *operation->slot;
    atomic_flag_clear_explicit(&mailbox[index].taken, memory_order_release);
    operation->slot->block = NULL;
    if (found.block != NULL) {
        EXPECT(model, has_contents(found.block, &found, found.usable));
        hakmem_free(found.block);
    }
}

static inline void ask_questions(struct model *model, const struct operation *operation) {
    struct hakmem_stats stats = {.size = sizeof stats};
    char text[256];
    model->doing = "statistics";
    EXPECT(model, hakmem_stats(&stats) == 0);
    EXPECT(model, !model->alone || stats.allocated_bytes >= model->live_bytes); // M5
    EXPECT(model, hakmem_stats_json(text, sizeof text) > 0 && memchr(text, '\0', sizeof text) != NULL);
    EXPECT(model, hakmem_version()[0] != '\0');
    EXPECT(model, hakmem_option_get("fastlane", text, sizeof text) >= 0);
    EXPECT(model, hakmem_usable_size(NULL) == 0);
    hakmem_free(NULL);
    if (operation->contents % 4 == 0) {
        model->doing = "trim";
        int gave_back = hakmem_trim(operation->contents % 2 == 0 ? 0 : operation->size);
        EXPECT(model, gave_back == 0 || gave_back == 1);
    }
}

// One step: what is done depends on the operation and on whether its slot is full.
static inline void perform(struct model *model, uint64_t index) {
    struct operation operation = operation_at(model, index);
    struct live *live = operation.slot;
    model->index = index;
    model->doing = "nothing";
    unsigned percent = (unsigned)(operation.contents % 100);
    if (operation.choice == 999) {
        ask_questions(model, &operation);
    } else if (operation.choice == 998) {
        ask_for_the_impossible(model, &operation);
    } else if (live->block == NULL) {
        if (model->live_bytes < live_bytes_limit) {
            allocate(model, &operation);
        }
    } else if (percent < operation.frees_of_100 || model->live_bytes >= live_bytes_limit) {
        release(model, live, operation.choice % 50 == 0);
    } else if (operation.choice % 4 == 0) {
        resize(model, &operation);
    } else if (operation.choice % 4 == 1) {
        give_away(model, &operation);
    } else {
        model->doing = "look";
        EXPECT(model, has_contents(live->block, live, live->usable));
    }
    if (model->tells) {
        printf("operation %llu: slot %zu: %s, size %zu, alignment %zu, block %p\n", (unsigned long long)index,
               (size_t)(live - model->slots), model->doing, operation.size, operation.alignment, (void *)live->block);
    }
}

static inline void model_finish(struct model *model) {
    for (size_t i = 0; i < SLOTS; i++) {
        if (model->slots[i].block != NULL) {
            release(model, &model->slots[i], false);
        }
    }
    EXPECT(model, model->live_count == 0 && model->live_bytes == 0);
}

static inline void mailbox_empty(struct model *model) {
    for (size_t i = 0; i < MAILBOX; i++) {
        struct live found = mailbox[i].live;
        mailbox[i].live.block = NULL;
        if (found.block != NULL) {
            EXPECT(model, has_contents(found.block, &found, found.usable));
            hakmem_free(found.block);
        }
    }
}

#endif
