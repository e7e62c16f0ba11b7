// A module that is opened with RTLD_DEEPBIND: its malloc and free are looked up in its own libraries first.
#include <stdlib.h>
#include <string.h>

char *module_copy(const char *text) {
    return strcpy(malloc(strlen(text) + 1), text);
}

void module_free(void *block) {
    free(block);
}
