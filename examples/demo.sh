#!/usr/bin/env bash
# Forecasts a training step, finds the best plan, serves a model, maps a dataflow graph, makes a small training run and replays it (no GPU
# needed). Leaves pages and timelines in demo/.
# Called by `./dev demo`; FLOPCAST names the binary. Every command is printed before it runs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

flopcast="${FLOPCAST:-build/release/flopcast}"
out="${1:-demo}"

# As one would type it: words that a shell would take apart are quoted.
run() {
  local command="" word
  for word in "$@"; do
    case "$word" in
      "$flopcast") word=flopcast ;;
      *[!-A-Za-z0-9_./:=,%+]*) word="\"$word\"" ;;
    esac
    command+="${command:+ }$word"
  done
  printf '\n$ %s\n' "$command"
  "$@"
}

mkdir -p "$out"
run "$flopcast" estimate meta-llama-3-70b --on "128 x dgx-h100" --tp 8 --pp 4 --global-batch 1024 \
  --seq 8192 --html "$out/estimate.html" --trace-out "$out/step.perfetto-trace"
run "$flopcast" plan llama-3-8b --on "4 x dgx-h100" --global-batch 256 --seq 8192 --max-tp 8 \
  --html "$out/plan.html"
run "$flopcast" serve meta-llama-3-70b --on "2 x dgx-h100" --engine vllm --tp 4 --users 64 --input 1024 --output 1024 \
  --slo "ttft.p99<2s,tpot.p99<50ms" --html "$out/serve.html" --trace-out "$out/serve.perfetto-trace"
run "$flopcast" map gpt3-175b --on "8 x sn10" --topology torus:4x2 --html "$out/map.html"
run "$flopcast" explore gpt3-175b --on "8 x sn10" --topology torus:4x2 --sweep sram=150MB..500MB:50MB \
  --sweep memory-bandwidth=100GB/s,300GB/s,1TB/s --html "$out/explore.html"
run python3 examples/make_sample.py "$out/sample"
run "$flopcast" replay "$out/sample" --html "$out/replay.html" \
  --trace-out "$out/replay.perfetto-trace" --trace-out "$out/replay.json.gz"
run "$flopcast" whatif "$out/sample" --remove straggler --scale network=0.5 --sensitivity --html "$out/whatif.html" \
  --trace-out "$out/whatif.perfetto-trace"
run "$flopcast" net time all_reduce --size 1GB --on "64 x dgx-h100" --html "$out/all_reduce.html"
run "$flopcast" net run examples/flows.csv --on "2 x dgx-h100" --html "$out/flows.html"
run "$flopcast" cost gemm 8192x8192x8192 bf16 --on h200

# What there is now: a title, a file, words about it.
results="
Estimate|estimate.html|one training step of Llama 3 70B on 1,024 H100
|step.perfetto-trace|the step, stage by stage: open it at https://ui.perfetto.dev
Plan|plan.html|the best of all plans for Llama 3 8B on 32 H100
Serve|serve.html|Llama 3 70B for 64 users on 16 H100: latency against throughput, batch over time
|serve.perfetto-trace|replicas and requests
Map|map.html|GPT-3's layer on 8 dataflow chips: partitions, roofline, timeline
Explore|explore.html|the same over SRAM and DRAM bandwidth: heat maps
Sample|sample/|8 ranks of a pipeline-, data- and tensor-parallel step, made up
Replay|replay.html|that run again, and where its time went
|replay.perfetto-trace|open it at https://ui.perfetto.dev
|replay.json.gz|the same for tools that read PyTorch's traces
What if|whatif.html|the same run without its straggler, on a network twice as fast
|whatif.perfetto-trace|
Network|all_reduce.html|an all-reduce over 512 H100, by size and algorithm
|flows.html|flows that share two nodes, and their links over time
"

# A page of links to all of these.
{
  cat <<'EOF'
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Flopcast: what the demo made</title>
<style>
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #1b1f24; background: #fff; }
a { color: #0550ae; }
@media (prefers-color-scheme: dark) { body { color: #e6edf3; background: #0d1117; } a { color: #79b8ff; } }
dt { font-weight: 600; margin-top: 1rem; }
dd { margin: 0; overflow-wrap: anywhere; }
</style>
</head>
<body>
<h1>What the demo made</h1>
<dl>
EOF
  while IFS='|' read -r title file words; do
    [[ -n $file ]] || continue
    if [[ -n $title ]]; then printf '<dt>%s</dt>\n' "$title"; fi
    printf '<dd><a href="%s">%s</a>%s</dd>\n' "$file" "$file" "${words:+: $words}"
  done <<<"$results"
  printf '</dl>\n</body>\n</html>\n'
} >"$out/index.html"

printf '\n%-9s %-29s %s\n' Program "$flopcast" "with its folder on the PATH, the commands above run as they are printed"
while IFS='|' read -r title file words; do
  if [[ -n $file ]]; then printf '%-9s %-29s %s\n' "$title" "$out/$file" "$words"; fi
done <<<"$results"
printf '%-9s %-29s %s\n' "All pages" "$out/index.html" "open it in a browser"
