ZERO=3
CONFIG=./ds_config.json
cat <<EOT > $CONFIG
{
  "train_micro_batch_size_per_gpu": 2,
  "train_batch_size": 128,
  "zero_optimization": { "stage": $ZERO, "overlap_comm": true },
  "bf16": { "enabled": true }
}
EOT
deepspeed pretrain_gpt.py --micro-batch-size 2 --global-batch-size 128 --bf16 \
    --no-pipeline-parallel --deepspeed --deepspeed_config=$CONFIG --zero-stage=$ZERO
