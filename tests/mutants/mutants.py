"""Mutation testing: changes one thing of the library at a time and sees whether a test fails.

    make mutants N=100 [SEED=7] [FOLDER=src/ops] [LIST=build/mutants/survivors.txt]

Each of N random places gets one change (mutations.py lists the kinds). The library is built with it in a copy of
the tree, below build/mutants, and the tests run: those of the folder first, then all others, and with --programs the
programs' where no other fails. A change that no test notices has survived: write the test, or, where the change makes
no difference that a test could see, explain why in mutants_equivalent.txt. LIST takes the changes of a file instead of
random ones: build/mutants/survivors.txt has those of the last run. Ends with 1 if too few are noticed in a part of the
library, if most do not compile, or if there is nothing to change. What is built with MPI alone is left out.
"""

import argparse
import functools
import json
import os
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from mutations import Mutant, mutants_of

ROOT = Path(__file__).resolve().parent.parent.parent
WORK = ROOT / "build/mutants"
TREE, BUILD, SCRATCH = WORK / "tree", WORK / "build", WORK / "scratch"
EQUIVALENT = ROOT / "tests/mutants/mutants_equivalent.txt"

# The parts of the library, with the least share of mutants that the tests must notice.
PARTS = {"core": (0.95, ["base", "core", "ops", "packed", "fast", "derive", "watch"]),
         "nn": (0.95, ["nn", "optim", "check"]),
         "elsewhere": (0.90, ["io", "text", "lm", "viz", "report", "training", "dist"])}
LAST = "~[programs]~[book]~[house]"  # pages and sources are not what is tested here


def folder_of(file):
    """The room that a source is in."""
    room = file.split("/")[1]
    return room if any(room in rooms for _, rooms in PARTS.values()) else sys.exit(f"{file}: its room is missing in PARTS")


# ---- changes in a file, written as a diff with a reason
def read_list(path):
    """Blocks of a file's name, its line with - and +, and perhaps a reason with =."""
    found = {}
    if not path.exists():
        return found
    for block in re.split(r"\n\s*\n", path.read_text()):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if lines:
            file, before, after = lines[0], lines[1][2:].strip(), lines[2][2:].strip()
            found[file, before, after] = " ".join(line[2:] for line in lines[3:])
    return found


def block_of(key):
    return "{}\n- {}\n+ {}\n".format(*key)


# ---- the copy of the tree
def run(command, **options):
    return subprocess.run(command, text=True, capture_output=True, **options)


def sync():
    """Copies what has changed, so that little is built anew."""
    listed = run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True).stdout.split("\n")
    wanted = {name for name in listed if name and (ROOT / name).is_file()}
    for old in TREE.rglob("*"):
        if old.is_file() and str(old.relative_to(TREE)) not in wanted:
            old.unlink()
    for name in wanted:
        source, copy = ROOT / name, TREE / name
        if not copy.exists() or copy.read_bytes() != source.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)


def ninja(*targets):
    return run(["ninja", "-j", str(arguments.jobs), *targets], cwd=BUILD)


def build(link, file):
    """Builds the libraries, and after a change of a header the tests that include it, and links weft_tests."""
    parts = re.findall(r"libweft_(?!places)\w+\.a", link) + (re.findall(r"\S+\.o\b", link) if file.endswith(".h") else [])
    built = ninja(*parts)
    return run(["sh", "-c", link], cwd=BUILD) if built.returncode == 0 else built


def configure():
    WORK.mkdir(parents=True, exist_ok=True)
    if not arguments.keep:
        sync()
    cmake = os.environ.get("CMAKE") or ("/usr/bin/cmake" if os.path.exists("/usr/bin/cmake") else "cmake")
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -D_GLIBCXX_ASSERTIONS",
               "-DWEFT_BOOK=OFF", "-DWEFT_PIECES=OFF",
               f"-DWEFT_EXAMPLES={'ON' if arguments.programs else 'OFF'}"]
    for done in (run([cmake, "-S", TREE, "-B", BUILD, "-G", "Ninja", *options, *launcher]), ninja("weft_tests")):
        if done.returncode:
            sys.exit(done.stdout[-4000:] + done.stderr[-4000:])
    commands = run(["ninja", "-t", "commands", "weft_tests"], cwd=BUILD, check=True).stdout.splitlines()
    link = re.sub(r" && :$", "", commands[-1].removeprefix(": && "))
    unchanged = build(link, "a.h")  # as changes are built: otherwise each would count as one that does not compile
    if unchanged.returncode:
        sys.exit(f"the unchanged library does not build:\n{unchanged.stdout[-4000:]}{unchanged.stderr[-4000:]}")
    return link


def places():
    """Every change that can be made in a source that is built here."""
    built = {entry["file"] for entry in json.loads((BUILD / "compile_commands.json").read_text())}
    return [mutant for path in sorted(TREE.glob("src/**/*")) if path.suffix == ".h" or str(path) in built
            for mutant in mutants_of(str(path.relative_to(TREE)), path.read_text()) if folder_of(mutant.file)]


# ---- the tests
class Tests:
    def __init__(self, link):
        self.link, self.limits = link, {}
        self.binary, self.sound = BUILD / "tests/weft_tests", WORK / "weft_tests_unchanged"
        shutil.copy(self.binary, self.sound)
        listed = run([self.binary, "--list-tests"]).stdout  # fails where the copy does not even start
        assert "test cases" in listed, listed
        assert any(self.stages(room)[1:] for _, rooms in PARTS.values() for room in rooms), "no room's tests are found"

    def has(self, stage):
        """Whether a filter matches tests: one that does not is a failure."""
        return "\n0 matching" not in run([self.sound, "-#", "--list-tests", stage]).stdout

    @functools.cache
    def stages(self, folder):
        names = [f"[#{path.stem}]" for path in sorted((ROOT / "tests" / folder).glob("test_*.cpp"))]
        names = [name for name in names if self.has(name + LAST)]
        first = ",".join(name + LAST for name in names)
        rest = LAST + "".join("~" + name for name in names)
        return [first] if arguments.first and first else [stage for stage in (first, rest) if stage]

    def fail(self, binary, stage, limit):
        """Whether a test fails, the program dies, or its time is up; and how many seconds of a processor it took."""
        shutil.rmtree(SCRATCH, ignore_errors=True)
        SCRATCH.mkdir()
        environment = dict(os.environ, TMPDIR=str(SCRATCH), OPENBLAS_NUM_THREADS="1")  # as where memory is limited
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open(WORK / "log", "w") as log:
            process = subprocess.Popen([binary, "-#", "--abort", stage], cwd=SCRATCH, env=environment, stdout=log,
                                       stderr=subprocess.STDOUT, start_new_session=True,
                                       preexec_fn=functools.partial(bounds, limit))
            try:
                code = process.wait(limit and 5 * limit)  # of one that waits for ever
            except subprocess.TimeoutExpired:
                code = "time"
            try:
                os.killpg(process.pid, signal.SIGKILL)  # and the programs that it started
            except ProcessLookupError:
                pass
            process.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return code != 0, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def limit(self, stage):
        """In seconds of a processor, so that other load on the machine kills nothing."""
        stage = LAST if stage.startswith(LAST) else stage  # the others take no longer than all
        if stage not in self.limits:
            failed, seconds = self.fail(self.sound, stage, None)
            if failed:
                sys.exit(f"the unchanged library fails:\n{(WORK / 'log').read_text()[-4000:]}")
            self.limits[stage] = 20 + 5 * seconds
        return self.limits[stage]

    def verdict(self, mutant):
        """Builds the library with the change and puts the file back: no test that reads the sources sees it."""
        path = TREE / mutant.file
        text = path.read_text()
        stages = self.stages(folder_of(mutant.file))
        limits = [self.limit(stage) for stage in stages]
        path.write_text(mutant.applied(text))
        try:
            if build(self.link, mutant.file).returncode:
                return "no compile"
            for stage, limit in zip(stages, limits):
                if self.fail(self.binary, stage, limit)[0]:
                    return "killed"
            if arguments.programs:
                ninja("weft_tests")
                if self.fail(self.binary, "[programs]~[book]", 3600)[0]:
                    return "killed"
            return "survived"
        finally:
            path.write_text(text)


def bounds(seconds):
    if seconds:
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))


# ---- what came of it
def table(results):
    """results: (folder, verdict) of each mutant. Returns what is wrong with them, a line each."""
    wrong = []
    verdicts = Counter(verdict for _, verdict in results)
    if not results:
        wrong.append("nothing was changed")
    elif 2 * verdicts["no compile"] > len(results):
        wrong.append(f"{verdicts['no compile']} of {len(results)} changes do not compile")
    print(f"{'':16}{'compiled':>9}{'killed':>8}{'equivalent':>12}{'survived':>10}{'score':>8}")
    for part, (least, folders) in PARTS.items():
        total = Counter()
        for folder in folders + [""]:
            count = Counter(verdict for where, verdict in results if where == folder) if folder else total
            if folder:
                total += count
            tested = count["killed"] + count["survived"]
            compiled = tested + count["equivalent"]
            if not compiled:
                continue
            score = f"{100 * count['killed'] / tested:.1f} %" if tested else "–"
            print(f"{'  ' + folder if folder else part + f' ≥ {100 * least:.0f} %':16}{compiled:9}"
                  f"{count['killed']:8}{count['equivalent']:12}{count['survived']:10}{score:>8}")
            if not folder and count["killed"] < least * tested:
                wrong.append(f"{part}: {score} are noticed, and {100 * least:.0f} % must be")
    return wrong


def main():
    equivalent = read_list(EQUIVALENT)
    if arguments.table:  # of all runs: the last verdict of each change
        verdicts = {}
        for line in (WORK / "results.jsonl").read_text().splitlines():
            *key, _, verdict = json.loads(line)
            verdicts[tuple(key)] = folder_of(key[0]), "equivalent" if tuple(key) in equivalent else verdict
        for key, (_, verdict) in sorted(verdicts.items()):
            if verdict == "survived":
                print(block_of(key))
        return table(list(verdicts.values()))
    link = configure()
    tests = Tests(link)
    every = [mutant for mutant in places() if mutant.file.startswith(arguments.folder)]
    seed = arguments.seed or random.SystemRandom().randrange(10**6)
    if arguments.list:
        wanted = read_list(Path(arguments.list))
        chosen = [mutant for mutant in every if mutant.key in wanted]
        print(f"{len(chosen)} of {len(wanted)} changes in {arguments.list} still apply")
    else:
        chosen = random.Random(seed).sample(every, min(arguments.n, len(every)))
        print(f"{len(chosen)} of {len(every)} places, SEED={seed}", flush=True)
    results, survivors = [], []
    try:
        for number, mutant in enumerate(chosen, 1):
            begin = time.monotonic()
            verdict = "equivalent" if mutant.key in equivalent else tests.verdict(mutant)
            results.append((folder_of(mutant.file), verdict))
            print(f"{number:4}  {verdict:10} {time.monotonic() - begin:4.0f} s  {mutant}", flush=True)
            with open(WORK / "results.jsonl", "a") as log:
                log.write(json.dumps([*mutant.key, folder_of(mutant.file), verdict], ensure_ascii=False) + "\n")
            if verdict == "survived":
                survivors.append(mutant)
    except KeyboardInterrupt:
        print("stopped")
    print(f"\n{len(survivors)} survived:")
    for mutant in survivors:
        print(f"  {mutant}")
    (WORK / "survivors.txt").write_text("\n".join(block_of(mutant.key) for mutant in survivors))
    return table(results) + (["stopped before the end"] if len(results) < len(chosen) else [])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("n", type=int, nargs="?", default=100)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--folder", default="src/")
    parser.add_argument("--list")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--first", action="store_true", help="run the tests of the folder alone")
    parser.add_argument("--programs", action="store_true", help="let the programs' tests try survivors, too")
    parser.add_argument("--keep", action="store_true", help="the copy of the last run as it is")
    parser.add_argument("--table", action="store_true", help="of all runs so far")
    arguments = parser.parse_args()
    problems = main()
    print("".join(f"make mutants: {problem}\n" for problem in problems), end="")
    sys.exit(bool(problems))
