#!/usr/bin/env python3
"""Checks the arrows between rooms (cmake/arrows.txt) in what every source file includes.

Besides the arrows: nothing that ends up in libhotproof.so may reach protobuf or Abseil, however many
headers lie between. Usage: include_graph.py SOURCE_FOLDER; exit code 1 and a line for each violation.
"""
import pathlib
import posixpath
import re
import sys

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
SUFFIXES = {".h", ".cc", ".cpp", ".cu", ".cuh", ".inc", ".c"}
# What would drag symbols of its own into other people's processes.
FORBIDDEN_IN_TRACER = re.compile(r"^(absl/|google/protobuf/|re2/|CLI/|gtest/|proto/.*\.pb\.h)")


def read_arrows(source):
    arrows = {}
    for line in (source / "cmake/arrows.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            room, _, allowed = line.partition(":")
            arrows[room] = set(allowed.split())
    return arrows


def read_includes(source, rooms):
    """{path relative to the source folder: [included path, ...]} of every room's files."""
    includes = {}
    for room in rooms:
        for path in sorted((source / room).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file() and "build" not in path.parts[:-1]:
                found = INCLUDE.findall(path.read_text(errors="replace"))
                includes[path.relative_to(source).as_posix()] = [quoted or angled for quoted, angled in found]
    return includes


def resolve(including, included, includes):
    """The file of ours that `included` names, or None."""
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(including), included))
    return next((name for name in (included, beside) if name in includes), None)


def room_violations(includes, arrows, known):
    for path, included in includes.items():
        room = path.split("/")[0]
        if path.endswith(("_test.cc", "_fuzz.cc")):
            continue  # a room's tests may use more than the room
        for name in included:
            target = resolve(path, name, includes) or name
            used = target.split("/")[0]
            if "/" in target and used in known and used != room and used not in arrows[room]:
                yield f"{path}: {room} must not know {used}: includes {name}"


def tracer_violations(includes):
    reached_by = {path: None for path in includes if path.startswith("cupti_tracer/")}
    todo = list(reached_by)
    while todo:
        path = todo.pop()
        for name in includes[path]:
            if FORBIDDEN_IN_TRACER.match(name):
                chain = [path]
                while reached_by[chain[-1]]:
                    chain.append(reached_by[chain[-1]])
                yield f"{path}: must stay out of libhotproof.so: {name} (by {' <- '.join(chain)})"
            target = resolve(path, name, includes)
            if target and target not in reached_by:
                reached_by[target] = path
                todo.append(target)


def main():
    source = pathlib.Path(sys.argv[1])
    arrows = read_arrows(source)
    includes = read_includes(source, arrows)
    known = set(arrows) | {"tests", "examples", "scripts"}
    violations = [*room_violations(includes, arrows, known), *tracer_violations(includes)]
    for violation in violations:
        print(violation)
    if not any(path.startswith("cupti_tracer/") for path in includes):
        sys.exit(f"no source files of the tracer below {source}")
    print(f"{len(includes)} files in {len(arrows)} rooms, {len(violations)} violations")
    sys.exit(1 if violations else 0)


if __name__ == "__main__":
    main()
