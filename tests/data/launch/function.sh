launch() {
    local tp=$1
    shift
    torchrun --nproc_per_node 8 train.py --tensor-model-parallel-size $tp "$@"
}
COMMON="--micro-batch-size 1 --global-batch-size 32"
launch 4 --pipeline-model-parallel-size 2 $COMMON --bf16
