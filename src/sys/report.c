// Text without stdio.
#include "sys/report.h"

#include <string.h>

#include "sys/os.h"

void report_to_descriptor(struct report *report, int descriptor) {
    *report = (struct report){.descriptor = descriptor};
}

void report_to_memory(struct report *report, char *memory, size_t capacity) {
    *report = (struct report){.memory = memory, .capacity = capacity, .descriptor = -1};
}

static void report_flush(struct report *report) {
    if (report->memory == NULL && report->used > 0)
        os_write(report->descriptor, report->buffer, report->used);
    report->used = 0;
}

void report_end(struct report *report) {
    report_flush(report);
    if (report->memory != NULL && report->capacity > 0) {
        size_t end = report->length < report->capacity ? report->length : report->capacity - 1;
        report->memory[end] = '\0';
    }
}

static void report_character(struct report *report, char character) {
    if (report->descriptor < 0) {
        if (report->length < report->capacity)
            report->memory[report->length] = character;
    } else {
        if (report->used == sizeof report->buffer)
            report_flush(report);
        report->buffer[report->used++] = character;
    }
    report->length++;
}

void report_text(struct report *report, const char *text) {
    for (; *text != '\0'; text++)
        report_character(report, *text);
}

// Digits of a number in base 10 or 16, with the NUL; the text starts at the returned place in `digits`.
static const char *report_digits(char digits[24], uint64_t number, unsigned base) {
    char *place = digits + 23;
    *place = '\0';
    do {
        *--place = "0123456789abcdef"[number % base];
        number /= base;
    } while (number != 0);
    return place;
}

void report_number(struct report *report, uint64_t number) {
    char digits[24];
    report_text(report, report_digits(digits, number, 10));
}

void report_member(struct report *report, const char *name, uint64_t number, const char *end) {
    report_text(report, "\"");
    report_text(report, name);
    report_text(report, "\": ");
    report_number(report, number);
    report_text(report, end);
}

void report_address(struct report *report, uintptr_t address) {
    char digits[24];
    report_text(report, "0x");
    report_text(report, report_digits(digits, address, 16));
}

void report_text_column(struct report *report, const char *text, unsigned width) {
    for (size_t length = strlen(text); length < width; length++)
        report_character(report, ' ');
    report_text(report, text);
}

void report_number_column(struct report *report, uint64_t number, unsigned width) {
    char digits[24];
    report_text_column(report, report_digits(digits, number, 10), width);
}

void report_bytes(struct report *report, uint64_t bytes) {
    static const char *const units[] = {" B", " KiB", " MiB", " GiB", " TiB"};
    unsigned unit = 0;
    while (unit < COUNT_OF(units) - 1 && bytes != 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    report_number(report, bytes);
    report_text(report, units[unit]);
}
