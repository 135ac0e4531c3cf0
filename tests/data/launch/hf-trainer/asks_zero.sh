torchrun --nproc_per_node=8 train.py --per_device_train_batch_size 1 --bf16 --deepspeed not_here.json \
  --max_seq_length 4096 --model_name_or_path meta-llama/Llama-3.1-8B
