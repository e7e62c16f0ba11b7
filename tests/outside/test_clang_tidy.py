"""clang-tidy and the clang analyzer have nothing to say about the library (.clang-tidy names the checks)."""

import re


def flags(root):
    lines = (root / "cmake/flags.txt").read_text().splitlines()
    return [line.split()[1] for line in lines if line.startswith(("code ", "warning "))]


def test_clang_tidy_finds_nothing(root, run, tool):
    sources = sorted((root / "src").glob("*/*.c"))
    assert len(sources) > 10
    outcome = run(tool("clang-tidy"), "--quiet", *sources, "--", *flags(root), "-D_GNU_SOURCE", "-DCHECKED=1",
                  f"-I{root}/src", f"-I{root}/include", status=None)
    findings = sorted(set(re.findall(r"^.*: (?:warning|error): .*$", outcome.stdout, re.MULTILINE)))
    assert findings == [] and outcome.returncode == 0, "\n".join(findings) or outcome.stderr


def test_clang_tidy_would_find_a_null_dereference(root, run, tool, tmp_path):
    (tmp_path / "broken.c").write_text("int broken(int *p) {\n    if (p != 0)\n        return 0;\n    return *p;\n}\n")
    outcome = run(tool("clang-tidy"), "--quiet", f"--config-file={root}/.clang-tidy", tmp_path / "broken.c", "--", status=1)
    assert "NullDereference" in outcome.stdout
