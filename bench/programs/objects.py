"""Objects of an interpreter: JSON there and back, dictionaries, strings, expressions, big integers."""

import json
import re

records = [{"id": i, "name": f"user {i}", "tags": [f"t{i % k}" for k in range(1, 9)], "score": i * 0.5} for i in range(20000)]
total = 0
for _ in range(4):
    text = json.dumps(records)
    again = json.loads(text)
    total += len(text) + sum(len(record["tags"]) for record in again)

words = re.findall(r"[a-z]+ \d+", text)
counts = {}
for word in words * 3:
    counts[word] = counts.get(word, 0) + 1
lines = [" ".join(words[i:i + 20]) for i in range(0, len(words), 20)]
joined = "\n".join(lines)
for _ in range(10):
    joined = joined.replace("user", "person").replace("person", "user")

product = 1
for i in range(1, 4000):
    product *= i


class Node:
    def __init__(self, left, right):
        self.left, self.right = left, right


def tree(depth):
    return Node(tree(depth - 1), tree(depth - 1)) if depth else None


def nodes(node):
    return 1 + nodes(node.left) + nodes(node.right) if node else 0


count = sum(nodes(tree(14)) for _ in range(12))
print(total, len(counts), len(joined), product.bit_length(), count)
