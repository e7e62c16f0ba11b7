#!/usr/bin/env python3
"""Writes docs/options.md, docs/counters.md and docs/policy.md from the tables they describe.

usage: tools/generate_docs.py [--check] [ROOT]
--check writes nothing: it names each page that differs from its table and ends with 1 when there is one.
"""

import ast
import re
import sys
from pathlib import Path
from typing import NamedTuple

MARK = "<!-- Written by tools/generate_docs.py from {table}; change the table and run it again. -->\n"


class Option(NamedTuple):
    """A row of options.def. For choices `allowed` is the list of values and `default` one of them; for sizes and numbers
    `allowed` is (least, most)."""
    name: str
    kind: str
    default: object
    allowed: object
    safe: bool
    what: str


class Counter(NamedTuple):
    name: str
    what: str


# --- reading the tables ------------------------------------------------------------------------------------------------


def rows(text):
    """(macro, arguments) of each row: strings as Python strings, the rest as source text."""
    text = re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)
    for match in re.finditer(r"^([A-Z_]+)\((.*?)\)\s*$", text, re.MULTILINE | re.DOTALL):
        yield match.group(1), [read_argument(word) for word in split_arguments(match.group(2))]


def split_arguments(text):
    words, depth, quoted, start = [], 0, False, 0
    for index, letter in enumerate(text):
        if letter == '"' and text[index - 1] != "\\":
            quoted = not quoted
        elif not quoted and letter in "()":
            depth += 1 if letter == "(" else -1
        elif not quoted and depth == 0 and letter == ",":
            words.append(text[start:index])
            start = index + 1
    return [word.strip() for word in words + [text[start:]]]


def read_argument(word):
    strings = re.findall(r'"(?:\\.|[^"\\])*"', word)
    return "".join(ast.literal_eval(string) for string in strings) if strings else word


def read_numbers(root):
    """The numbers of tuning.h by name, as source text."""
    text = (root / "src/base/tuning.h").read_text(encoding="utf-8").replace("\\\n", " ")
    return dict(re.findall(r"^#define (\w+) (.+?)\s*(?://.*)?$", text, re.MULTILINE))


def value_of(expression, numbers):
    """A C constant expression of numbers, names of tuning.h and + - * << parentheses."""
    expression = expression.replace("(size_t)", "")
    for _ in range(20):
        replaced = re.sub(r"\b[A-Z]\w+\b", lambda match: f"({numbers[match.group()].replace('(size_t)', '')})", expression)
        if replaced == expression:
            break
        expression = replaced
    if not re.fullmatch(r"[\d\s()+*<-]+", expression):
        raise ValueError(f"not a constant this script knows to compute: {expression}")
    return eval(expression, {"__builtins__": {}})  # nothing but numbers and operators is left


def read_options(root):
    numbers = read_numbers(root)
    options = []
    for macro, words in rows((root / "src/sys/options.def").read_text(encoding="utf-8")):
        name = words[0]
        if macro == "OPTION_CHOICE":
            allowed = words[2].split("|")
            options.append(Option(name, "choice", allowed[value_of(words[1], numbers)], allowed, words[3] == "1", words[4]))
        elif macro in ("OPTION_SIZE", "OPTION_NUMBER"):
            default, least, most = (value_of(word, numbers) for word in words[1:4])
            options.append(Option(name, macro[7:].lower(), default, (least, most), words[4] == "1", words[5]))
        elif macro == "OPTION_TEXT":
            options.append(Option(name, "text", "", None, words[1] == "1", words[2]))
        else:
            raise ValueError(f"options.def: {macro} is no kind of option this script knows")
    return options


def read_counters(root):
    return [Counter(*words) for macro, words in rows((root / "src/count/counters.def").read_text(encoding="utf-8"))]


def read_statistics(root):
    """The fields of struct hakmem_stats with their comments."""
    text = (root / "include/hakmem/hakmem.h").read_text(encoding="utf-8")
    body = re.search(r"struct hakmem_stats \{(.*?)\n\};", text, re.DOTALL).group(1)
    fields = re.findall(r"^\s+\w+ (\w+);[ ]*(?:// (.*))?$", body, re.MULTILINE)
    return [Counter(name, what) for name, what in fields if name != "size"]


# --- writing the pages -------------------------------------------------------------------------------------------------


def size_text(number):
    for unit in ("", " KiB", " MiB", " GiB", " TiB"):
        if number == 0 or number % 1024 or unit == " TiB":
            return f"{number}{unit or ' bytes'}" if number else "0"
        number //= 1024
    return str(number)


def allowed_text(option):
    if option.kind == "choice":
        return ", ".join(f"`{value}`" for value in option.allowed)
    if option.kind == "size":
        return f"a size from {size_text(option.allowed[0])} to {size_text(option.allowed[1])}"
    if option.kind == "number":
        return f"a whole number from {option.allowed[0]} to {option.allowed[1]}"
    return "a path or name"


def default_text(option):
    if option.kind == "text":
        return "not set"
    return size_text(option.default) if option.kind == "size" else f"`{option.default}`"


OPTIONS_HEAD = """# Options

The library reads its options once, when the program starts, from the environment:

- `HAKMEM_<NAME>=value`, the name in capitals: `HAKMEM_STATS=text`;
- `HAKMEM_OPTIONS=name=value,name=value`: several in one variable. Where both name an option, the variable of its own wins.

`HAKMEM_OPTIONS=help` lists all of them on standard error; the program runs on. Sizes are bytes, or end with `k`, `m`, `g` or
`t`. A value that is not allowed, and a name that is no option, get one line on standard error that says so; the default
stays, and the program runs.

A program that runs with raised privileges (setuid, setgid, file capabilities) ignores the options that could harm there, and
says so in one line.

| option | values | default | with raised privileges | what it does |
|---|---|---|---|---|
"""


def options_page(root):
    lines = [f"| `{option.name}` | {allowed_text(option)} | {default_text(option)} | "
             f"{'obeyed' if option.safe else 'ignored'} | {option.what} |\n" for option in read_options(root)]
    example = """
Examples:

```
HAKMEM_STATS=text ./hakmem run -- ls                                    # what ls allocated
HAKMEM_OPTIONS=on_fault=continue,stats=json ./hakmem run -- ./program   # go on after misuse, and count it
HAKMEM_FASTLANE=off ./hakmem run -- ./program                           # see a double free at the second free
```

Faults are explained in [faults.md](faults.md), the statistics in [counters.md](counters.md). From inside a program:
`hakmem_option_get` of [hakmem.h](../include/hakmem/hakmem.h).
"""
    return MARK.format(table="src/sys/options.def") + OPTIONS_HEAD + "".join(lines) + example


COUNTERS_HEAD = """# Statistics

Printed at the program's end with `HAKMEM_STATS=text` or `HAKMEM_STATS=json` (see [options.md](options.md)); from inside it by
`hakmem_stats` and `hakmem_stats_json` of [hakmem.h](../include/hakmem/hakmem.h). Everything is counted where blocks move in
bulk, between slabs and threads; malloc and free themselves count nothing. Figures are exact while no other thread allocates
or frees.

## The whole heap

Bytes where the name says so, else numbers since the program began or, for `threads`, now.

| field | what it counts |
|---|---|
"""

CLASSES_HEAD = """
The JSON form adds `fault_counts`: for each fault of [faults.md](faults.md) how often it was seen.
`big_sites` lists the call sites that asked most often for blocks from `big_threshold` on, by return address and size.
`decisions` are those in force that are not the default, by the words of [policy files](policy.md): `value`, `class`, `close`, `depth`.

`learning`, where something is learned, is its `state`; how often a state began, by `reasons`; the newest `changes` of state;
and the `history`: up to 256 rows over the whole life, further apart the longer it lasts. Times are milliseconds since learning
began, `batches` those moved so far, `stacked_bytes` all free blocks that threads keep, the decisions those in force then, and
`ratings` those of the big thresholds that `thresholds` names, while these are compared. `hakmem policy picture` draws it.

| reason | the state began because |
|---|---|
| `begun` | learning began |
| `still` | nothing moved any more: what was decided is tried, or kept where there is nothing to try |
| `restless` | it moved for too long: what was decided is tried as it is |
| `no_worse`, `worse` | the trial has ended; what was decided stays, or gives way to what was before |
| `slower` | slow calls take longer than when it froze (99th percentile) |
| `dearer` | the same costs more than when it froze |
| `sizes` | other sizes are asked for than when it froze |

`learn_look_ns` is what looks took from their first line to their last, changes of classes included, as processor time of their
threads (by the clock in a process that has confined itself, where the system can't be asked); and the opening of sampling windows.
Not in it, since no clock is read there: what the calls inside a window take more than others (`learn_windows` of 512 calls
each), and the looks at the clock themselves, one in 32 to 128 slow calls.

Where something is learned ([policy.md](policy.md)), `short_lived_permille` says how many of a thousand bytes that were asked for
in sampling windows were freed again within 256 calls of their thread, and `lifetimes` has a row for each kind of size, two kinds a
doubling: `least_bytes`, the smallest size; `freed`, blocks by the calls between request and free (0, 1, 2 to 3, 4 to 7, … 128 to
255); `kept`, those that lived on.

## Each size class

One entry for each class that was used: `block_bytes`, its block size; `out_blocks`, blocks the program has; `cached_blocks`,
free blocks that threads keep; `passed_blocks`, `slabs_made` and `slabs_returned`; and the counters:

| counter | what it counts |
|---|---|
"""


def counters_page(root):
    whole = [f"| `{field.name}` | {field.what or 'as the name says'} |\n" for field in read_statistics(root)]
    classes = [f"| `{counter.name}` | {counter.what} |\n" for counter in read_counters(root)]
    tables = "src/count/counters.def and include/hakmem/hakmem.h"
    return MARK.format(table=tables) + COUNTERS_HEAD + "".join(whole) + CLASSES_HEAD + "".join(classes)


POLICY_HEAD = """# Learning: modes, decisions, policy files

hakmem can adapt its settings to a program while it runs, keep what it learned in a file, and begin with it the next time.

```
./hakmem learn -- PROGRAM ARGS           # runs it, and keeps what suits it in ~/.local/state/hakmem
./hakmem run --learned -- PROGRAM ARGS   # begins with that; learns nothing more
./hakmem learn --policy my.policy -- PROGRAM ARGS && ./hakmem run --policy my.policy -- PROGRAM ARGS
HAKMEM_MODE=research HAKMEM_TRIAL_SHARE=1 ./hakmem learn -- PROGRAM ARGS   # compares everything: a run made for that alone
./hakmem policy show my.policy           # what was decided; why: with the evidence; diff: between two files
./hakmem policy merge -o all.policy one.policy other.policy
./hakmem policy replay my.hktrace        # what it would learn of a program that was recorded, and gain
./hakmem policy picture my.policy -o my.svg       # depths of stacks, classes
HAKMEM_STATS=json HAKMEM_STATS_FILE=left.json ./hakmem learn -- PROGRAM ARGS && ./hakmem policy picture left.json -o life.svg
```
Without the launcher: `HAKMEM_MODE=learning` learns, `HAKMEM_POLICY=FILE` names the file, or a folder if it ends with `/`.

## How it learns
Threads that come by when a look is due add up what all threads have counted where blocks move in bulk: every 10 ms when a state
begins, up to 500 ms later, and while something is learned each time the heap has doubled or hardly any of it is left. That takes
1/200 of the time at most, while a heap grows 1/50, and 1/200 of the processor time that the program takes, beyond two milliseconds
with which a short program begins; making groups huge, where that is learned, has as much again for itself. Sizes come from *sampling windows*: for 512
calls, every 20 ms, a thread's stacks look empty and full to its fast path, so that each call passes where its size is seen. Nothing
is added to the fast path; a thread that never leaves its stacks is not seen. One thread at a time also follows the blocks that it
asks for in the first half of its window: those that it frees within 256 calls are short-lived, and tell nothing of the blocks in use.

Everything is weighed in one currency, nanoseconds of processor time (`src/policy/cost.h`): a batch of blocks moved, a page
that has to be faulted in again, a page purged, and a MiB held for a second, which is worth what the option `memory_price`
says: what is learned is leaner the higher that is, and faster the lower. At its default a GiB is worth half a processor. What
a page costs is measured where the program runs, now and then (`learn/probe.h`): machines differ by two to three times.

| what | how it is decided | code |
|---|---|---|
| **CAP**: how deep each class's stacks are, and how much all may hold | twice as deep where half of the batches cost more than the blocks held; taken back where the batches did not become fewer, and down to the default where they are few, or cost less than what it does that other classes find no stack for lack of budget. The budget of all is doubled by the same rule, and all depths that may pay along with it ([decision 42](decisions/0042-room-and-depth-are-tried-together.md)), where stacks are denied for lack of it or hardly any is left, for 150 milliseconds without a break, while stacks really hold less than a quarter of what is in use, and could hold no more than what was in use all that time; it is doubled for the next run, too, where it was most of the time that it mattered. A file has a phase's depth only as far as it pays from the run's beginning to its end, and none where all of them save less than 1/200 of the processor time | `policy/depths.h`, `learn/next_depths.h` |
| **DYN**: sizes with a class of their own | where the blocks in use of a class (by what sizes are asked for and live on) are so much smaller than it that the difference is worth the class, by 128 requests or more, for the next run by 25; in the running program only while few blocks of the old class would stand beside it: while it grows, or once hardly any are left; else in its next run | `policy/classes.h` |
| **site rules**: from which size on the blocks of one call have mappings of their own; in mode research alone | the busiest calls, one after the other, of blocks above 1 MiB, play thresholds beside the default in paired windows (UCB1), judged as the tournaments' are, by the bytes that the call asks for; adopted is what is better by 3 % in the middle play, and more often than chance has it by four standard errors (sign test), then the call rests for 180 seconds. A rule of the file stays | `policy/ucb.h` |
| how much free memory is held, and how long | what came, went and came again within a quarter of the time for which holding costs as much as faulting in (all of it is 0.46 seconds at the default price where a fault takes 0.7 microseconds, more where it is dearer) is held for four times as long as that took, and for that quarter at most; how far use went up and down between two looks is known exactly. The next run begins with what this one had better held all the time | `policy/rises.h`, `policy/retention.h` |
| when other free memory goes | a MiB or more goes after an eighth of that quarter, or where much of it came back after up to all of it, when a thread looks. Once 8 MiB have been free for the whole time, or the heap of several threads has had 8 MiB for as long, or the program has slept for as long with 8 MiB free, a helper thread does it as well and looks where nobody does; later runs have the thread (`purge_delay`) if the program slept | `policy/retention.h`, `heap/helper.h` |
| what threads hold and do not use | where other free memory goes, at most ten times a second: slabs that a thread has leased, and all but the newest of the blocks in its stack, of a class that it has not used since the last time; of blocked threads, too. And the idle pages of classes that nobody uses any more | `heap/visit.h` |
| room for blocks that grow by small steps | twice as much where copying them took more than 1/64 of the time, up to their own size again | `policy/headroom.h` |
| own mappings for blocks above 1 MiB (`big_threshold`), in the next run | from the smallest of their sizes on, where these lie within a doubling and up to eight calls ask for them: then the cache serves each request with each block that was freed | `policy/spread.h` |
| huge pages from the first page on, in the next run; off by default (part `huge`) | where the heap was dense, had 8 MiB or more, and no more than a sixth of the groups in use was never touched | `learn/next_run.h` |
| huge pages for groups of large blocks whose pages are all resident, in use or not | a few neighbours at a time, in a heap of 8 MiB or more, for 1/200 of the time, in a slow call that takes some 5 ms for it; once four groups were, the next run goes on with it from the first (`collapse`), for up to 1/50 | `learn/collapsing.h`, `region/collapse.h` |
| **W_MAX**: which fixed classes there are, in the next run | those close where next larger ones would save more part-used slabs and stacks than rounding costs, that memory is worth 2 % of the time at the option `memory_price`, which at its default takes some 160 MiB a thread, and no size has a class of its own; where classes are closed, by the sizes that are seen in their place, so that it is taken back where it gains no more | `policy/tolerance.h` |
| mode `research`: `big_threshold`, `fifo_least`, `prefault`, `huge_pages` | by tournaments of values (ELO), one decision after the other, while the program does what it is about; a game is won by the value with which the whole process takes less processor time, and idle memory, for each byte that it asks for, once the value has settled | `learn/tournament.h`, `policy/elo.h` |
| how much mode `research` tries | what trying costs beyond what the same work takes without is at most 1/100 of the processor time (option `trial_share`; 1 where a search may take what it takes), by the statistics `learn_trial_ns`; a turn begins once it is paid for, the first after two seconds of it. In use and free together, the program holds a thirty-second more meanwhile than the most it did before, at most ([decision 48](decisions/0048-what-a-search-may-cost.md)) | `learn/trials.h` |

The option `learn_parts` names those that are at work, so that what each gains can be measured alone. `tournaments` and `sites` play in mode `research` alone: named in another one they get a line and do nothing. Huge pages from the first on are learned in mode
`research`, or with `learn_parts=default+huge`: they gain 3 % in one program, cost as much or more in others, and nothing the learner sees tells them apart
([decision 34](decisions/0034-huge-pages-are-not-learned.md)). Those of what large blocks have touched cost no memory ([decision 40](decisions/0040-huge-pages-for-what-large-blocks-have-touched.md)).

What it gains is measured by `hakmem bench policy`, in pairs of runs against the defaults and against every setting that could be
made by hand: [programs that do one thing](proof/stationary.md), [programs that change](proof/changing.md) (and by themselves
[two real ones](proof/traces.md), redis and then python), [programs whose sizes sit badly, and bursts](proof/memory.md), [programs
that change faster than looks come, bursts that do not return, thousands of call sites](proof/adversarial.md), and
[real programs](proof/programs.md). What each part gains by itself is on two pages, one of [programs that stay the same](proof/parts.md) and one of [programs that need too much memory](proof/parts_memory.md). Each page says of which commit it is.

## The life cycle
LEARN takes decisions until they stand still. CANARY then compares them with what was before, in pairs of windows by that
one formula, each of the two first by turns, and keeps what is not worse. FROZEN decides nothing but how much memory to hold; it looks whether slow calls have become slower (their 99th
percentile, by the P2 estimator, than in any of the first four windows in which it is known: of 500 calls or more, over several windows where they are few), all costs half as much again, or other sizes are asked for, and goes back to LEARN when they are for
three windows. In LEARN other sizes for two windows are a new phase of the program, whose beginning is looked at often again; after 1,024 windows LEARN is over all the same. Windows are
50 ms when a state begins and 2 s at most. A fork child goes on with what its parent had decided, in LEARN, and by what it does itself:
to the file it is a run of its own. A process that has confined itself since it started (seccomp) writes nothing: it may be killed
for it.

What became of it is in the [statistics](counters.md): looks and the time they took, trials won and lost, why LEARN began again, and
a history that `hakmem policy picture` draws: states, memory, stacks, batches, and the ratings of the tournament.

## What a program may notice
The helper thread is a second thread of a program that has one of its own: calls that only a process with a single thread may make
fail while there is one (`unshare(CLONE_NEWUSER)` and `setns` into a user name space: `EINVAL`). Such programs leave it out with the
option `purge_delay=0`, which what is learned doesn't change. The thread opens no files, blocks all signals, and a fork child has none.

## Modes and profiles
The option `mode` names a set of decisions to begin with, and whether anything is learned; `profile` another set on top of it.
What the user gives as an option stays as it is, whatever is learned.

| mode | learns | what it is for | differs from the defaults |
|---|---|---|---|
"""

POLICY_PROFILES = """
| profile | what it is for | differs from the mode |
|---|---|---|
"""

POLICY_DECISIONS = """
## Decisions
Each is a word that may begin a line of a policy file, with a number behind it.

| decision | default | least | most | unit | what it decides |
|---|--:|--:|--:|---|---|
"""

POLICY_TAIL = """
## The file
In a folder a file is called as the executable that the system runs, and by the beginning of its build id: `python3.11-…` for `python3`,
`redis-check-rdb-…` for `redis-server`, which is a link to it.

Text, one decision a line; written at the end of a program that learned, as a whole; several processes at once wait for each other,
and what each learned counts by its processor time, a file by ten minutes at most, so that a program that changes can change it. A file belongs to one executable: that of another
program is not used and left alone, which a program that learned something says at its end in
one line, and `hakmem run --policy` at the start, unless PROGRAM is a script. So where a command starts several programs, name a folder. A file of one that used less than a second of processor time in all, such
as a shell around the program, gives way to one that used more and learned something. That of another build is not used either, and gets the ending `.old` when this one writes its own. Whose a file is says `hakmem policy show`. A damaged file is refused with one line that says where and what, and the program runs on the defaults; if it learns, the damaged one is kept with the ending `.damaged`. Programs
with raised privileges ignore it. What can't be read, is no plain file, or whose lock another process keeps for a second is left alone, which is said; a link is followed. A program that ends by a signal, `_exit` or `quick_exit` does not reach its end: it can save before by `hakmem_policy_save`
([hakmem.h](../include/hakmem/hakmem.h)), or be asked to by a signal, which option `policy_signal` names (not new rules for call sites, then). Of what is saved again only what is new counts. It may be written by hand: evidence behind a number is optional, `#` begins a comment,
and a module's name has `%20` for a space.

```
hakmem-policy 1                                 # the format's version
program python3.11                              # the executable's name
build 6f3a0123456789abcdef                      # and build id, where it has one
runs 3                                          # learned from so many runs
seconds 41                                      # and so much processor time in all
retain_min 33554432 windows=12 gain=31 why=refaults
class 1040 windows=4 gain=102 why=rounding      # a size class of its own: at most 16
close 1280                                      # the next larger class serves this one's requests
depth 4096 48                                   # free blocks that a stack of the class may hold: 1 to 127
site libpq.so.5+0x1c20 1048576                  # blocks that this call asks for: big from this size on
end
```
Evidence: `windows`, looks in which it was weighed; `gain`, what it gained by estimate, in thousandths; `since`, seconds after the
program's start; `why`, a word that `hakmem policy why` explains.

## Without running the program
```
./hakmem trace record -o my.hktrace -- PROGRAM ARGS
./hakmem policy replay my.hktrace --seconds 4 -o my.policy
./hakmem run --policy my.policy -- PROGRAM ARGS
```
`replay` runs the library itself over a trace, by the trace's clock: the same code refills, flushes, purges, looks and decides, and
nothing but the program is missing. It does so with the defaults, while learning, and begun with what was learned (or with
`--policy FILE`, in place of learning), and sets side by side what each moved, held, purged and faulted in again, and what that costs
by the one formula. Options in the environment count as in a run. `-o` keeps what was learned.

A program of one thread that repeats itself moves exactly the batches that the defaults, or a file that it begins with, are predicted
to move ([decision 20](decisions/0020-policies-from-traces.md)); several threads, as they met in the recording, within a few percent. What is learned depends on rates, hence on the clock: a program that
is recorded is slower, and `--seconds` says how long it takes otherwise. Two runs that learn differ from each other as much as from
the replay. Not known are the time that calls take (so nothing goes back to LEARN because calls became slower, and thresholds of big
blocks are not compared), which pages are touched (all that is asked for is taken to be), and rules for call sites; a thread ends with
its last call.
"""


def policy_page(root):
    numbers = read_numbers(root)
    modes, profiles, sets = [], [], {}
    for macro, words in rows((root / "src/policy/modes.def").read_text(encoding="utf-8")):
        if macro == "SETS":
            sets.setdefault(words[0], []).append(f"`{words[1]}` {value_of(words[2], numbers)}")
        else:
            (modes if macro == "MODE" else profiles).append(words)
    learns = {"LEARN_NOTHING": "no", "LEARN_LIFE_CYCLE": "yes", "LEARN_ALWAYS": "without end"}
    text = POLICY_HEAD
    for name, learning, what in modes:
        text += f"| `{name}` | {learns[learning]} | {what} | {', '.join(sets.get(name, [])) or '–'} |\n"
    text += POLICY_PROFILES
    for name, what in profiles:
        text += f"| `{name.replace('_', '-')}` | {what} | {', '.join(sets.get(name, [])) or '–'} |\n"
    text += POLICY_DECISIONS
    for _, (name, default, least, most, unit, what) in rows((root / "src/policy/decisions.def").read_text(encoding="utf-8")):
        values = (value_of(word, numbers) for word in (default, least, most))
        text += f"| `{name}` | {' | '.join(map(str, values))} | {unit} | {what} |\n"
    return MARK.format(table="src/policy/decisions.def and modes.def") + text + POLICY_TAIL


PAGES = {"docs/options.md": options_page, "docs/counters.md": counters_page, "docs/policy.md": policy_page}


def main(arguments):
    check = "--check" in arguments
    folders = [argument for argument in arguments if argument != "--check"]
    root = Path(folders[0] if folders else Path(__file__).resolve().parents[1])
    status = 0
    for name, page in PAGES.items():
        path, text = root / name, page(root)
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        if check:
            print(f"{name}: differs from its table; run tools/generate_docs.py")
            status = 1
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
