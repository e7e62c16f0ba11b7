// What identifies a thread: the machine's threads share one of the operating system's, and so its thread pointer.
#ifndef INTERLEAVE_COMPILER_H
#define INTERLEAVE_COMPILER_H

#include_next "base/compiler.h"

uintptr_t world_thread_pointer(void);
#define __builtin_thread_pointer() world_thread_pointer()

#endif
