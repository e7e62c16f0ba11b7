// Options from the environment: one table, read once at start, validated, listed by HAKMEM_OPTIONS=help.
#ifndef SYS_OPTIONS_H
#define SYS_OPTIONS_H

#include "base/tuning.h"
#include "sys/report.h"

struct options {
#define OPTION_CHOICE(name, default, allowed, safe, help) unsigned name;
#define OPTION_SIZE(name, default, minimum, maximum, safe, help) size_t name;
#define OPTION_NUMBER(name, default, minimum, maximum, safe, help) size_t name;
#define OPTION_TEXT(name, safe, help) const char *name;
#include "sys/options.def"
#undef OPTION_CHOICE
#undef OPTION_SIZE
#undef OPTION_NUMBER
#undef OPTION_TEXT
};

// Written by options_read alone, before a second thread can see it.
SHARED struct options options;

enum { OPTION_FASTLANE_OFF, OPTION_FASTLANE_ON };
enum { OPTION_ON_FAULT_ABORT, OPTION_ON_FAULT_CONTINUE };
enum { OPTION_STATS_OFF, OPTION_STATS_TEXT, OPTION_STATS_JSON };
enum { OPTION_FREE_POLICY_KEEP, OPTION_FREE_POLICY_BATCH, OPTION_FREE_POLICY_ADAPTIVE };
enum { OPTION_RELEASE_UNMAP, OPTION_RELEASE_PURGE };
enum { OPTION_PURGE_NOW, OPTION_PURGE_LAZILY };
enum { OPTION_PREFAULT_OFF, OPTION_PREFAULT_ON };
enum { OPTION_HUGE_PAGES_OFF, OPTION_HUGE_PAGES_AUTO, OPTION_HUGE_PAGES_ON };
enum { OPTION_MODE_MINIMAL, OPTION_MODE_FAST, OPTION_MODE_BALANCED, OPTION_MODE_LEARNING, OPTION_MODE_RESEARCH };
enum {
    OPTION_PROFILE_NONE,
    OPTION_PROFILE_MIXED,
    OPTION_PROFILE_C6_HEAVY,
    OPTION_PROFILE_SERVICE,
    OPTION_PROFILE_BATCH
};

// Reads the environment; after os_start. What is wrong is said in one line each on standard error, and the default
// stays.
INTERNAL void options_read(char **environment);
// Whether the environment has given the option of that name, as a number or the index of a choice: then *value says it.
INTERNAL bool options_given(const char *name, size_t *value);
// Says an option's value as it would be written in the environment; false where there is no such option.
INTERNAL bool options_say_value(struct report *report, const char *name);

#endif
