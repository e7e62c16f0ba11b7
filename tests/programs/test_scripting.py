"""Perl, Ruby, PHP and Lua: hashes, strings, collectors, regular expressions, with a known checksum."""

import pytest
from under_hakmem import program, run

CHECKSUMS = {
    "load.pl": "70c0ef0a8c1248846a643a0062994b91",
    "load.rb": "d4c26426e86d4cf3f509b51dc6d04b71",
    "load.php": "c4b4f89e4e9dbb26a85080015e11007d",
}
LUA_OUTPUT = """7620 1973175ce13d7b50 d6190fa75a98df31 600050000 5f5e0e7c9f1f7c8e
7697 cc0d88db3434e9ca d6190fa75a98df31 600050000 2408b77dbd006c3c
true"""


def check(command, source, name):
    assert run([*command, source(name)]).stdout.strip() == CHECKSUMS[name]


@pytest.mark.core
def test_perl(need, source):
    check([need("perl")], source, "load.pl")


def test_ruby(need, source):
    check([need("ruby")], source, "load.rb")


def test_php_without_modules(need, source):
    check([need("php"), "-n"], source, "load.php")


def test_php_with_modules(need, source):
    """Debian's PHP opens its modules with RTLD_DEEPBIND: their malloc and free look past a preload."""
    check([need("php")], source, "load.php")


@pytest.mark.learns
@pytest.mark.core
def test_lua(need, source):
    lua = need("lua5.4", "lua")
    assert run([lua, source("load.lua")]).stdout.strip() == LUA_OUTPUT


@pytest.mark.learns
@pytest.mark.core
def test_perl_with_threads_and_many_forks(need):
    """Each child frees and allocates what its parent had; Perl's ithreads clone the interpreter."""
    code = """
        use threads;
        my %held = map { $_ => 'x' x $_ } 1 .. 2000;
        my @t = map { my $n = $_; threads->create(sub {
            my $s = 0; for (1 .. 300) { $held{$_} .= $n; $s += length $held{$_} } $s }) } 1 .. 8;
        my $sum = 0; $sum += $_->join for @t;
        for my $c (1 .. 100) {
            my $pid = fork // die; next if $pid;
            delete $held{$_} for 1 .. 1000; my @more = map { "y" x $_ } 1 .. 500; exit(@more / 5);
        }
        my $ok = 0; while ((my $pid = wait) > 0) { $ok++ if $? >> 8 == 100 }
        print "$sum $ok\\n";
    """
    perl = need("perl")
    if run([perl, "-Mthreads", "-e", "1"], preload=False, status=None).status != 0:
        pytest.skip("this perl has no threads")
    expected_sum = 8 * (sum(range(1, 301)) + 300)
    assert run([perl, "-e", code]).stdout == f"{expected_sum} 100\n"


@pytest.mark.core
def test_the_interpreter_named_by_a_script_is_on_the_library(need, tmp_path):
    script = tmp_path / "script"
    script.write_text(f"#!{need('perl')}\nsleep 1; print 'ran';\n")
    script.chmod(0o755)
    name = program(need("perl")).rsplit("/", 1)[1]
    assert run([script], expect={name}).stdout == "ran"
