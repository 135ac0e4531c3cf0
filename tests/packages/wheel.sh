#!/usr/bin/env bash
# wheel.sh BUILD PYTHON: makes a wheel of BUILD and uses it in a virtual environment that has nothing else, without what
# compiled it. Nothing is left behind.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build="$1" python="$2"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
fail() { echo "wheel: $*" >&2; exit 1; }

"$python" tools/make_wheel.py --build "$build" --out "$work"
wheel="$(echo "$work"/*.whl)"
[[ $wheel == *-manylinux_* ]] || fail "no tag says where it runs: $wheel"
[[ $(stat -c %s "$wheel") -lt 18000000 ]] || fail "$(stat -c %s "$wheel") bytes are more than a few MB"

"$python" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-index --no-deps "$wheel"

# Of other libraries, the system gives those of C and C++ alone.
programs="$(find "$work/venv" -name '_native*.so' -o -type f -name flopcast -perm -u+x | xargs -d '\n' file | grep ELF | cut -d: -f1)"
[[ $(wc -l <<<"$programs") == 2 ]] || fail "a module and a program, not: $programs"
while read -r program; do
  ldd "$program" | grep -F ' => ' | grep -vF "$work/venv" | grep -vE '^\s*lib(c|m|stdc\+\+|gcc_s|pthread|dl)\.so' &&
    fail "$program needs those"
done <<<"$programs"

in_venv() { env -i HOME="$work" PATH="$work/venv/bin:/bin" "$@"; }
cd "$work"
in_venv flopcast --version
in_venv flopcast estimate llama-3-8b --on "4 x dgx-h100" --tp 8 --global-batch 64 | grep -F tokens/s
in_venv python -c 'import flopcast
step = flopcast.estimate("llama-3-8b", "4 x dgx-h100", tp=8, global_batch=64)
assert 0 < step.low_s <= step.time_s <= step.high_s
print(step)'

# The stand-ins for NVIDIA's libraries are found where the wheel has put them.
cat >client.py <<'END'
import ctypes
count = ctypes.c_int()
ctypes.CDLL(None).cudaGetDeviceCount(ctypes.byref(count))
print(count.value, "GPUs")
END
[[ $(in_venv flopcast run --on dgx-h100 --ranks 1 client.py 2>log) == "8 GPUs" ]] ||
  { cat log >&2; fail "flopcast run does not run"; }
