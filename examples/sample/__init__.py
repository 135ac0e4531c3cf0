"""A made-up training run, simulated and written as torch.profiler writes it: see ../make_sample.py.

Read in this order: `plan` (what is asked for), `world` (the run), `program`, `layer` and `host` (what a
rank's Python does, from the step down to a launch), `schedule` (its order), `gpu` and `machine` (time),
`noise`, `recorder` (the files), `times` (what the run knows of its steps).
"""
