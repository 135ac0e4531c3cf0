TP=${TP:-2}
PP=${PP:=4}
EXTRA=${EXTRA-"--sequence-parallel"}
BATCH=${BATCH:+7}
torchrun pretrain_gpt.py --tp $TP --pp ${PP} ${EXTRA} --micro-batch-size ${BATCH:-1} \
    --global-batch-size ${GBS:-$((TP * PP * 8))} --bf16
