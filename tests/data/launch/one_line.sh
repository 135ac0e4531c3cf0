torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --tp 4 --pp=2 --micro-batch-size 2 --global-batch-size 128 --bf16
