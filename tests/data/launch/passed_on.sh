options="--tensor-model-parallel-size 2 --micro-batch-size 1 --global-batch-size 32"
mpirun -np 8 bash entry.sh pretrain.py "${options} --bf16"
