# What the runs of sglang.toml are started with, as `flopcast serve` reads it.
python -m sglang.launch_server --model-path meta-llama/Meta-Llama-3-8B
