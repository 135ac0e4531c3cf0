vllm serve --enforce-eager llama-3-8b --num-gpu-blocks-override 2000
