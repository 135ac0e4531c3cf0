OPTIMIZER=" \
    --optimizer adam \
    --use-distributed-optimizer \
    "
MODEL=" \
    --num-layers 32 --tensor-model-parallel-size 2 \
    --micro-batch-size 1 --global-batch-size 64 --bf16 \
    $OPTIMIZER \
    "
export CMD="pretrain_gpt.py $MODEL"
srun --label bash -c "torchrun --nproc_per_node 8 --node_rank \$SLURM_PROCID $CMD"
