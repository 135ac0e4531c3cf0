#!/bin/bash
MODEL=${MODEL:-Qwen/Qwen3-32B-FP8}
TP=2
ARGS=(--tensor-parallel-size $TP --max_num_seqs 64 --block-size 32)
if [ "$DEBUG" = 1 ]; then
  ARGS+=(--enforce-eager)
fi
docker run --gpus all -v ~/.cache:/root/.cache -p 8000:8000 --ipc=host \
  vllm/vllm-openai:v0.28.1 \
  --model "$MODEL" "${ARGS[@]}" \
  --trust-remote-code
