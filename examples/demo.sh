#!/usr/bin/env bash
# Makes a small training run (no GPU needed), replays it, and leaves a report and timelines in demo/.
# Called by `./dev demo`; FLOPCAST names the binary.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

flopcast="${FLOPCAST:-build/release/flopcast}"
out="${1:-demo}"
mkdir -p "$out"
python3 examples/make_sample.py "$out/sample"
"$flopcast" replay "$out/sample" --html "$out/replay.html" \
  --trace-out "$out/replay.perfetto-trace" --trace-out "$out/replay.json.gz"

cat <<EOF

Sample    $out/sample/                  8 ranks of a pipeline-, data- and tensor-parallel step, made up
Report    $out/replay.html              open it in a browser
Timeline  $out/replay.perfetto-trace    open it at https://ui.perfetto.dev
          $out/replay.json.gz           the same for tools that read PyTorch's traces
EOF
