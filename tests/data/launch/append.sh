OPTS="--tensor-model-parallel-size 2"
OPTS+=" --pipeline-model-parallel-size 4"
OPTS="${OPTS} --micro-batch-size 2 --global-batch-size 64"
python pretrain_gpt.py ${OPTS} --bf16
