#!/usr/bin/env bash
# Breaks what the parts of .ci/check-all need, in a copy of what they are made of, and sees that each part fails; then what is
# remembered of one that passes:
#   bash tests/house/check_all.sh
set -euo pipefail
source=$(realpath "$(dirname "$0")/../..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree bin=$work/bin
mkdir -p "$tree"/tests/{random,fuzz,mutants,dist} "$bin"
cd "$source"
cp -r .ci Makefile tools "$tree"
cp tests/mutants/*.py tests/mutants/mutants_equivalent.txt "$tree/tests/mutants"
cp tests/dist/dist_faults.py "$tree/tests/dist"
cp tests/fuzz/run.sh "$tree/tests/fuzz"
cp tests/random/replay.py "$tree/tests/random"
cd "$tree"
echo build >.gitignore
mkdir -p build/jargon-text/usr/share/doc/jargon-text && touch build/jargon-text/usr/share/doc/jargon-text/jargon.txt.gz
git init -q && git add -A && git -c user.name=test -c user.email=test@localhost commit -qm "a commit"

failures=0
fail() { echo "check_all.sh: $*" && failures=$((failures + 1)); }
# A program of the environment that ends with this status and does nothing.
program() { mkdir -p "$(dirname "$1")" && printf '#!/bin/sh\nexit %d\n' "$2" >"$1" && chmod +x "$1"; }
# Runs parts with the stubs for CMake and Python, and nothing to install; the output is in $work/said.
check_all() {
    PATH=$bin:$PATH make -s check-all PART="$1" CMAKE="$bin/cmake" PYTHON="$bin/python" PACKAGES= >"$work/said" 2>&1
}
must_fail() {
    if check_all "$1"; then fail "$1 passes although $2"; fi
    grep -q "^$1 *FAILED" "$work/said" || fail "$1 is not among what failed although $2: $(cat "$work/said")"
    [ ! -e "build/check-all/$1" ] || fail "$1 is remembered although $2"
}

parts=$(sed -n 's/^all="\(.*\)"$/\1/p' .ci/check-all)
[ -n "$parts" ] || fail "there are no parts"
program "$bin/python" 0
for status in 1 0; do # CMake cannot build; CMake builds nothing
    program "$bin/cmake" $status
    program "$bin/ctest" $status
    for part in $parts; do must_fail "$part" "cmake returns $status and builds nothing"; done
done
program build/release/tests/random_programs 0
program "$bin/python" 1
must_fail replay "there is no PyTorch"
program build/release/examples/train_gpt 0
program "$bin/mpirun.openmpi" 0
must_fail faults "no run begins"

# what has nothing to do
mkdir -p "$work/harnesses/tests/fuzz"
if bash tests/fuzz/run.sh "$work/harnesses" 1 >/dev/null; then fail "run.sh passes without a harness"; fi
program "$work/harnesses/tests/fuzz/fuzz_nothing" 0
if bash tests/fuzz/run.sh "$work/harnesses" 1 >/dev/null; then fail "run.sh passes though a harness ran nothing"; fi
printf 'def __getattr__(name):\n    return lambda *a: None\n' >"$work/torch.py"
mkdir "$work/torch" && mv "$work/torch.py" "$work/torch/__init__.py" && mkdir "$work/torch/nn"
touch "$work/torch/nn/__init__.py" "$work/torch/nn/functional.py"
if PYTHONPATH=$work python3 tests/random/replay.py </dev/null >/dev/null; then fail "replay.py passes without programs"; fi
(cd tests/mutants && python3 -c '
import mutants
of = lambda *verdicts: bool(mutants.table([("ops", verdict) for verdict in verdicts]))
assert [of(), of("no compile", "no compile", "killed"), of("survived", "killed")] == [True] * 3
assert not of("killed", "no compile", "equivalent")
') >/dev/null || fail "mutants.py passes without mutants that are noticed"

# what is remembered
said() { grep -q "^fuzz *$1" "$work/said" || fail "fuzz: not '$1': $(cat "$work/said")"; }
program "$bin/cmake" 0
check_all fuzz || fail "fuzz fails though all is well"
said "passed, 0 minutes"
rm build/release/tests/random_programs
if check_all ""; then fail "the other parts pass"; fi
said "has passed at this commit"
grep -q "^replay *FAILED" "$work/said" || fail "a part that has not passed is not run"
must_fail fuzz "it is run again by its name"
program build/release/tests/random_programs 0
touch new
check_all fuzz || fail "fuzz fails beside a new file"
said "passed; not remembered"
if check_all nothing; then fail "a part that does not exist passes"; fi
[ $failures = 0 ] && echo "every part of check-all fails when it cannot do its work"
