// Makes one policy of two: of several runs, processes or machines.
#include <string.h>

#include "policy/policy.h"

#define SHARE_THAT_MOVES 64 // a part (1/N) that counts so much moves a number by one at least

struct weights {
    uint64_t own, other;
    bool gives_way; // of two that differ the other's stays: learned longer, or later and for as long as counts
};

// How much a policy counts: what it was learned from.
static uint64_t weight_of(const struct policy *policy, uint32_t most) {
    uint64_t seconds = policy->seconds < most ? policy->seconds : most;
    uint64_t weight = seconds + (policy->runs < most ? policy->runs : most);
    return weight == 0 ? 1 : weight < most ? weight : most;
}

// Between the two, however it is rounded: to what is nearest, but small numbers would never move by that.
static size_t mean(size_t one, size_t other, const struct weights *weights) {
    double share = (double)weights->other / (double)(weights->own + weights->other);
    size_t difference = one < other ? other - one : one - other;
    double exact = share * (double)difference;
    size_t way = (size_t)(exact + 0.5);
    if (way == 0 && difference > 0 && share * SHARE_THAT_MOVES >= 1)
        way = 1;
    way = way < difference ? way : difference;
    return one < other ? one + way : one - way;
}

static void merge_evidence(struct evidence *into, const struct evidence *other, const struct weights *weights) {
    double own_weight = (double)weights->own, other_weight = (double)weights->other;
    double gain = into->gain_permille * own_weight + other->gain_permille * other_weight;
    into->gain_permille = (int32_t)(gain / (own_weight + other_weight));
    into->windows = into->windows > UINT32_MAX - other->windows ? UINT32_MAX : into->windows + other->windows;
    if (into->since_seconds < other->since_seconds)
        into->since_seconds = other->since_seconds;
    if (into->why[0] == '\0')
        memcpy(into->why, other->why, sizeof into->why);
}

// Also sizes from which on something else is done, a delay whose 0 says never, and a tolerance that was weighed as it
// is: what lies between two of them is neither.
static bool is_choice(const struct decision_row *row) {
    static const enum decision choices[] = {DECISION_huge_least, DECISION_big_threshold, DECISION_fifo_least,
                                            DECISION_purge_delay, DECISION_w_max};
    bool is_one = strcmp(row->unit, "choice") == 0;
    for (unsigned i = 0; i < COUNT_OF(choices); i++)
        is_one |= row == &decision_rows[choices[i]];
    return is_one;
}

// Numbers go to their mean, the default standing for what is not given.
static void merge_value(struct policy_value *into, const struct policy_value *other, const struct weights *weights,
                        const struct decision_row *row) {
    size_t value = into->is_given ? into->value : row->initial;
    size_t other_value = other->is_given ? other->value : row->initial;
    if (is_choice(row) && value != other_value) { // evidence speaks for one of them
        if (weights->gives_way)
            *into = *other;
        into->is_given = into->is_given && into->value != row->initial;
        return;
    }
    into->value = mean(value, other_value, weights);
    into->is_given = into->value != row->initial;
    merge_evidence(&into->evidence, &other->evidence, weights);
}

// Each class that one of them knows, and where they are too many those that gain most.
static void merge_classes(struct policy_class *classes, unsigned *count, unsigned most,
                          const struct policy_class *others, unsigned other_count, const struct weights *weights) {
    for (unsigned i = 0; i < other_count; i++) {
        unsigned place = 0, least = 0;
        for (; place < *count && classes[place].bytes != others[i].bytes; place++)
            least = classes[place].evidence.gain_permille < classes[least].evidence.gain_permille ? place : least;
        if (place < *count)
            merge_evidence(&classes[place].evidence, &others[i].evidence, weights);
        else if (*count < most)
            classes[(*count)++] = others[i];
        else if (classes[least].evidence.gain_permille < others[i].evidence.gain_permille)
            classes[least] = others[i];
    }
}

static unsigned place_of_depth(const struct policy *policy, uint32_t bytes) {
    unsigned place = 0;
    while (place < policy->depth_count && policy->depths[place].bytes != bytes)
        place++;
    return place;
}

// The default where a policy says nothing.
static uint32_t depth_for(const struct policy *policy, uint32_t bytes) {
    unsigned place = place_of_depth(policy, bytes);
    return place < policy->depth_count ? policy->depths[place].depth : snapshot_usual_depth(bytes);
}

static void merge_depths(struct policy *into, const struct policy *other, const struct weights *weights) {
    for (unsigned i = 0; i < into->depth_count; i++) {
        struct policy_depth *row = &into->depths[i];
        row->depth = (uint32_t)mean(row->depth, depth_for(other, row->bytes), weights);
    }
    for (unsigned i = 0; i < other->depth_count && into->depth_count < POLICY_DEPTHS_MOST; i++) {
        const struct policy_depth *row = &other->depths[i];
        uint32_t depth = (uint32_t)mean(snapshot_usual_depth(row->bytes), row->depth, weights);
        if (place_of_depth(into, row->bytes) == into->depth_count)
            into->depths[into->depth_count++] = (struct policy_depth){row->bytes, depth};
    }
    unsigned kept = 0;
    for (unsigned i = 0; i < into->depth_count; i++)
        if (into->depths[i].depth != snapshot_usual_depth(into->depths[i].bytes))
            into->depths[kept++] = into->depths[i];
    into->depth_count = kept;
}

static void merge_sites(struct policy *into, const struct policy *other, const struct weights *weights) {
    for (unsigned i = 0; i < other->site_count; i++) {
        const struct policy_site *site = &other->sites[i];
        unsigned place = 0;
        while (place < into->site_count &&
               (into->sites[place].offset != site->offset || strcmp(into->sites[place].module, site->module) != 0))
            place++;
        if (place == into->site_count && place < POLICY_SITES_MOST)
            into->sites[into->site_count++] = *site;
        else if (place < into->site_count && weights->gives_way)
            into->sites[place] = *site;
    }
}

void policy_merge(struct policy *into, const struct policy *other, uint32_t most) {
    struct weights weights = {weight_of(into, most), weight_of(other, most), false};
    weights.gives_way = weights.other > weights.own || weights.other == most;
    for (unsigned i = 0; i < DECISION_COUNT; i++)
        merge_value(&into->values[i], &other->values[i], &weights, &decision_rows[i]);
    merge_classes(into->classes, &into->class_count, CLASS_SPARE_COUNT, other->classes, other->class_count, &weights);
    merge_classes(into->closed, &into->closed_count, CLASS_COUNT, other->closed, other->closed_count, &weights);
    merge_depths(into, other, &weights);
    merge_sites(into, other, &weights);
    into->runs = into->runs + other->runs < UINT32_MAX ? into->runs + other->runs : UINT32_MAX;
    if (__builtin_add_overflow(into->seconds, other->seconds, &into->seconds))
        into->seconds = UINT64_MAX;
}
