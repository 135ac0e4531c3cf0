torchrun train.py --num-layers 32 --pp 4 --num-layers-per-virtual-pipeline-stage 2 --micro-batch-size 1 \
  --global-batch-size 64 --bf16 --overlap-grad-reduce --overlap-param-gather --use-distributed-optimizer
