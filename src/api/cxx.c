// The C++ allocation operators under their mangled names, in C: programs without C++ need no C++ library.
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

ALWAYS_INLINE void *cxx_new(size_t bytes) {
    void *block = call_malloc(bytes);
    return LIKELY(block != NULL) ? block : cxx_new_failed(bytes, BLOCK_ALIGN);
}

static void *cxx_new_aligned(size_t bytes, size_t align) {
    void *block = bits_is_power_of_two(align) ? call_aligned(bytes, align) : NULL;
    return LIKELY(block != NULL) ? block : cxx_new_failed(bytes, align);
}

// The nothrow forms. A handler may throw, which C can't catch: on failure the C++ library's own form is asked, which
// calls the throwing one and catches.
static COLD void *cxx_new_nothrow_failed(size_t bytes, const void *tag) {
    void *(*next)(size_t, const void *) = (void *(*)(size_t, const void *))os_next_function("_ZnwmRKSt9nothrow_t");
    return next != NULL ? next(bytes, tag) : cxx_new_retry(bytes, BLOCK_ALIGN);
}

static COLD void *cxx_new_aligned_nothrow_failed(size_t bytes, size_t align, const void *tag) {
    void *(*next)(size_t, size_t, const void *) =
        (void *(*)(size_t, size_t, const void *))os_next_function("_ZnwmSt11align_val_tRKSt9nothrow_t");
    return next != NULL ? next(bytes, align, tag) : cxx_new_retry(bytes, align);
}

static void *cxx_new_nothrow(size_t bytes, const void *tag) {
    void *block = call_malloc(bytes);
    return LIKELY(block != NULL) ? block : cxx_new_nothrow_failed(bytes, tag);
}

static void *cxx_new_aligned_nothrow(size_t bytes, size_t align, const void *tag) {
    void *block = bits_is_power_of_two(align) ? call_aligned(bytes, align) : NULL;
    return LIKELY(block != NULL) ? block : cxx_new_aligned_nothrow_failed(bytes, align, tag);
}

#define OPERATOR __attribute__((visibility("default")))

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

void *_Znwm(size_t bytes) {
    return cxx_new(bytes);
}

void *_Znam(size_t bytes) {
    return cxx_new(bytes);
}

void *_ZnwmRKSt9nothrow_t(size_t bytes, const void *tag) {
    return cxx_new_nothrow(bytes, tag);
}

void *_ZnamRKSt9nothrow_t(size_t bytes, const void *tag) {
    return cxx_new_nothrow(bytes, tag);
}

void *_ZnwmSt11align_val_t(size_t bytes, size_t align) {
    return cxx_new_aligned(bytes, align);
}

void *_ZnamSt11align_val_t(size_t bytes, size_t align) {
    return cxx_new_aligned(bytes, align);
}

void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t bytes, size_t align, const void *tag) {
    return cxx_new_aligned_nothrow(bytes, align, tag);
}

void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t bytes, size_t align, const void *tag) {
    return cxx_new_aligned_nothrow(bytes, align, tag);
}

void _ZdlPv(void *block) {
    call_free(block);
}

void _ZdaPv(void *block) {
    call_free(block);
}

void _ZdlPvRKSt9nothrow_t(void *block, const void *tag) {
    (void)tag;
    call_free(block);
}

void _ZdaPvRKSt9nothrow_t(void *block, const void *tag) {
    (void)tag;
    call_free(block);
}

void _ZdlPvm(void *block, size_t bytes) {
    (void)bytes;
    call_free(block);
}

void _ZdaPvm(void *block, size_t bytes) {
    (void)bytes;
    call_free(block);
}

void _ZdlPvSt11align_val_t(void *block, size_t align) {
    (void)align;
    call_free(block);
}

void _ZdaPvSt11align_val_t(void *block, size_t align) {
    (void)align;
    call_free(block);
}

void _ZdlPvmSt11align_val_t(void *block, size_t bytes, size_t align) {
    (void)bytes;
    (void)align;
    call_free(block);
}

void _ZdaPvmSt11align_val_t(void *block, size_t bytes, size_t align) {
    (void)bytes;
    (void)align;
    call_free(block);
}

void _ZdlPvSt11align_val_tRKSt9nothrow_t(void *block, size_t align, const void *tag) {
    (void)align;
    (void)tag;
    call_free(block);
}

void _ZdaPvSt11align_val_tRKSt9nothrow_t(void *block, size_t align, const void *tag) {
    (void)align;
    (void)tag;
    call_free(block);
}
