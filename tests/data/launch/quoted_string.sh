#!/bin/bash
TP=4
PP=2
GPT_ARGS="
    --tensor-model-parallel-size $TP
    --pipeline-model-parallel-size ${PP}
    --micro-batch-size 4
    --global-batch-size 256
    --fp16
"
python -m torch.distributed.launch --nproc_per_node 8 pretrain_gpt.py $GPT_ARGS
