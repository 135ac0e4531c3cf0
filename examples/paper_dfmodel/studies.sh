#!/usr/bin/env bash
# All studies as CSV files: studies.sh [FOLDER] [STUDY...]
#
# FLOPCAST names the program (default: flopcast in the PATH).
set -euo pipefail
out="${1:-studies}"
if (($# > 1)); then
  studies=("${@:2}")
else
  studies=(fig06 fig07 fig08 fig09 fig10 fig12 fig14 fig16 fig18 fig19 fig20 fig21 fig22)
fi

mkdir -p "$out"
for study in "${studies[@]}"; do
  "${FLOPCAST:-flopcast}" validate mapping --study "$study" --csv >"$out/$study.csv"
  echo "$out/$study.csv"
done
