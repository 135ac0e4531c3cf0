vllm serve llama-3-70b --tensor-parallel-size 4 --port 8100 --max-num-seqs 16 --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_producer"}' &
vllm serve llama-3-70b --tensor-parallel-size 8 --port 8200 --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}' &
