// Decisions for the next run.
#include "learn/next_run.h"

#include <string.h>

#include "heap/heap.h"
#include "learn/parts.h"
#include "policy/tolerance.h"
#include "region/density.h"
#include "sys/options.h"

// A heap that got no larger has little to gain from huge pages.
#define DENSE_LEAST_BYTES (8 * MIB)

static struct {
    size_t most_in_use;
    bool density_is_known, is_dense;
    unsigned notes;
    // Sums over the looks at which the heap was large, as far as is known.
    struct {
        size_t least_in_use, in_use_bytes;
        unsigned looks, threads;
        uint64_t blocks[CLASS_END], slab_bytes[CLASS_END];
    } large;
} next_run;

void next_run_begin_life(void) {
    memset(&next_run, 0, sizeof next_run);
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

static size_t choose_tolerance(uint64_t *saves) {
    static uint32_t sizes[CLASS_END];
    static uint64_t blocks[CLASS_END], slabs[CLASS_END];
    unsigned looks = next_run.large.looks;
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++) {
        sizes[i] = (uint32_t)class_bytes(i);
        blocks[i] = next_run.large.blocks[i] / looks;
        slabs[i] = next_run.large.slab_bytes[i] / looks;
    }
    struct tolerance_report report = {sizes,
                                      blocks,
                                      slabs,
                                      next_run.large.threads / looks,
                                      next_run.large.in_use_bytes / looks,
                                      options.memory_price};
    return tolerance_choose(&report, saves);
}

void next_run_note(const struct observation *seen) {
    next_run.notes++;
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

void next_run_decide(struct policy *learned) {
    struct policy_value *huge = &learned->values[DECISION_huge_least], *w_max = &learned->values[DECISION_w_max];
    if (part_learns(PART_huge) && next_run.density_is_known) {
        if (next_run.is_dense && next_run.most_in_use >= DENSE_LEAST_BYTES)
            give_value(huge, 0, "dense");
        else
            huge->is_given = false;
    }
    if (!part_learns(PART_tolerance) || next_run.large.looks == 0 || learned->class_count > 0) // sizes are known better
        return;
    uint64_t saves;
    size_t tolerance = choose_tolerance(&saves);
    if (saves > 0) {
        give_value(w_max, tolerance, "slack");
        w_max->evidence.gain_permille = (int32_t)(saves * 1000 / (next_run.most_in_use + 1));
    }
}
