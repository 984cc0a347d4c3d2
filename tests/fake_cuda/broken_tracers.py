"""broken_tracers.py BUILD_FOLDER [TEST...]: the fault tests can fail. For each fault, builds a tracer with one line of
its source changed so that it gets this fault wrong, runs the fault's test on it, and expects the test to
fail. Needs a built tree (any preset with a static trace writer). Exit code 1 if a test passes on a broken
tracer, or a change no longer fits the source.
"""
import json
import os
import shlex
import subprocess
import sys
import tempfile

# test, file, then pairs: what stands there, what a broken tracer has there
BREAKS = [
    ("Fault.DroppedRecords", "cupti_tracer/core/records.cc",
     "dropped_.fetch_add(dropped, std::memory_order_relaxed);", ";"),
    ("Fault.ZeroTimestamps", "cupti_tracer/core/records.cc",
     "entry.start_ns = r.start;", "if (r.start == 0) return; entry.start_ns = r.start;"),
    ("Fault.AnotherSubscriber", "cupti_tracer/core/session.cc",
     "AddProblem(ProblemKind::kOtherSubscriber, name);", ";"),
    ("Fault.CuptiMissing", "cupti_tracer/core/session.cc",
     "AddProblem(ProblemKind::kCuptiMissing, cupti_.load_error);", ";"),
    ("Fault.SymbolMissingThatCountingNeeds", "cupti_tracer/core/session.cc",
     "for (const std::string& symbol : cupti_.missing_required) {",
     "for (const std::string& symbol : std::vector<std::string>()) {"),
    ("Fault.SymbolMissingThatTimingNeeds", "cupti_tracer/core/session.cc",
     "for (const std::string& symbol : cupti_.missing_timing) {",
     "for (const std::string& symbol : std::vector<std::string>()) {"),
    # Counters in memory alone: what a killed process had counted since its last flush is gone.
    ("Fault.SigkillInTheMiddle", "trace/counters.cc",
     "on_disk_ = memory != nullptr;", "memory = nullptr; on_disk_ = false;"),
    ("Fault.UnderscoreExitFromAThread", "trace/counters.cc",
     "on_disk_ = memory != nullptr;", "memory = nullptr; on_disk_ = false;"),
    ("Fault.SigkillAfterAFlushKeepsWhatWasFlushed", "cupti_tracer/core/trace_file.cc",
     "const bool ok = NoteLocked(writer_->Flush(CounterViewNow()));", "const bool ok = true;"),
    # A forked child flushes as its parent would.
    ("Fault.ForkAfterCudaStarted", "cupti_tracer/core/session.cc",
     "instance_.store(nullptr, std::memory_order_release);", ";",
     "if (session != nullptr && static_cast<uint32_t>(getpid()) == session->process_.pid) {",
     "if (session != nullptr) { session->cupti_.ActivityFlushAll(1);"),
    # A parent that was forked before CUDA started keeps no trace of its own.
    ("Fault.ForkBeforeCudaStarts", "cupti_tracer/core/session.cc",
     "session->WriteHeader();", "if (getpid() % 2 == 0) return; session->WriteHeader();"),
    ("MountTest.FullDisk", "cupti_tracer/core/trace_file.cc",
     "if (result == trace::WriteResult::kOk) return true;", "return true;"),
    ("MountTest.FullDiskWhereDisablingAKindDeadlocks", "cupti_tracer/core/session.cc",
     'if (trace::QuirkApplies("disable_deadlock", cupti_.version)) return;', ";"),
    ("Fault.SymbolsMissingThatNothingNeeds", "cupti_tracer/core/session.cc",
     "if (cupti_.GetTimestamp != nullptr && cupti_", "if (cupti_"),
    ("Fault.AnotherToolTakesTheActivityBuffers", "cupti_tracer/core/session.cc",
     "if (!can_time_.load() || taken_over_.exchange(true)) return;", "return;"),
    ("Fault.ABufferOfAnotherToolIsNotTouched", "cupti_tracer/core/callbacks.cc",
     "if (session->pool().TakeBack(buffer)) {", "session->pool().TakeBack(buffer); if (true) {"),
    ("Fault.ADiskThatAnswersNoMore", "trace/frame_output.cc",
     "if (!StartThread()) {", "if (true) {"),
    ("MountTest.ReadOnlyFolder", "cupti_tracer/core/session.cc",
     'session->SayOnce(session->collection_->file.error() + "; the process runs on untraced");', ";"),
    ("Fault.CuptiGivesUp", "cupti_tracer/core/session.cc",
     "file.AddProblemLocked(ProblemKind::kCollectionEnded, 1, why);", ";"),
    ("Fault.LostRecordsThatCuptiDoesNotCount", "cupti_tracer/core/records.cc",
     "writer->AddRecord(entry);",
     "writer->AddRecord(entry); if (entry.correlation_id % 9 == 0) writer->AddRecord(entry);"),
]


def build(folder, source, file, broken, out):
    """Compiles the changed file as its own target does and links it before the tracer's archives."""
    commands = json.load(open(os.path.join(folder, "compile_commands.json")))
    entry = next(c for c in commands if c["file"] == os.path.join(source, file))
    path, obj = os.path.join(out, "broken.cc"), os.path.join(out, "broken.o")
    with open(path, "w") as text:
        text.write(broken)
    words = [w for w in shlex.split(entry["command"])]
    words[words.index("-o") + 1] = obj
    words[words.index("-c") + 1] = path
    subprocess.run(words + ["-w"], cwd=entry["directory"], check=True)
    links = subprocess.run(["ninja", "-C", folder, "-t", "commands", "hotproof_tracer"],
                           capture_output=True, text=True, check=True).stdout.splitlines()
    link = next(line for line in reversed(links) if "-shared" in line and "libhotproof.so" in line)
    words = shlex.split(link.split("&&")[1])
    library = os.path.join(out, "libhotproof.so")
    at = words.index("-o")
    words[at + 1] = library
    words.insert(at + 2, obj)
    subprocess.run(words, cwd=folder, check=True)
    return library


def main():
    folder = os.path.abspath(sys.argv[1])
    source = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
    test = os.path.join(folder, "tests", "fake_cuda", "fake_cuda_faults_test")
    only, bad = sys.argv[2:], 0
    for name, file, *changes in BREAKS:
        if only and name not in only:
            continue
        text = open(os.path.join(source, file)).read()
        changes = list(zip(changes[::2], changes[1::2]))
        misfits = [old for old, _ in changes if text.count(old) != 1]
        if misfits:
            print(f"{name}: {file} has not just once: {misfits}")
            bad += 1
            continue
        for old, new in changes:
            text = text.replace(old, new)
        with tempfile.TemporaryDirectory() as out:
            try:
                library = build(folder, source, file, text, out)
            except subprocess.CalledProcessError:
                print(f"{name}: the broken tracer does not build")
                bad += 1
                continue
            run = subprocess.run([test, "--gtest_filter=" + name], capture_output=True, text=True,
                                 env=dict(os.environ, HOTPROOF_TEST_LIBRARY=library))
        why = [line for line in run.stdout.splitlines() if "Failure" in line]
        seen = run.returncode != 0 and "[  FAILED  ]" in run.stdout
        print(f"{name}: {'fails on the broken tracer, as it must' if seen else 'PASSES ON A BROKEN TRACER'}"
              f" ({len(why)} failed expectations)", flush=True)
        bad += not seen
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
