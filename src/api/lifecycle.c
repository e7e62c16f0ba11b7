// Where the library begins and ends: constructor and destructor. The first allocation may come long before the one, the
// last free long after the other; both find a heap.
#include "api/statistics.h"
#include "learn/learn.h"

__attribute__((constructor)) static void lifecycle_begin(void) {
    learn_start();
}

__attribute__((destructor)) static void lifecycle_end(void) {
    learn_end();
    statistics_at_exit();
}
