vllm serve llama-3-8b --data-parallel-size 4 --enable-expert-parallel --tensor-parallel-size 2
