#!/usr/bin/env bash
# Replays a small made-up training run and writes a report and a timeline into demo/.
# Called by `./dev demo`; FLOPCAST names the binary.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

flopcast="${FLOPCAST:-build/release/flopcast}"
out="${1:-demo}"
mkdir -p "$out"
python3 examples/make_sample.py "$out/sample"
"$flopcast" replay "$out/sample" \
  --html "$out/replay.html" --trace-out "$out/replay.perfetto-trace"

cat <<EOF

Report    $out/replay.html              open it in a browser
Timeline  $out/replay.perfetto-trace    open it at https://ui.perfetto.dev
EOF
