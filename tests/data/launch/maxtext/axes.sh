python3 -m MaxText.train base.yml run_name=r2 model_name=mixtral-8x7b per_device_batch_size=0.5 max_target_length=4096 \
  ici_fsdp_parallelism=8 ici_tensor_parallelism=4 ici_expert_parallelism=2 dcn_data_parallelism=4 quantization=fp8 \
  gradient_accumulation_steps=2 capacity_factor=1.25
