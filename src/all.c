// The whole library in one compile: every source, bottom-up. Everything but the public symbols is static here.
//
//     cc -O2 -fPIC -shared -Iinclude -Isrc src/all.c -o libhakmem.so     (the launcher knows all the flags)
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // mremap, and glibc's extensions of the interface
#endif
#define INTERNAL static
#define SHARED static

#include "sys/os_linux.c"

#include "sys/os_cgroup.c"
#include "sys/os_clock.c"
#include "sys/os_confined.c"

#include "sys/os_barrier.c"

#include "sys/lock.c"

#include "sys/report.c"

#include "sys/os_files.c"
#include "sys/os_program.c"

#include "sys/os_modules.c"

#include "sys/options.c"

#include "sys/fault.c"

#include "policy/snapshot.c"

#include "policy/modes.c"

#include "policy/parse.c"

#include "policy/merge.c"

#include "policy/cost.c"

#include "policy/tryout.c"

#include "policy/quantile.c"

#include "policy/evolution.c"

#include "policy/elo.c"

#include "policy/ucb.c"

#include "policy/classes.c"

#include "policy/depths.c"

#include "policy/budget.c"
#include "policy/headroom.c"
#include "policy/spread.c"

#include "policy/tolerance.c"

#include "policy/rises.c"

#include "policy/retention.c"

#include "region/meta.c"

#include "region/window.c"

#include "region/collapse.c"
#include "region/density.c"
#include "region/groups.c"

#include "region/huge.c"

#include "region/retain.c"

#include "region/runs.c"

#include "slab/size_class.c"

#include "slab/slab.c"

#include "slab/depot.c"

#include "slab/sparse.c"

#include "slab/put.c"

#include "big/kept.c"
#include "big/mapping.c"

#include "big/sites.c"

#include "big/cache.c"

#include "big/routes.c"

#include "big/big.c"

#include "sample/callers.c"
#include "sample/sizes.c"

#include "sample/lives.c"

#include "heap/cells.c"

#include "heap/sampling.c"

#include "heap/depth.c"

#include "heap/park.c"

#include "heap/transfer.c"

#include "heap/refill.c"

#include "heap/flush.c"

#include "heap/idle.c"

#include "heap/registry.c"

#include "heap/visit.c"

#include "heap/helper.c"

#include "heap/process.c"

#include "heap/fork.c"

#include "heap/classes.c"

#include "learn/publish.c"

#include "learn/probe.c"

#include "learn/observe.c"

#include "learn/say.c"

#include "learn/file.c"

#include "learn/parts.c"

#include "learn/next_depths.c"
#include "learn/next_run.c"

#include "learn/tournament.c"

#include "learn/rules.c"
#include "learn/trials.c"

#include "learn/decide.c"

#include "learn/history.c"

#include "learn/collapsing.c"
#include "learn/cycle.c"

#include "learn/learn.c"
#include "learn/saving.c"

#include "api/foreign.c"

#include "api/calls.c"

#include "api/learning.c"

#include "api/statistics.c"

#include "api/own.c"

#include "api/lifecycle.c"

// Sanitized builds leave the C library's names to the sanitizer.
#ifndef HAKMEM_NO_OVERRIDE
#include "api/libc.c"

#include "api/info.c"

#include "api/cxx.c"

#include "api/confined.c"
#include "api/dlopen.c"

#include "api/early.c"
#endif
