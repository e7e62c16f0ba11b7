// Decisions for the next run.
#include "learn/next_run.h"

#include <string.h>

#include "heap/heap.h"
#include "learn/parts.h"
#include "policy/tolerance.h"
#include "region/density.h"

// A heap that got no larger has little to gain from huge pages.
#define DENSE_LEAST_BYTES (8 * MIB)

static struct {
    size_t most_in_use;
    bool density_is_known, is_dense;
    size_t tolerance;
    uint64_t tolerance_saves;
    unsigned notes;
} next_run;

static void note_tolerance(const struct observation *seen) {
    static uint32_t sizes[CLASS_END];
    static uint64_t blocks[CLASS_END], slabs[CLASS_END];
    for (unsigned i = CLASS_FIRST; i < CLASS_END; i++) {
        sizes[i] = (uint32_t)class_bytes(i);
        blocks[i] = observed_out_blocks(seen, i);
        slabs[i] = seen->classes[i].slab_bytes;
    }
    struct tolerance_report report = {sizes, blocks, slabs, seen->threads, seen->in_use_bytes};
    next_run.tolerance = tolerance_choose(&report, &next_run.tolerance_saves);
}

void next_run_note(const struct observation *seen) {
    next_run.notes++;
    if (density_is_known()) {
        next_run.density_is_known = true;
        next_run.is_dense = density_is_above(HUGE_SPARSE_SHARE);
    }
    if (seen->in_use_bytes <= next_run.most_in_use)
        return;
    next_run.most_in_use = seen->in_use_bytes;
    if (part_learns(PART_tolerance))
        note_tolerance(seen);
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
    if (next_run.tolerance_saves > 0 && learned->class_count == 0) { // else its sizes are known better
        give_value(w_max, next_run.tolerance, "slack");
        w_max->evidence.gain_permille = (int32_t)(next_run.tolerance_saves * 1000 / (next_run.most_in_use + 1));
    }
}
