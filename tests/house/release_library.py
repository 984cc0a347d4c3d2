#!/usr/bin/env python3
"""The library that is handed out loads on old systems and brings no runtime of its own into others.

Usage: release_library.py LIBRARY [NEWEST_GLIBC]   (default 2.28; 'any' checks the rest alone)
Reads the file with readelf: symbol versions it needs, libraries it needs, and what it exports. Exit
code 1 and a line for each thing that is wrong.
"""
import re
import subprocess
import sys

# libdl, libpthread and librt are their own libraries before glibc 2.34.
ALLOWED_LIBRARIES = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1",
                     "ld-linux-x86-64.so.2"}
# Entry points of the tracer, and the calls of CUDA's libraries that it stands in front of.
ALLOWED_EXPORTS = re.compile(r"^(InitializeInjection\w*|hotproof_\w+|cu[A-Z]\w*|cublas\w+|cupti[A-Z]\w*|nvtx\w+)$")


def readelf(*arguments):
    return subprocess.run(["readelf", "-W", *arguments], check=True, capture_output=True, text=True).stdout


def version(text):
    return tuple(int(part) for part in text.split("."))


def problems(library, newest_glibc):
    versions = set(re.findall(r"Name: (\S+)", readelf("--version-info", library)))
    for name in sorted(versions):
        kind, _, number = name.partition("_")
        if kind == "GLIBC" and re.fullmatch(r"[0-9.]+", number):
            if newest_glibc != "any" and version(number) > version(newest_glibc):
                yield f"needs {name}, newer than {newest_glibc}"
        elif kind in ("GLIBCXX", "CXXABI", "GLIBC"):  # GLIBC_PRIVATE too
            yield f"needs {name}"
    dynamic = readelf("--dynamic", library)
    if "STATIC_TLS" in dynamic:
        yield "has initial-exec TLS: it could not be loaded into a running process"
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    for name in needed:
        if name not in ALLOWED_LIBRARIES:
            yield f"needs {name}"
    exports = []
    for line in readelf("--dyn-syms", library).splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[0].rstrip(":").isdigit() and fields[6] not in ("UND", "ABS"):
            exports.append(fields[7])
    for name in exports:
        if "@" in name:
            yield f"exports {name}: under a named version interposing does not work"
        elif not ALLOWED_EXPORTS.match(name):
            yield f"exports {name}"
    if "InitializeInjection" not in exports:
        yield "does not export InitializeInjection"
    glibc = [version(name[6:]) for name in versions if re.fullmatch(r"GLIBC_[0-9.]+", name)]
    newest = ".".join(map(str, max(glibc))) if glibc else "none"
    print(f"{library}: newest symbol version GLIBC_{newest}, {len(exports)} exports, needs {' '.join(needed)}")


def main():
    found = list(problems(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "2.28"))
    for problem in found:
        print(f"{sys.argv[1]}: {problem}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
