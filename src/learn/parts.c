// The option learn_parts.
#include "learn/parts.h"

#include <string.h>

#include "sys/options.h"
#include "sys/report.h"

static const char *const part_names[PART_COUNT] = {
#define PART(name) #name,
    PARTS(PART)
#undef PART
};

#define BY_DEFAULT "default"

static bool part_is_off[PART_COUNT];

static bool is_of_research(unsigned part) { // decide.h, DECIDE_ALL
    return part == PART_tournaments || part == PART_sites;
}

static void begin_line(struct report *report) {
    report_to_descriptor(report, 2);
    report_text(report, "hakmem: option learn_parts: ");
}

static void say_no_part(const char *name, size_t length) {
    char letter[2] = {0, 0};
    struct report report;
    begin_line(&report);
    report_text(&report, "there is no part '");
    for (size_t i = 0; i < length; i++) {
        letter[0] = (unsigned char)name[i] < ' ' ? '?' : name[i];
        report_text(&report, letter);
    }
    report_text(&report, "'; there are " BY_DEFAULT);
    for (unsigned i = 0; i < PART_COUNT; i++) {
        report_text(&report, ", ");
        report_text(&report, part_names[i]);
    }
    report_text(&report, "; several are joined by +\n");
    report_end(&report);
}

static void say_of_research(unsigned part) {
    struct report report;
    begin_line(&report);
    report_text(&report, part_names[part]);
    report_text(&report, " does nothing here: it plays in mode=research alone\n");
    report_end(&report);
}

static bool is_named(const char *name, const char *list, size_t length) {
    return strlen(name) == length && memcmp(name, list, length) == 0;
}

// Huge pages from the first on cost more programs than they help (decision 34); research is there to try everything.
static void add_those_by_default(void) {
    for (unsigned i = 0; i < PART_COUNT; i++)
        part_is_off[i] &= i == PART_huge && options.mode != OPTION_MODE_RESEARCH;
}

static void add_named(const char *name, size_t length) {
    unsigned part = 0;
    while (part < PART_COUNT && !is_named(part_names[part], name, length))
        part++;
    if (part < PART_COUNT && is_of_research(part) && options.mode != OPTION_MODE_RESEARCH)
        say_of_research(part);
    if (part < PART_COUNT)
        part_is_off[part] = false;
    else if (is_named(BY_DEFAULT, name, length))
        add_those_by_default();
    else
        say_no_part(name, length);
}

void parts_read(void) {
    const char *list = options.learn_parts;
    memset(part_is_off, true, sizeof part_is_off);
    if (list[0] == '\0')
        add_those_by_default();
    while (*list != '\0') {
        size_t length = strcspn(list, "+");
        add_named(list, length);
        list += length + (list[length] == '+');
    }
}

bool part_learns(enum part part) {
    return !part_is_off[part];
}
