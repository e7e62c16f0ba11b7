// The library's own names, declared and documented in hakmem.h.
#include <errno.h>
#include <limits.h>

#include "api/calls.h"
#include "api/statistics.h"
#include "base/bits.h"
#include "hakmem/hakmem.h"
#include "heap/heap.h"
#include "learn/learn.h"
#include "sys/options.h"

#pragma GCC visibility push(default)

#define TEXT_OF(number) TEXT_OF_TOKEN(number)
#define TEXT_OF_TOKEN(token) #token

const char *hakmem_version(void) {
    return TEXT_OF(HAKMEM_VERSION_MAJOR) "." TEXT_OF(HAKMEM_VERSION_MINOR) "." TEXT_OF(HAKMEM_VERSION_PATCH);
}

void *hakmem_malloc(size_t size) {
    return call_malloc(size);
}

void *hakmem_calloc(size_t count, size_t size) {
    return call_calloc(count, size);
}

void *hakmem_realloc(void *block, size_t size) {
    return call_realloc(block, size);
}

void *hakmem_aligned_alloc(size_t alignment, size_t size) {
    if (!bits_is_power_of_two(alignment)) {
        errno = EINVAL;
        return NULL;
    }
    return call_aligned(size, alignment);
}

void hakmem_free(void *block) {
    call_free(block);
}

size_t hakmem_usable_size(const void *block) {
    return call_usable_bytes(block);
}

int hakmem_trim(size_t keep) {
    return heap_trim(keep) ? 1 : 0;
}

int hakmem_stats(struct hakmem_stats *out) {
    if (out == NULL || out->size < sizeof out->size + sizeof out->allocated_bytes) {
        errno = EINVAL;
        return -1;
    }
    statistics_fill(out);
    return 0;
}

int hakmem_policy_save(void) {
    int error = learn_save();
    if (error == 0)
        return 0;
    errno = error;
    return -1;
}

static int length_of(const struct report *report) {
    return report->length > INT_MAX ? INT_MAX : (int)report->length;
}

int hakmem_stats_json(char *buffer, size_t size) {
    struct report report;
    report_to_memory(&report, buffer, buffer == NULL ? 0 : size);
    statistics_say_json(&report);
    report_end(&report);
    return length_of(&report);
}

int hakmem_option_get(const char *name, char *value, size_t size) {
    struct report report;
    report_to_memory(&report, value, value == NULL ? 0 : size);
    heap_process_start();
    if (name == NULL || !options_say_value(&report, name)) {
        errno = ENOENT;
        return -1;
    }
    report_end(&report);
    return length_of(&report);
}

#pragma GCC visibility pop
