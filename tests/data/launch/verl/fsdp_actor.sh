python3 -m verl.trainer.main_ppo data.max_prompt_length=512 data.max_response_length=1536 \
  actor_rollout_ref.model.path=Qwen/Qwen3-8B actor_rollout_ref.model.enable_gradient_checkpointing=True \
  actor_rollout_ref.actor.ppo_mini_batch_size=128 actor_rollout_ref.actor.use_dynamic_bsz=True \
  actor_rollout_ref.actor.ppo_max_token_len_per_gpu=8192 actor_rollout_ref.actor.ulysses_sequence_parallel_size=2 \
  actor_rollout_ref.actor.fsdp_config.param_offload=False actor_rollout_ref.actor.magic_kernels=True \
  actor_rollout_ref.rollout.n=5 trainer.n_gpus_per_node=8
