// Which sizes get classes of their own.
#include "policy/classes.h"

// The entries [first, end) that one class serves, and what stands for its blocks in use.
struct served {
    unsigned first, end;
    const uint32_t *counts; // of each entry of the report
    uint64_t sum;           // of these entries'
};

static struct served served_at(const struct size_report *report, unsigned first) {
    struct served served = {first, first, report->seen, 0};
    uint64_t seen = 0, kept = 0;
    for (; served.end < report->entries && report->class_of[served.end] == report->class_of[first]; served.end++) {
        seen += report->seen[served.end];
        kept += report->kept != NULL ? report->kept[served.end] : 0;
    }
    served.sum = seen;
    if (kept == 0 || kept < report->least_seen)
        return served;
    served.counts = report->kept;
    served.sum = kept;
    return served;
}

// What was counted of the entries of one class so far, by the pages that they reach into: where the blocks of a class
// are whole pages, those at the end that a request does not reach do not become resident.
#define PAGES_MOST 72 // between two classes, with room to spare
struct reach {
    uint32_t first_page; // of the smallest entry
    uint64_t counts[PAGES_MOST];
};

static bool is_whole_pages(uint32_t bytes) {
    return bytes % PAGE_LEAST_BYTES == 0;
}

static uint32_t pages_of(uint32_t bytes) {
    return (bytes + PAGE_LEAST_BYTES - 1) / PAGE_LEAST_BYTES;
}

// What a class of `bytes` would save in all that was counted so far, which one of `class_bytes` serves now.
static uint64_t saved_by(const struct reach *reach, uint32_t class_bytes, uint32_t bytes, uint64_t below) {
    if (!is_whole_pages(class_bytes) && !is_whole_pages(bytes))
        return below * (class_bytes - bytes);
    if (is_whole_pages(class_bytes) && is_whole_pages(bytes)) // either way only the pages that are reached
        return 0;
    uint64_t saved = 0;
    uint32_t last = pages_of(bytes) - reach->first_page;
    for (uint32_t i = 0; i <= last && i < PAGES_MOST; i++) {
        uint32_t reached = (reach->first_page + i) * PAGE_LEAST_BYTES;
        uint32_t now = is_whole_pages(class_bytes) ? reached : class_bytes;
        uint32_t then = is_whole_pages(bytes) ? reached : bytes;
        saved += now > then ? reach->counts[i] * (now - then) : 0;
    }
    return saved;
}

// What a class at the best of the entries that one class serves would save of what is in use.
static uint64_t best_cut(const struct size_report *report, const struct served *served, unsigned *best) {
    struct reach reach = {.first_page = pages_of(report->bytes[served->first])};
    uint32_t class_bytes = report->class_bytes[report->class_of[served->first]];
    uint64_t below = 0, most = 0;
    for (unsigned i = served->first; i < served->end; i++) {
        if (served->counts[i] == 0)
            continue;
        uint32_t page = pages_of(report->bytes[i]) - reach.first_page;
        reach.counts[page < PAGES_MOST ? page : PAGES_MOST - 1] += served->counts[i];
        below += served->counts[i];
        uint64_t saved = saved_by(&reach, class_bytes, report->bytes[i], below);
        if (saved <= most)
            continue;
        most = saved;
        *best = i;
    }
    return most * report->class_blocks[report->class_of[served->first]] / served->sum;
}

bool classes_choose(const struct size_report *report, struct size_choice *choice) {
    uint64_t least = DYN_LEAST_BYTES + (uint64_t)report->threads * DYN_THREAD_BYTES;
    if (least < report->in_use_bytes / DYN_LEAST_SHARE)
        least = report->in_use_bytes / DYN_LEAST_SHARE;
    *choice = (struct size_choice){0};
    for (unsigned first = 0, end; first < report->entries; first = end) {
        struct served served = served_at(report, first);
        unsigned best = first;
        uint64_t saved = served.sum > 0 && served.sum >= report->least_seen ? best_cut(report, &served, &best) : 0;
        end = served.end;
        bool grows = report->class_grows == NULL || report->class_grows[report->class_of[first]] != 0;
        bool chosen = report->class_chosen != NULL && report->class_chosen[report->class_of[first]] != 0;
        if (!grows || chosen || saved < least || saved <= choice->saved_bytes ||
            report->bytes[best] <= CLASS_LINEAR_MAX)
            continue;
        *choice = (struct size_choice){report->bytes[best], report->class_of[first], saved};
    }
    return choice->saved_bytes > 0;
}
