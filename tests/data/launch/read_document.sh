read -r -d '' options <<EOF
    --tensor-model-parallel-size 2
    --micro-batch-size 1
    --global-batch-size 32
    --bf16
EOF
srun sh -c "python train.py ${options//$'\n'/ }"
