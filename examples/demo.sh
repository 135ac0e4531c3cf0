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
"$flopcast" net time all_reduce --size 1GB --on "64 x dgx-h100" --html "$out/all_reduce.html"
"$flopcast" net run examples/flows.csv --on "2 x dgx-h100" --html "$out/flows.html"
"$flopcast" cost gemm 8192x8192x8192 bf16 --on h200

cat <<EOF

Sample    $out/sample/                  8 ranks of a pipeline-, data- and tensor-parallel step, made up
Report    $out/replay.html              open it in a browser
Timeline  $out/replay.perfetto-trace    open it at https://ui.perfetto.dev
          $out/replay.json.gz           the same for tools that read PyTorch's traces
Network   $out/all_reduce.html          an all-reduce over 512 H100, by size and algorithm
          $out/flows.html               flows that share two nodes, and their links over time
EOF
