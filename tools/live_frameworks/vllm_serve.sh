# What the default runs of vllm.toml are started with, as `flopcast serve` reads it.
vllm serve meta-llama/Meta-Llama-3-8B --max-num-batched-tokens 16384
