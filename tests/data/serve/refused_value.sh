vllm serve llama-3-70b --tensor-parallel-size four
