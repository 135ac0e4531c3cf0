#!/usr/bin/env bash
# deb.sh BUILD: makes a Debian package of BUILD, looks into it, and uses what it holds from another root. Nothing is
# installed or left behind.
set -euo pipefail
build="$(realpath "$1")"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
fail() { echo "deb: $*" >&2; exit 1; }

cpack --config "$build/CPackConfig.cmake" -B "$work/made" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "no package"; }
package="$(echo "$work"/made/*.deb)"
dpkg-deb --field "$package" Package Version Architecture Depends
depends="$(dpkg-deb --field "$package" Depends)"
for library in libc6 libfmt9 libsimdjson14 libpugixml1v5 libisal2 libzstd1 libyaml-cpp0.7; do
  grep -qw "$library" <<<"$depends" || fail "does not depend on $library: $depends"
done
contents="$(dpkg-deb --contents "$package" | awk '{ print $6 }')"
for file in usr/bin/flopcast usr/lib/flopcast/live/serve.py usr/share/doc/flopcast/copyright; do
  grep -qxF "./$file" <<<"$contents" || fail "holds no $file"
done
# But for what is compiled on the user's machine, against the PyTorch there.
! grep -v '/live/plugin/' <<<"$contents" | grep -E '\.(h|a|cmake|pc)$' || fail "holds what only developers want"

dpkg-deb --extract "$package" "$work/root"
flopcast="$work/root/usr/bin/flopcast"
! readelf -d "$flopcast" | grep -E 'R(UN)?PATH' || fail "looks for libraries where it was built"
"$flopcast" --version
"$flopcast" estimate llama-3-8b --on "4 x dgx-h100" --tp 8 --global-batch 64 | grep -F tokens/s
cat >"$work/client.py" <<'END'
import ctypes
count = ctypes.c_int()
ctypes.CDLL(None).cudaGetDeviceCount(ctypes.byref(count))
print(count.value, "GPUs")
END
[[ $("$flopcast" run --on dgx-h100 --ranks 1 "$work/client.py" 2>"$work/log") == "8 GPUs" ]] ||
  { cat "$work/log" >&2; fail "flopcast run does not run"; }
