python3 -m MaxText.train MaxText/configs/base.yml run_name=r1 model_name=llama3.1-8b per_device_batch_size=4 \
  max_target_length=8192 ici_fsdp_parallelism=-1 dcn_data_parallelism=2 num_slices=2 remat_policy=minimal_with_context \
  steps=20 dataset_type=synthetic attention=flash enable_checkpointing=false
