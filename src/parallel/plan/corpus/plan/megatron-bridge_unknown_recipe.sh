torchrun --nproc_per_node=8 scripts/training/run_recipe.py --recipe llama3_8c_pretrain_config
