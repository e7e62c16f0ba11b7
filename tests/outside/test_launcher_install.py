"""What ./hakmem does when a compiler is missing: it names the command, asks where there is somebody to ask, and installs.

The package manager, sudo and id are scripts in a folder that is the whole PATH; installing gives that folder a gcc.
"""

import os
import pty
import select
import shutil
import signal
import time

import pytest

BASE = ("sh cat tail chmod cksum cmp cp dirname env find flock grep ln ls mkdir mktemp mv od readlink rm sed sleep sort touch tr "
        "true ar ld as").split()


class Machine:
    """A PATH without a compiler."""

    def __init__(self, folder):
        self.folder = folder
        self.log = folder.parent / "commands"
        folder.mkdir()
        for name in BASE:
            (folder / name).symlink_to(shutil.which(name))
        self.script("id", 'echo 0')

    def script(self, name, text):
        path = self.folder / name
        path.write_text(f'#!{shutil.which("sh")}\n{text}\n')
        path.chmod(0o755)
        return self

    def with_manager(self, name="apt-get", works=True):
        install = f'ln -sf {shutil.which("gcc")} {self.folder}/gcc' if works else "echo E: no such package >&2; exit 100"
        return self.script(name, f'''echo {name} "$@" >>{self.log}
            case "$*" in *install*|*-S*) {install} ;; esac''')

    def with_user(self, sudo):
        self.script("id", "echo 1000")
        if sudo:
            self.script("sudo", f'''echo sudo "$@" >>{self.log}
                [ "$1" != -n ] || shift
                {"exec" if sudo == "works" else "exit 1;"} "$@"''')
        return self

    @property
    def commands(self):
        return self.log.read_text().splitlines() if self.log.exists() else []

    @property
    def environment(self):
        return {"PATH": str(self.folder)}


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path / "bin")


def test_as_root_without_a_terminal_it_installs(checkout, machine):
    machine.with_manager()
    process = checkout.call("run", "--", "true", env={"SAY_LOADED": "1", **machine.environment})
    assert process.stderr_text.splitlines()[-1] == "loaded"
    assert "apt-get install -y --no-install-recommends gcc libc6-dev" in process.stderr_text
    assert [line.split()[0] for line in machine.commands] == ["apt-get", "apt-get"]
    assert " update" in machine.commands[0] and machine.commands[1].endswith("gcc libc6-dev")


def test_nothing_is_installed_when_nothing_is_missing(checkout, machine):
    machine.with_manager()
    (machine.folder / "cc").symlink_to(shutil.which("gcc"))
    checkout.call("run", "--", "true", env=machine.environment)
    assert machine.commands == []


def test_with_sudo(checkout, machine):
    machine.with_manager().with_user(sudo="works")
    checkout.call("build", env=machine.environment)
    assert machine.commands[0].startswith("sudo -n env DEBIAN_FRONTEND=noninteractive apt-get")


def last_line(process):
    return process.stderr_text.splitlines()[-1]


def test_with_a_sudo_that_refuses(checkout, machine):
    machine.with_manager().with_user(sudo="refuses")
    process = checkout.call("run", "--", "true", env=machine.environment, status=125)
    assert "as root, run: apt-get install -y --no-install-recommends gcc libc6-dev" in last_line(process)


def test_without_root_and_sudo_the_command_is_named(checkout, machine):
    machine.with_manager().with_user(sudo=None)
    process = checkout.call("run", "--yes", "--", "true", env=machine.environment, status=125)
    assert len(process.stderr_text.splitlines()) == 1
    assert "neither root nor have sudo" in last_line(process) and "apt-get install" in last_line(process)


def test_without_a_package_manager_the_packages_are_named(checkout, machine):
    process = checkout.call("run", "--", "true", env=machine.environment, status=125)
    assert len(process.stderr_text.splitlines()) == 1
    assert "no package manager" in last_line(process) and "gcc" in last_line(process)


def test_an_installation_that_fails_is_named(checkout, machine):
    machine.with_manager(works=False)
    process = checkout.call("build", env=machine.environment, status=1)
    assert "could not be installed" in last_line(process)


@pytest.mark.parametrize("manager, command", [
    ("dnf", "dnf install -y gcc glibc-devel"), ("zypper", "zypper --non-interactive install gcc glibc-devel"),
    ("pacman", "pacman -S --needed --noconfirm gcc")])
def test_other_package_managers(checkout, machine, manager, command):
    machine.with_manager(manager)
    checkout.call("build", env=machine.environment)
    assert machine.commands == [command]


def at_a_terminal(checkout, machine, answer, *arguments):
    """Calls the launcher with a terminal of its own; returns its exit status and what the terminal showed."""
    return with_a_terminal(["sh", str(checkout.launcher), *arguments], machine, answer)


def with_a_terminal(command, machine, answer):
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(shutil.which("sh"), command, {**machine.environment, "SAY_LOADED": "1"})
    shown, answered, end = "", False, time.monotonic() + 120
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            shown += os.read(terminal, 65536).decode()
        except OSError:
            break
        if "[Y/n]" in shown and not answered:
            answered = True
            os.write(terminal, answer.encode())
    else:
        os.kill(pid, signal.SIGKILL)
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown


@pytest.mark.parametrize("answer", ["\n", "y\n", "Yes\n"])
def test_at_a_terminal_it_asks_and_takes_yes(checkout, machine, answer):
    status, shown = at_a_terminal(checkout, machine.with_manager(), answer, "run", "--", "true")
    assert status == 0 and "loaded" in shown
    assert "Install with: apt-get install -y --no-install-recommends gcc libc6-dev [Y/n]" in shown


@pytest.mark.parametrize("answer", ["n\n", "what?\n", "\x04"])
def test_at_a_terminal_it_asks_and_takes_no(checkout, machine, answer):
    status, shown = at_a_terminal(checkout, machine.with_manager(), answer, "run", "--", "true")
    assert status == 125 and "install with: apt-get" in shown
    assert machine.commands == []


def test_yes_asks_nothing(checkout, machine):
    status, shown = at_a_terminal(checkout, machine.with_manager(), "", "run", "--yes", "--", "true")
    assert status == 0 and "[Y/n]" not in shown
    assert machine.commands != []


def test_a_terminal_that_is_there_but_not_stdin_is_asked(checkout, machine, tmp_path):
    """`hakmem run -- PROGRAM <file` asks too, and the program still gets the file."""
    given, got = tmp_path / "given", tmp_path / "got"
    given.write_text("what the program reads\n")
    status, shown = with_a_terminal(["sh", "-c", f"{checkout.launcher} run -- cat <{given} >{got}"],
                                    machine.with_manager(), "y\n")
    assert status == 0 and "[Y/n]" in shown
    assert machine.commands != []
    assert got.read_text() == given.read_text()


PACKAGE_LISTS = {
    "tests/packages.txt": "# What tests need.\nalready  here\n\nlacking  for something\n",
    "tests/programs/packages.txt": "# Programs.\ncoreprogram core no-such-program\nhasfile core /\nhasname core sed\n"
                                   "moreprogram all no-such-program\nalready core no-such-program\n",
}


@pytest.mark.parametrize("arguments, packages", [
    (("test",), "coreprogram lacking"), (("test", "--all"), "coreprogram lacking moreprogram"),
    (("test", "-k", "x"), "coreprogram lacking")])
def test_test_installs_what_is_missing_without_asking(checkout, machine, arguments, packages):
    for path, text in PACKAGE_LISTS.items():
        (checkout.path / path).parent.mkdir(parents=True, exist_ok=True)
        (checkout.path / path).write_text(text)
    machine.script("dpkg-query", 'case "$*" in *already) echo "ii " ;; *) exit 1 ;; esac').with_manager(works=False)
    status, shown = at_a_terminal(checkout, machine, "", *arguments)
    assert status == 1 and "[Y/n]" not in shown
    assert machine.commands[1].endswith(f"install -y --no-install-recommends {packages}")
    assert f"could not be installed; as root, run: apt-get install -y --no-install-recommends {packages}" in shown
