#!/usr/bin/env python3
"""Every header compiles by itself and may be included twice.

Usage: header_test.py COMPILE_COMMANDS SOURCE_FOLDER ROOM...
A header whose own source file is part of the build and includes it first is shown by that. Every other
one is compiled alone here, with the build's compiler, flags and the include folders of its room.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

FIRST_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+["<]([^">]+)[">]', re.MULTILINE)


def load_commands(path, source):
    """{source file: (directory, words without compiler launcher, input and output)}"""
    commands = {}
    for entry in json.loads(pathlib.Path(path).read_text()):
        file = pathlib.Path(entry["directory"], entry["file"])
        if file.suffix != ".cc" or not file.is_relative_to(source):
            continue
        words = shlex.split(entry["command"])
        if "ccache" in pathlib.Path(words[0]).name:
            words = words[1:]
        kept, skip = [], False
        for word in words:
            if skip:
                skip = False
            elif word in ("-o", "-c", "-MF", "-MT", "-MQ"):
                skip = True
            elif word not in ("-MD", "-MMD") and word != entry["file"]:
                kept.append(word)
        commands[file.relative_to(source)] = (entry["directory"], kept)
    return commands


def include_words(words):
    """The -I and -isystem words among `words`, as pairs or single words."""
    found = []
    for i, word in enumerate(words):
        if word == "-isystem":
            found.append((word, words[i + 1]))
        elif word.startswith("-I"):
            found.append((word,))
    return found


def room_command(room, commands):
    """A command of the room with the include folders of all its commands: (directory, words) or None."""
    of_room = [commands[file] for file in sorted(commands) if file.parts[0] == room]
    if not of_room:
        return None
    directory, words = of_room[0]
    words = list(words)
    known = include_words(words)
    for _, others in of_room[1:]:
        for pair in include_words(others):
            if pair not in known:
                known.append(pair)
                words += pair
    return directory, words


def shown_by_its_source(header, source, commands):
    file = header.with_suffix(".cc")
    if file not in commands:
        return False
    first = FIRST_INCLUDE.search((source / file).read_text())
    return first is not None and first.group(1) == header.as_posix()


def compile_alone(header, source, command):
    directory, words = command
    text = f'#include "{header.as_posix()}"\n' * 2
    done = subprocess.run([*words, "-fsyntax-only", "-x", "c++", "-"], input=text, cwd=directory,
                          capture_output=True, text=True)
    return f"{header} is not self-contained:\n{done.stderr}" if done.returncode else None


def main():
    source = pathlib.Path(sys.argv[2]).resolve()
    commands = load_commands(sys.argv[1], source)
    errors, alone, count = [], [], 0
    for room in sys.argv[3:]:
        command = room_command(room, commands)
        headers = sorted((source / room).rglob("*.h"))
        if not headers:
            errors.append(f"no headers below {source / room}")
        for path in headers:
            header = path.relative_to(source)
            count += 1
            if "#pragma once" not in path.read_text():
                errors.append(f"{header}: no #pragma once")
            if command is None:
                errors.append(f"{header}: no source file of its room is compiled")
            elif not shown_by_its_source(header, source, commands):
                alone.append((header, command))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        errors += filter(None, pool.map(lambda job: compile_alone(job[0], source, job[1]), alone))
    print("\n".join(errors))
    print(f"{count} headers, {len(alone)} compiled alone, {len(errors)} errors")
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
