"""Writes a large C++ program that leans on templates and the standard library, and knows its answer."""

PRELUDE = """
#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <future>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

template <int N> struct Chain { static constexpr long value = N + Chain<N - 1>::value; };
template <> struct Chain<0> { static constexpr long value = 0; };

template <class T, int N> struct Node : Node<T, N - 1> {
    T held{};
    long sum() const { return N + Node<T, N - 1>::sum(); }
};
template <class T> struct Node<T, 0> { long sum() const { return 0; } };
"""

PART = """
struct Type{n} {{
    int id; std::string name; std::vector<std::unique_ptr<Type{n}>> children;
    bool operator<(const Type{n} &other) const {{ return id < other.id; }}
}};

long part{n}() {{
    std::map<std::string, std::vector<std::tuple<int, std::string, std::optional<long>>>> table;
    for (int i = 0; i < 200; i++)
        table["k" + std::to_string(i % 17)].emplace_back(i, std::string(i % 60, 'x'), i % 2 ? std::optional<long>(i) : std::nullopt);
    std::unordered_map<int, std::shared_ptr<std::set<Type{n}>>> sets;
    for (int i = 0; i < 50; i++) {{
        auto &set = sets[i % 5];
        if (!set) set = std::make_shared<std::set<Type{n}>>();
        set->insert(Type{n}{{i, std::to_string(i), {{}}}});
    }}
    std::vector<std::variant<int, std::string, std::array<long, {n} % 7 + 1>>> mixed;
    for (int i = 0; i < 30; i++) {{
        if (i % 3 == 0) mixed.emplace_back(i);
        else if (i % 3 == 1) mixed.emplace_back(std::string(i, 'v'));
        else mixed.emplace_back(std::array<long, {n} % 7 + 1>{{}});
    }}
    long sum = Chain<{n} + 100>::value + Node<std::deque<Type{n}>, {n} % 20 + 5>().sum();
    for (auto &[key, rows] : table) for (auto &[number, text, maybe] : rows) sum += number + (long)text.size() + maybe.value_or(1);
    for (auto &[key, set] : sets) for (auto &element : *set) sum += element.id;
    for (auto &element : mixed)
        sum += std::visit([](auto &held) -> long {{
            if constexpr (std::is_same_v<std::decay_t<decltype(held)>, int>) return held; else return (long)held.size();
        }}, element);
    std::list<std::function<long(long)>> functions;
    for (int i = 0; i < 10; i++) functions.push_back([i, copy = std::vector<long>(i, {n})](long x) {{
        return x + i + std::accumulate(copy.begin(), copy.end(), 0L); }});
    for (auto &function : functions) sum = function(sum);
    return sum;
}}
"""

MAIN = """
int main() {
    std::vector<std::function<long()>> parts = {PARTS};
    std::vector<std::future<long>> futures;
    for (auto &part : parts) futures.push_back(std::async(std::launch::async, part));
    long sum = 0;
    for (auto &future : futures) sum += future.get();
    std::ostringstream text;
    for (int i = 0; i < 300; i++) text << "key" << i << "=value" << i * i << ";";
    std::string all = text.str();
    std::regex pattern("key(\\\\d+)=value(\\\\d*6);");
    long found = std::distance(std::sregex_iterator(all.begin(), all.end(), pattern), std::sregex_iterator());
    try { std::vector<int>().at(1); } catch (const std::out_of_range &) { sum += 1; }
    std::cout << sum << " " << found << std::endl;
}
"""


def program(parts):
    body = "".join(PART.format(n=n) for n in range(parts))
    names = ", ".join(f"part{n}" for n in range(parts))
    return PRELUDE + body + MAIN.replace("PARTS", names)


def part_answer(n):
    rows = sum(i + i % 60 + (i if i % 2 else 1) for i in range(200))
    mixed = sum((i, i, n % 7 + 1)[i % 3] for i in range(30))
    depth = n % 20 + 5
    chain = (n + 100) * (n + 101) // 2 + depth * (depth + 1) // 2
    return chain + rows + sum(range(50)) + mixed + sum(i + i * n for i in range(10))


def answer(parts):
    """The line that the program must print."""
    found = sum(1 for i in range(300) if str(i * i).endswith("6"))
    return f"{sum(part_answer(n) for n in range(parts)) + 1} {found}\n"
