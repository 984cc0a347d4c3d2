#!/usr/bin/env python3
"""An installed hotproof works by itself and finds its own library.

Usage: install_test.py CMAKE BUILD_FOLDER
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

cmake, build = sys.argv[1:]
with tempfile.TemporaryDirectory(prefix="hotproof-install-") as folder:
    prefix = pathlib.Path(folder).resolve()
    subprocess.run([cmake, "--install", build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    installed = sorted(str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file())
    print("installed:", " ".join(installed))
    needed = ["bin/hotproof", "lib/libhotproof.so", "share/doc/hotproof/LICENSE", "share/doc/hotproof/THIRD_PARTY.md"]
    if not set(needed) <= set(installed):
        sys.exit(f"needed: {needed}")

    environment = {name: value for name, value in os.environ.items() if not name.startswith("HOTPROOF_")}
    words = [prefix / "bin/hotproof", "doctor", "--format", "json", "-o", folder]
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    tracer = next(check for check in json.loads(done.stdout)["checks"] if check["id"] == "tracer")
    if tracer["found"] != str(prefix / "lib/libhotproof.so"):
        sys.exit(f"the program found another library: {tracer}")
