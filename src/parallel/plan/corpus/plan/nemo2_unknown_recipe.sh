nemo llm pretrain --factory llama9_8b trainer.num_nodes=1
