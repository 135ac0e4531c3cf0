ARGS=()
DTYPE="fp8"
if [[ "$DTYPE" == "fp8" ]]; then
    ARGS+=(
        "--fp8-format hybrid"
        "--fp8-param-gather"
    )
fi
ARGS+=(--bf16 --grad-reduce-in-bf16 --use-distributed-optimizer)
torchrun pretrain_gpt.py --micro-batch-size 1 --global-batch-size 128 "${ARGS[@]}"
