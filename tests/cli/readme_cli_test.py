"""What README.md and docs/ci.md show is what the program prints, on a terminal of 120 columns."""
import os
import re
import shlex
import subprocess
import sys
import unittest

from cli_case import EXAMPLES, HOTPROOF

ROOT = os.path.dirname(EXAMPLES)


class ReadmeTest(unittest.TestCase):
    def test_examples_reproduce(self):
        shown = []
        for page in "README.md", "docs/ci.md":
            with open(os.path.join(ROOT, page)) as file:
                shown += [(page, *example) for example in
                          re.findall(r"^```\n\$ hotproof ([^\n]*)\n(.*?)^```", file.read(), re.DOTALL | re.MULTILINE)]
        self.assertGreaterEqual(len(shown), 4)
        for page, command, text in shown:
            with self.subTest(page=page, command=command):
                printed = subprocess.run([HOTPROOF, *shlex.split(command)], cwd=ROOT, capture_output=True, text=True,
                                         env={**os.environ, "COLUMNS": "120"}).stdout
                self.assertEqual(printed[:len(text)], text)  # a page may show the beginning alone


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
