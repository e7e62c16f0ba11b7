// Policy files: which one is the program's, reading and writing it.
#ifndef LEARN_FILE_H
#define LEARN_FILE_H

#include "policy/policy.h"

// Finds the program's policy file: that of option policy, or the program's in its folder. Once, at the start, without
// locks, before the next ones. False: none is named, or its name is too long, which is said.
INTERNAL bool file_find(void);
// Reads it into *policy. False: there is none, or it is another program's, or it can't be read, is damaged or of
// another build, which is said; then *policy is empty.
INTERNAL bool file_read(struct policy *policy);
// Says which program this is.
INTERNAL void file_name_program(struct policy *policy);
// Writes it anew, as a whole: what *policy says was learned by this process, merged with what the file says by now.
// Leaves a file of another program alone, but for one that learned for less than a second where this one did for
// longer. By one thread at a time. False: it can't be written, which is said, here or by file_read.
INTERNAL bool file_write(const struct policy *policy);
// Why not: the error number of the last one that could not be; EEXIST: the file is another program's. 0: it was.
INTERNAL int file_error(void);
// Says that a signal can't be had for saving.
INTERNAL void file_say_signal(unsigned number);
// Says where that was another program's file, if something was learned. Of a program once: its fork children, a shell's
// for each command, keep silent.
INTERNAL void file_say_not_written(const struct policy *policy);

#endif
