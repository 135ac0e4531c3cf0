accelerate launch --config_file beside_fsdp2.yaml --num_processes 8 scripts/sft.py --config recipe.yaml --packing true
