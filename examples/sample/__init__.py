"""A made-up training run, simulated and written as torch.profiler writes it: see ../make_sample.py.

Read in this order: `plan` (what is asked for), `world` (the run), `host` and `model` (what a rank's
Python does), `schedule` (in which order), `gpu` (time), `recorder` (the files).
"""
