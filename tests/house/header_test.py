#!/usr/bin/env python3
"""Every header compiles by itself, twice in one file, with the build's own compiler and flags.

Usage: header_test.py COMMANDS SOURCE_FOLDER ROOM...
COMMANDS is the build's compile_commands.json. A header is compiled with the command of a source file
of its own room (one beside it if there is one), so it sees exactly the include folders it may count on.
"""
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys


def load_commands(path, source):
    """{folder of a source file: its compile command without input and output}"""
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
        commands.setdefault(file.parent.relative_to(source), (entry["directory"], kept))
    return commands


def command_for(header, commands):
    """Of the header's folder, else of the nearest folder in the same room."""
    room = header.parts[0]
    same_room = [folder for folder in commands if folder.parts and folder.parts[0] == room]
    nearest = sorted(same_room, key=lambda folder: (
        -len(os.path.commonpath([folder, header.parent]).split("/")), len(folder.parts)))
    return commands[nearest[0]] if nearest else None


def check(header, source, commands):
    command = command_for(header, commands)
    if command is None:
        return f"{header}: no source file of its room is compiled"
    directory, words = command
    text = f'#include "{source / header}"\n#include "{source / header}"\n'
    done = subprocess.run([*words, "-fsyntax-only", "-x", "c++", "-"], input=text, cwd=directory,
                          capture_output=True, text=True)
    return f"{header} is not self-contained:\n{done.stderr}" if done.returncode else None


def main():
    source = pathlib.Path(sys.argv[2]).resolve()
    commands = load_commands(sys.argv[1], source)
    headers = [path.relative_to(source) for room in sys.argv[3:] for path in sorted((source / room).rglob("*.h"))]
    if not headers:
        sys.exit(f"no headers below {source}")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        errors = [error for error in pool.map(lambda header: check(header, source, commands), headers) if error]
    print("\n".join(errors))
    print(f"{len(headers)} headers, {len(errors)} not self-contained")
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
