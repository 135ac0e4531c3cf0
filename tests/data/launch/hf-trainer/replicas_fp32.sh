torchrun --nproc_per_node=4 run_clm.py --model_name_or_path gpt2 --per_device_train_batch_size 8 \
  --block_size 1024 --tf32 true --optim adafactor --group_by_length --do_train --output_dir out
