ARGS="--tensor-model-parallel-size 2 --moe-expert-parallel-size 4 --num-experts 8 \
  --micro-batch-size 1 --global-batch-size 64 --fp16 --zero-stage 2 --deepspeed \
  --ds-sequence-parallel-size 2 --checkpoint-activations --use-flash-attn-v2"
deepspeed pretrain_gpt.py $ARGS
