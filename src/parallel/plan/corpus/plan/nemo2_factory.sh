nemo llm pretrain --factory "llama31_8b(num_nodes=2, num_gpus_per_node=8)" \
  trainer.strategy.tensor_model_parallel_size=2 trainer.strategy.sequence_parallel=true data.global_batch_size=256 \
  trainer.max_steps=100 log.ckpt.save_last=false trainer.strategy.flux_capacitor=1 -y
