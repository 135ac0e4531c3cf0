NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-8B --train_type lora --per_device_train_batch_size 1 --max_length 2048
