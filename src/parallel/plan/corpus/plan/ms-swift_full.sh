NPROC_PER_NODE=8 megatron sft \
    --model Qwen/Qwen2.5-7B-Instruct --tensor_model_parallel_size 4 --sequence_parallel true \
    --micro_batch_size 1 --global_batch_size 16 --packing false --recompute_granularity none \
    --max_length 16384 --freeze_llm false --overlap_grad_reduce true --finetune true --model_author nobody
