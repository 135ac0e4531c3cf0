vllm serve llama-3-70b -tp 4 --cpu-offload-gb 8 --seed 3 --make-it-fast --enable-lora --no-such-thing 7 --reasoning-parser none
