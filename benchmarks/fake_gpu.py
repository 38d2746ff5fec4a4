"""A GPU of shapes without values, and PyTorch's trackers of what is allocated on it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import nn
from torch.distributed._tools.fsdp2_mem_tracker import FSDPMemTracker
from torch.distributed._tools.mem_tracker import MemTracker
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

Snapshot = dict[str, dict[str, int]]

KINDS = {  # columns for the snapshot at the peak, from the trackers' words
    "parameters_gb": ("Sharded Param", "Parameter"),
    "gathered_parameters_gb": ("Unsharded Param", "All Gather"),
    "gradients_gb": ("Sharded Grad", "Gradient"),
    "unsharded_gradients_gb": ("Unsharded Grad", "Reduce Scatter"),
    "optimizer_gb": ("OptState", "Optstate"),
    "activations_gb": ("Activation",),
    "temporaries_gb": ("Temp",),
}


class Stream:
    """Streams and events of a device that runs nothing."""

    stream_id = device_index = device_type = 0

    def __init__(self, *_: object, **__: object) -> None: ...

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None: ...

    def record_event(self, *_: object) -> Stream:
        return self

    def wait_event(self, *_: object) -> None: ...

    record = record_event
    wait_stream = wait = synchronize = wait_event


def register_device() -> None:
    """Make `gpu` a device that autograd and FSDP accept, so that host memory is a device apart."""
    module = SimpleNamespace(Stream=Stream, Event=Stream, stream=Stream, current_stream=Stream)
    module.is_available = module.is_initialized = lambda: True
    module._is_in_bad_fork = lambda: False
    module.device_count = lambda: 1
    module.current_device = lambda: 0
    module.set_device = module.synchronize = module.manual_seed_all = lambda *_: None
    module.get_amp_supported_dtype = lambda: [torch.bfloat16, torch.float32]
    _setup_privateuseone_for_python_backend("gpu", backend_module=module)


def put_on_gpu(model: nn.Module) -> None:
    """Replace tensors of the meta device by fake ones; `Module.to` refuses this device."""
    for module in model.modules():
        for name, p in module._parameters.items():
            if p is not None:
                fake = torch.empty(p.shape, dtype=p.dtype, device="gpu")
                module._parameters[name] = nn.Parameter(fake, requires_grad=p.requires_grad)
        for name, b in module._buffers.items():
            if b is not None:
                module._buffers[name] = torch.empty(b.shape, dtype=b.dtype, device="gpu")


class TotalsOnly:
    """Leaves out the trackers' statistics by module, which take most of their time."""

    def _update_peak_stats(self: Any, _: object) -> None:
        for device, snapshot in self._curr_mem_snap.items():
            if snapshot["Total"] > self._peak_mem.get(device, 0):
                self._peak_mem[device] = snapshot["Total"]
                self._peak_mem_snap[device] = dict(snapshot)


class Tracker(TotalsOnly, MemTracker): ...


class FSDPTracker(TotalsOnly, FSDPMemTracker): ...


class Peaks:
    """The snapshot at the highest point of each phase: bytes by device and kind."""

    def __init__(self, tracker: MemTracker) -> None:
        self.tracker = tracker
        self.phases: dict[str, Snapshot] = {}

    def end(self, phase: str) -> None:
        peak = {
            device.type: {getattr(kind, "value", kind): size for kind, size in snapshot.items()}
            for device, snapshot in self.tracker.get_tracker_snapshot("peak").items()
        }
        if peak["gpu"]["Total"] >= self.phases.get(phase, peak)["gpu"]["Total"]:
            self.phases[phase] = peak
        self.tracker._peak_mem.clear()
        self.tracker._peak_mem_snap.clear()

    def summary(self) -> dict[str, Any]:
        """In 10^9 bytes: the peak by phase and, at the highest, by kind; the most on the host."""
        at = max(self.phases, key=lambda phase: self.phases[phase]["gpu"]["Total"])
        highest = self.phases[at]["gpu"]
        result: dict[str, Any] = {"peak_gb": highest["Total"] / 1e9, "at_phase": at}
        for phase, snapshot in self.phases.items():
            result[f"{phase}_gb"] = snapshot["gpu"]["Total"] / 1e9
        kinds = {to: sum(highest.get(k, 0) for k in of) / 1e9 for to, of in KINDS.items()}
        host = max(s.get("cpu", {"Total": 0})["Total"] for s in self.phases.values()) / 1e9
        rest = {"other_gb": result["peak_gb"] - sum(kinds.values()), "host_gb": host}
        return result | kinds | rest
