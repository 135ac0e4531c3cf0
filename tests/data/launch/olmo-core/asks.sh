torchrun --nproc-per-node=8 src/scripts/train/OLMo2-13B.py train run02 local \
  --train_module.max_sequence_length=4096 --train_module.ac_config.mode=full
