torchrun train.py --micro-batch-size 1 --global-batch-size 64 --bf16 --use-distributed-optimizer \
  --optimizer-cpu-offload --optimizer-offload-fraction 0.75 --recompute-activations \
  --cpu-offloading --cpu-offloading-num-layers 4
