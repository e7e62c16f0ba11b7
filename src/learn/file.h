// Policy files: which one is the program's, reading and writing it.
#ifndef LEARN_FILE_H
#define LEARN_FILE_H

#include "policy/policy.h"

// Reads the program's policy file (option policy) into *policy; false: there is none, or it is damaged, which is said.
INTERNAL bool file_read(struct policy *policy);
// Writes it anew, as a whole; false: it can't be, which is said.
INTERNAL bool file_write(const struct policy *policy);

#endif
