"""What a record must say about the machine and the tree for a figure to mean anything later."""

import ctypes
import datetime
import hashlib
import os
import platform
import subprocess
from pathlib import Path

from hakmem.places import TREE

PR_SET_THP_DISABLE = 41


def refuse_huge_pages() -> bool:
    """No transparent huge pages for this process and those that it starts from now on; False: it can't be."""
    return ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0


def describe() -> dict:
    return {
        "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_kib": _field("/proc/meminfo", "MemTotal"),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "glibc": platform.libc_ver()[1],
        "transparent_huge_pages": _chosen("/sys/kernel/mm/transparent_hugepage/enabled"),
        "huge_page_defragmentation": _chosen("/sys/kernel/mm/transparent_hugepage/defrag"),
        "overcommit": _text("/proc/sys/vm/overcommit_memory"),
        "governor": _text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "load_before": list(os.getloadavg()),
        "commit": _git("rev-parse", "HEAD"),
        "changed_files": len((_git("status", "--porcelain", "--untracked-files=no") or "").splitlines()),
    }


def digest(library: Path | None) -> str | None:
    return hashlib.sha256(library.read_bytes()).hexdigest() if library else None


def _text(path: str) -> str | None:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def _chosen(path: str) -> str | None:
    """The word in brackets of a kernel file such as `always [madvise] never`."""
    text = _text(path)
    return text.partition("[")[2].partition("]")[0] if text else None


def _field(path: str, name: str) -> int | None:
    for line in (_text(path) or "").splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1])
    return None


def _cpu() -> str:
    for line in (_text("/proc/cpuinfo") or "").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(TREE), *arguments], capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
