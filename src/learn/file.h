// Policy files: which one is the program's, reading and writing it.
#ifndef LEARN_FILE_H
#define LEARN_FILE_H

#include "policy/policy.h"

// Reads the program's policy file (option policy) into *policy; false: there is none, or it is another program's, or it
// is damaged or of another build, which is said; then *policy is empty.
INTERNAL bool file_read(struct policy *policy);
// Says which program this is.
INTERNAL void file_name_program(struct policy *policy);
// Writes it anew, as a whole: what *policy says was learned by this process, merged with what the file says by now.
// Leaves a file of another program alone. False: it can't be written, which is said.
INTERNAL bool file_write(const struct policy *policy);

#endif
