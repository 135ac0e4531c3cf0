torchrun --nproc_per_node=8 --nnodes=4 train.py --model_name_or_path meta-llama/Llama-2-7b --bf16 \
  --per_device_train_batch_size 1 --fsdp "hybrid_shard_zero2 auto_wrap" --fsdp_config elsewhere.json \
  --optim adamw_bnb_8bit
