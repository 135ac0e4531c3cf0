vllm serve llama-3-70b --tensor-parallel-size 4 &
vllm serve llama-3-8b --tensor-parallel-size 1 &
