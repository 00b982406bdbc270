#!/usr/bin/env bash
# Installs what is missing of the named groups of packages, by apt-get, or by Homebrew on a Mac; elsewhere it says what is needed:
#   tools/packages.sh base docs
# Where all of them are there nothing is touched; with PACKAGES= in the environment nothing is looked for.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -n "${PACKAGES-unset}" ] || exit 0

# Debian's names.
compiler="g++"
base="g++ cmake ninja-build libxtensor-dev libxsimd-dev libxtensor-blas-dev libopenblas-pthread-dev libtbb-dev catch2 libcli11-dev
      nlohmann-json3-dev zlib1g-dev libpcre2-dev libutf8proc-dev libdnnl-dev pkgconf"
bench="libbenchmark-dev"
browser="chromium chromium-driver python3-selenium python3-numpy"
debs="dpkg-dev file lintian mmdebstrap"
docs="python3-sphinx python3-myst-parser furo doxygen nodejs libjs-katex fonts-katex"
format="clang-format-14"
fuzz="$base clang-14 libclang-rt-14-dev"
growth="$base valgrind"
mpi="$base libopenmpi-dev openmpi-bin"
mpich="$base mpich libmpich-dev"
pip="python3-pip"
proofs="python3-sympy python3-numpy"
python="$base pybind11-dev libdlpack-dev python3-dev python3-numpy python3-nbconvert python3-ipykernel"
ci="$fuzz $growth $bench $format $proofs git gdb"
# Homebrew's, where it has all that the group needs. Zlib comes with macOS, xtensor-blas from its authors.
brew_base="cmake ninja xtensor xsimd openblas tbb catch2 cli11 nlohmann-json pcre2 utf8proc pkgconf"
brew_bench="google-benchmark"
brew_growth="$brew_base"
brew_mpi="$brew_base open-mpi"

names="" brew_names="" by_brew=1
for group in "$@"; do
    case $group in
        compiler | base | bench | browser | debs | docs | format | fuzz | growth | mpi | mpich | pip | proofs | python | ci) ;;
        *) echo "there is no group of packages $group"; exit 2 ;;
    esac
    brew_group=brew_$group
    names+=" ${!group}"
    if [ -n "${!brew_group-}" ]; then brew_names+=" ${!brew_group}"; else by_brew=; fi
done

if command -v apt-get >/dev/null; then
    installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' $names 2>/dev/null | sed -n 's/ installed$//p' || true)
    missing=$(printf '%s\n' $names | grep -vxF "${installed:-none}" | sort -u | xargs || true)
    [ -n "$missing" ] || exit 0
    root=$([ "$(id -u)" = 0 ] || echo sudo)
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    quietly() { # what apt-get says is shown if it fails
        $root env DEBIAN_FRONTEND=noninteractive apt-get "$@" >"$log" 2>&1 && return
        cat "$log"
        echo "apt-get $1 failed. Weft needs: $missing. Is there a network? Then run the same command again; or install them and go on with: make … PACKAGES="
        return 1
    }
    quietly update -q
    size=$($root apt-get install -qy --no-install-recommends --print-uris $missing 2>/dev/null | awk '/^.http/ { sum += $3 } END { printf "%.0f", sum / 1e6 }')
    echo "installing $(wc -w <<<"$missing") packages, $size MB to fetch: $missing"
    quietly install -qy --no-install-recommends $missing
elif [ "$(uname)" = Darwin ] && [ -n "$by_brew" ] && command -v brew >/dev/null; then
    missing=""
    for package in $brew_names; do [ -e "$(brew --prefix)/opt/$package" ] || missing+=" $package"; done
    if [ -n "$missing" ]; then
        echo "installing:$missing"
        brew install $missing
    fi
    [ -e build/xtensor-blas ] ||
        git clone -q --depth 1 --branch 0.23.0 https://github.com/xtensor-stack/xtensor-blas build/xtensor-blas
elif [ "$*" = base ]; then
    echo "Weft needs GCC 12 or clang 14, CMake 3.25, Ninja, xtensor, xsimd, xtensor-blas, OpenBLAS, oneTBB, Catch2, CLI11," \
        "nlohmann/json, zlib, PCRE2, utf8proc and pkgconf. Install them and go on with: make … PACKAGES="
    exit 1
else
    echo "Weft needs what Debian calls" $names". Install it and go on with: make … PACKAGES="
    exit 1
fi
