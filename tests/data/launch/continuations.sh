#!/bin/bash
# A comment with a quote: don't stop here (nor at a bracket).
torchrun --nproc_per_node=8 pretrain_gpt.py \
    --tensor-model-parallel-size 8 \
    --sequence-parallel \
    --micro-batch-size 1 --global-batch-size 32 \
    --bf16   # not continued
echo --pipeline-model-parallel-size 8
