torchrun --nproc-per-node=8 examples/llm_finetune/finetune.py -c peft.yaml --packed_sequence.packed_sequence_size 2048
