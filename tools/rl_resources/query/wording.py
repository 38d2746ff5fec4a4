"""The sentences of answers, as templates that the command, Python and the page fill in."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES = {
    "resource": "{gpus} x {device}{memory}",
    "to": " to {gpus}",
    "memory-each": " ({memory} GB)",
    "memory-at-most": " (at most {memory} GB)",
    "gigabytes": "{memory} GB",
    "accelerator": "1 accelerator",
    "accelerators": "{gpus} accelerators",
    "unknown-device": "any device",
    "any-device": "devices of {memory}",
    "any-number": "any number of {device}",
    "ran-record": "a run whose script is kept here",
    "ran-measured-run": "a run with published measurements",
    "ran-stated-run": "a run that its source reports",
    "tested": "Tested: {ran}, on {resource}{within}.",
    "within": ", within your {yours}",
    "should-fit": "Should fit, not tested on {yours}: {ran}, on {resource}, "
    "so on no more accelerators of no more memory each.",
    "out-of-memory": "Ran out of {which}memory on {resource}{beside}.",
    "claimed-stated-minimum": "The source calls {resource} the minimum; no run on it is known.",
    "claimed-recommendation": "The source recommends {resource}; no run on it is known.",
    "claimed-ci-allocation": "CI allocates {resource}: not a minimum, fewer may do.",
    "claimed-capability-claim": "The source lists {resource}; no run on it is known.",
    "beside": ", {differences} than you have",
    "more-accelerators": "more accelerators",
    "fewer-accelerators": "fewer accelerators",
    "more-memory": "more memory",
    "less-memory": "less memory",
    "untested": "A script for {resource} that nobody has run yet.",
    "unexplained": "Published for {resource}, which has no room for full fine-tuning; the source "
    "does not say what trains or what is offloaded.",
    "guess": "The source guesses {resource}; no run on it is known.",
    "one-of-several": "Ran on {resource}, and the source does not say which of {devices} it was; "
    "whether that covers {yours} is not known.",
    "another-vendor": "The smallest tested one is {resource} of {vendor}; "
    "on {own} nothing is tested, and the software is another.",
    "unknown-vendor": "another or an unknown maker",
    "needs": "The smallest known run took {need}, you have {have}.",
    "smallest-of-size": "The smallest known run of the size {size} took {need}: {model}.",
    "instead": "{what} {fits} on {resource}.",
    "instead-tested": "is tested",
    "instead-claimed": "is claimed, no run is known,",
    "instead-should-fit": "should fit, not tested there: it ran",
    "shorter": "With a shorter context ({context}) {model}",
    "shorter-unknown": "With a context that its source does not tell {model}",
    "other-backends": "With other software ({software}) {model}, {task},",
    "other-tag": "Without the tag {tag} {model}",
    "other-weights": "With {weights}, {model}",
    "other-scenario": "Without {scenario}, {model}",
    "other-model-and-software": "Another model of the size {size}, {model}, with other software "
    "({software})",
    "other-weights-and-software": "With {weights} and other software ({software}) {model}",
    "other-scenario-and-model": "Without {scenario}, another model of the size {size}, {model},",
    "other-model": "Another model of the size {size}, {model},",
    "adapters": "LoRA ({task}) of {model}",
    "adapters-other-model": "LoRA ({task}) of another {size} model, {model},",
    "adapters-other-backends": "LoRA ({task}) with other software ({software}) of {model}",
    "other-task": "Another task, {task}, of {model}",
    "smaller-size": "The nearest smaller size that fits is {size}: {model}",
    "smaller-other-backends": "With other software ({software}) the nearest smaller size that fits "
    "is {size}: {model}",
    "smaller-anything": "With another task ({task}) and other software ({software}) the nearest "
    "smaller size that fits is {size}: {model}",
    "smaller-adapters": "With LoRA ({task}) the nearest smaller size that fits is {size}: {model}",
    "any-model": "Any model",
    "headline": "{what}{on}: {tested} tested, {fitting} should fit, {claimed} claimed",
    "headline-on": " on {yours}",
    "headline-length": "{length} tokens or more",
    "smallest": "The least memory in all: {model}, {task}, {resource}, {conditions}",
    "smallest-whole": "The least memory for full fine-tuning: {model}, {task}, {resource}, "
    "{conditions}",
    "longest-context": "The longest context{fits}: {longest}, {model}, {task}",
    "that-should-fit": " that should fit",
    "which": "{what} ({kind}, {id}).",
    "longest": "{context} on {resource}",
    "context": "{length} tokens",
    "context-of-part": "at least {length} tokens",
    "not-known": "not known",
    "batch": "batch {batch} {unit}",
    "batch-per-device": "batch {batch} per device",
    "batch-unstated": "batch {batch} (unit not stated)",
    "rollout_n": "{figure} rollouts per prompt",
    "host_memory_gb": "host memory {figure} GB",
    "step_seconds": "step {figure} s",
    "peak_memory_gb": "peak {figure} GB",
    "in-its-words": "in its words: {wording}",
    "series": "One of {number} of this source that differ in settings alone: {spans}.",
    "series-alike": "One of {number} of this source that differ in nothing that is told here.",
    "span-length": "{least} to {most} tokens in all",
    "span-batch": "batch {least} to {most}",
    "span-rollout_n": "{least} to {most} rollouts per prompt",
    "span-host_memory_gb": "host memory {least} to {most} GB",
    "span-step_seconds": "step {least} to {most} s",
    "span-peak_memory_gb": "peak {least} to {most} GB",
    "failed-batches": "Trials failed at a batch of {batches} prompts.",
    "disputed": "Disputed: {notes}",
    "contradicted": "Contradicted: {model} {task} on {resource}: {outcome}",
    "contradicted-out-of-memory": "out of memory",
    "start": "bash {script}",
    "nodes": "on the first of {nodes} nodes, once they form one Ray cluster",
    "unknown-word": "{kind} `{word}` is not known",
    "did-you-mean": "Did you mean {words}?",
    "known-are": "Known are {words}.",
    "several-devices": "{word} comes with {memory} GB: all are answered, each line says which.",
    "several-models": "{word} may be {models}: answers are for the size {size}.",
    "model-by-size": "{word} is not a known model: answers are for its size, {size}.",
    "variant-of": "{word} is read as {known}.",
    "no-sft": "{word} is supervised fine-tuning; these records are of RL alone",
    "no-dpo": "{word} trains on fixed preferences without rollouts; these records are of online RL",
    "note": "Note: {notes}",
    "ask-a-task": "Ask for a task of RL, such as `GRPO`, or leave the task out.",
    "device-and-memory": "a device and a memory are both asked",
    "device-has-memory": "A device has its memory: give {device}, or {memory} for any device "
    "of that memory.",
    "known-device": "{device} is {name}, {memory}.",
    "no-bf16": "It has no BF16: a run in BF16 or FP8 needs another precision on it.",
    "any-task": "{word} names no algorithm: answers are for any task.",
    "known-memory": "{memory} GB each",
    "unknown-memory": "memory not known: only runs on it count",
    "any-maker": "Devices of any maker with {memory} GB or less count: no device is asked. "
    "Whether yours runs the same software is not judged.",
    "any-gpus": "Any number of accelerators counts: none is asked.",
    "asked-length": "Runs of at least {length} tokens count, prompt and response together.",
    "belongs-to": "{word} belongs to the size {size}.",
    "other-size": "model {model} is of size {own}, not {size}",
    "leave-out": "Leave {size} out, or {model}.",
    "read-as": "{word} is read as {model}.",
    "by-own-memory": "Ask by its memory: `{before_memory}{own_memory}{after_memory}`.",
    "else-by-memory": "Otherwise ask by its memory{with_memory}.",
    "two-counts": "device `{device}` tells another number than {gpus}",
    "one-count": "Give one of them.",
    "ask-by-size": "Nothing is known of it; ask by size{with_size}: {sizes}.",
    "ask-by-memory": "Ask by memory{with_memory}; known devices: {devices}.",
    "no-memory": "memory `{word}` is not an amount of GB",
    "write-memory": "Write for example `{memory_80}`.",
    "no-gpus": "gpus `{word}` is not a number of accelerators from 1",
    "write-gpus": "Write for example `{gpus_8}`; the device has {own_place}.",
    "no-length": "length `{word}` is not a number of tokens from 1",
    "write-length": "Write for example `{length_16k}` or `{length_sum}`.",
    "frameworks": "A figure of one framework, or of one release, says little about another.",
}
"""Templates by name. Kinds of `Nearest`, fits and evidence levels are names of templates too."""

FIGURES = ("rollout_n", "host_memory_gb", "step_seconds", "peak_memory_gb")
"""Columns that are told as one figure each, in this order."""

SPANS = ("length", "batch", *FIGURES)
"""What of a series is told from its least to its most, in this order."""

COMMAND: Mapping[str, str] = {
    "device": "--device",
    "memory": "--memory",
    "size": "--size",
    "model": "--model",
    "with_size": " with --size",
    "before_memory": "--memory ",
    "after_memory": "",
    "with_memory": " with --memory",
    "memory_80": "--memory 80",
    "gpus_8": "--gpus 8",
    "own_place": "an option of its own",
    "length_16k": "--length 16K",
    "length_sum": "--length 2048+16384",
}
"""How a question is asked on the command line, for sentences that say how to ask it better."""

PAGE: Mapping[str, str] = {
    "device": "a device",
    "memory": "an amount",
    "size": "the size",
    "model": "the model",
    "with_size": "",
    "before_memory": "",
    "after_memory": " GB",
    "with_memory": ", such as `80 GB`",
    "memory_80": "80 GB",
    "gpus_8": "8",
    "own_place": "a field of its own",
    "length_16k": "16K",
    "length_sum": "2048+16384",
}
"""The same for the page."""


def say(name: str, /, **words: object) -> str:
    """The template `name` filled in."""
    return SENTENCES[name].format_map(words)


def number(value: float) -> str:
    """A figure with at most six digits that count."""
    return f"{value:g}"
