torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 \
  --seq-length 2048 --micro-batch-size 4 --global-batch-size 64 --tensor-model-parallel-size 2 --bf16 \
  --lr 3e-4 --my-new-recompute-everything --faster-attention 3 --cpu-offloading --cpu-offloading-num-layers 2
