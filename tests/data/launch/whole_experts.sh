torchrun pretrain_gpt.py --num-layers 4 --hidden-size 1024 --num-attention-heads 16 --swiglu \
  --ffn-hidden-size 4096 --num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size 512 \
  --moe-layer-freq '([0]*1+[1]*3)' --normalization RMSNorm --disable-bias-linear \
  --position-embedding-type rope --padded-vocab-size 32000 --micro-batch-size 1 \
  --global-batch-size 16 --seq-length 1024 --bf16
