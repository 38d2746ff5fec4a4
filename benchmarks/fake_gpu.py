"""A GPU of shapes without values, and PyTorch's trackers of what is allocated on it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed._tools.fsdp2_mem_tracker import FSDPMemTracker
from torch.distributed._tools.mem_tracker import MemTracker
from torch.distributed.fsdp import _flat_param, _runtime_utils
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
    module = SimpleNamespace(
        Stream=Stream, Event=Stream, stream=Stream, current_stream=Stream
    )
    module.is_available = module.is_initialized = lambda: True
    module._is_in_bad_fork = lambda: False
    module.device_count = lambda: 1
    module.current_device = lambda: 0
    module.set_device = module.synchronize = module.manual_seed_all = lambda *_: None
    module.get_amp_supported_dtype = lambda: [torch.bfloat16, torch.float32]
    _setup_privateuseone_for_python_backend("gpu", backend_module=module)
    for runtime in (
        _flat_param,
        _runtime_utils,
    ):  # of FSDP1, which asks tensors for streams
        runtime._no_dispatch_record_stream = module.synchronize


def put_on_gpu(model: nn.Module) -> None:
    """Replace tensors of the meta device by fake ones; `Module.to` refuses this device."""
    for module in model.modules():
        for name, weight in module._parameters.items():
            if weight is not None:
                fake = _fake(weight)
                parameter = nn.Parameter(fake, requires_grad=weight.requires_grad)
                module._parameters[name] = parameter
        for name, buffer in module._buffers.items():
            if buffer is not None:
                module._buffers[name] = _fake(buffer)


def _fake(tensor: Tensor) -> Tensor:
    return torch.empty(tensor.shape, dtype=tensor.dtype, device="gpu")


class TotalsOnly:
    """Leaves out the trackers' statistics by module, which take most of their time."""

    def _update_peak_stats(self: Any, _: object) -> None:
        for device, snapshot in self._curr_mem_snap.items():
            total = snapshot["Total"]
            if total > self._peak_mem.get(device, 0):
                self._peak_mem[device] = total
                self._peak_mem_snap[device] = dict(snapshot)


class Tracker(TotalsOnly, MemTracker): ...


class FSDPTracker(TotalsOnly, FSDPMemTracker): ...


class Peaks:
    """The snapshot at the highest point of each phase: bytes by device and kind."""

    def __init__(self, tracker: MemTracker) -> None:
        self.tracker = tracker
        self.phases: dict[str, Snapshot] = {}

    def end(self, phase: str) -> None:
        """Keep the peak since the last end if it is the highest of this phase so far."""
        peak: Snapshot = {}
        for device, snapshot in self.tracker.get_tracker_snapshot("peak").items():
            sizes: dict[str, int] = {}
            for kind, size in snapshot.items():
                word = getattr(kind, "value", kind)
                sizes[word] = size
            peak[device.type] = sizes
        before = self.phases.get(phase, peak)
        if peak["gpu"]["Total"] >= before["gpu"]["Total"]:
            self.phases[phase] = peak
        self.tracker._peak_mem.clear()
        self.tracker._peak_mem_snap.clear()

    def summary(self) -> dict[str, Any]:
        """In 10^9 bytes: the peak by phase and, at the highest, by kind; the most on the host."""
        totals = {
            phase: snapshot["gpu"]["Total"] for phase, snapshot in self.phases.items()
        }
        at = max(totals, key=totals.__getitem__)
        highest = self.phases[at]["gpu"]
        peak_gb = totals[at] / 1e9
        result: dict[str, Any] = {"peak_gb": peak_gb, "at_phase": at}
        for phase, total in totals.items():
            result[f"{phase}_gb"] = total / 1e9
        counted = 0.0
        for column, words in KINDS.items():
            size = sum(highest.get(word, 0) for word in words)
            result[column] = size / 1e9
            counted += result[column]
        result["other_gb"] = peak_gb - counted
        most_on_host = 0
        for snapshot in self.phases.values():
            if "cpu" in snapshot:
                most_on_host = max(most_on_host, snapshot["cpu"]["Total"])
        result["host_gb"] = most_on_host / 1e9
        return result
