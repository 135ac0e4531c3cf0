trl sft --model_name_or_path meta-llama/Llama-3.2-1B --dataset_name d --use_peft --lora_r 8 \
  --lora_target_modules all-linear --load_in_4bit --gradient_checkpointing false --per_device_train_batch_size 4
