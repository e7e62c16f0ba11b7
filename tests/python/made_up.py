"""Programs and measurements that are made up, for the tests of hakmem bench policy."""

from pathlib import Path

from hakmem import run as runner
from hakmem.allocator import Allocator
from hakmem.intervals import Interval
from hakmem.learning import findings, rows, settings, store
from hakmem.learning.campaign import Campaign
from hakmem.learning.rows import Task

LEARNED_TEXT = "hakmem-policy 1\nprogram x\nclass 1040\nretain_min 33554432\nend\n"
SPEED = {"default": 1.0, "learning": 1.02, "learned": 0.8, "hindsight": 0.8}  # seconds
MEAN_OF_PEAK = {"learned": 0.55, "learning": 0.52}  # of runs that are filled in; the others' is half of the peak
MACHINE = {"cpu": "a processor", "cores": 2, "kernel": "6", "glibc": "2.36", "commit": "0" * 40, "time": "now"}


def interval(low, value, high):
    return Interval(value, low, high)


def head(tasks, grid, **more):
    return {"seed": 1, "seeds": [5], "groups": [], "globs": [], "grid_kind": "axes", "grid": [one.name for one in grid],
            "pairs": 4, "traces": [], "parts": False, "quick": True, "library": "/x", "sha256": "a" * 64, "machine": MACHINE,
            "rows": [{"name": task.name, "group": task.group} for task in tasks]} | more


class Program:
    """Stands for one: takes as long as its setting says, `scale` times, and writes a policy file where it learns. Phases:
    their seconds by setting."""

    def __init__(self, seconds=None, fails=(), scale=1, phases=None):
        self.seconds, self.fails, self.runs, self.stop_after = seconds or {}, fails, [], None
        self.turns = []
        self.scale, self.phases = scale, phases or {}

    def __call__(self, allocator, folder, turn):
        if self.stop_after is not None and len(self.runs) >= self.stop_after:
            raise KeyboardInterrupt
        given = allocator.environment
        self.runs.append((allocator.name, given))
        self.turns.append((turn, allocator.name))
        if given.get("HAKMEM_MODE") == "research":
            found = "site x+0x10 2097152\n" if "sites" in given["HAKMEM_LEARN_PARTS"] else ""
            Path(given["HAKMEM_POLICY"]).write_text(f"hakmem-policy 1\nprogram x\n{found}end\n")
        elif given.get("HAKMEM_MODE") == "learning" and "HAKMEM_POLICY" in given:
            has_huge = "huge" in given.get("HAKMEM_LEARN_PARTS", "")
            Path(given["HAKMEM_POLICY"]).write_text(LEARNED_TEXT.replace("class", "huge_least 0\nclass") if has_huge else LEARNED_TEXT)
        elif "HAKMEM_POLICY" in given:
            assert Path(given["HAKMEM_POLICY"]).read_text().startswith("hakmem-policy 1")
        if allocator.name in self.fails:
            return runner.Run(None, "it fell over")
        seconds = self.scale * (SPEED | self.seconds).get(allocator.name, 1.0) * (1 + len(allocator.name) / 10_000)
        report = {"seconds": seconds, "peak_kib": 1000, "mean_kib": 500.0, "operations": 1}
        if allocator.name in self.phases:
            report |= {"phase_seconds": self.phases[allocator.name], "phase_kinds": ["big/1t", "mid/4t"]}
        return runner.Run(report)


class Reader(Program):
    """Keeps the policies that it begins with, by setting and round."""

    def __init__(self):
        super().__init__()
        self.read = {}

    def __call__(self, allocator, folder, turn):
        given = allocator.environment
        if "HAKMEM_POLICY" in given and "HAKMEM_MODE" not in given:
            self.read[allocator.name, turn] = Path(given["HAKMEM_POLICY"]).read_text()
        return super().__call__(allocator, folder, turn)


GRID = settings.grid_of_axes(thin=True)


def learned_before_rounds(campaign):
    """Rows and settings: not what the rounds themselves learned."""
    return {(row, setting) for row, setting in campaign.store.learned if not setting.startswith("learned-")}


def task_of(name, program, run_for_long=None):
    return Task(name, name.partition("/")[0], program, lambda: None, run_for_long)


def made(tmp_path, program, tasks=None, kept=None, grid=GRID, **more):
    tasks = tasks or [task_of("stationary/x", program)]
    kept = kept or store.begin(tmp_path / "runs.jsonl", head(tasks, grid, **more))
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    return Campaign(tasks, Allocator("hakmem", tmp_path / "lib.so"), grid, kept.head["pairs"], kept.head["parts"], kept, work,
                    lambda *words: None, lambda *words: None)


def filled(tmp_path, seconds, memory=None, groups=rows.GROUPS, grid=GRID[:2], rounds=40):
    tasks = [task_of(f"{group}/{letter}", None) for group in groups for letter in "ab"]
    kept = store.begin(tmp_path / "runs.jsonl", head(tasks, grid, pairs=rounds))
    for task in tasks:
        names = ["default", "learning", "learned", *(arm.name for arm in grid)]
        kept.add_learned(task.name, "learned", {"x.policy": LEARNED_TEXT})
        kept.add_chosen(task.name, names)
        for turn in range(rounds):
            for place, name in enumerate(names):
                noise = 1 + ((turn * 7 + place * 3) % 11 - 5) / 2000
                kib = 1000 * (memory or {}).get(name, 1) * noise
                kept.add_run((task.name, store.PAIR, turn, name),
                             {"seconds": seconds.get(name, 1) * noise, "peak_kib": kib, "mean_kib": MEAN_OF_PEAK.get(name, 0.5) * kib}, None)
    return kept


def answers_of(kept):
    """By group and subject the verdict about the group's first question."""
    found = findings.of_rows(kept)
    return {(one.group, one.subject): one.verdict for one in findings.answers(found, findings.of_groups(kept))
            if one.question == findings.QUESTIONS[one.group][0].text}
