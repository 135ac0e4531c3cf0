torchrun --nproc_per_node 8 --nnodes 4 pretrain_llama.py \
  --tensor-model-parallel-size 2 --pipeline-model-parallel-size 1 --sequence-parallel \
  --num-layers 40 --hidden-size 5120 --ffn-hidden-size 13824 --num-attention-heads 40 --seq-length 4096 \
  --micro-batch-size 1 --global-batch-size 256 --bf16 --use-flash-attn --swiglu --normalization RMSNorm \
  --overlapped-distributed-optimizer --reduce-bucket-size 200000000 --lr 1e-5 --train-iters 1000
