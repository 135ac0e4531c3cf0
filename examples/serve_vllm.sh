#!/bin/sh
# A deployment as it is started: flopcast serve --from examples/serve_vllm.sh --on dgx-h100 --users 16 ...
TP=${TP:-4}
vllm serve meta-llama/Meta-Llama-3-70B --tensor-parallel-size "$TP" --max-num-seqs 64 --max-num-batched-tokens 4096 \
  --gpu-memory-utilization 0.92 --port 8000
