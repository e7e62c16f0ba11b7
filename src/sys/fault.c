// Reports misuse of the interface.
#include "sys/fault.h"

#include "base/atomics.h"
#include "sys/options.h"
#include "sys/os.h"
#include "sys/report.h"

static uint64_t fault_counts[FAULT_COUNT];

struct fault_row {
    const char *name;
    const char *title;
    const char *hint;
};

static const struct fault_row fault_rows[FAULT_COUNT] = {
#define FAULT(name, title, hint) {#name, title, hint},
#include "sys/faults.def"
#undef FAULT
};

void fault_count(enum fault fault) {
    shared_add(&fault_counts[fault], 1);
}

uint64_t fault_times(enum fault fault) {
    return load_relaxed(&fault_counts[fault]);
}

const char *fault_name(enum fault fault) {
    return fault_rows[fault].name;
}

void fault_report(enum fault fault, const void *address, size_t bytes) {
    bool first = shared_add(&fault_counts[fault], 1) == 0;
    if (first || options.on_fault == OPTION_ON_FAULT_ABORT) {
        struct report report;
        report_to_descriptor(&report, 2);
        report_text(&report, "hakmem: ");
        report_text(&report, fault_rows[fault].title);
        report_text(&report, " at ");
        report_address(&report, (uintptr_t)address);
        if (bytes != 0) {
            report_text(&report, " (block of ");
            report_number(&report, bytes);
            report_text(&report, " bytes)");
        }
        report_text(&report, " in process ");
        report_number(&report, os_process_id());
        report_text(&report, ": ");
        report_text(&report, fault_rows[fault].hint);
        report_text(&report, "; see docs/faults.md, ");
        report_text(&report, fault_rows[fault].name);
        report_text(&report,
                    options.on_fault == OPTION_ON_FAULT_ABORT ? "\n" : "; going on, further ones are counted\n");
        report_end(&report);
    }
    if (options.on_fault == OPTION_ON_FAULT_ABORT)
        os_abort();
}
