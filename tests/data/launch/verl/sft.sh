torchrun --nproc_per_node=8 -m verl.trainer.fsdp_sft_trainer data.train_files=a.parquet data.max_length=4096 \
  data.train_batch_size=128 data.micro_batch_size_per_gpu=4 model.partial_pretrain=meta-llama/Llama-3.1-8B-Instruct \
  optim.lr=1e-5 trainer.total_epochs=2
