// The C++ allocation operators under their mangled names, in C: programs without C++ need no C++ library.
//
// A program may replace the plain forms and expect the others to follow: they call the plain ones by name, through
// the dynamic linker's table; being weak, all of them give way to a program's own in a static link.
//
// On failure they do as the standard asks: call the new handler until there is memory, else throw std::bad_alloc. Both
// come from the C++ library that the program has (weak symbols); without one there is nobody who could catch.
#include "api/calls.h"
#include "base/bits.h"
#include "sys/os.h"

typedef void (*new_handler)(void);
extern new_handler cxx_get_new_handler(void) __asm__("_ZSt15get_new_handlerv") __attribute__((weak));
extern void cxx_throw_bad_alloc(void) __asm__("_ZSt17__throw_bad_allocv") __attribute__((weak));

static new_handler cxx_handler(void) {
    new_handler (*get)(void) = cxx_get_new_handler;
    if (get == NULL) // the C++ library may have come later, by dlopen
        get = (new_handler(*)(void))os_default_function("_ZSt15get_new_handlerv");
    return get == NULL ? NULL : get();
}

// Tries again after each call of the handler; a handler that can't help throws or removes itself.
static COLD void *cxx_new_retry(size_t bytes, size_t align) {
    for (;;) {
        new_handler handler = cxx_handler();
        if (handler == NULL)
            return NULL;
        handler();
        void *block = call_aligned(bytes, align);
        if (block != NULL)
            return block;
    }
}

static COLD void *cxx_new_failed(size_t bytes, size_t align) {
    void *block = cxx_new_retry(bytes, align);
    if (block != NULL)
        return block;
    void (*raise)(void) = cxx_throw_bad_alloc;
    if (raise == NULL)
        raise = os_default_function("_ZSt17__throw_bad_allocv");
    if (raise != NULL)
        raise();
    os_abort();
}

#define OPERATOR __attribute__((visibility("default"), weak))

// operator new, new[]: plain, nothrow, aligned, aligned nothrow. `tag` is a std::nothrow_t.
OPERATOR void *_Znwm(size_t bytes);
OPERATOR void *_Znam(size_t bytes);
OPERATOR void *_ZnwmRKSt9nothrow_t(size_t bytes, const void *tag);
OPERATOR void *_ZnamRKSt9nothrow_t(size_t bytes, const void *tag);
OPERATOR void *_ZnwmSt11align_val_t(size_t bytes, size_t align);
OPERATOR void *_ZnamSt11align_val_t(size_t bytes, size_t align);
OPERATOR void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t bytes, size_t align, const void *tag);
OPERATOR void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t bytes, size_t align, const void *tag);
// operator delete, delete[]: plain, nothrow, sized, aligned, sized and aligned, aligned nothrow.
OPERATOR void _ZdlPv(void *block);
OPERATOR void _ZdaPv(void *block);
OPERATOR void _ZdlPvRKSt9nothrow_t(void *block, const void *tag);
OPERATOR void _ZdaPvRKSt9nothrow_t(void *block, const void *tag);
OPERATOR void _ZdlPvm(void *block, size_t bytes);
OPERATOR void _ZdaPvm(void *block, size_t bytes);
OPERATOR void _ZdlPvSt11align_val_t(void *block, size_t align);
OPERATOR void _ZdaPvSt11align_val_t(void *block, size_t align);
OPERATOR void _ZdlPvmSt11align_val_t(void *block, size_t bytes, size_t align);
OPERATOR void _ZdaPvmSt11align_val_t(void *block, size_t bytes, size_t align);
OPERATOR void _ZdlPvSt11align_val_tRKSt9nothrow_t(void *block, size_t align, const void *tag);
OPERATOR void _ZdaPvSt11align_val_tRKSt9nothrow_t(void *block, size_t align, const void *tag);

// --- The plain forms
// ---------------------------------------------------------------------------------------------------

static NOINLINE void *cxx_new_large(size_t bytes) {
    void *block = bytes <= CLASS_LARGE_MAX ? call_malloc_large(bytes) : call_malloc_big(bytes, CALL_SITE);
    return LIKELY(block != NULL) ? block : cxx_new_failed(bytes, BLOCK_ALIGN);
}

ALWAYS_INLINE void *cxx_new(size_t bytes) {
    if (UNLIKELY(bytes > CLASS_FINE_MAX))
        return cxx_new_large(bytes);
    void *block = call_malloc(bytes);
    return LIKELY(block != NULL) ? block : cxx_new_failed(bytes, BLOCK_ALIGN);
}

static void *cxx_new_aligned(size_t bytes, size_t align) {
    void *block = bits_is_power_of_two(align) ? call_aligned(bytes, align) : NULL;
    return LIKELY(block != NULL) ? block : cxx_new_failed(bytes, align);
}

void *_Znwm(size_t bytes) {
    return cxx_new(bytes);
}

void *_ZnwmSt11align_val_t(size_t bytes, size_t align) {
    return cxx_new_aligned(bytes, align);
}

void _ZdlPv(void *block) {
    call_free(block);
}

void _ZdlPvSt11align_val_t(void *block, size_t align) {
    (void)align;
    call_free(block);
}

// --- The array forms follow them
// ---------------------------------------------------------------------------------------

void *_Znam(size_t bytes) {
    return _Znwm(bytes);
}

void *_ZnamSt11align_val_t(size_t bytes, size_t align) {
    return _ZnwmSt11align_val_t(bytes, align);
}

void _ZdaPv(void *block) {
    _ZdlPv(block);
}

void _ZdaPvSt11align_val_t(void *block, size_t align) {
    _ZdlPvSt11align_val_t(block, align);
}

// --- The nothrow forms
// -------------------------------------------------------------------------------------------------

// A plain form of the program's, or a handler, may throw, which C can't catch. Then the C++ library's own form is
// asked, which calls the plain one and catches.
static COLD void *cxx_library_nothrow(const char *name, size_t bytes, const void *tag) {
    void *(*next)(size_t, const void *) = (void *(*)(size_t, const void *))os_next_function(name);
    return next != NULL ? next(bytes, tag) : cxx_new_retry(bytes, BLOCK_ALIGN);
}

static COLD void *cxx_library_aligned_nothrow(const char *name, size_t bytes, size_t align, const void *tag) {
    void *(*next)(size_t, size_t, const void *) = (void *(*)(size_t, size_t, const void *))os_next_function(name);
    return next != NULL ? next(bytes, align, tag) : cxx_new_retry(bytes, align);
}

// Is the plain form that the program calls this library's?
#define IS_OURS(plain) ((plain) == (__typeof__(&(plain)))cxx_here##plain)
static void *cxx_here_Znwm(size_t bytes) __attribute__((alias("_Znwm")));
static void *cxx_here_ZnwmSt11align_val_t(size_t bytes, size_t align) __attribute__((alias("_ZnwmSt11align_val_t")));

void *_ZnwmRKSt9nothrow_t(size_t bytes, const void *tag) {
    void *block = LIKELY(IS_OURS(_Znwm)) ? call_malloc(bytes) : NULL;
    return LIKELY(block != NULL) ? block : cxx_library_nothrow("_ZnwmRKSt9nothrow_t", bytes, tag);
}

void *_ZnamRKSt9nothrow_t(size_t bytes, const void *tag) {
    void *block = LIKELY(IS_OURS(_Znwm)) ? call_malloc(bytes) : NULL;
    return LIKELY(block != NULL) ? block : cxx_library_nothrow("_ZnamRKSt9nothrow_t", bytes, tag);
}

void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t bytes, size_t align, const void *tag) {
    bool ours = IS_OURS(_ZnwmSt11align_val_t) && bits_is_power_of_two(align);
    void *block = LIKELY(ours) ? call_aligned(bytes, align) : NULL;
    const char *name = "_ZnwmSt11align_val_tRKSt9nothrow_t";
    return LIKELY(block != NULL) ? block : cxx_library_aligned_nothrow(name, bytes, align, tag);
}

void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t bytes, size_t align, const void *tag) {
    bool ours = IS_OURS(_ZnwmSt11align_val_t) && bits_is_power_of_two(align);
    void *block = LIKELY(ours) ? call_aligned(bytes, align) : NULL;
    const char *name = "_ZnamSt11align_val_tRKSt9nothrow_t";
    return LIKELY(block != NULL) ? block : cxx_library_aligned_nothrow(name, bytes, align, tag);
}

void _ZdlPvRKSt9nothrow_t(void *block, const void *tag) {
    (void)tag;
    _ZdlPv(block);
}

void _ZdaPvRKSt9nothrow_t(void *block, const void *tag) {
    (void)tag;
    _ZdaPv(block);
}

void _ZdlPvSt11align_val_tRKSt9nothrow_t(void *block, size_t align, const void *tag) {
    (void)tag;
    _ZdlPvSt11align_val_t(block, align);
}

void _ZdaPvSt11align_val_tRKSt9nothrow_t(void *block, size_t align, const void *tag) {
    (void)tag;
    _ZdaPvSt11align_val_t(block, align);
}

// --- The sized forms
// ---------------------------------------------------------------------------------------------------

void _ZdlPvm(void *block, size_t bytes) {
    (void)bytes;
    _ZdlPv(block);
}

void _ZdaPvm(void *block, size_t bytes) {
    (void)bytes;
    _ZdaPv(block);
}

void _ZdlPvmSt11align_val_t(void *block, size_t bytes, size_t align) {
    (void)bytes;
    _ZdlPvSt11align_val_t(block, align);
}

void _ZdaPvmSt11align_val_t(void *block, size_t bytes, size_t align) {
    (void)bytes;
    _ZdaPvSt11align_val_t(block, align);
}
