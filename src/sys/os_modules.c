// Where the executable and its libraries lie.
#include <link.h>
#include <string.h>

#include "sys/os.h"

// At os_note_modules: the modules loaded, and how many were unloaded until then.
static struct {
    unsigned count;
    unsigned long long unloaded;
} noted;

struct module_search {
    const char *name;
    const char *program;
    uintptr_t address;
    uintptr_t base;
    unsigned place; // of the module, in the order in which they were loaded
    unsigned long long unloaded;
};

static const char *name_without_folders(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

// The executable comes first, and without a name.
static const char *module_name(const struct dl_phdr_info *info, const char *program) {
    return info->dlpi_name[0] != '\0' ? name_without_folders(info->dlpi_name) : program;
}

static int module_visit(struct dl_phdr_info *info, size_t size, void *context) {
    struct module_search *search = context;
    (void)size;
    bool found = strcmp(module_name(info, search->program), search->name) == 0;
    // A program that is linked to a fixed place has no base: its addresses are offsets already.
    search->base = found ? (uintptr_t)info->dlpi_addr : search->base;
    return found;
}

bool os_find_module(const char *name, uintptr_t *base) {
    char program[256];
    os_program_name(program, sizeof program);
    struct module_search search = {.name = name, .program = program};
    bool found = dl_iterate_phdr(module_visit, &search) != 0;
    *base = search.base;
    return found;
}

static int module_visit_addresses(struct dl_phdr_info *info, size_t size, void *context) {
    struct module_search *search = context;
    (void)size;
    search->place++;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || search->address - (uintptr_t)info->dlpi_addr - part->p_vaddr >= part->p_memsz)
            continue;
        search->name = module_name(info, search->program); // of memory that stays while the module does
        search->base = (uintptr_t)info->dlpi_addr;
        search->unloaded = info->dlpi_subs;
        return 1;
    }
    return 0;
}

static int module_count(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size, (void)context;
    noted.count++;
    noted.unloaded = info->dlpi_subs;
    return 0;
}

void os_note_modules(void) {
    noted.count = 0;
    dl_iterate_phdr(module_count, NULL);
}

bool os_find_module_of(uintptr_t address, char *name, size_t size, uintptr_t *base) {
    char program[256];
    os_program_name(program, sizeof program);
    struct module_search search = {.name = "", .program = program, .address = address};
    bool found = dl_iterate_phdr(module_visit_addresses, &search) != 0;
    found = found && (search.place <= noted.count || search.unloaded == noted.unloaded);
    size_t length = strlen(search.name);
    if (!found || length >= size)
        return false;
    memcpy(name, search.name, length + 1);
    *base = search.base;
    return true;
}
