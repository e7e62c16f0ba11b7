// A program that defines its own plain operator new and delete: they are used everywhere, on top of the preloaded
// malloc. The forms it does not define must, as the C++ standard says, go through those it does: memory from nothrow
// new is given to plain delete, and the program's delete aborts on blocks that its new did not make.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "api_test.h" // last: cmocka defines macros with short names

namespace {

std::atomic<long> blocks_live{0}, blocks_made{0};
const std::size_t header = 64;
const unsigned char mark = 0xb7;

} // namespace

// Each block carries a mark before it, which the program's own delete looks for.
void *operator new(std::size_t size) {
    unsigned char *block = static_cast<unsigned char *>(call.malloc(size + header));
    if (block == nullptr) {
        throw std::bad_alloc();
    }
    std::memset(block, mark, header);
    blocks_live++;
    blocks_made++;
    return block + header;
}

void operator delete(void *block) noexcept {
    if (block == nullptr) {
        return;
    }
    unsigned char *start = static_cast<unsigned char *>(block) - header;
    for (std::size_t i = 0; i < header; i++) {
        if (start[i] != mark) {
            std::abort();
        }
    }
    blocks_live--;
    call.free(start);
}

void operator delete(void *block, std::size_t) noexcept {
    ::operator delete(block);
}

namespace {

void containers_use_the_programs_own_operators(void **) {
    long live = blocks_live, made = blocks_made;
    {
        std::vector<std::string> strings;
        for (int i = 0; i < 10000; i++) {
            strings.push_back(std::string(200, 'x'));
        }
        assert_true(blocks_made >= made + 10000);
        assert_true(blocks_live >= live + 10000);
    }
    assert_int_equal(blocks_live, live);
}

void the_other_forms_follow_the_plain_one(void **) {
    long live = blocks_live, made = blocks_made;
    void *(*volatile array_new)(std::size_t) = ::operator new[];
    void *(*volatile nothrow_new)(std::size_t, const std::nothrow_t &) = ::operator new;
    void (*volatile array_delete)(void *) = ::operator delete[];
    void (*volatile plain_delete)(void *) = ::operator delete;
    void *array = array_new(1000), *single = nothrow_new(100, std::nothrow);
    assert_non_null(array);
    assert_non_null(single);
    assert_int_equal(blocks_made, made + 2);
    array_delete(array);
    plain_delete(single);
    assert_int_equal(blocks_live, live);
}

// libstdc++ takes its buffer by nothrow new and gives it back by plain delete.
void a_stable_sort_takes_and_gives_its_buffer(void **) {
    long live = blocks_live, made = blocks_made;
    std::vector<int> numbers(10000);
    for (std::size_t i = 0; i < numbers.size(); i++) {
        numbers[i] = static_cast<int>(i * 7919 % 10007);
    }
    std::stable_sort(numbers.begin(), numbers.end());
    assert_true(std::is_sorted(numbers.begin(), numbers.end()));
    assert_int_equal(blocks_made, made + 2);
    assert_int_equal(blocks_live, live + 1);
}

void the_cpp_library_itself_uses_them(void **) {
    long made = blocks_made, live = blocks_live;
    {
        std::ostringstream stream;
        for (int i = 0; i < 1000; i++) {
            stream << "a line of text, number " << i << '\n';
        }
        assert_true(stream.str().size() > 20000);
    }
    assert_true(blocks_made > made);
    assert_int_equal(blocks_live, live);
}

} // namespace

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hakmem_is_in_use),
        cmocka_unit_test(containers_use_the_programs_own_operators),
        cmocka_unit_test(the_other_forms_follow_the_plain_one),
        cmocka_unit_test(a_stable_sort_takes_and_gives_its_buffer),
        cmocka_unit_test(the_cpp_library_itself_uses_them),
    };
    return cmocka_run_group_tests_name("replaced_operators", tests, NULL, NULL);
}
