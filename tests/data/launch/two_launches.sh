python preprocess.py --seq-length 2048
torchrun train.py --tp 2 --pp 2 --micro-batch-size 1 --global-batch-size 32 --seq-length 4096 --bf16
