// The module of the slab protocol: what its scripts are, and how a thread's turn begins and ends.
#include "scripts.h"
#include "world.h"

#ifndef SCRIPTS
#define SCRIPTS slab_scripts
#endif

const struct module interleave_module = {
    .scripts = SCRIPTS, .enter = subject_enter, .leave = subject_leave, .name = world_name};
