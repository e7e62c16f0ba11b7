// Decisions for the next run.
#include "learn/next_run.h"

#include <string.h>

#include "heap/heap.h"
#include "learn/collapsing.h"
#include "learn/parts.h"
#include "learn/publish.h"
#include "learn/tournament.h"
#include "policy/tolerance.h"
#include "region/density.h"
#include "region/runs.h"
#include "sample/lives.h"
#include "sys/options.h"

// A heap that got no larger has little to gain from huge pages.
#define DENSE_LEAST_BYTES (8 * MIB)

static struct {
    size_t most_in_use;
    bool density_is_known, is_dense;
    uint64_t last_ns;           // of the last note; 0: there was none
    struct groups_plain plain;  // then
    double in_use_ns, clean_ns; // slices of plain groups, for as long as they were so
    unsigned notes;
    uint64_t begun[SPREAD_RANGES]; // requests for big blocks, by size, before this life
    // Sums over the looks at which the heap was large, as far as is known.
    struct {
        size_t least_in_use, in_use_bytes;
        unsigned looks, threads;
        uint64_t blocks[CLASS_END], slab_bytes[CLASS_END];
    } large;
} next_run;

void next_run_begin_life(void) {
    memset(&next_run, 0, sizeof next_run);
    for (unsigned i = 0; i < SPREAD_RANGES; i++)
        next_run.begun[i] = load_relaxed(&observed_spread.requests[i]);
    store_relaxed(&observed_spread.sites, (uint64_t)0); // a hint, as all of it
}

void next_run_forget_looks(void) {
    next_run.notes = 0;
}

// At a single look much lies in slabs of what the program did before.
static void note_large(const struct observation *seen) {
    if (seen->in_use_bytes / 2 > next_run.large.least_in_use) {
        memset(&next_run.large, 0, sizeof next_run.large);
        next_run.large.least_in_use = seen->in_use_bytes / 2;
    }
    if (seen->in_use_bytes < next_run.large.least_in_use)
        return;
    next_run.large.looks++;
    next_run.large.threads += seen->threads;
    next_run.large.in_use_bytes += seen->in_use_bytes;
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++) {
        next_run.large.blocks[i] += observed_out_blocks(seen, i);
        next_run.large.slab_bytes[i] += seen->classes[i].slab_bytes;
    }
}

// By the sizes that live on where enough of those were seen, else by those that are asked for.
static void count_requests(const uint8_t *serves, uint64_t *requests) {
    static uint64_t seen[CLASS_COUNT], kept[CLASS_COUNT], kept_by_serving[CLASS_COUNT];
    memset(seen, 0, sizeof seen);
    memset(kept, 0, sizeof kept);
    memset(kept_by_serving, 0, sizeof kept_by_serving);
    for (unsigned entry = 1, own = CLASS_FIRST; entry < CLASS_MAP_COUNT; entry++) {
        while (class_bytes(own) < size_class_bytes_of_entry(entry))
            own++;
        seen[own] += load_relaxed(&sizes_seen[entry]); // hints, as the next one
        kept[own] += load_relaxed(&lives_kept[entry]);
    }
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        kept_by_serving[serves[i]] += kept[i];
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        requests[i] = kept_by_serving[serves[i]] >= DYN_LEAST_SEEN ? kept[i] : seen[i];
}

static void find_serving(uint8_t *serves) {
    for (unsigned i = CLASS_COUNT - 1; i >= CLASS_FIRST; i--)
        serves[i] = i + 1 == CLASS_COUNT || size_class_is_open(i) ? (uint8_t)i : serves[i + 1];
}

// False: it is not known what is worth closing.
static bool choose_tolerance(size_t *tolerance, uint64_t *saves) {
    static uint32_t sizes[CLASS_END];
    static uint64_t blocks[CLASS_END], slabs[CLASS_END], requests[CLASS_COUNT];
    static uint8_t serves[CLASS_COUNT];
    unsigned looks = next_run.large.looks;
    if (looks == 0)
        return false;
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++) {
        sizes[i] = (uint32_t)class_bytes(i);
        blocks[i] = next_run.large.blocks[i] / looks;
        slabs[i] = next_run.large.slab_bytes[i] / looks;
    }
    find_serving(serves);
    count_requests(serves, requests);
    bool is_known = tolerance_unfold(sizes, serves, requests, blocks, slabs);
    struct tolerance_report report = {sizes,
                                      blocks,
                                      slabs,
                                      next_run.large.threads / looks,
                                      next_run.large.in_use_bytes / looks,
                                      options.memory_price};
    *tolerance = tolerance_choose(&report, saves);
    return is_known;
}

static void note_plain(uint64_t now_ns) {
    double past_ns = next_run.last_ns != 0 && now_ns > next_run.last_ns ? (double)(now_ns - next_run.last_ns) : 0;
    next_run.in_use_ns += past_ns * (double)next_run.plain.in_use_slices;
    next_run.clean_ns += past_ns * (double)next_run.plain.clean_slices;
    next_run.last_ns = now_ns;
    next_run.plain = runs_count_plain();
}

// Whether groups would mostly be in use as a whole, if all were huge: a heap whose phases leave parts of many would
// hold the rest of them for nothing.
static bool is_compact(void) {
    return next_run.clean_ns * HUGE_COMPACT_SHARE <= next_run.in_use_ns + next_run.clean_ns;
}

void next_run_note(const struct observation *seen) {
    next_run.notes++;
    note_plain(seen->now_ns);
    if (density_is_known()) {
        next_run.density_is_known = true;
        next_run.is_dense = density_is_above(HUGE_SPARSE_SHARE);
    }
    if (next_run.most_in_use < seen->in_use_bytes)
        next_run.most_in_use = seen->in_use_bytes;
    note_large(seen);
}

static void give_value(struct policy_value *row, size_t value, const char *why) {
    *row = (struct policy_value){.is_given = true, .value = value};
    row->evidence.windows = next_run.notes;
    memcpy(row->evidence.why, why, strlen(why) + 1);
}

// Not where a tournament was played for it, or the file has it from one or from somebody's hand.
static void decide_mappings(struct policy_value *row) {
    struct spread_seen seen;
    size_t threshold;
    bool is_others = row->is_given && strcmp(row->evidence.why, "spread") != 0;
    if (is_others || tournament_has_decided(DECISION_big_threshold) || learn_is_pinned(DECISION_big_threshold))
        return;
    for (unsigned i = 0; i < SPREAD_RANGES; i++)
        seen.requests[i] = load_relaxed(&observed_spread.requests[i]) - next_run.begun[i];
    seen.sites = load_relaxed(&observed_spread.sites);
    if (!spread_choose(&seen, &threshold))
        return;
    if (threshold != 0)
        give_value(row, threshold, "spread");
    else
        row->is_given = false;
}

// What somebody wrote by hand stays.
static void decide_collapse(struct policy_value *row) {
    if (collapsing_pays())
        give_value(row, 1, "resident");
    else if (strcmp(row->evidence.why, "resident") == 0)
        row->is_given = false;
}

void next_run_decide(struct policy *learned) {
    struct policy_value *huge = &learned->values[DECISION_huge_least], *w_max = &learned->values[DECISION_w_max];
    if (part_learns(PART_huge) && next_run.density_is_known) {
        if (next_run.is_dense && is_compact() && next_run.most_in_use >= DENSE_LEAST_BYTES)
            give_value(huge, 0, "dense");
        else
            huge->is_given = false;
    }
    if (part_learns(PART_collapse))
        decide_collapse(&learned->values[DECISION_collapse]);
    if (part_learns(PART_mappings))
        decide_mappings(&learned->values[DECISION_big_threshold]);
    if (!part_learns(PART_tolerance))
        return;
    uint64_t saves;
    size_t tolerance;
    bool knows_better = learned->class_count > 0; // its sizes
    bool is_known = choose_tolerance(&tolerance, &saves);
    if (is_known || knows_better)
        w_max->is_given = false;
    if (is_known && saves > 0 && !knows_better) {
        give_value(w_max, tolerance, "slack");
        w_max->evidence.gain_permille = (int32_t)(saves * 1000 / (next_run.most_in_use + 1));
    }
}
