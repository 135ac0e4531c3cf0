#!/bin/bash
# bash run_mcore.sh SIZE MICRO GLOBAL TP PP
MODEL_SIZE=${1:-7B}
MICRO=${2:-1}
GLOBAL=${3:-64}
TP=${4:-2}
PP=${5:-1}
if [ $MODEL_SIZE = 7B ]; then
  LAYERS=28; HIDDEN=3584; HEADS=28; FFN=18944; GROUPS_OF=4
fi
torchrun --nproc_per_node 8 pretrain_qwen.py --num-layers $LAYERS --hidden-size $HIDDEN --num-attention-heads $HEADS \
  --ffn-hidden-size $FFN --group-query-attention --num-query-groups $GROUPS_OF --swiglu --normalization RMSNorm \
  --position-embedding-type rope --disable-bias-linear --add-qkv-bias --seq-length 4096 --max-padding-length 4096 \
  --micro-batch-size $MICRO --global-batch-size $GLOBAL --tensor-model-parallel-size $TP \
  --pipeline-model-parallel-size $PP --bf16 --use-distributed-optimizer --patch-tokenizer-type Qwen2Tokenizer \
  --extra-vocab-size 293 --dataset LLama-Pretrain-Idxmap --transformer-impl transformer_engine
