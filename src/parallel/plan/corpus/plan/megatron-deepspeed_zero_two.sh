cat > ds.json <<EOF
{ "train_micro_batch_size_per_gpu": 2, "zero_optimization": { "stage": 2, "overlap_comm": true },
  "bf16": { "enabled": true }, "wall_clock_breakdown": true, "quicker_steps": 3 }
EOF
deepspeed --num_gpus 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 \
  --micro-batch-size 2 --global-batch-size 64 --tensor-model-parallel-size 2 --bf16 --no-pipeline-parallel \
  --checkpoint-activations --deepspeed --deepspeed_config ds.json --zero-stage 2 --train-tokens 300000000000
