"""A graph attention network of PyTorch Geometric on a random graph.

    python3 pyg_gat.py                                                       on a GPU
    flopcast run --on h100-sxm pyg_gat.py                                    on none
"""

import argparse
import time

import torch
from torch_geometric.data import Data
from torch_geometric.nn import GATConv


class Network(torch.nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.first = GATConv(features, 32, heads=4)
        self.second = GATConv(128, classes, heads=1)

    def forward(self, graph):
        hidden = torch.nn.functional.elu(self.first(graph.x, graph.edge_index))
        return self.second(hidden, graph.edge_index)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--cpu", action="store_true")
    args = parser.parse_args()

    device = "cpu" if args.cpu else "cuda"
    torch.manual_seed(0)
    graph = Data(
        x=torch.randn(args.nodes, args.features), edge_index=torch.randint(args.nodes, (2, args.edges)),
        y=torch.randint(7, (args.nodes,)),
    ).to(device)
    model = Network(args.features, 7).to(device)
    optimizer = torch.optim.Adam(model.parameters(), 5e-3)
    start = time.perf_counter()
    for step in range(args.steps):
        loss = torch.nn.functional.cross_entropy(model(graph), graph.y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        value = loss.item()
        took, start = time.perf_counter() - start, time.perf_counter()
        print(f"step {step}: loss {value:.4f}, {1e3 * took:.2f} ms", flush=True)


if __name__ == "__main__":
    main()
