torchrun train.py --micro-batch-size 1 --global-batch-size 64 --bf16 --fp8-format e4m3 \
  --fp8-recipe blockwise --mtp-num-layers 1
