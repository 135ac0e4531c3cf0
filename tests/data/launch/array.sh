#!/bin/bash
PARALLEL=(
    --tensor-model-parallel-size 2   # chips of a node (NVLink)
    # --pipeline-model-parallel-size 16
    --context-parallel-size 2
)
TRAINING=(--micro-batch-size 1 --global-batch-size 64 --bf16)
torchrun --nproc_per_node 8 pretrain_gpt.py ${PARALLEL[@]} "${TRAINING[@]}"
