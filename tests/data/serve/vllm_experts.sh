vllm serve deepseek-ai/DeepSeek-R1 --data-parallel-size 8 --enable-expert-parallel --data-parallel-backend ray -O3 --speculative-config '{"method": "deepseek_mtp", "num_speculative_tokens": 2}'
