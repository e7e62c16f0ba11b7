// Adds up what threads count.
#include "learn/observe.h"

#include <string.h>

#include "big/cache.h"
#include "heap/registry.h"
#include "heap/transfer.h"
#include "learn/probe.h"
#include "region/runs.h"
#include "sys/options.h"
#include "sys/os.h"

INTERNAL struct spread_seen observed_spread;
INTERNAL uint64_t observed_grown_blocks;
INTERNAL uint64_t observed_grown_bytes;

static uint64_t count_big_bytes(void) {
    struct spread_seen spread;
    for (unsigned i = 0; i < SPREAD_RANGES; i++)
        spread.requests[i] = load_relaxed(&observed_spread.requests[i]);
    return spread_bytes(&spread);
}

static void observe_heap(struct heap *heap, void *context) {
    struct observation *seen = context;
    seen->threads += heap->stacks != NULL;
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++) {
        const struct heap_class *own = &heap->classes[i];
        struct observed_class *sum = &seen->classes[i];
        uint64_t refilled = load_relaxed(&own->counters.refilled_blocks);
        uint64_t sent_home = load_relaxed(&own->counters.remote_flushed_blocks);
        unsigned cached = heap_cached_blocks(heap, i); // may be all that came of its frees so far
        seen->granted_bytes += load_relaxed(&own->depth) * class_bytes(i);
        if (refilled == 0 && sent_home == 0 && cached == 0 && load_relaxed(&own->counters.flushed_blocks) == 0)
            continue;
        sum->refills += load_relaxed(&own->counters.refills);
        sum->refilled_blocks += refilled;
        sum->flushes += load_relaxed(&own->counters.flushes);
        sum->denied += load_relaxed(&own->counters.denied_stacks);
        sum->flushed_blocks += load_relaxed(&own->counters.flushed_blocks) + sent_home;
        sum->cached_blocks += cached;
    }
}

void observe(struct observation *seen, uint64_t now_ns) {
    bool may_ask = !os_is_confined();
    memset(seen, 0, sizeof *seen);
    seen->now_ns = now_ns;
    seen->busy_ns = may_ask ? os_process_ns() : 0;
    heap_for_each(observe_heap, seen);
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++) {
        seen->classes[i].cached_blocks += transfer_blocks(i);
        seen->classes[i].slab_bytes = slab_in_use_bytes(i);
        seen->cached_bytes += seen->classes[i].cached_blocks * class_bytes(i);
    }
    struct runs_totals runs = runs_count();
    struct cache_totals cache = cache_count();
    seen->in_use_bytes = (runs.in_use_slices << SLICE_SHIFT) + mapping_count().bytes;
    seen->course = (struct rises_seen){seen->in_use_bytes, seen->in_use_bytes, seen->in_use_bytes};
    seen->highest_retained_bytes = 0;
    seen->retained_bytes = (runs.retained_slices << SLICE_SHIFT) + cache.bytes;
    seen->allowance_bytes = runs.allowance_slices << SLICE_SHIFT;
    seen->purged_bytes = runs.purged_bytes + cache.released_bytes;
    seen->refaulted_bytes = runs.refaulted_bytes;
    seen->big_bytes = count_big_bytes();
    seen->grown_blocks = load_relaxed(&observed_grown_blocks);
    seen->grown_bytes = load_relaxed(&observed_grown_bytes);
    seen->faults = may_ask ? os_count_faults() : 0;
    seen->page = probe_cost();
}

static uint64_t observed_batches(const struct observation *seen, unsigned class_index) {
    const struct observed_class *own = &seen->classes[class_index];
    return own->refills + own->flushes + own->denied;
}

void observe_course(struct observation *seen) {
    struct runs_extremes since = runs_take_extremes(RETAIN_LOOKS);
    seen->course = since.in_use;
    seen->highest_retained_bytes = since.highest_retained_bytes;
    seen->in_use_bytes = seen->course.now_bytes;
}

size_t observed_idle_bytes(const struct observation *seen) {
    size_t in_slabs = 0;
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++) {
        size_t slabs = seen->classes[i].slab_bytes;
        uint64_t out = observed_out_blocks(seen, i) * class_bytes(i); // the counts of threads are not of one moment
        in_slabs += slabs > out ? slabs - out : 0;
    }
    return seen->retained_bytes + in_slabs;
}

uint64_t observed_asked_bytes(const struct observation *seen) {
    uint64_t bytes = seen->big_bytes;
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++)
        bytes += seen->classes[i].refilled_blocks * class_bytes(i);
    return bytes;
}

struct tryout_seen observed_for_tryout(const struct observation *seen, uint64_t done_bytes) {
    return (struct tryout_seen){.now_ns = seen->now_ns,
                                .busy_ns = seen->busy_ns,
                                .done_bytes = done_bytes,
                                .idle_bytes = observed_idle_bytes(seen),
                                .price = options.memory_price};
}

double observed_cost(const struct observation *seen, const struct observation *before) {
    static struct cost_seen past; // one thread at a time
    static uint32_t sizes[CLASS_END];
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++) {
        sizes[i] = (uint32_t)class_bytes(i);
        past.batches[i] = observed_batches(seen, i) - observed_batches(before, i);
    }
    bool faults_known = seen->faults != 0 && before->faults != 0;
    past.price = options.memory_price;
    past.page = seen->page;
    past.elapsed_ns = seen->now_ns - before->now_ns;
    uint64_t faults = faults_known && seen->faults > before->faults ? seen->faults - before->faults : 0; // a fork child
    past.faults = faults * (os_facts.page_bytes / PAGE_LEAST_BYTES);
    past.refaulted_bytes = faults_known ? 0 : seen->refaulted_bytes - before->refaulted_bytes;
    past.purged_bytes = seen->purged_bytes - before->purged_bytes;
    past.idle_bytes = observed_idle_bytes(seen);
    return cost_of_window(&past, sizes);
}

uint64_t observed_out_blocks(const struct observation *seen, unsigned class_index) {
    const struct observed_class *sum = &seen->classes[class_index];
    uint64_t gone = sum->flushed_blocks + sum->cached_blocks;
    return sum->refilled_blocks > gone ? sum->refilled_blocks - gone : 0;
}
