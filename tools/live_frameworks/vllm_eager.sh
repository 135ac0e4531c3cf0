# What the runs of vllm.toml are started with, as `flopcast serve` reads it.
vllm serve meta-llama/Meta-Llama-3-8B --enforce-eager --max-num-batched-tokens 16384
