"""A nested document, as text and back, indented, sorted and with all its strings changed."""

import json

document = {f"section {i}": [{"key": f"{i}-{k}", "values": list(range(k % 13)), "text": "ä\n\"x\" " * (k % 5), "ratio": k / 7,
                              "flag": k % 2 == 0, "none": None} for k in range(401)] for i in range(30)}
rounds = 0
for indent in (None, 1, None, 2, None) * 3:
    text = json.dumps(document, indent=indent, sort_keys=True, ensure_ascii=rounds % 2 == 0)
    document = json.loads(text)
    for section in document.values():
        for record in section:
            record["text"] = record["text"].swapcase()
    rounds += 1
records = sum(len(section) for section in document.values())
total = sum(sum(record["values"]) * 5 + len(record["text"]) for section in document.values() for record in section)
print(f"{rounds} rounds, {records} records, {total} sum")
