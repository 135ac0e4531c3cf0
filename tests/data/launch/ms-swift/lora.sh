NPROC_PER_NODE=4 NNODES=2 megatron sft --model Qwen/Qwen3-30B-A3B-Instruct-2507 --dataset data.jsonl \
  --train_type lora --lora_rank 16 --lora_alpha 32 --target_modules all-linear --expert_model_parallel_size 4 \
  --moe_permute_fusion true --moe_grouped_gemm true --micro_batch_size 2 --global_batch_size 32 --packing true \
  --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 --max_length 4096 \
  --cross_entropy_loss_fusion true --lr 1e-4 --save output --num_workers 4 --attention_backend flash
