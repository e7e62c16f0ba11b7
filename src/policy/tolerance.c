// Which of the fixed classes are worth having.
#include "policy/tolerance.h"

#include "base/bits.h"

#define TOLERANCE_NONE 100 // hundredths: nothing is closed
#define SAVED_LEAST_BYTES (256 * KIB)
#define SAVED_LEAST_SHARE 32 // and of what is in use this part (1/N)
// And what a busy thread loses in a second: 2 to 8 % by measurement.
#define ROUNDING_COST_NS (SECOND_NS / 50)
// What a class more costs in each thread beside its stack: about the part of a slab that nobody touches. The rest of
// what lies idle comes with the blocks that come and go, in whatever class they are.
#define SLACK_BYTES(bytes) (SLICE_BYTES / 4 + (bytes))

static const size_t tolerances[] = {125, 140, 150, 160, 175};

// Which class serves the requests of each fixed one where so much is tolerated: itself, or a larger one.
static void choose_serving(const uint32_t *class_bytes, size_t tolerance, uint8_t *serves) {
    uint64_t smallest = 1; // request that nothing serves so far
    for (unsigned i = CLASS_FIRST, first = CLASS_FIRST; i < CLASS_COUNT; i++) {
        bool closes = i + 1 < CLASS_COUNT && !bits_is_power_of_two(class_bytes[i]) &&
                      (uint64_t)class_bytes[i + 1] * 100 <= tolerance * smallest;
        if (closes)
            continue;
        while (first <= i)
            serves[first++] = (uint8_t)i;
        smallest = (uint64_t)class_bytes[i] + 1;
    }
}

void tolerance_apply(struct snapshot *snapshot, const uint32_t *class_bytes) {
    uint8_t serves[CLASS_COUNT];
    if (snapshot->w_max <= TOLERANCE_NONE)
        return;
    choose_serving(class_bytes, snapshot->w_max, serves);
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++)
        if (serves[i] != i)
            snapshot->closed[i] = 1;
}

// One class that serves others' requests.
static bool unfold_class(unsigned serving, const uint32_t *class_bytes, const uint8_t *serves, const uint64_t *requests,
                         uint64_t *class_blocks, uint64_t *class_slab_bytes) {
    uint64_t all = 0, blocks = class_blocks[serving], used = blocks * class_bytes[serving];
    uint64_t idle = class_slab_bytes[serving] > used ? class_slab_bytes[serving] - used : 0;
    for (unsigned i = CLASS_FIRST; i <= serving; i++)
        all += serves[i] == serving ? requests[i] : 0;
    for (unsigned i = CLASS_FIRST; i <= serving && all > 0; i++) {
        if (serves[i] != serving)
            continue;
        class_blocks[i] = (uint64_t)((double)blocks * (double)requests[i] / (double)all);
        class_slab_bytes[i] = requests[i] > 0 ? class_blocks[i] * class_bytes[i] + idle : 0;
    }
    return all > 0;
}

bool tolerance_unfold(const uint32_t *class_bytes, const uint8_t *serves, const uint64_t *requests,
                      uint64_t *class_blocks, uint64_t *class_slab_bytes) {
    bool any_closed = false, any_seen = false;
    // The smaller ones of a class that serves them come first.
    for (unsigned i = CLASS_FIRST; i + 1 < CLASS_COUNT; i++) {
        bool is_first = serves[i] != i && (i == CLASS_FIRST || serves[i - 1] != serves[i]);
        any_closed |= is_first;
        any_seen |= is_first && unfold_class(serves[i], class_bytes, serves, requests, class_blocks, class_slab_bytes);
    }
    return any_seen || !any_closed;
}

// What closing would save; negative: it would cost.
static int64_t saved_by_closing(const struct tolerance_report *report, size_t tolerance) {
    uint8_t serves[CLASS_COUNT];
    bool serves_some[CLASS_COUNT] = {false};
    int64_t saved = 0;
    choose_serving(report->class_bytes, tolerance, serves);
    for (unsigned i = CLASS_FIRST; i < CLASS_COUNT; i++) {
        uint32_t bytes = report->class_bytes[i];
        uint64_t used = report->class_blocks[i] * bytes, slabs = report->class_slab_bytes[i];
        if (slabs == 0)
            continue;
        saved -= (int64_t)(report->class_blocks[i] * (report->class_bytes[serves[i]] - bytes));
        uint64_t idle = slabs > used ? slabs - used : 0, most = (uint64_t)report->threads * SLACK_BYTES(bytes);
        if (serves_some[serves[i]]) // else what serves it has part-used slabs in this one's place
            saved += (int64_t)((idle < most ? idle : most) + (uint64_t)report->threads * STACK_BYTES);
        serves_some[serves[i]] = true;
    }
    return saved;
}

size_t tolerance_choose(const struct tolerance_report *report, uint64_t *saved) {
    size_t best = TOLERANCE_NONE;
    uint64_t least = report->in_use_bytes / SAVED_LEAST_SHARE;
    uint64_t worth = ROUNDING_COST_NS * report->threads * MIB / report->price;
    *saved = 0;
    least = least < SAVED_LEAST_BYTES ? SAVED_LEAST_BYTES : least;
    least = least < worth ? worth : least;
    for (unsigned i = 0; i < sizeof tolerances / sizeof tolerances[0]; i++) {
        int64_t would_save = saved_by_closing(report, tolerances[i]);
        if (would_save < (int64_t)least || (uint64_t)would_save <= *saved)
            continue;
        *saved = (uint64_t)would_save;
        best = tolerances[i];
    }
    return best;
}
