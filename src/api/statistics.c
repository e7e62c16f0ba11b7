// Adds the counters of all heaps up and says them as a struct, as JSON and as text.
#include "api/statistics.h"

#include <string.h>

#include "api/learning.h"
#include "big/cache.h"
#include "heap/registry.h"
#include "heap/transfer.h"
#include "learn/publish.h"
#include "region/meta.h"
#include "region/runs.h"
#include "sample/lives.h"
#include "sys/fault.h"
#include "sys/options.h"
#include "sys/os.h"

// Threads may have stacks of 16 KiB: the sums stand here. Under registry.statistics_lock.
static struct statistics sums;
static struct learn_told told;

static void add_class(struct statistics_class *sum, const struct heap *heap, unsigned class_index) {
    const struct heap_class *own = &heap->classes[class_index];
#define COUNTER(name, what) sum->counters.name += load_relaxed(&own->counters.name);
#include "count/counters.def"
#undef COUNTER
    sum->cached_blocks += heap_cached_blocks(heap, class_index);
}

static void add_heap(struct heap *heap, void *context) {
    struct statistics *sum = context;
    sum->threads += heap->stacks != NULL;
    sum->kept_hits += load_relaxed(&heap->kept.hits);
    sum->kept_bytes += kept_bytes(&heap->kept);
    for (unsigned i = 0; i < CLASS_END; i++)
        add_class(&sum->classes[i], heap, i);
}

// With what learning did, where its lock is held: until this is through with it.
static void statistics_lock(bool learns) {
    lock_acquire(&registry.statistics_lock);
    told.learns = false;
    if (learns) {
        learn_tell(&told);
        lock_release(&learn_lock);
    }
}

static struct heap *statistics_begin(void) {
    bool learns = load_relaxed(&learn_is_on) == LEARN_ON;
    struct heap *heap = learns ? learn_enter_locked() : heap_enter();
    statistics_lock(learns);
    return heap;
}

// Without what learning did where that can't be asked for.
static struct heap *statistics_begin_at_end(void) {
    struct heap *heap = heap_enter();
    statistics_lock(load_relaxed(&learn_is_on) == LEARN_ON && learn_try_lock_at_end());
    return heap;
}

static void statistics_end(struct heap *heap) {
    lock_release(&registry.statistics_lock);
    heap_leave(heap);
}

// The lock is held.
static void sum_all(void) {
    memset(&sums, 0, sizeof sums);
    if (!heap_process_start())
        return;
    heap_for_each(add_heap, &sums);
    sums.big_site_count = cache_list_sites(sums.big_sites, STATISTICS_SITES);
    for (unsigned i = 0; i < CLASS_END; i++) {
        sums.classes[i].slabs = slab_count(i);
        sums.classes[i].cached_blocks += transfer_blocks(i);
        sums.classes[i].passed_blocks = transfer_passed_blocks(i);
    }
}

static uint64_t class_out_blocks(const struct statistics_class *sum) {
    uint64_t gone = sum->counters.flushed_blocks + sum->counters.remote_flushed_blocks + sum->cached_blocks;
    return sum->counters.refilled_blocks > gone ? sum->counters.refilled_blocks - gone : 0;
}

static void fill_classes(struct hakmem_stats *full) {
    size_t slab_bytes = 0;
    for (unsigned i = 0; i < CLASS_END; i++) {
        const struct statistics_class *sum = &sums.classes[i];
        full->allocated_bytes += class_out_blocks(sum) * class_bytes(i);
        full->cached_bytes += sum->cached_blocks * class_bytes(i);
        full->refills += sum->counters.refills;
        full->refilled_blocks += sum->counters.refilled_blocks;
        full->flushes += sum->counters.flushes;
        full->flushed_blocks += sum->counters.flushed_blocks;
        full->remote_flushed_blocks += sum->counters.remote_flushed_blocks;
        full->passed_blocks += sum->passed_blocks;
        full->slabs_made += sum->slabs.made;
        full->slabs_returned += sum->slabs.returned;
        slab_bytes += (sum->slabs.made - sum->slabs.returned) * size_classes[i].slices * SLICE_BYTES;
    }
    struct runs_totals runs = runs_count();
    size_t in_use = runs.in_use_slices * SLICE_BYTES;
    full->allocated_bytes += in_use > slab_bytes ? in_use - slab_bytes : 0; // blocks that are runs
}

// The lock is held.
static void fill_full(struct hakmem_stats *full) {
    struct runs_totals runs = runs_count();
    struct mapping_totals mappings = mapping_count();
    struct cache_totals cache = cache_count();
    *full = (struct hakmem_stats){.size = sizeof *full};
    fill_classes(full);
    full->allocated_bytes += mappings.bytes;
    full->allocated_bytes -= sums.kept_bytes < full->allocated_bytes ? sums.kept_bytes : full->allocated_bytes; // Z3
    full->cached_bytes += sums.kept_bytes;
    full->kept_hits = sums.kept_hits;
    full->mapped_bytes = (runs.in_use_slices + runs.free_slices) * SLICE_BYTES + mappings.bytes;
    full->mapped_bytes += cache.bytes + cache.clean_bytes;
    full->resident_bytes = os_resident_bytes();
    full->retained_bytes = runs.retained_slices * SLICE_BYTES + cache.bytes;
    full->big_hits = cache.hits;
    full->big_misses = cache.misses;
    full->big_evictions = cache.evictions;
    full->big_cached_bytes = cache.bytes;
    full->released_bytes = cache.released_bytes;
    full->reused_bytes = runs.reused_bytes + cache.reused_bytes;
    full->allowance_bytes = runs.allowance_slices * SLICE_BYTES;
    full->huge_bytes = runs_huge_bytes();
    full->metadata_bytes = meta_bytes();
    full->purged_bytes = runs.purged_bytes;
    full->purges = runs.purges;
    full->refaulted_bytes = runs.refaulted_bytes;
    for (unsigned i = 0; i < FAULT_COUNT; i++)
        full->faults += fault_times((enum fault)i);
    full->threads = sums.threads;
    learning_fill(&told, full);
}

void statistics_fill(struct hakmem_stats *out) {
    struct hakmem_stats full;
    size_t size = out->size < sizeof full ? out->size : sizeof full;
    struct heap *heap = statistics_begin();
    sum_all();
    fill_full(&full);
    statistics_end(heap);
    memcpy(out, &full, size);
    out->size = size;
}

// One row a field: name and value, for both forms of output.
struct field {
    const char *name;
    uint64_t value;
};

#define FIELDS_MOST 42

static unsigned list_fields(const struct hakmem_stats *full, struct field *fields) {
    const struct field all[] = {
        {"allocated_bytes", full->allocated_bytes},
        {"cached_bytes", full->cached_bytes},
        {"mapped_bytes", full->mapped_bytes},
        {"resident_bytes", full->resident_bytes},
        {"retained_bytes", full->retained_bytes},
        {"metadata_bytes", full->metadata_bytes},
        {"refills", full->refills},
        {"refilled_blocks", full->refilled_blocks},
        {"flushes", full->flushes},
        {"flushed_blocks", full->flushed_blocks},
        {"remote_flushed_blocks", full->remote_flushed_blocks},
        {"passed_blocks", full->passed_blocks},
        {"slabs_made", full->slabs_made},
        {"slabs_returned", full->slabs_returned},
        {"purged_bytes", full->purged_bytes},
        {"purges", full->purges},
        {"refaulted_bytes", full->refaulted_bytes},
        {"faults", full->faults},
        {"threads", full->threads},
        {"big_hits", full->big_hits},
        {"big_misses", full->big_misses},
        {"big_evictions", full->big_evictions},
        {"big_cached_bytes", full->big_cached_bytes},
        {"released_bytes", full->released_bytes},
        {"reused_bytes", full->reused_bytes},
        {"allowance_bytes", full->allowance_bytes},
        {"huge_bytes", full->huge_bytes},
        {"kept_hits", full->kept_hits},
        {"learn_state", full->learn_state},
        {"learn_run_ns", full->learn_run_ns},
        {"learn_looks", full->learn_looks},
        {"learn_look_ns", full->learn_look_ns},
        {"learn_changes", full->learn_changes},
        {"learn_promoted", full->learn_promoted},
        {"learn_rolled_back", full->learn_rolled_back},
        {"learn_anew", full->learn_anew},
        {"learn_windows", full->learn_windows},
        {"learn_seen_blocks", full->learn_seen_blocks},
        {"learn_fault_ns", full->learn_fault_ns},
        {"learn_purge_ns", full->learn_purge_ns},
        {"learn_trial_ns", full->learn_trial_ns},
    };
    _Static_assert(COUNT_OF(all) <= FIELDS_MOST, "there is room for all");
    memcpy(fields, all, sizeof all);
    return COUNT_OF(all);
}

static void json_class(struct report *report, unsigned class_index) {
    const struct statistics_class *sum = &sums.classes[class_index];
    report_text(report, "    {");
    report_member(report, "block_bytes", class_bytes(class_index), ", ");
    report_member(report, "out_blocks", class_out_blocks(sum), ", ");
    report_member(report, "cached_blocks", sum->cached_blocks, ", ");
#define COUNTER(name, what) report_member(report, #name, sum->counters.name, ", ");
#include "count/counters.def"
#undef COUNTER
    report_member(report, "passed_blocks", sum->passed_blocks, ", ");
    report_member(report, "slabs_made", sum->slabs.made, ", ");
    report_member(report, "slabs_returned", sum->slabs.returned, "}");
}

static void json_site(struct report *report, const struct site *site) {
    report_text(report, "    {\"address\": \"");
    report_address(report, site->address);
    report_text(report, "\", ");
    report_member(report, "block_bytes", cache_class_bytes(site->class_index), ", ");
    report_member(report, "hits", site->hits, ", ");
    report_member(report, "misses", site->misses, ", ");
    report_member(report, "evictions", site->evictions, ", ");
    report_member(report, "cached_blocks", site->blocks, "}");
}

// What sampling windows saw, where something is learned: a row for each kind of size that has any.
static void json_lifetimes(struct report *report) {
    const char *separator = "\n";
    report_text(report, "  ");
    report_member(report, "short_lived_permille", lives_short_permille(), ",\n  \"lifetimes\": [");
    for (unsigned kind = 0; kind < SIZES_KINDS; kind++) {
        uint64_t counts[LIVES_SPANS], all = 0;
        for (unsigned i = 0; i < LIVES_SPANS; i++)
            all += counts[i] = load_relaxed(&lives_by_kind[kind][i]);
        if (all == 0)
            continue;
        report_text(report, separator);
        report_text(report, "    {");
        report_member(report, "least_bytes", sizes_kind_least_bytes(kind), ", \"freed\": [");
        for (unsigned i = 0; i < LIVES_SPAN_KEPT; i++) {
            report_text(report, i == 0 ? "" : ", ");
            report_number(report, counts[i]);
        }
        report_text(report, "], ");
        report_member(report, "kept", counts[LIVES_SPAN_KEPT], "}");
        separator = ",\n";
    }
    report_text(report, "\n  ]");
}

// With the lock, as it was begun.
static void say_json(struct report *report) {
    struct hakmem_stats full;
    struct field fields[FIELDS_MOST];
    sum_all();
    fill_full(&full);
    report_text(report, "{\n  \"allocator\": \"hakmem\",\n  \"version\": \"");
    report_text(report, hakmem_version());
    report_text(report, "\",\n  ");
    report_member(report, "process", os_process_id(), ",\n");
    unsigned count = list_fields(&full, fields);
    for (unsigned i = 0; i < count; i++) {
        report_text(report, "  ");
        report_member(report, fields[i].name, fields[i].value, ",\n");
    }
    report_text(report, "  \"fault_counts\": {");
    for (unsigned i = 0; i < FAULT_COUNT; i++)
        report_member(report, fault_name((enum fault)i), fault_times((enum fault)i),
                      i + 1 < FAULT_COUNT ? ", " : "},\n");
    report_text(report, "  \"classes\": [");
    const char *separator = "\n";
    for (unsigned i = 0; i < CLASS_END; i++) {
        if (sums.classes[i].counters.refilled_blocks == 0)
            continue;
        report_text(report, separator);
        json_class(report, i);
        separator = ",\n";
    }
    report_text(report, "\n  ],\n  \"big_sites\": [");
    for (unsigned i = 0; i < sums.big_site_count; i++) {
        report_text(report, i == 0 ? "\n" : ",\n");
        json_site(report, &sums.big_sites[i]);
    }
    report_text(report, "\n  ],\n");
    json_lifetimes(report);
    learning_say_json(report, &told);
    report_text(report, "\n}\n");
}

void statistics_say_json(struct report *report) {
    struct heap *heap = statistics_begin();
    say_json(report);
    statistics_end(heap);
}

static void text_class(struct report *report, unsigned class_index) {
    const struct statistics_class *sum = &sums.classes[class_index];
    report_number_column(report, class_bytes(class_index), 10);
    report_number_column(report, class_out_blocks(sum), 12);
    report_number_column(report, sum->cached_blocks, 10);
    report_number_column(report, sum->counters.refills, 10);
    report_number_column(report, sum->counters.refilled_blocks, 14);
    report_number_column(report, sum->counters.flushes, 10);
    report_number_column(report, sum->counters.flushed_blocks, 14);
    report_number_column(report, sum->counters.remote_flushed_blocks, 12);
    report_number_column(report, sum->passed_blocks, 12);
    report_number_column(report, sum->slabs.made, 10);
    report_number_column(report, sum->slabs.returned, 10);
    report_text(report, "\n");
}

static void text_sites(struct report *report) {
    if (sums.big_site_count > 0)
        report_text(report, "     block      hits    misses evictions    cached  called from\n");
    for (unsigned i = 0; i < sums.big_site_count; i++) {
        const struct site *site = &sums.big_sites[i];
        report_number_column(report, cache_class_bytes(site->class_index), 10);
        report_number_column(report, site->hits, 10);
        report_number_column(report, site->misses, 10);
        report_number_column(report, site->evictions, 10);
        report_number_column(report, site->blocks, 10);
        report_text(report, "  ");
        report_address(report, site->address);
        report_text(report, "\n");
    }
}

// With the lock, as it was begun.
static void say_text(struct report *report) {
    struct hakmem_stats full;
    struct field fields[FIELDS_MOST];
    sum_all();
    fill_full(&full);
    report_text(report, "hakmem ");
    report_text(report, hakmem_version());
    report_text(report, " statistics of process ");
    report_number(report, os_process_id());
    report_text(report, "\n");
    unsigned count = list_fields(&full, fields);
    for (unsigned i = 0; i < count; i++) {
        report_text_column(report, fields[i].name, 24);
        report_number_column(report, fields[i].value, 20);
        report_text(report, "\n");
    }
    report_text(report, "     block         out    cached   refills       refilled   flushes        flushed"
                        "      remote      passed     slabs  returned\n");
    for (unsigned i = 0; i < CLASS_END; i++)
        if (sums.classes[i].counters.refilled_blocks != 0)
            text_class(report, i);
    text_sites(report);
    learning_say_text(report, &told);
}

void statistics_say_text(struct report *report) {
    struct heap *heap = statistics_begin();
    say_text(report);
    statistics_end(heap);
}

// The largest block that is too small for what the class serves first.
static size_t bytes_below(unsigned class_index) {
    size_t below = 0;
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++)
        if (class_bytes(i) < class_bytes(class_index) && class_bytes(i) > below)
            below = class_bytes(i);
    return below;
}

void statistics_say_xml_sizes(struct report *report) {
    struct heap *heap = statistics_begin();
    sum_all();
    for (unsigned i = 0; i < CLASS_END; i++) {
        if (sums.classes[i].cached_blocks == 0)
            continue;
        report_text(report, "  <size from=\"");
        report_number(report, bytes_below(i) + 1);
        report_text(report, "\" to=\"");
        report_number(report, class_bytes(i));
        report_text(report, "\" total=\"");
        report_number(report, sums.classes[i].cached_blocks * class_bytes(i));
        report_text(report, "\" count=\"");
        report_number(report, sums.classes[i].cached_blocks);
        report_text(report, "\"/>\n");
    }
    statistics_end(heap);
}

void statistics_at_exit(void) {
    struct report report;
    int descriptor = os_standard_error();
    int standard_error = descriptor;
    if (options.stats == OPTION_STATS_OFF || !heap_process_start())
        return;
    if (options.stats_file[0] != '\0')
        descriptor = os_open_append(options.stats_file);
    if (descriptor < 0) {
        report_to_descriptor(&report, standard_error);
        report_text(&report, "hakmem: option stats_file: '");
        report_text(&report, options.stats_file);
        report_text(&report, "' can't be opened for writing; the statistics follow here\n");
        report_end(&report);
        descriptor = standard_error;
    }
    report_to_descriptor(&report, descriptor);
    struct heap *heap = statistics_begin_at_end();
    if (options.stats == OPTION_STATS_JSON)
        say_json(&report);
    else
        say_text(&report);
    statistics_end(heap);
    report_end(&report);
    if (descriptor != standard_error)
        os_close(descriptor);
}
