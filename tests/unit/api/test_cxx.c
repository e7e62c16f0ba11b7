// The C++ operators by their mangled names, in a program without C++: the new handler and the exception are this
// program's own.
#include "unit/unit.h"

#include "unit/api/calls.h"

extern void *_Znwm(size_t);
extern void *_Znam(size_t);
extern void *_ZnwmRKSt9nothrow_t(size_t, const void *);
extern void *_ZnamRKSt9nothrow_t(size_t, const void *);
extern void *_ZnwmSt11align_val_t(size_t, size_t);
extern void *_ZnamSt11align_val_t(size_t, size_t);
extern void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t, size_t, const void *);
extern void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t, size_t, const void *);
extern void _ZdlPv(void *);
extern void _ZdaPv(void *);
extern void _ZdlPvRKSt9nothrow_t(void *, const void *);
extern void _ZdaPvRKSt9nothrow_t(void *, const void *);
extern void _ZdlPvm(void *, size_t);
extern void _ZdaPvm(void *, size_t);
extern void _ZdlPvSt11align_val_t(void *, size_t);
extern void _ZdaPvSt11align_val_t(void *, size_t);
extern void _ZdlPvmSt11align_val_t(void *, size_t, size_t);
extern void _ZdaPvmSt11align_val_t(void *, size_t, size_t);
extern void _ZdlPvSt11align_val_tRKSt9nothrow_t(void *, size_t, const void *);
extern void _ZdaPvSt11align_val_tRKSt9nothrow_t(void *, size_t, const void *);

static const char nothrow;

// ---- what the C++ library would have

typedef void (*new_handler)(void);
static new_handler handler;
static unsigned handler_calls;
static jmp_buf thrown;

new_handler get_new_handler(void) __asm__("_ZSt15get_new_handlerv");
new_handler get_new_handler(void) {
    return handler;
}

void throw_bad_alloc(void) __asm__("_ZSt17__throw_bad_allocv");
void throw_bad_alloc(void) {
    longjmp(thrown, 1);
}

static void give_up_at_the_third_call(void) {
    if (++handler_calls == 3)
        handler = NULL;
}

// ---- tests

static void expect_block(void *block, size_t bytes, size_t align) {
    assert_true(window_contains(block));
    assert_int_equal((uintptr_t)block % align, 0);
    assert_true(call_usable_bytes(block) >= bytes);
    fill_pattern(block, bytes, 1);
}

static void every_form_of_new_and_delete_serves(void **state) {
    void *block;
    (void)state;
    for (size_t bytes = 0; bytes < 100000; bytes = bytes * 3 + 1) {
        block = _Znwm(bytes), expect_block(block, bytes, 16), _ZdlPv(block);
        block = _Znam(bytes), expect_block(block, bytes, 16), _ZdaPv(block);
        block = _ZnwmRKSt9nothrow_t(bytes, &nothrow), expect_block(block, bytes, 16),
        _ZdlPvRKSt9nothrow_t(block, &nothrow);
        block = _ZnamRKSt9nothrow_t(bytes, &nothrow), expect_block(block, bytes, 16),
        _ZdaPvRKSt9nothrow_t(block, &nothrow);
        block = _Znwm(bytes), _ZdlPvm(block, bytes);
        block = _Znam(bytes), _ZdaPvm(block, bytes);
        for (size_t align = 1; align <= 8192; align *= 8) {
            block = _ZnwmSt11align_val_t(bytes, align), expect_block(block, bytes, align);
            _ZdlPvSt11align_val_t(block, align);
            block = _ZnamSt11align_val_t(bytes, align), expect_block(block, bytes, align);
            _ZdaPvSt11align_val_t(block, align);
            block = _ZnwmSt11align_val_tRKSt9nothrow_t(bytes, align, &nothrow), expect_block(block, bytes, align);
            _ZdlPvSt11align_val_tRKSt9nothrow_t(block, align, &nothrow);
            block = _ZnamSt11align_val_tRKSt9nothrow_t(bytes, align, &nothrow), expect_block(block, bytes, align);
            _ZdaPvSt11align_val_tRKSt9nothrow_t(block, align, &nothrow);
            block = _ZnwmSt11align_val_t(bytes, align), _ZdlPvmSt11align_val_t(block, bytes, align);
            block = _ZnamSt11align_val_t(bytes, align), _ZdaPvmSt11align_val_t(block, bytes, align);
        }
    }
    _ZdlPv(NULL), _ZdaPv(NULL), _ZdlPvm(NULL, 5), _ZdlPvSt11align_val_t(NULL, 64);
    heap_empty(heap_mine());
    assert_int_equal(faults_so_far(), 0);
}

// A volatile flag: it must keep its value over longjmp.
#define assert_throws(statement)        \
    do {                                \
        volatile bool did_throw = true; \
        if (setjmp(thrown) == 0) {      \
            statement;                  \
            did_throw = false;          \
        }                               \
        assert_true(did_throw);         \
    } while (0)

static void without_memory_and_handler_the_plain_forms_throw(void **state) {
    (void)state;
    handler = NULL;
    for (volatile size_t i = 0; i < COUNT_OF(impossible_sizes); i++) { // it must keep its value over longjmp
        assert_throws(_Znwm(impossible_sizes[i]));
        assert_throws(_Znam(impossible_sizes[i]));
        assert_throws(_ZnwmSt11align_val_t(impossible_sizes[i], 64));
        assert_throws(_ZnamSt11align_val_t(impossible_sizes[i], 64));
    }
    assert_throws(_ZnwmSt11align_val_t(100, 3)); // no alignment
}

static void the_handler_is_called_until_there_is_memory_or_none_left(void **state) {
    (void)state;
    handler_calls = 0;
    handler = give_up_at_the_third_call;
    assert_throws(_Znwm(SIZE_MAX));
    assert_int_equal(handler_calls, 3);
    handler_calls = 0;
    handler = give_up_at_the_third_call;
    assert_throws(_ZnamSt11align_val_t(SIZE_MAX, 64));
    assert_int_equal(handler_calls, 3);
}

static void the_nothrow_forms_return_null(void **state) {
    (void)state;
    handler = NULL;
    if (setjmp(thrown) != 0)
        fail_msg("a nothrow form has thrown");
    assert_null(_ZnwmRKSt9nothrow_t(SIZE_MAX, &nothrow));
    assert_null(_ZnamRKSt9nothrow_t(SIZE_MAX, &nothrow));
    assert_null(_ZnwmSt11align_val_tRKSt9nothrow_t(SIZE_MAX, 64, &nothrow));
    assert_null(_ZnamSt11align_val_tRKSt9nothrow_t(SIZE_MAX, 64, &nothrow));
    assert_null(_ZnwmSt11align_val_tRKSt9nothrow_t(100, 3, &nothrow));
    handler_calls = 0;
    handler = give_up_at_the_third_call;
    assert_null(_ZnwmRKSt9nothrow_t(SIZE_MAX, &nothrow));
    assert_int_equal(handler_calls, 3);
}

static struct rlimit unlimited;
static unsigned freed_by_handler;

static void raise_the_limit(void) {
    freed_by_handler++;
    setrlimit(RLIMIT_AS, &unlimited);
}

static void new_under_a_limit(void *context) {
    (void)context;
    MUST(getrlimit(RLIMIT_AS, &unlimited) == 0);
    struct rlimit limit = {64 * MIB, unlimited.rlim_max};
    MUST(setrlimit(RLIMIT_AS, &limit) == 0);
    handler = raise_the_limit;
    void *block = _Znwm(200 * MIB); // at first there is no room
    MUST(block != NULL && freed_by_handler == 1);
    _ZdlPv(block);
}

static void a_handler_that_finds_memory_is_called_once(void **state) {
    (void)state;
    child_must_succeed(new_under_a_limit, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_of_new_and_delete_serves),
        cmocka_unit_test(without_memory_and_handler_the_plain_forms_throw),
        cmocka_unit_test(the_handler_is_called_until_there_is_memory_or_none_left),
        cmocka_unit_test(the_nothrow_forms_return_null),
        cmocka_unit_test(a_handler_that_finds_memory_is_called_once),
    };
    return cmocka_run_group_tests_name("cxx", tests, start_calls, NULL);
}
