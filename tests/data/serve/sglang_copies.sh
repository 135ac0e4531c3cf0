python -m sglang.launch_server --model-path llama-3-8b --dp 4 --disable-cuda-graph --chunked-prefill-size -1
