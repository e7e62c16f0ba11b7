"""The programs, their inputs, and what they must answer."""

import sys
from pathlib import Path

from hakmem.places import TREE
from hakmem.programs.running import SCRIPTS, Program, Subject
from hakmem.programs.servers import PostgreSQL, Redis, postgresql_program

TEMPLATES = "templates.py"  # needs a template engine, which this environment has


def _cpp(folder: Path) -> Path:
    """The large program of the tests: templates and the standard library."""
    file = folder / "large.cpp"
    if not file.exists():
        sys.path.insert(0, str(TREE / "tests" / "programs"))
        import generate_cpp  # noqa: PLC0415 (a neighbour of the tests, not of this package)
        file.write_text(generate_cpp.program(10))
    return file


def _rust(folder: Path) -> Path:
    """Structs, enums, traits, generics and closures, as many as keep the compiler busy for some seconds."""
    file = folder / "large.rs"
    lines = ["use std::collections::{BTreeMap, HashMap};", "use std::fmt;",
             "trait Shape { fn area(&self) -> f64; fn name(&self) -> String; }"]
    for i in range(10):
        lines.append(f"""#[derive(Clone, Debug, PartialEq, PartialOrd)] pub struct S{i} {{ a: f64, b: Vec<u32>, c: Option<String> }}
impl Shape for S{i} {{ fn area(&self) -> f64 {{ self.a * {i}.5 + self.b.iter().map(|x| *x as f64).sum::<f64>() }}
    fn name(&self) -> String {{ format!("s{i} {{}} {{:?}}", self.a, self.c) }} }}
impl fmt::Display for S{i} {{ fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {{ write!(f, "{{}}", self.name()) }} }}
pub fn f{i}(n: u32) -> BTreeMap<String, S{i}> {{
    let mut map = HashMap::new();
    for k in 0..n {{ map.insert(format!("{{}}-{{}}", k % 7, k), S{i} {{ a: k as f64, b: (0..k % 9).collect(), c: (k % 2 == 0).then(|| k.to_string()) }}); }}
    map.into_iter().filter(|(key, value)| key.len() > 2 && value.area() > 1.0).collect()
}}""")
    calls = " ".join(f"for (key, one) in f{i}(20) {{ total += one.area(); text.push_str(&key); shapes.push(Box::new(one)); }}"
                     for i in range(10))
    lines.append(f"fn main() {{ let mut total = 0.0; let mut text = String::new(); let mut shapes: Vec<Box<dyn Shape>> = "
                 f"Vec::new(); {calls} println!(\"{{}} {{}} {{}}\", total, text.len(), shapes.len()); }}")
    file.write_text("\n".join(lines))
    return file


def _questions(folder: Path) -> Path:
    """Small questions about an unknown function, then pigeons that don't fit their holes."""
    file = folder / "questions.smt2"
    lines = ["(declare-fun f (Int) Int)(declare-const x Int)"]
    for i in range(4000):
        same = f"(assert (= x {i}))" if i % 2 else ""
        lines.append(f"(push)(assert (= (f x) {i}))(assert (= (f {i}) {i + 1})){same}(check-sat)(pop)")
    holes = 8
    lines += [f"(declare-const p{i}_{h} Bool)" for i in range(holes + 1) for h in range(holes)]
    lines += ["(assert (or " + " ".join(f"p{i}_{h}" for h in range(holes)) + "))" for i in range(holes + 1)]
    lines += [f"(assert (not (and p{i}_{h} p{j}_{h})))" for h in range(holes) for i in range(holes + 1) for j in range(i)]
    file.write_text("\n".join(lines) + "\n(check-sat)\n")
    return file


PROGRAMS: list[Subject] = [
    Redis(),
    PostgreSQL(executable=postgresql_program("postgres")),
    Program("python", "python3", "/usr/bin/python3", ("{scripts}/objects.py",), "9502240 20000 208889 42088 196596"),
    Program("python-json", "python3", "/usr/bin/python3", ("{scripts}/json_there_and_back.py",),
            "15 rounds, 12030 records, 1455750 sum"),
    Program("python-regex", "python3", "/usr/bin/python3", ("{scripts}/regular_expressions.py",), "60000 49890 10110 60803"),
    Program("python-templates", "python3", sys.executable, ("{scripts}/" + TEMPLATES,), "60 pages"),
    Program("node", "nodejs", "node", ("{scripts}/objects.js",), "196596 300000 1000000 ok"),
    Program("sqlite", "sqlite3", "sqlite3", (":memory:",), "5003|300000\n22513\n833357\n9999\n150000|item 99998",
            lambda folder: SCRIPTS / "tables.sql", reads_input=True),
    Program("lua", "lua5.4", "lua5.4", ("{scripts}/trees.lua",), "1572840\t1977789\t100003"),
    Program("ghostscript", "ghostscript", "gs", ("-q", "-dBATCH", "-dNOPAUSE", "-dSAFER", "-r300", "-sDEVICE=ppmraw",
                                                 "-sOutputFile={folder}/page%d.ppm", "{scripts}/pages.ps"), "12 pages drawn"),
    Program("clang", "clang", "clang++", ("-O1", "-std=c++17", "-c", "{input}", "-o", "{folder}/large.o"), "", _cpp),
    Program("rustc", "rustc", "/usr/bin/rustc", ("--edition", "2021", "-C", "opt-level=1", "{input}", "-o", "{folder}/large"), "",
            _rust),
    Program("z3", "z3", "z3", ("{input}",), "unsat", _questions),
]
