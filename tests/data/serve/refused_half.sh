python -m sglang.launch_server --model-path llama-3-70b --tp 4 --disaggregation-mode decode
