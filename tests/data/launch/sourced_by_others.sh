# Variables alone: another script reads this one.
PARALLEL_ARGS="--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2"
BATCH_ARGS=(--micro-batch-size 2 --global-batch-size 32 --bf16)
