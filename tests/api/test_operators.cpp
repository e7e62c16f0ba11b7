// C++ operators new and delete in all forms: they serve, they call the new handler, they throw or give NULL.
// Built with a C++ compiler and run preloaded like the C tests of this folder (test_*.cpp belongs in the glob of the
// build).
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "api_test.h" // last: cmocka defines macros with short names

namespace {

using Plain = void *(*)(std::size_t);
using Nothrow = void *(*)(std::size_t, const std::nothrow_t &);
using Aligned = void *(*)(std::size_t, std::align_val_t);
using AlignedNothrow = void *(*)(std::size_t, std::align_val_t, const std::nothrow_t &);
using Free = void (*)(void *);
using FreeNothrow = void (*)(void *, const std::nothrow_t &);
using FreeSized = void (*)(void *, std::size_t);
using FreeAligned = void (*)(void *, std::align_val_t);
using FreeAlignedNothrow = void (*)(void *, std::align_val_t, const std::nothrow_t &);
using FreeSizedAligned = void (*)(void *, std::size_t, std::align_val_t);

// Read at each call, so that the compiler can't remove pairs of new and delete.
Plain volatile plain_news[] = {::operator new, ::operator new[] };
Nothrow volatile nothrow_news[] = {::operator new, ::operator new[] };
Aligned volatile aligned_news[] = {::operator new, ::operator new[] };
AlignedNothrow volatile aligned_nothrow_news[] = {::operator new, ::operator new[] };
Free volatile frees[] = {::operator delete, ::operator delete[] };
FreeNothrow volatile nothrow_frees[] = {::operator delete, ::operator delete[] };
FreeSized volatile sized_frees[] = {::operator delete, ::operator delete[] };
FreeAligned volatile aligned_frees[] = {::operator delete, ::operator delete[] };
FreeAlignedNothrow volatile aligned_nothrow_frees[] = {::operator delete, ::operator delete[] };
FreeSizedAligned volatile sized_aligned_frees[] = {::operator delete, ::operator delete[] };

// Aligned forms are tried with SIZE_MAX on hakmem alone: some versions of libstdc++ let it overflow.
const std::size_t too_large = static_cast<std::size_t>(PTRDIFF_MAX) - 100;
const std::align_val_t alignments[] = {std::align_val_t(8),     std::align_val_t(16),     std::align_val_t(32),
                                       std::align_val_t(64),    std::align_val_t(512),    std::align_val_t(4096),
                                       std::align_val_t(65536), std::align_val_t(1 << 21)};

void expect_block(void *block, std::size_t size, std::size_t alignment) {
    assert_non_null(block);
    assert_true(is_aligned(block, alignment));
    fill_pattern(block, size, size);
    assert_true(holds_pattern(block, size, size));
}

void every_plain_form_serves(void **) {
    for (std::size_t size : interesting_sizes) {
        for (int array = 0; array < 2; array++) {
            void *block = plain_news[array](size);
            expect_block(block, size, 16);
            frees[array](block);
            block = plain_news[array](size);
            expect_block(block, size, 16);
            sized_frees[array](block, size);
            block = nothrow_news[array](size, std::nothrow);
            expect_block(block, size, 16);
            nothrow_frees[array](block, std::nothrow);
        }
    }
}

void every_aligned_form_serves(void **) {
    for (std::size_t size : interesting_sizes) {
        if (size > 2 * MIB) {
            break;
        }
        for (std::align_val_t alignment : alignments) {
            for (int array = 0; array < 2; array++) {
                std::size_t bytes = static_cast<std::size_t>(alignment);
                void *block = aligned_news[array](size, alignment);
                expect_block(block, size, bytes);
                aligned_frees[array](block, alignment);
                block = aligned_news[array](size, alignment);
                expect_block(block, size, bytes);
                sized_aligned_frees[array](block, size, alignment);
                block = aligned_nothrow_news[array](size, alignment, std::nothrow);
                expect_block(block, size, bytes);
                aligned_nothrow_frees[array](block, alignment, std::nothrow);
            }
        }
    }
}

void zero_sizes_give_blocks_that_differ(void **) {
    for (int array = 0; array < 2; array++) {
        void *first = plain_news[array](0), *second = plain_news[array](0),
             *third = aligned_news[array](0, std::align_val_t(64));
        assert_true(first != nullptr && second != nullptr && third != nullptr);
        assert_true(first != second && second != third && first != third);
        frees[array](first);
        frees[array](second);
        aligned_frees[array](third, std::align_val_t(64));
    }
}

void deleting_null_is_nothing(void **) {
    for (int array = 0; array < 2; array++) {
        frees[array](nullptr);
        nothrow_frees[array](nullptr, std::nothrow);
        sized_frees[array](nullptr, 16);
        aligned_frees[array](nullptr, std::align_val_t(64));
        aligned_nothrow_frees[array](nullptr, std::align_val_t(64), std::nothrow);
        sized_aligned_frees[array](nullptr, 16, std::align_val_t(64));
    }
}

template <typename Call> bool throws_bad_alloc(Call call_it) {
    try {
        (void)call_it();
    } catch (const std::bad_alloc &) {
        return true;
    }
    return false;
}

void failure_throws_bad_alloc(void **) {
    for (int array = 0; array < 2; array++) {
        assert_true(throws_bad_alloc([=] { return plain_news[array](too_large); }));
        assert_true(throws_bad_alloc([=] { return plain_news[array](SIZE_MAX); }));
        for (std::align_val_t alignment : alignments) {
            assert_true(throws_bad_alloc([=] { return aligned_news[array](too_large, alignment); }));
            assert_true(!hakmem_is_loaded() ||
                        throws_bad_alloc([=] { return aligned_news[array](SIZE_MAX, alignment); }));
        }
    }
}

void failure_of_nothrow_gives_null(void **) {
    for (int array = 0; array < 2; array++) {
        assert_null(nothrow_news[array](too_large, std::nothrow));
        assert_null(nothrow_news[array](SIZE_MAX, std::nothrow));
        for (std::align_val_t alignment : alignments) {
            assert_null(aligned_nothrow_news[array](too_large, alignment, std::nothrow));
            assert_true(!hakmem_is_loaded() ||
                        aligned_nothrow_news[array](SIZE_MAX, alignment, std::nothrow) == nullptr);
        }
    }
}

int handler_calls;

void give_up_at_the_third_call() {
    if (++handler_calls == 3) {
        std::set_new_handler(nullptr);
    }
}

void throw_another_exception() {
    throw std::runtime_error("no memory, says the handler");
}

void throw_bad_alloc() {
    handler_calls++;
    throw std::bad_alloc();
}

// The handler is called until it gives up, then the operator fails in its own way.
void the_new_handler_is_called_again_and_again(void **) {
    for (int array = 0; array < 2; array++) {
        handler_calls = 0;
        std::set_new_handler(give_up_at_the_third_call);
        assert_true(throws_bad_alloc([=] { return plain_news[array](too_large); }));
        assert_int_equal(handler_calls, 3);
        handler_calls = 0;
        std::set_new_handler(give_up_at_the_third_call);
        assert_true(throws_bad_alloc([=] { return aligned_news[array](too_large, std::align_val_t(64)); }));
        assert_int_equal(handler_calls, 3);
        handler_calls = 0;
        std::set_new_handler(give_up_at_the_third_call);
        assert_null(nothrow_news[array](too_large, std::nothrow));
        assert_int_equal(handler_calls, 3);
        handler_calls = 0;
        std::set_new_handler(give_up_at_the_third_call);
        assert_null(aligned_nothrow_news[array](too_large, std::align_val_t(64), std::nothrow));
        assert_int_equal(handler_calls, 3);
    }
}

void an_exception_of_the_handler_passes_through(void **) {
    std::set_new_handler(throw_another_exception);
    bool passed = false;
    try {
        (void)plain_news[0](too_large);
    } catch (const std::runtime_error &) {
        passed = true;
    }
    std::set_new_handler(nullptr);
    assert_true(passed);
}

void nothrow_turns_bad_alloc_of_the_handler_into_null(void **) {
    handler_calls = 0;
    std::set_new_handler(throw_bad_alloc);
    assert_null(nothrow_news[0](too_large, std::nothrow));
    assert_null(nothrow_news[1](too_large, std::nothrow));
    assert_null(aligned_nothrow_news[0](too_large, std::align_val_t(64), std::nothrow));
    assert_null(aligned_nothrow_news[1](too_large, std::align_val_t(64), std::nothrow));
    std::set_new_handler(nullptr);
    assert_int_equal(handler_calls, 4);
}

void new_expressions_and_containers_work(void **) {
    struct alignas(128) Wide {
        char bytes[200];
    };
    std::vector<std::string> strings;
    for (int i = 0; i < 100000; i++) {
        strings.push_back(std::string(static_cast<std::size_t>(i) % 100, 'x') + std::to_string(i));
    }
    std::vector<Wide *> wides;
    for (int i = 0; i < 1000; i++) {
        wides.push_back(new Wide[static_cast<std::size_t>(i) % 5 + 1]);
        assert_true(is_aligned(wides.back(), 128));
    }
    for (Wide *wide : wides) {
        delete[] wide;
    }
    for (std::size_t i = 0; i < strings.size(); i++) {
        assert_int_equal(std::stoi(strings[i].substr(i % 100)), i);
    }
}

// Blocks of one thread deleted by another, exceptions thrown in several threads at once.
void threads_may_fail_at_the_same_time(void **) {
    std::vector<std::thread> threads;
    std::vector<int> failures(4, 0);
    for (std::size_t t = 0; t < failures.size(); t++) {
        threads.emplace_back([t, &failures] {
            for (int i = 0; i < 1000; i++) {
                failures[t] += throws_bad_alloc([] { return plain_news[0](too_large); }) ? 1 : 0;
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    for (int count : failures) {
        assert_int_equal(count, 1000);
    }
}

} // namespace

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hakmem_is_in_use),
        cmocka_unit_test(every_plain_form_serves),
        cmocka_unit_test(every_aligned_form_serves),
        cmocka_unit_test(zero_sizes_give_blocks_that_differ),
        cmocka_unit_test(deleting_null_is_nothing),
        cmocka_unit_test(failure_throws_bad_alloc),
        cmocka_unit_test(failure_of_nothrow_gives_null),
        cmocka_unit_test(the_new_handler_is_called_again_and_again),
        cmocka_unit_test(an_exception_of_the_handler_passes_through),
        cmocka_unit_test(nothrow_turns_bad_alloc_of_the_handler_into_null),
        cmocka_unit_test(new_expressions_and_containers_work),
        cmocka_unit_test(threads_may_fail_at_the_same_time),
    };
    return cmocka_run_group_tests_name("operators", tests, NULL, NULL);
}
