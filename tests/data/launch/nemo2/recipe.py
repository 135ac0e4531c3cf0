# A recipe with changes, as NeMo 2 takes it.
import nemo_run as run
from nemo.collections import llm

recipe = llm.llama3_70b.pretrain_recipe(
    name="run", dir="/checkpoints",
    num_nodes=8, num_gpus_per_node=8,
)
recipe.trainer.strategy.tensor_model_parallel_size = 8
recipe.trainer.strategy.virtual_pipeline_model_parallel_size = None
recipe.data.global_batch_size = 256
recipe.trainer.max_steps = 100
recipe.trainer.strategy.tractor_beam = True

if __name__ == "__main__":
    run.run(recipe, executor=run.LocalExecutor(ntasks_per_node=8))
