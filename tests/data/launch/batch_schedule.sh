torchrun train.py --micro-batch-size 4 --step-batch-size-schedule "0:384 200B:768 400B:1152" --bf16
