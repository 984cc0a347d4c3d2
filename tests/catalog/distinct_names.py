"""Writes COUNT different names of SHORTEST to LONGEST characters, one a line: the golden tables'
names with numbers changed and words added at random, the same ones every time. For
docs/measurements/catalog.md.

    python3 tests/catalog/distinct_names.py COUNT SHORTEST LONGEST [mangled] > names.txt
"""

import pathlib
import random
import re
import sys

GOLDEN = pathlib.Path(__file__).parent.parent / "golden"
NUMBER = re.compile(r"(?<!\w)\d{1,5}(?=[ul,>x )])|(?<=[_x])\d+(?=[_x])")
MANGLED_NUMBER = re.compile(r"(?<=L[ijlm])\d+(?=E)")


def rows(table):
    lines = (GOLDEN / table).read_text().splitlines()
    return [line.split("\t") for line in lines[1:]]


def change(name, mangled):
    number = MANGLED_NUMBER if mangled else NUMBER
    changed = number.sub(lambda _: str(random.randrange(1, 99999)), name)
    # One more word in the identifier.
    if not mangled and (changed == name or random.random() < 0.3):
        word = "".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=random.randrange(2, 8)))
        end = re.search(r"[<(]|$", changed).start()
        changed = f"{changed[:end]}_{word}{changed[end:]}"
    return changed


def main():
    count, shortest, longest = (int(argument) for argument in sys.argv[1:4])
    mangled = sys.argv[4:] == ["mangled"]
    random.seed(1)
    named = rows("kernel_names.tsv")
    sources = [row[0] for row in named] if mangled else [row[1] for row in named]
    if not mangled:
        for table in ("observed_kernel_names.tsv", "more_kernel_names.tsv"):
            sources += [row[0] for row in rows(table)]
    sources = [
        name for name in sources
        if shortest <= len(name) <= longest and name.startswith("_Z") == mangled
        and change(name, mangled) != name
    ]
    written = set()
    while len(written) < count:
        name = change(random.choice(sources), mangled)
        if shortest <= len(name) <= longest and name not in written:
            written.add(name)
            print(name)


main()
