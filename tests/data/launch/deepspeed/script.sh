deepspeed --num_gpus 8 --num_nodes 2 train_mine.py --deepspeed_config ds_stage1.json --my_data d
