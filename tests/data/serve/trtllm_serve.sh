cat > /tmp/extra.yaml <<EOF
enable_attention_dp: true
attention_dp_config:
  enable_balance: true
  batching_wait_iters: 10
  timeout_iters: 500
kv_cache_config:
  dtype: fp8
  enable_block_reuse: false
  free_gpu_memory_fraction: 0.75
cuda_graph_config:
  enable_padding: true
  batch_sizes: [1, 2, 4, 8]
moe_config:
  backend: TRTLLM
print_iter_log: true
EOF
mpirun -n 1 trtllm-serve deepseek-ai/DeepSeek-R1 --host 0.0.0.0 --tp_size 8 --ep_size 8 --max_batch_size 512 --max_num_tokens 4096 --kv_cache_free_gpu_memory_fraction 0.9 --extra_llm_api_options /tmp/extra.yaml
