// Which sizes get classes of their own.
#include "policy/classes.h"

static uint64_t seen_of_class(const struct size_report *report, unsigned first, unsigned *end) {
    uint64_t sum = 0;
    for (*end = first; *end < report->entries && report->class_of[*end] == report->class_of[first]; ++*end)
        sum += report->seen[*end];
    return sum;
}

// What of a block of a class becomes resident for a request. Where blocks are whole pages, those at the end that the
// request does not reach do not; else they are shared with the next block.
static uint32_t resident_bytes(uint32_t class_bytes, uint32_t bytes) {
    return class_bytes % PAGE_LEAST_BYTES == 0 ? (bytes + PAGE_LEAST_BYTES - 1) / PAGE_LEAST_BYTES * PAGE_LEAST_BYTES
                                               : class_bytes;
}

// What a class for the entries [first, last] would save in all requests that were seen of them, so many each.
static uint64_t saved_by(const struct size_report *report, unsigned first, unsigned last) {
    uint32_t class_bytes = report->class_bytes[report->class_of[first]];
    uint64_t saved = 0;
    for (unsigned i = first; i <= last; i++) {
        uint32_t now = resident_bytes(class_bytes, report->bytes[i]);
        uint32_t then = resident_bytes(report->bytes[last], report->bytes[i]);
        saved += now > then ? (uint64_t)report->seen[i] * (now - then) : 0;
    }
    return saved;
}

// What a class at the best of the entries [first, end), which one class serves, would save of what is in use.
static uint64_t best_cut(const struct size_report *report, unsigned first, unsigned end, uint64_t seen,
                         unsigned *best) {
    uint64_t most = 0;
    for (unsigned i = first; i < end; i++) {
        uint64_t saved = report->seen[i] > 0 ? saved_by(report, first, i) : 0;
        if (saved <= most)
            continue;
        most = saved;
        *best = i;
    }
    return most * report->class_blocks[report->class_of[first]] / seen;
}

bool classes_choose(const struct size_report *report, struct size_choice *choice) {
    uint64_t least = DYN_LEAST_BYTES + (uint64_t)report->threads * DYN_THREAD_BYTES;
    if (least < report->in_use_bytes / DYN_LEAST_SHARE)
        least = report->in_use_bytes / DYN_LEAST_SHARE;
    *choice = (struct size_choice){0};
    for (unsigned first = 0, end; first < report->entries; first = end) {
        uint64_t seen = seen_of_class(report, first, &end);
        unsigned best = first;
        uint64_t saved = seen >= DYN_LEAST_SEEN ? best_cut(report, first, end, seen, &best) : 0;
        bool grows = report->class_grows == NULL || report->class_grows[report->class_of[first]] != 0;
        if (!grows || saved < least || saved <= choice->saved_bytes || report->bytes[best] <= CLASS_LINEAR_MAX)
            continue;
        *choice = (struct size_choice){report->bytes[best], report->class_of[first], saved};
    }
    return choice->saved_bytes > 0;
}
