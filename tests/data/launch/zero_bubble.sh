deepspeed pretrain_gpt.py --pipeline-model-parallel-size 8 --enable-zbh1-pipeline \
  --micro-batch-size 1 --global-batch-size 64 --fp16 --deepspeed --zero-stage 1
