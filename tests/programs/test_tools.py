"""Tools that look closely at memory: debuggers, valgrind, programs that lock their secrets into it."""

import hashlib

import pytest
from under_hakmem import library, run

pytestmark = pytest.mark.core

DEBUGGED = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct node { int number; const char *name; struct node *next; };
int main(void) {
    struct node *list = NULL;
    for (int i = 0; i < 100; i++) {
        struct node *one = malloc(sizeof *one);
        *one = (struct node){i, strdup("a name"), list};
        list = one;
    }
    puts("stop here"); // line 13
    return list->number == 99 ? 0 : 1;
}
"""


@pytest.fixture
def debugged(need, tmp_path):
    (tmp_path / "debugged.c").write_text(DEBUGGED)
    run([need("gcc"), "-g", "-O0", "-o", "debugged", "debugged.c"], cwd=tmp_path, preload=False)
    return tmp_path / "debugged"


def test_gdb_prints_and_calls_malloc_in_the_program(need, debugged, tmp_path):
    """The debugger and what it debugs both run on the library; a call from the prompt allocates there."""
    commands = ["set confirm off", "set startup-with-shell off", "set debuginfod enabled off", "break 13", "run",
                "print *list", "print list->next->next->number",
                "print ((char *)malloc(100)) != 0", "print (int)strlen(list->name)",
                "info proc mappings", "next", "continue"]
    argv = [need("gdb"), "-q", "-nx", "-batch", *(word for c in commands for word in ("-ex", c)), debugged]
    outcome = run(argv, cwd=tmp_path, env={"HOME": str(tmp_path)})
    assert 'number = 99, name = 0x' in outcome.stdout and '"a name"' in outcome.stdout and "= 97\n" in outcome.stdout
    plain = run(argv, cwd=tmp_path, env={"HOME": str(tmp_path)}, preload=False)
    if "= 6\n" in plain.stdout:  # gdb before 14 cannot call anything on processors with AMX
        assert "= 1\n" in outcome.stdout and "= 6\n" in outcome.stdout
    else:
        assert "write extended state status" in plain.stdout + plain.stderr
    assert str(library()) in outcome.stdout and "exited normally" in outcome.stdout


LEAKY = """
#include <stdlib.h>
#include <string.h>
int main(void) {
    char *kept[300];
    for (int i = 0; i < 300; i++)
        kept[i] = strcpy(malloc(100 + i), "text");
    for (int i = 1; i < 300; i++)
        free(kept[i]);
    kept[0] = calloc(1, 77);
    free(kept[0]);
    return 0;
}
"""


def test_valgrind_still_finds_a_leak(need, tmp_path):
    """Memcheck puts its own malloc in front of every library's, a preloaded one's too."""
    (tmp_path / "leaky.c").write_text(LEAKY)
    run([need("gcc"), "-g", "-O0", "-o", "leaky", "leaky.c"], cwd=tmp_path, preload=False)
    argv = [need("valgrind"), "--leak-check=full", "--error-exitcode=9", "./leaky"]
    report = run(argv, cwd=tmp_path, expect=(), status=9).stderr
    assert "definitely lost: 100 bytes in 1 blocks" in report and "ERROR SUMMARY: 1 errors" in report


@pytest.mark.parametrize("tool", ["--tool=none", "--tool=memcheck"])
def test_a_program_on_the_library_inside_valgrind(need, tool):
    """The library's own code runs translated, its reservations beside valgrind's, without an error."""
    code = """
        my %h = map { $_ => 'x' x ($_ % 300) } 1 .. 20000; delete $h{$_} for 1 .. 15000;
        print scalar(keys %h), "\\n";
        open my $m, '<', '/proc/self/maps'; print grep { index($_, $ENV{WANTED}) >= 0 } <$m>;
    """
    argv = [need("valgrind"), tool, "-q", "--error-exitcode=9",
            "--soname-synonyms=somalloc=nouserintercepts", need("perl"), "-e", code]
    lines = run(argv, expect=(), env={"WANTED": str(library())}, timeout=200).stdout.splitlines()
    assert lines[0] == "5000" and any(str(library()) in line for line in lines[1:])


def test_openssl_with_keys_in_locked_memory(need, tmp_path):
    openssl = need("openssl")

    def call(*words, **settings):
        return run([openssl, *words], cwd=tmp_path, brief=True, **settings)

    (tmp_path / "text").write_bytes(b"0123456789abcdef" * 200_000)
    for algorithm in (("RSA", "rsa_keygen_bits:2048"), ("EC", "ec_paramgen_curve:P-256"), ("ED25519", None)):
        options = ["-pkeyopt", algorithm[1]] if algorithm[1] else []
        call("genpkey", "-algorithm", algorithm[0], *options, "-out", "key")
        call("pkey", "-in", "key", "-pubout", "-out", "public")
        (tmp_path / "digest").write_bytes(hashlib.sha256(algorithm[0].encode()).digest())
        call("pkeyutl", "-sign", "-inkey", "key", "-rawin", "-in", "digest", "-out", "signature")
        answer = call("pkeyutl", "-verify", "-pubin", "-inkey", "public", "-rawin", "-in", "digest",
                      "-sigfile", "signature")
        assert "Verified Successfully" in answer.stdout
    call("enc", "-aes-256-ctr", "-pbkdf2", "-k", "secret", "-in", "text", "-out", "hidden")
    call("enc", "-d", "-aes-256-ctr", "-pbkdf2", "-k", "secret", "-in", "hidden", "-out", "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "text").read_bytes()
    digest = call("dgst", "-sha512", "text").stdout.split()[-1]
    assert digest == hashlib.sha512((tmp_path / "text").read_bytes()).hexdigest()


@pytest.mark.parametrize("kind", ["ed25519", "rsa", "ecdsa"])
def test_ssh_keygen_makes_signs_and_verifies(need, tmp_path, kind):
    keygen = need("ssh-keygen")
    run([keygen, "-q", "-t", kind, "-N", "a passphrase", "-f", "key"], cwd=tmp_path, brief=True)
    run([keygen, "-q", "-p", "-P", "a passphrase", "-N", "", "-f", "key"], cwd=tmp_path, brief=True)
    (tmp_path / "allowed").write_text("someone " + (tmp_path / "key.pub").read_text())
    (tmp_path / "text").write_text("a text\n" * 1000)
    run([keygen, "-Y", "sign", "-f", "key", "-n", "file", "text"], cwd=tmp_path, brief=True)
    verify = [keygen, "-Y", "verify", "-f", "allowed", "-I", "someone", "-n", "file", "-s", "text.sig"]
    assert "Good" in run(verify, cwd=tmp_path, stdin="a text\n" * 1000, brief=True).stdout
    run(verify, cwd=tmp_path, stdin="another text\n", status=255, brief=True)


def test_the_memory_of_a_program_is_locked(need):
    """mlockall(MCL_FUTURE): every page the allocator adds is resident at once, and nothing fails."""
    lock = "import ctypes; failed = ctypes.CDLL(None).mlockall(3)\n"
    python = need("/usr/bin/python3", "python3")
    if run([python, "-c", lock + "exit(failed != 0)"], preload=False, status=None).status:
        pytest.skip("this user may not lock memory")
    work = """
assert not failed
for _ in range(5):
    held = [bytearray(n % 5000) for n in range(50000)]
    assert not any(map(any, held[::100]))
    del held
print('locked')
"""
    assert run([python, "-c", lock + work], env={"PYTHONMALLOC": "malloc"}).stdout == "locked\n"
