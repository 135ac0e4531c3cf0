torchrun --nproc_per_node 8 my_trainer.py --bf16 --optimizer adamw --batch-size 32 --lr 1e-4
