"""Executors for clusters whose own library has none of the ``concurrent.futures`` kind."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any


class RayExecutor(Executor):
    """Runs calls as Ray tasks: an executor for ``plan``, ``plan_sweep`` or anything else.

    Ray (``pip install ray``) is started or joined by ``ray.init`` as always; without it, on first
    use, on this machine. Every node needs flopcast installed, or sent along by a ``runtime_env``.

    Args:
        **options: of every task, as ``ray.remote`` takes them: ``num_cpus=4``.
    """

    def __init__(self, **options: Any) -> None:
        import ray

        self._ray = ray
        self._options = options
        if not ray.is_initialized():
            ray.init()
        cores = ray.cluster_resources().get("CPU", 1)
        #: tasks that run at a time
        self.num_workers = max(1, int(cores / (options.get("num_cpus") or 1)))

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **keywords: Any) -> Future[Any]:
        """Sends the call to any node with a free core."""
        task = self._ray.remote(**self._options)(call) if self._options else self._ray.remote(call)
        future: Future[Any] = task.remote(*arguments, **keywords).future()
        return future
