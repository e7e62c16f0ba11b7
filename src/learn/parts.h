// Which parts of the learner are at work: all but huge pages from the first on (decision 34), or those that the option
// learn_parts names. So that what each gains can be measured alone.
#ifndef LEARN_PARTS_H
#define LEARN_PARTS_H

#include "base/compiler.h"

#define PARTS(PART) \
    PART(depths)    \
    PART(classes)   \
    PART(memory) PART(headroom) PART(huge) PART(collapse) PART(mappings) PART(tolerance) PART(tournaments) PART(sites)

enum part {
#define PART(name) PART_##name,
    PARTS(PART)
#undef PART
        PART_COUNT
};

// Reads the options learn_parts and mode; research has all. A name that is none gets a line that says which there are,
// and counts for nothing; one that is played in research alone gets a line in any other mode.
INTERNAL void parts_read(void);
INTERNAL bool part_learns(enum part part);

#endif
