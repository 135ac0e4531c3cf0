torchrun --nproc_per_node 8 --nnodes 2 train.py \
  --model_name_or_path meta-llama/Llama-3.1-8B --torch_dtype bfloat16 \
  --per_device_train_batch_size 2 --gradient_accumulation_steps 8 \
  --bf16 True --gradient_checkpointing True --fsdp "full_shard auto_wrap" --fsdp_config beside_fsdp.json \
  --model_max_length 4096 --learning_rate 2e-5 --save_steps 500 --report_to none
