"""Golden values of optimisers: parameters after steps of torch.optim with groups and schedules, and of torch.optim.Muon.

PyTorch's Muon rounds its Newton-Schulz iteration to bfloat16. Here `bfloat16()` copies instead, so that everything else of it
runs in float64.
"""
import torch
from torch.optim import lr_scheduler

from golden import Draw, Golden

STEPS = 6


def write(path):
    golden = Golden()

    def case(name, shapes, make, schedule=None):
        draw = Draw("optim." + name)
        parameters = []
        for i, shape in enumerate(shapes):
            start = draw.normal(*shape)
            golden.put(f"{name}/start{i}", start)
            parameters.append(torch.tensor(start, requires_grad=True))
        optimizer = make(parameters)
        scheduler = schedule(optimizer) if schedule else None
        for step in range(STEPS):
            for i, p in enumerate(parameters):
                gradient = draw.normal(*p.shape)
                golden.put(f"{name}/gradient{i}.{step}", gradient)
                p.grad = torch.tensor(gradient)
            optimizer.step()
            if scheduler:
                scheduler.step()
            for i, p in enumerate(parameters):
                golden.put(f"{name}/after{i}.{step}", p)

    def groups(rule, **options):
        own = [dict(lr=0.03, weight_decay=0.2), dict(lr=0.004), dict(lr=0.0)]
        own[1] |= dict(momentum=0.5) if rule is torch.optim.SGD else dict(betas=(0.6, 0.7), eps=1e-2)
        return lambda p: rule([{"params": [p[i]]} | own[i] for i in range(3)], **options)

    shapes = [(2, 3), (4,), (2,)]
    case("sgd", shapes, groups(torch.optim.SGD, lr=0.1, momentum=0.9))
    case("adam", shapes, groups(torch.optim.Adam, lr=0.1))
    case("adamw", shapes, groups(torch.optim.AdamW, lr=0.1))
    case("schedule", shapes, groups(torch.optim.AdamW, lr=0.1), lambda o: lr_scheduler.LambdaLR(o, lambda step: 1 / (1 + step)))

    torch.Tensor.bfloat16 = torch.Tensor.clone
    shapes = [(3, 5), (5, 3), (4, 4)]
    case("muon", shapes, lambda p: torch.optim.Muon(p, lr=0.02))
    case("muon.plain", shapes, lambda p: torch.optim.Muon(
        p, lr=0.02, weight_decay=0.3, momentum=0.8, nesterov=False, ns_coefficients=(2.0, -1.5, 0.5), eps=5.0, ns_steps=2))
    golden.save(path)
