#!/bin/sh
text-generation-launcher --model-id meta-llama/Meta-Llama-3-8B --num-shard 2
