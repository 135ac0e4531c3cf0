python3 -m sglang.launch_server --model-path Qwen/Qwen3-32B --tp 4 --mem-fraction-static 0.85 --chunked-prefill-size 4096 --max-running-requests 256 --host 0.0.0.0
