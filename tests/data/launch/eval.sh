options="--tensor-model-parallel-size 2
    --micro-batch-size 2
    --global-batch-size 64 --fp16"
recompute=" \
    --recompute-granularity full \
    --recompute-method uniform --recompute-num-layers 1"
run_cmd="deepspeed --num_gpus 8 pretrain_gpt.py ${options} ${recompute} &> train.log"
echo ${run_cmd}
eval ${run_cmd}
