# bash caller_decides.sh TP MICRO [SIZE]
TP=$1
MICRO=$2
if [ "$3" = big ]; then PP=8; else PP=2; fi
torchrun train.py --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP \
    --micro-batch-size $MICRO --global-batch-size ${GLOBAL:-64} --bf16
