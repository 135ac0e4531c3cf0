import torch
model = torch.nn.Linear(8, 8)
model.bias.requires_grad = False
