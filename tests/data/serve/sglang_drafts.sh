python -m sglang.launch_server --model deepseek-ai/DeepSeek-R1 --tp 8 --speculative-algorithm NEXTN --speculative-num-steps 1 --speculative-eagle-topk 1 --speculative-num-draft-tokens 2
