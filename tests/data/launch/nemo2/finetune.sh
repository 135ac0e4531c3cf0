nemo llm finetune --factory llama3_8b peft=lora trainer.num_nodes=1
