"""The sentences that the command and the finder's page share, as templates."""

from __future__ import annotations

from collections.abc import Mapping

from rl_resources.query.vocabulary import FILTERS

MESSAGES: Mapping[str, str] = {
    # How a question was read.
    "read-as": "“{text}” is read as {meaning}.",
    "by-size": "“{text}” is not a known model: answers are for its size, {size}.",
    "any-vendor": "Devices of any vendor with {memory} GB or less count; "
    "whether yours runs the same software is not checked.",
    # What cannot be read.
    "unknown": "{field} `{text}` is not known",
    "two-counts": "device `{text}` has another number of GPUs",
    # The question and its answers in a line.
    "headline": "{what}{on}: {tested} tested, {should_fit} should fit, {claimed} claimed",
    "smallest": "Minimum total memory: {summary}",
    "smallest_full": "Minimum total memory for full fine-tuning: {summary}",
    "longest": "The longest context: {context}, {summary}",
    # Why a configuration is an answer, or is not. Words in braces are of `sentences.parts`.
    "tested": "Tested: {ran}, on {hardware}.",
    "should-fit": "Should fit, not tested on your hardware: {ran}, on {hardware}: "
    "no more GPUs and no more memory each than yours.",
    "claimed": "{claim}",
    "unclear": "{claim}",
    "out-of-memory": "Ran out of {memory_kind}memory on {hardware}.",
    "beyond": "The smallest known run needed {hardware}: {model_label}, {task_label}.",
    "other-vendor": "The smallest known run needed {hardware}: {model_label}, {task_label}. "
    "Nothing is tested on {own}, and its software differs.",
    "smallest-of-size": "The smallest known run of the size {size} needed {hardware}: "
    "{model_label}, {task_label}.",
    # What would fit instead, and how it fits.
    "instead": "{what}: {model_label}, {task_label}, {fits} on {hardware}.",
    "shorter": "With a shorter context ({context})",
    "other-backends": "With other software ({software})",
    "other-model": "Another model of the size {size}",
    "adapters": "With LoRA",
    **{f"other-{name}": item.other for name, item in FILTERS.items() if item.other},
    "smaller-size": "The nearest smaller size, {size}",
    "smaller-adapters": "The nearest smaller size, {size}, with LoRA",
    "other-settings": "The size {size} in another way ({weights_label}, {software})",
    # Results of one source that differ only in their settings.
    "series": "One of {number} of this source that differ in settings alone.",
    "frameworks": "A figure of one framework, or of one release, says little about another.",
    "nodes": "on the first of {nodes} nodes, once they form one Ray cluster",
}

FITS = {"tested": "tested", "should-fit": "should fit", "claimed": "claimed, no run is known,"}
"""How what would fit instead fits."""

FIGURES: Mapping[str, str] = {
    "rollout_n": "{} rollouts per prompt",
    "host_memory_gb": "host memory {} GB",
    "step_seconds": "step {} s",
    "peak_memory_gb": "peak {} GB",
}
"""The figures of a run besides its batch."""


def say(name: str, /, **words: object) -> str:
    """The message `name` with its words filled in."""
    return MESSAGES[name].format_map(words)
