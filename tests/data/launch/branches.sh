SIZE=7b
FLASH=true
if [ $SIZE = 1b ]; then
    TP=1
elif [ $SIZE = 7b ]; then
    TP=2
else
    TP=8
fi
if [ $FLASH = true ] && [ $TP -gt 1 ]; then
    ATTENTION="--attention-backend flash --sequence-parallel"
else
    ATTENTION="--attention-backend unfused"
fi
[ -z "$MICRO" ] && MICRO=4
torchrun train.py --tp $TP $ATTENTION --micro-batch-size $MICRO --global-batch-size 64 --bf16
