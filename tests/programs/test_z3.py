"""Z3 decides problems whose answers are known from mathematics."""

import re

import pytest
from under_hakmem import run


def pigeons(holes):
    """One pigeon more than holes: unsatisfiable, and the proof is long."""
    lines = [f"(declare-const p{i}_{h} Bool)" for i in range(holes + 1) for h in range(holes)]
    lines += ["(assert (or " + " ".join(f"p{i}_{h}" for h in range(holes)) + "))"
              for i in range(holes + 1)]
    lines += [f"(assert (not (and p{i}_{h} p{j}_{h})))"
              for h in range(holes) for i in range(holes + 1) for j in range(i)]
    return "\n".join(lines) + "\n(check-sat)\n"


def queens(count):
    """Queens on a board, as integers; satisfiable from four on, and the model can be checked."""
    lines = [f"(declare-const q{i} Int)(assert (and (>= q{i} 0) (< q{i} {count})))" for i in range(count)]
    lines += [f"(assert (and (not (= q{i} q{j})) (not (= (- q{i} q{j}) {i - j})) (not (= (- q{j} q{i}) {i - j}))))"
              for i in range(count) for j in range(i)]
    return "\n".join(lines) + "\n(check-sat)\n(get-value (" + " ".join(f"q{i}" for i in range(count)) + "))\n"


FACTORS = """
(declare-const a (_ BitVec 32))(declare-const b (_ BitVec 32))
(assert (bvugt a #x00000001))(assert (bvugt b #x00000001))
(assert (bvult a #x00004000))(assert (bvult b #x00004000))
(assert (= (bvmul a b) {product}))(check-sat)
"""

ARRAYS = """
(declare-const a (Array Int Int))(declare-const b (Array Int Int))(declare-const i Int)(declare-const j Int)
(assert (= b (store (store a i 1) j 2)))
(assert (not (= i j)))(assert (not (= (+ (select b i) (select b j)) 3)))(check-sat)
"""

SQUARES = "(declare-const x Real)(assert (< (* x x) (- 1)))(check-sat)\n"

def small_questions(count):
    """About an unknown function, asked and taken back: every other one contradicts itself."""
    lines = ["(declare-fun f (Int) Int)(declare-const x Int)"]
    for i in range(count):
        same = f"(assert (= x {i}))" if i % 2 else ""
        lines.append(f"(push)(assert (= (f x) {i}))(assert (= (f {i}) {i + 1})){same}(check-sat)(pop)")
    return "\n".join(lines)


def solve(need, tmp_path, problem, *options):
    path = tmp_path / "problem.smt2"
    path.write_text(problem)
    return run([need("z3"), *options, path], timeout=300).stdout


def test_pigeons_do_not_fit(need, tmp_path):
    assert solve(need, tmp_path, pigeons(9)) == "unsat\n"


def test_pigeons_do_not_fit_by_several_threads(need, tmp_path):
    assert solve(need, tmp_path, pigeons(7), "parallel.enable=true", "sat.threads=3") == "unsat\n"


def test_queens_do_not_attack_each_other(need, tmp_path):
    import re
    first, rest = solve(need, tmp_path, queens(20)).split("\n", 1)
    assert first == "sat"
    at = {int(i): int(row) for i, row in re.findall(r"\(q(\d+) (\d+)\)", rest)}
    assert len(at) == 20 and len(set(at.values())) == 20
    assert len({i + row for i, row in at.items()}) == 20 == len({i - row for i, row in at.items()})


@pytest.mark.parametrize("product, answer", [("#x03fffffb", "unsat"), ("#x0ff68069", "sat")])
def test_numbers_are_factored(need, tmp_path, product, answer):
    assert solve(need, tmp_path, FACTORS.format(product=product)) == answer + "\n"


def test_arrays_and_reals(need, tmp_path):
    assert solve(need, tmp_path, ARRAYS + "(reset)" + SQUARES) == "unsat\nunsat\n"


def test_many_small_questions(need, tmp_path):
    answers = solve(need, tmp_path, small_questions(500)).split()
    assert answers == ["unsat" if i % 2 else "sat" for i in range(500)]
