// Where the executable and its libraries lie.
#include <link.h>
#include <string.h>

#include "sys/os.h"

struct module_search {
    const char *name;
    const char *program;
    uintptr_t base;
};

static const char *name_without_folders(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

// The executable comes first, and without a name.
static int module_visit(struct dl_phdr_info *info, size_t size, void *context) {
    struct module_search *search = context;
    (void)size;
    const char *name = info->dlpi_name[0] != '\0' ? name_without_folders(info->dlpi_name) : search->program;
    bool found = strcmp(name, search->name) == 0;
    // A program that is linked to a fixed place has no base: its addresses are offsets already.
    search->base = found ? (uintptr_t)info->dlpi_addr : search->base;
    return found;
}

bool os_find_module(const char *name, uintptr_t *base) {
    char program[256];
    os_program_name(program, sizeof program);
    struct module_search search = {name, program, 0};
    bool found = dl_iterate_phdr(module_visit, &search) != 0;
    *base = search.base;
    return found;
}
