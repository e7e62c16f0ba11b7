// glibc's names that tell about the heap or set it up.
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>

#include "api/calls.h"
#include "api/statistics.h"
#include "big/mapping.h"
#include "learn/learn.h"

#define EXPORT __attribute__((visibility("default")))

static struct hakmem_stats stats_now(void) {
    struct hakmem_stats stats = {.size = sizeof stats};
    statistics_fill(&stats);
    return stats;
}

// glibc's fields in hakmem's terms: arena = slices, hblks = own mappings, uordblks = with the program, fordblks = free.
EXPORT struct mallinfo2 mallinfo2(void) {
    struct hakmem_stats stats = stats_now();
    struct mapping_totals mappings = mapping_count();
    size_t slices = stats.mapped_bytes - mappings.bytes;
    // What threads keep is not allocated, but may be a mapping.
    size_t used = stats.allocated_bytes > mappings.bytes ? stats.allocated_bytes - mappings.bytes : 0;
    return (struct mallinfo2){
        .arena = slices,
        .hblks = mappings.blocks,
        .hblkhd = mappings.bytes,
        .fsmblks = stats.cached_bytes,
        .uordblks = used,
        .fordblks = slices - used,
        .keepcost = stats.retained_bytes,
    };
}

static int clamp_int(size_t value) {
    return value > INT_MAX ? INT_MAX : (int)value;
}

// The old form, whose fields are int: what does not fit is the greatest int.
EXPORT struct mallinfo mallinfo(void) {
    struct mallinfo2 info = mallinfo2();
    return (struct mallinfo){
        .arena = clamp_int(info.arena),
        .hblks = clamp_int(info.hblks),
        .hblkhd = clamp_int(info.hblkhd),
        .fsmblks = clamp_int(info.fsmblks),
        .uordblks = clamp_int(info.uordblks),
        .fordblks = clamp_int(info.fordblks),
        .keepcost = clamp_int(info.keepcost),
    };
}

static void xml_number(struct report *report, const char *before, uint64_t number, const char *behind) {
    report_text(report, before);
    report_number(report, number);
    report_text(report, behind);
}

// In the shape of glibc's: one heap, the classes as its sizes, totals and what the system gave.
static void say_xml(struct report *report) {
    struct hakmem_stats stats = stats_now();
    struct mapping_totals mappings = mapping_count();
    report_text(report, "<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n");
    statistics_say_xml_sizes(report);
    report_text(report, "</sizes>\n");
    xml_number(report, "<total type=\"fast\" count=\"0\" size=\"", stats.cached_bytes, "\"/>\n");
    xml_number(report, "<total type=\"rest\" count=\"0\" size=\"", stats.retained_bytes, "\"/>\n");
    xml_number(report, "<system type=\"current\" size=\"", stats.mapped_bytes - mappings.bytes, "\"/>\n");
    xml_number(report, "<system type=\"max\" size=\"", stats.mapped_bytes - mappings.bytes, "\"/>\n</heap>\n");
    xml_number(report, "<total type=\"fast\" count=\"0\" size=\"", stats.cached_bytes, "\"/>\n");
    xml_number(report, "<total type=\"rest\" count=\"0\" size=\"", stats.retained_bytes, "\"/>\n");
    xml_number(report, "<total type=\"mmap\" count=\"", mappings.blocks, "\"");
    xml_number(report, " size=\"", mappings.bytes, "\"/>\n");
    xml_number(report, "<system type=\"current\" size=\"", stats.mapped_bytes, "\"/>\n");
    xml_number(report, "<system type=\"max\" size=\"", stats.mapped_bytes, "\"/>\n");
    xml_number(report, "<aspace type=\"total\" size=\"", stats.mapped_bytes, "\"/>\n");
    xml_number(report, "<aspace type=\"mprotect\" size=\"", stats.mapped_bytes, "\"/>\n</malloc>\n");
}

EXPORT int malloc_info(int settings, FILE *stream) {
    struct report report;
    if (settings != 0 || stream == NULL) {
        return EINVAL; // as glibc: returned, not set
    }
    report_to_memory(&report, NULL, 0);
    say_xml(&report);
    size_t room = report.length + 1024; // figures may grow by some digits until they are said again
    char *text = call_malloc(room);
    if (text == NULL)
        return -1;
    report_to_memory(&report, text, room);
    say_xml(&report);
    report_end(&report);
    size_t length = report.length < room ? report.length : room - 1;
    size_t written = fwrite(text, 1, length, stream);
    call_free(text);
    return written == length ? 0 : -1;
}

EXPORT void malloc_stats(void) {
    struct report report;
    report_to_descriptor(&report, 2);
    statistics_say_text(&report);
    report_end(&report);
}

EXPORT int malloc_trim(size_t keep) {
    return heap_trim(keep) ? 1 : 0;
}

// 1: understood; 0: hakmem has nothing that this could set. What only tunes glibc's own structures is taken as a hint
// that needs nothing.
EXPORT int mallopt(int parameter, int value) {
    switch (parameter) {
    case M_TRIM_THRESHOLD:
        learn_obey_user(DECISION_retain_min, value < 0 ? SIZE_MAX / 2 : (size_t)value);
        return 1;
    case M_MXFAST:
    case M_TOP_PAD:
    case M_MMAP_THRESHOLD:
    case M_MMAP_MAX:
    case M_ARENA_TEST:
    case M_ARENA_MAX:
        return 1;
    default:
        return 0;
    }
}
