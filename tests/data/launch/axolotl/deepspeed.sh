accelerate launch --num_processes 8 -m axolotl.cli.train deepspeed.yml --sequence_len 1024
