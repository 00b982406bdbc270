"""Golden values of learning-rate schedules: the rates that torch.optim.lr_scheduler gives to steps 0, 1, …"""
import numpy as np
import torch
from torch.optim import lr_scheduler

from golden import Golden


def write(path):
    golden = Golden()

    def case(name, steps, schedule, lr=0.1):
        optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=lr)
        scheduler = schedule(optimizer)
        rates = []
        for step in range(steps):
            if step > 0:
                optimizer.step()
                scheduler.step()
            rates.append(optimizer.param_groups[0]["lr"])
        golden.put(name, np.array(rates))

    case("step", 12, lambda o: lr_scheduler.StepLR(o, step_size=4, gamma=0.5))
    case("step.default", 4, lambda o: lr_scheduler.StepLR(o, step_size=1), lr=1e-3)
    case("linear", 14, lambda o: lr_scheduler.LinearLR(o, start_factor=0.2, end_factor=0.9, total_iters=10))
    case("linear.default", 8, lambda o: lr_scheduler.LinearLR(o), lr=1e-3)

    def one_cycle(total, **options):
        return lambda o: lr_scheduler.OneCycleLR(o, total_steps=total, cycle_momentum=False, **options)
    case("one_cycle", 20, one_cycle(20, max_lr=0.1))
    case("one_cycle.linear", 20, one_cycle(20, max_lr=0.1, anneal_strategy="linear", pct_start=0.25))
    case("one_cycle.three", 24, one_cycle(24, max_lr=0.5, three_phase=True, div_factor=10., final_div_factor=100.))
    case("one_cycle.short", 2, one_cycle(2, max_lr=0.1))  # the rise would end before step 0
    case("one_cycle.rise", 7, one_cycle(7, max_lr=0.1, pct_start=1.0))  # nothing but a rise
    golden.save(path)
