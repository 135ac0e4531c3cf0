#!/usr/bin/env bash
# Figures of the paper as CSV files and, where matplotlib is installed, as pictures.
#
#   figures.sh [FOLDER] [published|repaired|none|DEFECT,...] [FIGURE...]
#
# FLOPCAST names the program (default: flopcast in the PATH).
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
out="${1:-figures}"
defects="${2:-published}"
if (($# > 2)); then
  figures=("${@:3}")
else
  figures=(1 2a 2b 3a 3b 4a 4b 5a 5b A2a A2b A3a A3b A4 A5 A6)
fi

mkdir -p "$out"
for figure in "${figures[@]}"; do
  "${FLOPCAST:-flopcast}" plan --model-of subramanian --figure "$figure" --defects "$defects" --csv \
    >"$out/figure$figure.csv"
  echo "$out/figure$figure.csv"
done
if python3 -c 'import matplotlib' 2>/dev/null; then
  python3 "$here/plot.py" "$out"
else
  echo "No pictures: python3 has no matplotlib"
fi
