export VLLM_USE_V1=1
srun --nodes=1 bash -c "python3 -m vllm.entrypoints.openai.api_server --model /models/Meta-Llama-3-8B \
  -tp 1 --dtype auto --cudagraph-capture-sizes 1 2 4 8 --enable-chunked-prefill False --swap-space 16"
