for i in 0 1 2; do
  CUDA_VISIBLE_DEVICES=$i vllm serve llama-3-8b --port $((8000 + i)) --max-num-seqs 32 &
done
