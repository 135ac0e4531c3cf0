GPUS=$(nvidia-smi -L | wc -l)
NODES=${SLURM_NNODES}
torchrun --nproc_per_node $GPUS --nnodes $NODES train.py \
    --tp 2 --micro-batch-size 1 --global-batch-size $((GPUS * NODES * 2)) --bf16
