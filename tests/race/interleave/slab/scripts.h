// The scripts of the slab protocol, by file.
#ifndef INTERLEAVE_SCRIPTS_H
#define INTERLEAVE_SCRIPTS_H

#include "script.h"

// A row of a list of scripts: NAME and NAME_prepare are functions.
#define SCRIPT(function, count, says) SCRIPT_ROW(function, count, says, false)
// One that takes minutes.
#define LONG_SCRIPT(function, count, says) SCRIPT_ROW(function, count, says, true)
#define SCRIPT_ROW(function, count, says, takes_long)                                                       \
    {                                                                                                       \
        .name = #function, .what = says, .threads = count, .prepare = function##_prepare, .body = function, \
        .check = world_check, .is_long = takes_long                                                         \
    }

extern const struct script slab_scripts[];
extern const struct script heap_scripts[];
extern const struct script fork_scripts[];
extern const struct script lock_scripts[];
extern const struct script visit_scripts[];
extern const struct script random_scripts[];

#endif
