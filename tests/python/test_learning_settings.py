"""The grid of fixed settings, and policy files cut into parts."""

import re

import pytest
from hakmem import places, policies
from hakmem.learning import settings

LEARNED = """hakmem-policy 1
program python3.11
build 6f3a
runs 3
seconds 41
retain_min 33554432 windows=12 gain=31 why=refaults
class 1040 windows=4 gain=102 why=rounding
# by hand
close 1280
depth 4096 48
site libpq.so.5+0x1c20 1048576
end
"""


def test_arms_of_the_big_threshold_are_those_of_the_tournament():
    text = (places.TREE / "src" / "learn" / "tournament.c").read_text()
    row = re.search(r"DECISION_big_threshold,[^{]*\{([^}]*)\}", text).group(1)
    words = row.replace("BIG_THRESHOLD_BYTES", "32 * MIB")
    assert tuple(eval(f"[{words}]", {"KIB": 1 << 10, "MIB": 1 << 20})) == settings.BIG_THRESHOLDS


def test_size_classes_are_those_of_the_library():
    classes = settings.size_classes()
    text = (places.TREE / "src" / "base" / "tuning.h").read_text()
    counts = {name: int(re.search(rf"#define CLASS_{name} (\d+)", text).group(1))
              for name in ("LINEAR_COUNT", "FINE_DOUBLINGS", "FINE_STEPS", "LARGE_DOUBLINGS", "LARGE_STEPS")}
    assert len(classes) == counts["LINEAR_COUNT"] + counts["FINE_DOUBLINGS"] * counts["FINE_STEPS"] \
        + counts["LARGE_DOUBLINGS"] * counts["LARGE_STEPS"]
    assert classes == sorted(classes) and classes[0] == 16 and classes[-1] == 1 << 20 and 1152 in classes


@pytest.mark.parametrize("most", settings.W_MAX)
def test_what_closes_wastes_no_more_than_w_max(most):
    closed = set(settings.closed_within(most))
    kept = [size for size in settings.size_classes() if size not in closed]
    for before, size in zip(kept, kept[1:], strict=False):
        served = [one for one in closed if before < one < size]
        assert not served or size <= most * (before + 1)
    assert not any(size & (size - 1) == 0 for size in closed)  # powers of two stay


def test_more_waste_closes_no_fewer_classes():
    counts = [len(settings.closed_within(most)) for most in settings.W_MAX]
    assert counts == sorted(counts) and counts[0] > 0 and settings.closed_within(1.0) == []


def test_every_policy_file_of_the_grid_is_one(tmp_path):
    for arm in settings.grid_of_axes():
        variables = arm.variables(tmp_path)
        if arm.lines:
            assert len(policies.read(tmp_path / f"{arm.name}.policy").lines) == len(arm.lines)
            assert variables == {"HAKMEM_POLICY": str(tmp_path / f"{arm.name}.policy")}
        else:
            assert variables and "HAKMEM_POLICY" not in variables


def test_axes_have_each_arm_alone_and_no_default():
    names = [arm.name for arm in settings.grid_of_axes()]
    assert len(names) == len(set(names)) == sum(map(len, settings.AXES.values()))
    assert "big_threshold=32m" not in names and "big_threshold=1536k" in names and "profile=c6-heavy" in names


def test_thin_axes_have_the_ends_of_each():
    assert len(settings.grid_of_axes(thin=True)) == 2 * len(settings.AXES)


def test_the_full_grid_is_the_product_with_modes_and_profiles_beside_it():
    made = settings.grid_in_full()
    product = 1
    for name, arms in settings.AXES.items():
        product *= 1 if name in settings.WHOLE else len(arms) + 1
    assert len({one.name for one in made}) == len(made) == product - 1 + 6
    some = next(one for one in made if one.name == "big_threshold=1m+retain=64m+stacks=4m+huge_pages=on+w_max=1.50")
    assert dict(some.options) == {"HAKMEM_BIG_THRESHOLD": "1m", "HAKMEM_RETAIN_MIN": str(64 << 20), "HAKMEM_RETAIN_SHARE": "8",
                                  "HAKMEM_HUGE_PAGES": "on"}
    assert some.lines[:2] == (f"thread_bytes {4 << 20}", f"all_threads_bytes {32 << 20}") and len(some.lines) > 2


def test_the_sampled_grid_has_all_axes_and_points_of_the_product_that_its_seed_draws():
    made = settings.grid_sampled(1)
    axes, whole = settings.grid_of_axes(), {one.name: one for one in settings.grid_in_full()}
    assert made[:len(axes)] == axes and len(made) == len({one.name for one in made}) == len(axes) + settings.SAMPLED
    assert all(whole[one.name] == one for one in made)
    assert made == settings.grid_sampled(1) != settings.grid_sampled(2)


def test_options_of_the_grid_are_options_of_the_library():
    text = (places.TREE / "src" / "sys" / "options.def").read_text()
    known = {f"HAKMEM_{name.upper()}" for name in re.findall(r"^OPTION_\w+\((\w+),", text, re.MULTILINE)}
    arms = [*settings.grid_of_axes(), settings.LEARNING, *settings.learning_by_parts()]
    assert {name for arm in arms for name, _ in arm.options} <= known


def test_every_kind_of_line_is_in_one_part():
    words = [*(word for its in settings.PARTS.values() for word in its), *settings.RESEARCHED["sites"]]
    assert sorted(words) == sorted([*policies.decisions(), "class", "close", "depth", "site"])
    assert set(settings.PARTS_OFF) | set(settings.PARTS_ON) <= set(settings.PARTS)
    assert not set(settings.PARTS_OFF) & set(settings.PARTS_ON)
    assert not set(settings.RESEARCHED) & set(settings.PARTS)


def test_what_the_tournaments_decide_is_what_elo_consists_of():
    source = (places.TREE / "src/learn/tournament.c").read_text()
    assert sorted(re.findall(r"\{DECISION_(\w+),", source)) == sorted(settings.RESEARCHED["elo"])


def test_a_part_alone_and_all_but_it_are_the_whole(tmp_path):
    assert settings.parts_in(LEARNED) == ["cap", "dyn", "w_max", "retention"]
    for part in [*settings.parts_in(LEARNED), "sites"]:
        alone, rest = settings.only_part(LEARNED, part), settings.without_part(LEARNED, part)
        assert sorted(settings.decisions_in(alone) + settings.decisions_in(rest)) == sorted(settings.decisions_in(LEARNED))
        assert settings.decisions_in(alone)
        for text in (alone, rest):
            file = tmp_path / "part.policy"
            file.write_text(text)
            assert policies.read(file).program == "python3.11"


def test_a_part_of_another_file_is_added_or_replaced(tmp_path):
    other = LEARNED.replace("class 1040", "class 2064").replace("retain_min", "huge_least 0 windows=2 why=dense\nretain_min")
    added = settings.with_part(LEARNED, "huge_pages", other)
    assert settings.decisions_in(added) == [*settings.decisions_in(LEARNED), "huge_least 0 windows=2 why=dense"]
    assert settings.decisions_in(settings.with_part(LEARNED, "dyn", other))[-1].startswith("class 2064")
    assert "class 1040" not in settings.with_part(LEARNED, "dyn", other)
    assert settings.with_part(LEARNED, "huge_pages", LEARNED) == settings.with_part(LEARNED, "huge_pages", "") == LEARNED
    file = tmp_path / "part.policy"
    file.write_text(added)
    assert len(policies.read(file).lines) == len(settings.decisions_in(added))


def test_what_was_learned_is_named_as_a_file_or_a_folder(tmp_path):
    (tmp_path / "one.policy").touch()
    assert settings.learned_from("learned", tmp_path / "one.policy")["HAKMEM_POLICY"].endswith("one.policy")
    assert settings.learned_from("learned", tmp_path)["HAKMEM_POLICY"].endswith("/")


def test_parts_of_the_learner_are_those_that_it_has():
    source = (places.TREE / "src/learn/parts.h").read_text()
    names = re.findall(r" PART\((\w+)\)", source.partition("enum part")[0])
    assert names == list(settings.ALL_LEARNERS)


def test_what_does_something_while_a_program_runs_can_be_left_out_of_learning():
    by_default = set(settings.ALL_LEARNERS) - {"huge", "tournaments", "sites"}
    left_out = {part: by_default ^ set(options["HAKMEM_LEARN_PARTS"].split("+"))
                for part, options in settings.PARTS_OFF.items() if "HAKMEM_LEARN_PARTS" in options}
    assert left_out == {"cap": {"depths"}, "dyn": {"classes"}, "retention": {"memory"}, "collapse": {"collapse"},
                        "realloc": {"headroom"}}
    assert settings.PARTS_ON == {"huge_pages": {"HAKMEM_LEARN_PARTS": "default+huge"}}


def test_what_mode_research_alone_learns_is_learned_by_its_part_alone():
    made = settings.that_learn_more()
    assert set(made) == {"huge_pages", "elo", "sites"}
    for part in settings.RESEARCHED:
        given = dict(made[part].options)
        assert given["HAKMEM_MODE"] == "research" and given["HAKMEM_LEARN_PARTS"] in settings.ALL_LEARNERS
        assert given["HAKMEM_TRIAL_SHARE"] == "1"
