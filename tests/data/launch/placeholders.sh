options=" --tensor-model-parallel-size 8 --data-path <PATH TO DATA> \
  --save <CHECKPOINT DIRECTORY> \
  --micro-batch-size 1 --global-batch-size 1536 \
  --fp16 \
  --activations-checkpoint-method uniform "
srun -l sh -c "python -u pretrain_gpt.py $@ ${options}"
