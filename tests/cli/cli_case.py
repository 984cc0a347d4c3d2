"""What the tests of the program have in common: runs written for the test, the program started on them.

Usage of a test: TEST.py HOTPROOF WRITE_FAKE_RUN
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HOTPROOF, WRITE_FAKE_RUN = sys.argv[1], sys.argv[2]
EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "examples")

GEMM = ("void deep_gemm::fp8_gemm_kernel_swapAB<34816u, 5120u, 128u, 16u, 128u, 1u, 8u, 128u, 128u, 1u, "
        "deep_gemm::NormalSchedulerSwapAB<34816u, 128u, 16u, 1u, 1u, 272u, 16u>, "
        "deep_gemm::NormalSchedulerInputSwapAB>(__nv_bfloat16*, float*, "
        "deep_gemm::NormalSchedulerInputSwapAB, CUtensorMap_st, CUtensorMap_st, CUtensorMap_st, "
        "CUtensorMap_st)")
SERVER = """
trace {
  header { pid: 812 executable: "/usr/bin/python3" }
  kernel { id: 1 name: "%s" }
  kernel { id: 2 name: "my_fp8_splitk_kernel" }
  site { id: 1 kernel_id: 1 grid_x: 132 block_x: 384 captured: true } site { id: 2 kernel_id: 2 }
  graph { id: 1 node_site: 1 node_site: 1 }
  step { launch { site: 2 times: 2 } }
  step { snapshot { reason: SNAPSHOT_REASON_END_CAPTURE } }
  step { snapshot { reason: SNAPSHOT_REASON_FIRST_REPLAY graph_id: 1 } }
  step { launch { graph: 1 times: 100 } } step { end_chunk: true }
  step { launch { graph: 1 times: 28 } }
}
""" % GEMM
SECOND = """
trace {
  header { pid: 813 } kernel { id: 1 name: "second_kernel" } site { id: 1 kernel_id: 1 }
  step { launch { site: 1 times: 3 } }
}
"""
MANIFEST = 'manifest { finished: true processes { pid: 812 gpu: true traced: true } }'
UNTRACED = ('manifest { finished: true processes { pid: 812 gpu: true traced: true } '
            'processes { pid: 900 executable: "/opt/worker" gpu: true } }')
# How the part of an error begins that says what to do.
TO_DO = r"; (ask|build|check|copy|did you mean|docs/|escape|give|install|leave|move|name|one of|read|run|say|see|set|shares|use|write) ?"
PASS, FAIL, BAD, INCONCLUSIVE = 0, 1, 2, 3


class CliCase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, run):
        source = os.path.join(self.folder, "run.textproto")
        with open(source, "w") as file:
            file.write(run)
        traces = tempfile.mkdtemp(dir=self.folder)
        subprocess.run([WRITE_FAKE_RUN, source, traces], check=True)
        return traces

    def run_hotproof(self, *arguments, **environment):
        return subprocess.run([HOTPROOF, *arguments], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "COLUMNS": "", **environment})

    def check(self, code, *arguments):
        result = self.run_hotproof(*arguments)
        self.assertEqual(result.returncode, code, f"{arguments}\n{result.stdout}{result.stderr}")
        return result

    def check_error(self, code, text, *arguments):
        """One line on stderr that says what is wrong, where and what to do, nothing on stdout."""
        result = self.check(code, *arguments)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertTrue(result.stderr.startswith("hotproof: "), result.stderr)
        self.assertIn(text, result.stderr)
        self.assertRegex(result.stderr, TO_DO)
