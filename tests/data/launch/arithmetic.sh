NODES=4
GPUS_PER_NODE=8
WORLD_SIZE=$(($GPUS_PER_NODE*$NODES))
TP=$((2 ** 2)); PP=2
DP=$(( WORLD_SIZE / (TP * PP) ))
MICRO=2
ACCUMULATE=$(( DP > 2 ? 8 : 16 ))
torchrun --nproc_per_node $GPUS_PER_NODE --nnodes $NODES pretrain_gpt.py \
    --tp $TP --pp $PP --micro-batch-size $MICRO --global-batch-size $((MICRO * DP * ACCUMULATE)) --bf16
