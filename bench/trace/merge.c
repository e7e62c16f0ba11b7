// All threads' events in the order of time, with addresses turned into blocks.
#include "merge.h"

#include <string.h>

#define FIRST_ROOM 4096u

struct merge_next {
    uint64_t ticks;
    uint32_t thread;
};

struct merge_moving {
    bool is_moving;
    struct trace_event event;
    struct live_block block; // as it was
    bool was_known;
    uint32_t place;
};

struct merge_free_place {
    uint64_t step;
    uint32_t place;
};

// ---- the heap of threads

static bool comes_before(struct merge_next one, struct merge_next other) {
    return one.ticks != other.ticks ? one.ticks < other.ticks : one.thread < other.thread;
}

static void heap_sink(struct merge *merge, uint32_t at) {
    struct merge_next moved = merge->nexts[at];
    for (uint32_t child; (child = 2 * at + 1) < merge->waiting; at = child) {
        if (child + 1 < merge->waiting && comes_before(merge->nexts[child + 1], merge->nexts[child]))
            child++;
        if (!comes_before(merge->nexts[child], moved))
            break;
        merge->nexts[at] = merge->nexts[child];
    }
    merge->nexts[at] = moved;
}

// ---- blocks by address

static size_t table_slot(const struct merge *merge, uint64_t address) {
    return (size_t)((address >> 3) * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (merge->table_room - 1);
}

// The slot that names the block at the address, or the empty one where it would be.
static size_t table_find(const struct merge *merge, uint64_t address) {
    size_t slot = table_slot(merge, address);
    while (merge->table[slot] != 0 && merge->blocks[merge->table[slot] - 1].address != address)
        slot = (slot + 1) & (merge->table_room - 1);
    return slot;
}

static void table_grow(struct merge *merge) {
    size_t old_room = merge->table_room;
    uint32_t *old = merge->table;
    merge->table_room = old_room == 0 ? 2 * FIRST_ROOM : 2 * old_room;
    merge->table = memory_map(merge->table_room * sizeof *merge->table);
    for (size_t i = 0; i < old_room; i++)
        if (old[i] != 0)
            merge->table[table_find(merge, merge->blocks[old[i] - 1].address)] = old[i];
    memory_unmap(old, old_room * sizeof *old);
}

// Knuth's deletion for linear probing (The Art of Computer Programming, volume 3, 6.4, algorithm R).
static void table_remove(struct merge *merge, size_t slot) {
    for (size_t next = slot;;) {
        merge->table[slot] = 0;
        size_t home;
        do {
            next = (next + 1) & (merge->table_room - 1);
            if (merge->table[next] == 0)
                return;
            home = table_slot(merge, merge->blocks[merge->table[next] - 1].address);
        } while (slot <= next ? slot < home && home <= next : slot < home || home <= next);
        merge->table[slot] = merge->table[next];
        slot = next;
    }
}

static uint32_t place_take(struct merge *merge) {
    if (merge->free_count > 0) {
        struct merge_free_place oldest = merge->free_places[merge->free_first];
        if (merge->steps - oldest.step >= merge->reuse_after_steps) {
            merge->free_first = (merge->free_first + 1) & (merge->free_room - 1);
            merge->free_count--;
            return oldest.place;
        }
    }
    if (merge->block_count == merge->block_room) {
        size_t room = merge->block_room == 0 ? FIRST_ROOM : 2 * merge->block_room;
        merge->blocks =
            memory_grow(merge->blocks, merge->block_room * sizeof *merge->blocks, room * sizeof *merge->blocks);
        merge->block_room = room;
    }
    if (merge->block_count == UINT32_MAX - 1)
        trace_fail("%s has more blocks at a time than can be told apart", merge->trace->path);
    return (uint32_t)merge->block_count++;
}

static void place_give(struct merge *merge, uint32_t place) {
    if (merge->free_count == merge->free_room) {
        size_t room = merge->free_room == 0 ? FIRST_ROOM : 2 * merge->free_room;
        struct merge_free_place *grown = memory_map(room * sizeof *grown);
        for (size_t i = 0; i < merge->free_count; i++)
            grown[i] = merge->free_places[(merge->free_first + i) & (merge->free_room - 1)];
        memory_unmap(merge->free_places, merge->free_room * sizeof *merge->free_places);
        merge->free_places = grown;
        merge->free_first = 0;
        merge->free_room = room;
    }
    size_t last = (merge->free_first + merge->free_count++) & (merge->free_room - 1);
    merge->free_places[last] = (struct merge_free_place){merge->steps, place};
}

static void account(struct merge *merge, uint64_t ticks, int64_t bytes, int blocks) {
    merge->live_bytes += (uint64_t)bytes;
    merge->live_blocks += (uint64_t)(int64_t)blocks;
    if (merge->live_bytes > merge->peak_live_bytes) {
        merge->peak_live_bytes = merge->live_bytes;
        merge->peak_ticks = ticks;
    }
    if (merge->live_blocks > merge->peak_live_blocks)
        merge->peak_live_blocks = merge->live_blocks;
}

// Puts a block at a place and into the table.
static void block_put(struct merge *merge, uint32_t place, const struct live_block *block) {
    if (2 * (merge->live_blocks + 1) > merge->table_room)
        table_grow(merge);
    size_t slot = table_find(merge, block->address);
    merge->blocks[place] = *block;
    merge->table[slot] = place + 1;
}

// ---- steps

// The block at the address ends unseen: its give was not recorded.
static bool end_unseen(struct merge *merge, uint64_t address, uint32_t thread, uint64_t ticks, struct step *step) {
    static struct live_block ended;
    size_t slot = table_find(merge, address);
    if (merge->table[slot] == 0)
        return false;
    uint32_t place = merge->table[slot] - 1;
    ended = merge->blocks[place];
    *step = (struct step){STEP_GIVE, thread, place, ticks, 0, 0, &ended};
    table_remove(merge, slot);
    merge->blocks[place].address = 0;
    account(merge, ticks, -(int64_t)ended.bytes, -1);
    place_give(merge, place);
    merge->missed++;
    return true;
}

// Fills in one or two steps; the second one is pending.
static bool take(struct merge *merge, const struct trace_event *event, uint32_t thread, uint64_t ticks,
                 struct step *step) {
    bool ends_other = end_unseen(merge, event->address, thread, ticks, step);
    uint32_t place = place_take(merge);
    struct live_block block = {event->address, event->bytes,     ticks, merge->bytes_taken, event->site,
                               thread,         event->align_log2};
    block_put(merge, place, &block);
    merge->bytes_taken += event->bytes;
    account(merge, ticks, (int64_t)event->bytes, 1);
    enum step_kind kind = event->kind == TRACE_CALLOC    ? STEP_TAKE_ZEROED
                          : event->kind == TRACE_ALIGNED ? STEP_TAKE_ALIGNED
                                                         : STEP_TAKE;
    struct step made = {kind, thread, place, ticks, event->site, event->bytes, &merge->blocks[place]};
    if (ends_other) {
        merge->pending = made;
        merge->has_pending = true;
    } else {
        *step = made;
    }
    return true;
}

static bool give(struct merge *merge, const struct trace_event *event, uint32_t thread, struct step *step) {
    static struct live_block given;
    size_t slot = table_find(merge, event->address);
    if (merge->table[slot] == 0) {
        merge->unknown++;
        return false;
    }
    uint32_t place = merge->table[slot] - 1;
    given = merge->blocks[place];
    table_remove(merge, slot);
    merge->blocks[place].address = 0;
    account(merge, event->ticks, -(int64_t)given.bytes, -1);
    *step = (struct step){STEP_GIVE, thread, place, event->ticks, event->site, 0, &given};
    place_give(merge, place);
    return true;
}

// A realloc begins: its old address is free from now on, its new one taken when it is over.
static bool move_begin(struct merge *merge, const struct trace_event *event, uint32_t thread, struct step *step) {
    struct merge_moving *moving = &merge->moving[thread];
    size_t slot = table_find(merge, event->old);
    bool is_give = event->address == 0 && event->bytes == 0;
    if (is_give) {
        struct trace_event free_event = *event;
        free_event.address = event->old;
        return give(merge, &free_event, thread, step);
    }
    if (event->address == 0) { // nothing changed
        merge->failed++;
        return false;
    }
    *moving = (struct merge_moving){.is_moving = true, .event = *event};
    if (merge->table[slot] == 0) {
        merge->unknown++;
        return false;
    }
    moving->was_known = true;
    moving->place = merge->table[slot] - 1;
    moving->block = merge->blocks[moving->place];
    table_remove(merge, slot);
    merge->blocks[moving->place].address = 0;
    account(merge, event->ticks, (int64_t)event->bytes - (int64_t)moving->block.bytes, 0);
    if (event->bytes > moving->block.bytes)
        merge->bytes_taken += event->bytes - moving->block.bytes;
    *step = (struct step){STEP_MOVE, thread, moving->place, event->ticks, event->site, event->bytes, &moving->block};
    return true;
}

static bool move_end(struct merge *merge, uint32_t thread, struct step *step) {
    struct merge_moving *moving = &merge->moving[thread];
    uint64_t ticks = moving->event.ticks + moving->event.duration;
    moving->is_moving = false;
    if (!moving->was_known) // as if it had been taken here
        return take(merge, &moving->event, thread, ticks, step);
    bool ends_other = end_unseen(merge, moving->event.address, thread, ticks, step);
    struct live_block block = moving->block;
    block.address = moving->event.address;
    block.bytes = moving->event.bytes;
    block_put(merge, moving->place, &block);
    return ends_other;
}

static bool step_of(struct merge *merge, const struct trace_event *event, uint32_t thread, struct step *step) {
    if (event->kind == TRACE_FREE)
        return give(merge, event, thread, step);
    if (event->kind == TRACE_REALLOC)
        return move_begin(merge, event, thread, step);
    if (event->address != 0)
        return take(merge, event, thread, event->ticks, step);
    merge->failed++;
    return false;
}

// Handles the next thing of the thread on top of the heap, and sorts the thread in again.
static bool advance(struct merge *merge, struct step *step) {
    struct merge_next *top = &merge->nexts[0];
    uint32_t thread = top->thread;
    struct merge_moving *moving = &merge->moving[thread];
    struct trace_cursor *cursor = &merge->cursors[thread];
    struct trace_event event;
    bool made = false;
    if (moving->is_moving)
        made = move_end(merge, thread, step);
    else if (trace_cursor_next(cursor, &event))
        made = step_of(merge, &event, thread, step);
    top->ticks = moving->is_moving ? moving->event.ticks + moving->event.duration : trace_cursor_ticks(cursor);
    if (top->ticks == UINT64_MAX)
        *top = merge->nexts[--merge->waiting];
    heap_sink(merge, 0);
    return made;
}

bool merge_next(struct merge *merge, struct step *step) {
    if (merge->has_pending) {
        merge->has_pending = false;
        *step = merge->pending;
        merge->steps++;
        return true;
    }
    while (merge->waiting > 0)
        if (advance(merge, step)) {
            merge->steps++;
            return true;
        }
    return false;
}

void merge_start(struct merge *merge, const struct trace *trace, uint64_t reuse_after_steps) {
    uint32_t threads = trace->thread_count;
    *merge = (struct merge){.trace = trace, .reuse_after_steps = reuse_after_steps};
    merge->cursors = memory_map((threads + 1) * sizeof *merge->cursors);
    merge->nexts = memory_map((threads + 1) * sizeof *merge->nexts);
    merge->moving = memory_map((threads + 1) * sizeof *merge->moving);
    table_grow(merge);
    for (uint32_t i = 0; i < threads; i++) {
        trace_cursor_start(&merge->cursors[i], trace, i);
        uint64_t ticks = trace_cursor_ticks(&merge->cursors[i]);
        if (ticks != UINT64_MAX)
            merge->nexts[merge->waiting++] = (struct merge_next){ticks, i};
    }
    for (uint32_t i = merge->waiting; i-- > 0;)
        heap_sink(merge, i);
}

void merge_end(struct merge *merge) {
    uint32_t threads = merge->trace->thread_count;
    memory_unmap(merge->cursors, (threads + 1) * sizeof *merge->cursors);
    memory_unmap(merge->nexts, (threads + 1) * sizeof *merge->nexts);
    memory_unmap(merge->moving, (threads + 1) * sizeof *merge->moving);
    memory_unmap(merge->blocks, merge->block_room * sizeof *merge->blocks);
    memory_unmap(merge->table, merge->table_room * sizeof *merge->table);
    memory_unmap(merge->free_places, merge->free_room * sizeof *merge->free_places);
}
