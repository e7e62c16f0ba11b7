// Makes one policy of two: of several runs, processes or machines.
#include <string.h>

#include "policy/policy.h"

// How much a policy counts: what it was learned from.
static uint64_t weight_of(const struct policy *policy) {
    uint64_t seconds = policy->seconds < UINT32_MAX ? policy->seconds : UINT32_MAX;
    return seconds + policy->runs + 1;
}

static size_t mean(size_t one, uint64_t weight, size_t other, uint64_t other_weight) {
    double share = (double)other_weight / (double)(weight + other_weight);
    size_t way = (size_t)(share * (double)(one < other ? other - one : one - other));
    return one < other ? one + way : one - way; // between the two, however it is rounded
}

static void merge_evidence(struct evidence *into, uint64_t weight, const struct evidence *other,
                           uint64_t other_weight) {
    double gain = into->gain_permille * (double)weight + other->gain_permille * (double)other_weight;
    into->gain_permille = (int32_t)(gain / (double)(weight + other_weight));
    into->windows = into->windows > UINT32_MAX - other->windows ? UINT32_MAX : into->windows + other->windows;
    if (into->since_seconds < other->since_seconds)
        into->since_seconds = other->since_seconds;
    if (into->why[0] == '\0')
        memcpy(into->why, other->why, sizeof into->why);
}

// Also sizes from which on something else is done: what lies between two of them is neither.
static bool is_choice(const struct decision_row *row) {
    return strcmp(row->unit, "choice") == 0 || row == &decision_rows[DECISION_huge_least] ||
           row == &decision_rows[DECISION_big_threshold] || row == &decision_rows[DECISION_fifo_least];
}

// Numbers go to their mean, the default standing for what is not given; of choices the one counts that was learned
// longer.
static void merge_value(struct policy_value *into, uint64_t weight, const struct policy_value *other,
                        uint64_t other_weight, const struct decision_row *row) {
    size_t value = into->is_given ? into->value : row->initial;
    size_t other_value = other->is_given ? other->value : row->initial;
    if (is_choice(row))
        into->value = other_weight > weight ? other_value : value;
    else
        into->value = mean(value, weight, other_value, other_weight);
    into->is_given = into->value != row->initial;
    merge_evidence(&into->evidence, weight, &other->evidence, other_weight);
}

static void merge_classes(struct policy_class *classes, unsigned *count, unsigned most, uint64_t weight,
                          const struct policy_class *others, unsigned other_count, uint64_t other_weight) {
    for (unsigned i = 0; i < other_count; i++) {
        unsigned place = 0, least = 0;
        for (; place < *count && classes[place].bytes != others[i].bytes; place++)
            least = classes[place].evidence.gain_permille < classes[least].evidence.gain_permille ? place : least;
        if (place < *count)
            merge_evidence(&classes[place].evidence, weight, &others[i].evidence, other_weight);
        else if (*count < most)
            classes[(*count)++] = others[i];
        else if (classes[least].evidence.gain_permille < others[i].evidence.gain_permille)
            classes[least] = others[i];
    }
}

static void merge_depths(struct policy *into, uint64_t weight, const struct policy *other, uint64_t other_weight) {
    for (unsigned i = 0; i < other->depth_count; i++) {
        unsigned place = 0;
        while (place < into->depth_count && into->depths[place].bytes != other->depths[i].bytes)
            place++;
        if (place < into->depth_count)
            into->depths[place].depth =
                (uint32_t)mean(into->depths[place].depth, weight, other->depths[i].depth, other_weight);
        else if (place < POLICY_DEPTHS_MOST)
            into->depths[into->depth_count++] = other->depths[i];
    }
}

static void merge_sites(struct policy *into, uint64_t weight, const struct policy *other, uint64_t other_weight) {
    for (unsigned i = 0; i < other->site_count; i++) {
        const struct policy_site *site = &other->sites[i];
        unsigned place = 0;
        while (place < into->site_count &&
               (into->sites[place].offset != site->offset || strcmp(into->sites[place].module, site->module) != 0))
            place++;
        if (place == into->site_count && place < POLICY_SITES_MOST)
            into->sites[into->site_count++] = *site;
        else if (place < into->site_count && other_weight > weight)
            into->sites[place] = *site;
    }
}

void policy_merge(struct policy *into, const struct policy *other) {
    uint64_t weight = weight_of(into), other_weight = weight_of(other);
    for (unsigned i = 0; i < DECISION_COUNT; i++)
        merge_value(&into->values[i], weight, &other->values[i], other_weight, &decision_rows[i]);
    merge_classes(into->classes, &into->class_count, CLASS_SPARE_COUNT, weight, other->classes, other->class_count,
                  other_weight);
    merge_classes(into->closed, &into->closed_count, CLASS_COUNT, weight, other->closed, other->closed_count,
                  other_weight);
    merge_depths(into, weight, other, other_weight);
    merge_sites(into, weight, other, other_weight);
    into->runs = into->runs + other->runs < UINT32_MAX ? into->runs + other->runs : UINT32_MAX;
    if (__builtin_add_overflow(into->seconds, other->seconds, &into->seconds))
        into->seconds = UINT64_MAX;
}
