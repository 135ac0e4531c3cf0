torchrun --nproc_per_node=8 --nnodes 4 scripts/training/run_recipe.py --recipe llama3_70b_pretrain_config \
  model.context_parallel_size=1 train.global_batch_size=256 train.train_iters=100 model.recompute_granularity=full \
  model.recompute_method=uniform model.recompute_num_layers=1 optimizer.lr=0.0003 logger.log_interval=1 \
  mixed_precision=bf16_with_fp8_current_scaling_mixed model.hyper_drive=true
