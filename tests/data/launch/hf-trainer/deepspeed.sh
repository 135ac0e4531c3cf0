deepspeed --num_gpus 8 --num_nodes 4 finetune.py --deepspeed beside_zero2.json \
  --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 4 --gradient_accumulation_steps 2 \
  --bf16 true --max_seq_length 2048 --use_lora true --lora_r 32 --lora_target_modules q_proj,v_proj,down_proj \
  --optim adamw_torch --attn_implementation eager
