"""A log searched, taken apart and rewritten by regular expressions."""

import re

lines = [f"2026-03-{i % 28 + 1:02d} 12:{i % 60:02d}:00 host{i % 7} app[{i}]: "
         f"{'ERROR' if i % 9 == 0 else 'info'} user=u{i % 1000} took {i % 777}ms path=/a/{i % 50}/b?q={i}" for i in range(60000)]
log = "\n".join(lines)
entry = re.compile(r"(?P<date>\d{4}-\d\d-\d\d) (?P<time>[\d:]+) (?P<host>\w+) app\[(?P<id>\d+)\]: (?P<rest>.*)")
entries = [entry.match(line).groupdict() for line in lines]
slow = re.findall(r"took ([3-9]\d\d|2[3-9]\d|1\d\d)ms", log)
hidden = re.sub(r"user=(u\d+)", lambda match: "user=" + "*" * len(match.group(1)), log)
fast = [line for line in hidden.split("\n") if re.search(r"(?<=took )(\d|\d\d|2[0-2]\d)ms", line)]
words = {}
for word in re.split(r"\W+", hidden):
    words[word] = words.get(word, 0) + 1
print(len(entries), len(slow), len(fast), len(words))
