torchrun --nproc_per_node 8 /opt/NeMo/examples/nlp/language_modeling/megatron_gpt_pretraining.py \
  trainer.precision=bf16 trainer.devices=8 trainer.num_nodes=2 model.megatron_amp_O2=False model.micro_batch_size=2 \
  model.global_batch_size=64 model.tensor_model_parallel_size=2 model.encoder_seq_length=2048 model.num_layers=24 \
  model.hidden_size=2048 model.num_attention_heads=16 model.fp8=True model.fp8_hybrid=True
