// Prints one workload's result as one line of JSON, with the proof of which allocator ran.
#define _GNU_SOURCE
#include "harness.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// Large enough for the maps file of a process with a thousand threads; static, so that nothing is allocated.
static char text[1 << 20];

// The whole file as a string in `text`; an empty one when it can't be read.
static char *text_of(const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    for (ssize_t got = 1; file >= 0 && got > 0 && length < sizeof text - 1; length += (size_t)got) {
        got = read(file, text + length, sizeof text - 1 - length);
        if (got < 0)
            break;
    }
    text[length] = '\0';
    if (file >= 0)
        close(file);
    return text;
}

long status_kib(const char *path, const char *field) {
    const char *at = strstr(text_of(path), field);
    return at == NULL ? -1 : strtol(at + strlen(field), NULL, 10);
}

void print_mapped(const char *path) {
    char *line, *rest = text_of(path);
    const char *separator = "";
    while ((line = strsep(&rest, "\n")) != NULL) {
        const char *file = strchr(line, '/');
        if (file == NULL || strstr(line, " r-xp ") == NULL)
            continue;
        printf("%s\"%s\"", separator, file);
        separator = ",";
    }
}

// The file that a call of this function goes to.
static const char *file_of(const char *function) {
    Dl_info info;
    void *address = dlsym(RTLD_DEFAULT, function);
    return address != NULL && dladdr(address, &info) != 0 ? info.dli_fname : "";
}

void harness_report(const struct report *report, const struct phase *phases, unsigned count,
                    const struct phase_result *results) {
    const struct phase_result *timed = &results[report->timed_phase + 1], *before = timed - 1, *last = &results[count];
    long peak_kib = 0; // the kernel's high-water mark is approximate and may fall, so the highest seen counts
    for (unsigned i = 0; i <= count; i++)
        peak_kib = results[i].peak_kib > peak_kib ? results[i].peak_kib : peak_kib;
    printf("{\"workload\":\"%s\",\"parameters\":%s,\"operation\":\"%s\",\"operations\":%llu", report->workload,
           report->parameters, report->operation, (unsigned long long)report->operations);
    printf(",\"seconds\":%.6f,\"operations_per_second\":%.0f", timed->seconds,
           (double)report->operations / timed->seconds);
    printf(",\"start_kib\":%ld,\"peak_kib\":%ld,\"final_kib\":%ld", results[0].resident_kib, peak_kib,
           last->resident_kib);
    printf(",\"minor_faults\":%ld,\"major_faults\":%ld,\"minor_faults_timed\":%ld", last->minor_faults,
           last->major_faults, timed->minor_faults - before->minor_faults);
    printf(",\"voluntary_switches\":%ld,\"involuntary_switches\":%ld", last->voluntary_switches,
           last->involuntary_switches);
    printf(",\"phases\":[");
    for (unsigned i = 0; i < count; i++)
        printf("%s{\"name\":\"%s\",\"seconds\":%.6f,\"resident_kib\":%ld,\"peak_kib\":%ld}", i == 0 ? "" : ",",
               phases[i].name, results[i + 1].seconds, results[i + 1].resident_kib, results[i + 1].peak_kib);
    printf("]%s", report->extra);
    print_proof();
    printf("}\n");
}

void print_proof(void) {
    printf(",\"glibc\":\"%s\",\"malloc_from\":\"%s\",\"free_from\":\"%s\"", gnu_get_libc_version(), file_of("malloc"),
           file_of("free"));
    printf(",\"hakmem_version\":%s", dlsym(RTLD_DEFAULT, "hakmem_version") != NULL ? "true" : "false");
    printf(",\"mapped\":[");
    print_mapped("/proc/self/maps");
    printf("]");
}
