megatron pt --model org/unheard-of-13B --torch_dtype float16 --max_length 2048 --packing true \
    --pipeline_model_parallel_size 2 --global_batch_size 64 --turbo_mode extreme
