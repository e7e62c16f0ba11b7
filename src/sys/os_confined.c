// Whether the process has confined itself by filters of system calls (seccomp) since it started. Filters that it was
// started under are those of containers, which know what allocators call.
#include <string.h>

#include "base/atomics.h"
#include "sys/os.h"

#define STATUS_BYTES 2048 // what is looked for stands in the first 1.5 KiB

#define UNKNOWN SIZE_MAX
static size_t filters_at_start = UNKNOWN;
static uint32_t is_confined; // a thread was found to be

static size_t number_after(const char *text, const char *name) {
    const char *found = strstr(text, name);
    return found == NULL ? UNKNOWN : os_read_number(found + strlen(name));
}

// Of the calling thread: each has its own.
static size_t count_filters(void) {
    char text[STATUS_BYTES];
    os_read_file("/proc/thread-self/status", text, sizeof text);
    size_t count = number_after(text, "\nSeccomp_filters:\t"); // since Linux 5.10
    if (count != UNKNOWN)
        return count;
    return number_after(text, "\nSeccomp:\t") == 0 ? 0 : UNKNOWN; // the mode: there are some, and may be more by now
}

void os_note_confinement(void) {
    store_relaxed(&is_confined, 0); // before a second thread can see it
    filters_at_start = count_filters();
}

bool os_is_confined(void) {
    if (load_relaxed(&is_confined) != 0) // filters never go
        return true;
    size_t count = count_filters();
    if (count != UNKNOWN && count == filters_at_start)
        return false;
    store_relaxed(&is_confined, 1); // the same whoever writes it
    return true;
}
