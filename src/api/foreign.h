// Pointers that came from another allocator: handed on where there is reason to believe it, else a fault.
#ifndef API_FOREIGN_H
#define API_FOREIGN_H

#include "base/compiler.h"

INTERNAL COLD void foreign_free(void *block);
INTERNAL COLD void *foreign_realloc(void *block, size_t bytes);

#endif
