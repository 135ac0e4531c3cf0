deepspeed --module openrlhf.cli.train_sft --max_len 2048 --zero_stage 2 --bf16 --micro_train_batch_size 2
