torchrun train.py --micro-batch-size 1 --global-batch-size 64 --bf16 --use-distributed-optimizer \
  --grad-reduce-in-bf16 --use-precision-aware-optimizer --main-grads-dtype bf16 \
  --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16
