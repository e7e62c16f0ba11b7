"""./hakmem run: the program runs on the library, and notices nothing else."""

import os
import shutil
import signal
import stat
import sys

import pytest

MAPS = ("grep", "-c", "libhakmem.so", "/proc/self/maps")


def line_of(process):
    """What the launcher said: exactly one line, its own."""
    lines = process.stderr_text.splitlines()
    assert len(lines) == 1 and lines[0].startswith("hakmem: "), process.stderr_text
    return lines[0]


def test_the_program_has_the_library_mapped(built_checkout):
    assert int(built_checkout.call("run", "--", *MAPS).stdout_text) > 0


def test_a_working_run_says_nothing(built_checkout):
    process = built_checkout.call("run", "--", "true")
    assert (process.stdout_text, process.stderr_text) == ("", "")


@pytest.mark.parametrize("words", [("run", "--"), ("run",), ("run", "--yes", "--"), ("run", "--yes")])
def test_ways_to_name_the_program(built_checkout, words):
    assert built_checkout.call(*words, "echo", "--", "hi").stdout_text == "-- hi\n"


def test_the_exit_status_is_the_programs(built_checkout):
    for status in (0, 1, 2, 77, 125, 255):
        built_checkout.call("run", "--", "sh", "-c", f"exit {status}", status=status)


def test_death_by_a_signal_is_the_programs(built_checkout):
    built_checkout.call("run", "--", "sh", "-c", "kill -TERM $$", status=-signal.SIGTERM)


def test_a_signal_sent_to_the_launcher_reaches_the_program(built_checkout):
    script = 'trap "echo caught; exit 9" USR1; echo ready; while :; do sleep 0.05; done'
    process = built_checkout.start("run", "--", "sh", "-c", script)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGUSR1)
    assert process.communicate(timeout=60)[0] == "caught\n" and process.returncode == 9


def test_the_program_is_the_launchers_process(built_checkout):
    process = built_checkout.start("run", "--", "sh", "-c", "echo $$")
    assert int(process.communicate(timeout=60)[0]) == process.pid


def test_stdin_and_stdout_pass_untouched_also_while_building(checkout):
    text = "".join(chr(code) for code in range(128) if code != ord("\r")) * 1000  # text mode changes returns
    assert (checkout.call("run", "--", "cat", input=text).stdout_text == text) is True  # no diff of so much


def test_arguments_pass_untouched(built_checkout):
    arguments = ["a b", "", "*", "$HOME", "--yes", "-k", "'\"\\", "new\nline"]
    script = "import sys; print(sys.argv[1:])"
    assert built_checkout.call("run", "--", sys.executable, "-c", script, *arguments).stdout_text == f"{arguments}\n"


def test_the_environment_gains_the_preload_alone(built_checkout):
    script = "import os, json; print(json.dumps(dict(os.environ)))"
    import json
    without = json.loads(built_checkout.call("-c", script, launcher=[sys.executable]).stdout_text)
    within = json.loads(built_checkout.call("run", "--", sys.executable, "-c", script).stdout_text)
    assert within.pop("LD_PRELOAD") == str(built_checkout.library)
    ignored = {"_", "PWD", "OLDPWD", "SHLVL"}  # kept by some shells
    assert {k: v for k, v in within.items() if k not in ignored} == {k: v for k, v in without.items() if k not in ignored}


def test_no_descriptor_is_left_open(built_checkout, checkout):
    for one in (built_checkout, checkout):  # the second one builds first
        listing = one.call("run", "--", "ls", "/proc/self/fd").stdout_text.split()
        assert listing == ["0", "1", "2", "3"]  # 3 is the directory that ls reads


def test_an_existing_preload_comes_second(built_checkout, checkout_at, tmp_path):
    other = checkout_at(tmp_path / "other").built().library
    shown = built_checkout.call("run", "--", "sh", "-c", "echo $LD_PRELOAD", env={"LD_PRELOAD": str(other)}).stdout_text
    assert shown == f"{built_checkout.library}:{other}\n"


def test_runs_within_runs_preload_once(built_checkout):
    inner = [str(built_checkout.launcher), "run", "--", "sh", "-c", "echo $LD_PRELOAD"]
    assert built_checkout.call("run", "--", *inner).stdout_text == f"{built_checkout.library}\n"


def test_from_another_folder_through_links_and_by_path(built_checkout, tmp_path):
    (tmp_path / "first").symlink_to(os.path.relpath(built_checkout.launcher, tmp_path))
    (tmp_path / "hakmem").symlink_to("first")
    for launcher in ([tmp_path / "hakmem"], ["./hakmem"], ["sh", "hakmem"]):
        assert int(built_checkout.call("run", *MAPS, launcher=launcher, cwd=tmp_path).stdout_text) > 0
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "CDPATH": "/tmp"}
    assert int(built_checkout.call("run", *MAPS, launcher=["env", "hakmem"], cwd="/", env=env).stdout_text) > 0


@pytest.mark.parametrize("name", ["my own tree", "a:b", "$ORIGIN", "ünï", "*", "a'b\"c", "-x", "a,b"])
def test_odd_names_of_folders(checkout_at, tmp_path, name):
    checkout = checkout_at(tmp_path / name / "tree")
    cache = tmp_path / "cache"
    for _ in range(2):
        process = checkout.call("run", "--", *MAPS, cwd=tmp_path, env={"XDG_CACHE_HOME": str(cache)})
        assert int(process.stdout_text) > 0
    assert "ERROR" not in process.stderr_text


def test_a_link_for_the_preload_is_made_where_only_we_write(checkout_at, tmp_path):
    checkout = checkout_at(tmp_path / "my tree").built()
    cache = tmp_path / "cache"
    foreign = cache / f"hakmem-{os.getuid()}"
    foreign.mkdir(parents=True)
    foreign.chmod(0o777)
    process = checkout.call("run", "--", "sh", "-c", "echo $LD_PRELOAD", env={"XDG_CACHE_HOME": str(cache)})
    assert process.stdout_text.startswith(f"/tmp/hakmem-{os.getuid()}/")
    os.unlink(process.stdout_text.strip())


@pytest.mark.parametrize("arguments", [
    (), ("frob",), ("run",), ("run", "--"), ("run", "--yes"), ("run", "--frob", "true"), ("build", "frob"),
    ("build", "--yes", "x"), ("test", "frob"), ("test", "-k"), ("--frob",)])
def test_bad_usage_gets_one_line_and_2(built_checkout, arguments):
    process = built_checkout.call(*arguments, status=2)
    assert "hakmem help" in line_of(process) and process.stdout_text == ""


def test_a_program_that_is_not_there(built_checkout):
    for name in ("no-such-program", "./no-such-program", "", "/no/such"):
        assert "no such program" in line_of(built_checkout.call("run", "--", name, status=127))


def test_a_program_that_cannot_be_executed(built_checkout, tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("#!/bin/sh\n")
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert "not executable" in line_of(built_checkout.call("run", str(plain), status=126))
    assert "not executable" in line_of(built_checkout.call("run", "plain", status=126, env=env))
    assert "directory" in line_of(built_checkout.call("run", str(tmp_path), status=126))


def test_a_program_that_is_not_there_builds_nothing(checkout):
    checkout.call("run", "--", "no-such-program", status=127)
    assert not checkout.release.exists()


def test_the_path_is_searched_as_a_shell_does(built_checkout, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        (folder / "tool").write_text(f"#!/bin/sh\necho {folder.name} $0\n")
    (second / "tool").chmod(0o755)  # the first one is not executable: passed over
    env = {"PATH": f"/nowhere:{first}::{second}:{os.environ['PATH']}"}
    assert built_checkout.call("run", "tool", env=env, cwd=tmp_path).stdout_text == f"second {second}/tool\n"
    env = {"PATH": f"{os.environ['PATH']}:"}  # empty: the current folder
    assert built_checkout.call("run", "tool", env=env, cwd=second).stdout_text.startswith("second")


def test_programs_named_like_builtins_and_functions_are_programs(built_checkout):
    assert built_checkout.call("run", "--", "echo", "-n", "x", env={"PATH": "/usr/bin:/bin"}).stdout_text == "x"
    assert "no such program" in line_of(built_checkout.call("run", "is_stale", status=127))


def test_a_script_without_interpreter_line_runs(built_checkout, tmp_path):
    script = tmp_path / "script"
    script.write_text("echo ran; exit 3\n")
    script.chmod(0o755)
    assert built_checkout.call("run", str(script), status=3).stdout_text == "ran\n"


@pytest.mark.parametrize("flags", [["-static"], ["-static-pie"]])
def test_a_static_program_is_named_and_runs(built_checkout, run, tool, tmp_path, flags):
    (tmp_path / "seven.c").write_text("int main(void) { return 7; }\n")
    run(tool("gcc"), *flags, tmp_path / "seven.c", "-o", tmp_path / "seven")
    assert "statically linked" in line_of(built_checkout.call("run", str(tmp_path / "seven"), status=7))


def test_a_setuid_program_is_named_and_runs(built_checkout, tmp_path):
    if os.getuid() != 0:
        pytest.skip("only root can make a file of somebody else's that is setuid")
    program = tmp_path / "true"
    shutil.copy("/bin/true", program)
    os.chown(program, 65534, 65534)
    program.chmod(stat.S_ISUID | 0o755)
    assert "setuid" in line_of(built_checkout.call("run", str(program)))
    os.chown(program, 0, 0)  # our own: no rights are gained, and it can be preloaded
    program.chmod(stat.S_ISUID | 0o755)
    assert built_checkout.call("run", str(program)).stderr_text == ""


@pytest.mark.parametrize("shell", ["dash", "bash", "sh"])
def test_every_shell_runs_the_launcher(checkout, tool, shell):
    launcher = [tool(shell), checkout.launcher]
    process = checkout.call("run", "--", *MAPS, launcher=launcher)
    assert int(process.stdout_text) > 0
    checkout.call("run", launcher=launcher, status=2)
    checkout.call("run", "no-such-program", launcher=launcher, status=127)


def test_shellcheck_has_nothing_to_say(root, run, tool):
    for script in ("hakmem", "tools/launcher.sh", ".ci/run"):
        run(tool("shellcheck"), root / script)


def test_help_and_version_go_to_stdout(built_checkout):
    for word in ("help", "--help", "-h"):
        text = built_checkout.call(word).stdout_text
        for command in ("run", "build", "test", "version", "help"):
            assert f"hakmem {command}" in text
    assert built_checkout.call("version").stdout_text == "hakmem 7.8.9\n"


@pytest.mark.parametrize("command", ["run", "learn", "build", "test"])
@pytest.mark.parametrize("word", ["--help", "-h"])
def test_each_command_tells_its_part_of_the_help(built_checkout, command, word):
    whole = built_checkout.call("help").stdout_text
    part = built_checkout.call(command, word)
    others = {"run", "learn", "build", "test", "bench"} - {command}
    assert part.stderr_text == "" and f"hakmem {command} [--yes" in part.stdout_text or command == "test"
    assert f"\n{command}" in part.stdout_text and not any(f"\n{other} " in part.stdout_text for other in others)
    assert all(line in whole for line in part.stdout_text.splitlines()) and "picture" in whole
