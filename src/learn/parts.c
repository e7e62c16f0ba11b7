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

static bool part_is_off[PART_COUNT];

static void say_no_part(const char *name, size_t length) {
    char letter[2] = {0, 0};
    struct report report;
    report_to_descriptor(&report, 2);
    report_text(&report, "hakmem: option learn_parts: there is no part '");
    for (size_t i = 0; i < length; i++) {
        letter[0] = (unsigned char)name[i] < ' ' ? '?' : name[i];
        report_text(&report, letter);
    }
    report_text(&report, "'; there are");
    for (unsigned i = 0; i < PART_COUNT; i++) {
        report_text(&report, i == 0 ? " " : ", ");
        report_text(&report, part_names[i]);
    }
    report_text(&report, "; several are joined by +\n");
    report_end(&report);
}

static unsigned find_part(const char *name, size_t length) {
    unsigned part = 0;
    while (part < PART_COUNT && (strlen(part_names[part]) != length || memcmp(part_names[part], name, length) != 0))
        part++;
    return part;
}

void parts_read(void) {
    const char *list = options.learn_parts;
    for (unsigned i = 0; i < PART_COUNT; i++)
        part_is_off[i] = list[0] != '\0';
    while (*list != '\0') {
        size_t length = strcspn(list, "+");
        unsigned part = find_part(list, length);
        if (part < PART_COUNT)
            part_is_off[part] = false;
        else
            say_no_part(list, length);
        list += length + (list[length] == '+');
    }
}

bool part_learns(enum part part) {
    return !part_is_off[part];
}
