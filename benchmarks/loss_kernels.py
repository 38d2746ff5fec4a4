"""Losses and attention by what they allocate on a GPU; the values are never computed."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

TEMPERATURE = 0.7
CHUNK = 512


class FlashAttention(torch.autograd.Function):
    """What FlashAttention 2 allocates: no scores, in the backward an fp32 accumulator for dq."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        out = q.new_empty(q.shape)
        lse = q.new_empty(q.shape[:3], dtype=torch.float32)
        ctx.save_for_backward(q, k, v, out, lse)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, ...]:
        q, k, v, _, lse = ctx.saved_tensors
        buffers = [torch.empty_like(q, dtype=torch.float32), torch.empty_like(lse)]
        if (
            k.shape != q.shape
        ):  # grouped queries: dk and dv of each head, before their sums
            buffers += [torch.empty_like(q), torch.empty_like(q)]
        return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)


def flash_attention(
    _: nn.Module, q: Tensor, k: Tensor, v: Tensor, *__: object, **___: object
) -> tuple[Tensor, None]:
    """An attention function of transformers; takes (batch, heads, length, size)."""
    by_position = [tensor.transpose(1, 2) for tensor in (q, k, v)]
    return FlashAttention.apply(*by_position), None


class FlashCrossEntropy(torch.autograd.Function):
    """The Triton kernel of flash-attn: the backward overwrites the logits with their gradient."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor) -> Tensor:
        loss, lse, _ = (
            torch.empty(labels.shape, device=logits.device) for _ in range(3)
        )
        ctx.save_for_backward(logits, lse, labels)
        return loss

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return ctx.saved_tensors[0], None


def chunk_logits(hidden: Tensor, weight: Tensor) -> Tensor:
    return ((hidden @ weight.t()) / TEMPERATURE).float()


def chunk_forward(hidden: Tensor, weight: Tensor) -> Tensor:
    logits = chunk_logits(hidden, weight)
    probabilities = logits.softmax(-1)
    return logits.logsumexp(-1) - (probabilities * logits).sum(-1)


def chunk_backward(hidden: Tensor, weight: Tensor, grad: Tensor) -> Tensor:
    logits = chunk_logits(hidden, weight)
    probabilities = logits.softmax(-1)
    one_hot = torch.zeros_like(logits)
    grad_logits = grad.unsqueeze(-1) * (one_hot - probabilities)
    return grad_logits.to(hidden.dtype) / TEMPERATURE


class ChunkedHead(torch.autograd.Function):
    """Log-probabilities and entropy from hidden states, CHUNK tokens at a time, in fp32."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(hidden, weight)
        chunks = [chunk_forward(part, weight) for part in hidden.split(CHUNK)]
        return torch.cat(chunks)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        hidden, weight = ctx.saved_tensors
        grad_hidden = torch.zeros_like(hidden)
        grad_weight = None
        if ctx.needs_input_grad[1]:
            grad_weight = torch.zeros_like(weight)
        parts = hidden.split(CHUNK)
        grad_parts = grad_hidden.split(CHUNK)
        grads = grad.split(CHUNK)
        for part, grad_part, given in zip(parts, grad_parts, grads, strict=True):
            grad_logits = chunk_backward(part, weight, given)
            grad_part += grad_logits @ weight
            if grad_weight is not None:
                grad_weight += grad_logits.t() @ part
            del grad_logits
        return grad_hidden, grad_weight


def use_chunked_head(head: nn.Module) -> None:
    head.forward = lambda hidden: ChunkedHead.apply(hidden.flatten(0, 1), head.weight)


def row_log_probs(logits: Tensor, tokens: Tensor) -> Tensor:
    """In fp32, as autocast computes `log_softmax`; each row is kept for the backward."""
    return torch.stack([_log_probs(*row) for row in zip(logits, tokens, strict=True)])


def _log_probs(logits: Tensor, tokens: Tensor) -> Tensor:
    every = logits.float().log_softmax(-1)
    return every.gather(-1, tokens.unsqueeze(-1))


def loss_of(model: nn.Module, tokens: Tensor, how: str) -> Tensor:
    """The loss of a micro batch; the model's output lives until the end of it, as in verl."""
    output = model(input_ids=tokens, use_cache=False)
    if how == "chunked":
        return output.logits.mean()
    if how == "fp32":
        logits = output.logits.float()
        return cross_entropy(logits.flatten(0, 1), tokens.flatten())
    temperature = torch.full((*tokens.shape, 1), TEMPERATURE, device=tokens.device)
    logits = output.logits / temperature.to(output.logits.dtype)
    if how == "rows":
        return row_log_probs(logits, tokens).mean()
    losses = FlashCrossEntropy.apply(logits.flatten(0, 1), tokens.flatten())
    return losses.mean()
