#!/usr/bin/env bash
# Figures of the paper as CSV files and, where matplotlib is installed, as pictures.
#
#   figures.sh [FOLDER] [published|repaired|none|DEFECT,...]
#
# BUILD names the folder of a Flopcast build (default build/release).
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$here/../.."
build="${BUILD:-$root/build/release}"
out="${1:-figures}"
defects="${2:-published}"

mkdir -p "$out"
program="$(mktemp -d)/figures"
trap 'rm -rf "$(dirname "$program")"' EXIT
"${CXX:-c++}" -std=c++20 -O2 -I "$root/include" "$here/figures.cc" "$build/libflopcast.a" \
  -lfmt -lpthread -o "$program"
"$program" "$out" "$defects"
if python3 -c 'import matplotlib' 2>/dev/null; then
  python3 "$here/plot.py" "$out"
else
  echo "No pictures: python3 has no matplotlib"
fi
