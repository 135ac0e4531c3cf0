#!/bin/bash
torchrun --nproc_per_node=8 --nnodes=2 -m torchtitan.train --module qwen3 --config qwen3_14b \
  --training.local_batch_size 1 --parallelism.tensor_parallel_degree 4 --compile.enable \
  --metrics.log_freq 10 activation-checkpoint:none
