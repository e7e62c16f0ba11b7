// What was learned about one program, as it stands in a policy file.
//
//     hakmem-policy 1                                 # the format's version
//     program python3.11                              # the executable's name
//     build 6f3a0123456789abcdef                      # and build id, where it has one
//     runs 3                                          # learned from so many
//     seconds 41                                      # and so much processor time in all
//     retain_min 33554432 windows=12 gain=31 why=refaults
//     class 1040 windows=4 gain=102 why=rounding      # a size class of its own (DYN)
//     close 1280                                      # the next larger class serves this one's requests (W_MAX)
//     depth 4096 48                                   # free blocks that a stack of the class may hold (CAP)
//     site libpq.so.5+0x1c20 1048576                  # blocks that this call asks for: big from this size on
//     end
//
// Words are separated by spaces; # begins a comment; a module's name has %20 for a space, and so on. Evidence is
// optional: in how many windows the decision was compared (windows), what it gained then in thousandths (gain, may be
// negative), how many seconds after the program's start it was taken (since), and why. A decision that is not there has
// its default.
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include "policy/snapshot.h"

#define POLICY_VERSION 1
#define POLICY_WORD_LENGTH 64
#define POLICY_DEPTHS_MOST CLASS_END
#define POLICY_SITES_MOST ROUTES_MOST

struct evidence {
    uint32_t windows;
    int32_t gain_permille;
    uint32_t since_seconds; // after the program's start
    char why[16];
};

struct policy_value {
    bool is_given;
    size_t value;
    struct evidence evidence;
};

struct policy_class {
    uint32_t bytes;
    struct evidence evidence;
};

struct policy_depth {
    uint32_t bytes; // of the class
    uint32_t depth;
};

struct policy_site {
    char module[POLICY_WORD_LENGTH]; // file name of the executable or library
    uint64_t offset;                 // of the return address from its start
    size_t threshold_bytes;
    struct evidence evidence;
};

struct policy {
    char program[POLICY_WORD_LENGTH];
    char build[POLICY_WORD_LENGTH];
    uint64_t runs;
    uint64_t seconds;
    struct policy_value values[DECISION_COUNT];
    unsigned class_count, closed_count, depth_count, site_count;
    struct policy_class classes[CLASS_SPARE_COUNT];
    struct policy_class closed[CLASS_COUNT];
    struct policy_depth depths[POLICY_DEPTHS_MOST];
    struct policy_site sites[POLICY_SITES_MOST];
};

struct policy_fault {
    unsigned line; // from 1
    const char *what;
    const char *wanted; // what would be right; may be empty
    bool is_foreign;    // the first line is not that of a policy of this version
};

// Reads a policy file's text; false: it is damaged, *fault says where and how, *policy is not to be used.
INTERNAL bool policy_parse(const char *text, size_t length, struct policy *policy, struct policy_fault *fault);
// Makes one policy of two, each counting by the time and the runs that it was learned from, up to `most`: numbers go to
// their mean, the default standing for what is not given; of two choices or call sites that differ the one stays that
// was learned longer, the other's where both count for the most; classes of both stay. Program and build stay.
INTERNAL void policy_merge(struct policy *into, const struct policy *other, uint32_t most);
// What a file counts beside a run: no more than ten minutes, so that a program which changes can still change it.
#define POLICY_FILE_MOST 600
// Puts what is decided by numbers into a snapshot.
INTERNAL void policy_apply(const struct policy *policy, struct snapshot *snapshot);

#endif
