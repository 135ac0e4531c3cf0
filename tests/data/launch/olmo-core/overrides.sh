torchrun --nproc-per-node=8 src/scripts/train/OLMo2-7B.py train run01 local \
  --dataset.sequence_length=4096 --data_loader.global_batch_size=4194304 \
  --train_module.rank_microbatch_size=8192 --train_module.dp_config.name=fsdp \
  --train_module.compile_model=true --trainer.max_duration.value=100
