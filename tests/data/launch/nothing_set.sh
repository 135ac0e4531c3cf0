torchrun --nproc_per_node $GPUS --nnodes $NODES train.py --bf16 $EXTRA_ARGS \
    --tensor-model-parallel-size 2 $MORE --micro-batch-size 1 --global-batch-size 64
