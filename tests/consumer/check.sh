#!/usr/bin/env bash
# check.sh BUILD: installs BUILD, moves what was installed, and has a stranger's program use it there,
# by find_package and by pkg-config. Runs in tests/consumer; nothing is left behind.
set -euo pipefail
build="$(realpath "$1")"
cd "$(dirname "${BASH_SOURCE[0]}")"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
fail() { echo "consumer: $*" >&2; exit 1; }

quietly() { "$@" >"$work/log" 2>&1 || { tail -n 50 "$work/log" >&2; fail "$*"; }; }

quietly cmake --install "$build" --prefix "$work/installed"
mv "$work/installed" "$work/prefix"
lib="$(dirname "$(find "$work/prefix" -name libflopcast.a)")"
! grep -rlF -e "$build" -e "$(realpath ../../src)" "$lib/cmake" "$lib/pkgconfig" || fail "names this build"

# All of the archive is linked, not only what the program calls: every library it needs must be named.
whole="-Wl,--whole-archive,$lib/libflopcast.a,--no-whole-archive"

quietly cmake -G Ninja -S . -B "$work/cmake" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_EXE_LINKER_FLAGS_RELEASE="$whole"
quietly cmake --build "$work/cmake"

export PKG_CONFIG_PATH="$lib/pkgconfig"
read -ra flags <<<"$(pkg-config --static --cflags --libs flopcast)"
quietly g++ -std=c++20 main.cc "$whole" "${flags[@]}" -o "$work/by_pkg_config"

"$work/cmake/consumer" | tee "$work/answer"
[[ -s $work/answer ]] || fail "the program says nothing"
"$work/by_pkg_config" | cmp - "$work/answer"
"$work/prefix/bin/flopcast" --version

# The stand-ins for NVIDIA's libraries came along, what is compiled on the user's machine included.
cat >"$work/client.py" <<'END'
import ctypes
count = ctypes.c_int()
ctypes.CDLL(None).cudaGetDeviceCount(ctypes.byref(count))
print(count.value, "GPUs")
END
[[ $("$work/prefix/bin/flopcast" run --on dgx-h100 --ranks 1 "$work/client.py" 2>"$work/log") == "8 GPUs" ]] ||
  { cat "$work/log" >&2; fail "flopcast run does not run"; }
diff <(cd "$build/live" && find . -type f | sort) <(cd "$lib/flopcast/live" && find . -type f | sort) ||
  fail "not all of live/ is installed"

# Public headers ask for nothing that is not installed, and for nothing of the one before.
headers="$(cd "$work/prefix/include" && find flopcast -name '*.h' | sort)"
for order in sort "sort -r"; do
  $order <<<"$headers" | sed 's/.*/#include <&>/' |
    g++ -std=c++20 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$work/prefix/include" -x c++ -
done
