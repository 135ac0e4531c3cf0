trtllm-serve serve llama-3-70b --tp_size 4 --config elsewhere.yaml
