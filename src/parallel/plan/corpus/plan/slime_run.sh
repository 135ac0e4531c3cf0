PERF_ARGS=(--tensor-model-parallel-size 2 --sequence-parallel --recompute-granularity full
   --recompute-method uniform --recompute-num-layers 1 --use-dynamic-batch-size --max-tokens-per-gpu 9216)
ROLLOUT_ARGS=(--prompt-data data.jsonl --rollout-batch-size 32 --n-samples-per-prompt 8
   --rollout-max-response-len 8192 --global-batch-size 256)
ray job submit --address="http://127.0.0.1:8265" --runtime-env-json="{}" -- python3 train.py \
   --actor-num-nodes 1 --actor-num-gpus-per-node 8 --colocate --hf-checkpoint /root/Qwen3-4B \
   --num-layers 36 --hidden-size 2560 --ffn-hidden-size 9728 --num-attention-heads 32 --group-query-attention \
   --num-query-groups 8 --kv-channels 128 --swiglu --vocab-size 151936 --normalization RMSNorm --disable-bias-linear \
   --rollout-num-gpus-per-engine 2 --sglang-mem-fraction-static 0.7 --optimizer adam --lr 1e-6 --warp-drive \
   ${PERF_ARGS[@]} ${ROLLOUT_ARGS[@]}
