"""The rules about one script: what must be reported, and what looks like a mistake and is none."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from rl_resources.check.registry import all_rules
from rl_resources.check.rule import Rule
from rl_resources.check.script import shellcheck
from rl_resources.check.target import ScriptText

ROOT = Path(__file__).parents[1]
FAMILIES = ("content", "variables", "arguments", "releases", "safety")
RULES = {name: rule for name, rule in all_rules().items() if rule.family in FAMILIES}
MAIN = "python3 -m verl.trainer.main_ppo"
PATH = "run.sh"


def found(name: str, script: str) -> list[tuple[int, int, str]]:
    findings = RULES[name].findings(ScriptText(PATH, script))
    return [(finding.line, finding.column, finding.message) for finding in findings]


def example(text: str) -> str:
    """The script of a rule's example, which is shown on one line."""
    text = text.removeprefix("`").removesuffix("`").replace(" ⏎ ", "\n") + "\n"
    return re.sub(r"⟨U\+(\w{4})⟩", lambda sign: chr(int(sign[1], 16)), text)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_reports_its_bad_example_and_not_its_good_one(rule: Rule) -> None:
    assert found(rule.name, example(rule.bad))
    assert found(rule.name, example(rule.good)) == []


FOUND = [
    ("no-launcher", "echo a\n", (1, 1, "the script starts no program")),
    (
        "syntax",
        'echo a\necho "b\n',
        (2, 6, "bash cannot read the script: this quote is never closed"),
    ),
    (
        "lost-line",
        f"{MAIN} \\\n  trainer.nnodes=1 \\ \n  trainer.save_freq=2 \\\n  trainer.test_freq=2\n",
        (
            2,
            21,
            "a space after the backslash ends the command: `trainer.save_freq=2` and 1 more in "
            "line 3 do not reach the program",
        ),
    ),
    (
        "shebang",
        "# tuned\n#!/bin/bash\n",
        (1, 1, "the shebang stands in line 2, where it is a comment"),
    ),
    (
        "strict-mode",
        f"#!/bin/bash\nset -x\n{MAIN}\n",
        (2, 1, "the script goes on after an error: of the options only `xtrace` is set"),
    ),
    (
        "unquoted-arguments",
        f"{MAIN} $@\n",
        (1, 34, "`$@` without quotes splits and globs every argument"),
    ),
    (
        "masked-exit-status",
        f"{MAIN} || true\n",
        (1, 34, "the run's failure is hidden by `|| true`"),
    ),
    (
        "undefined-variable",
        'MODEL_PATH=a/b\necho "$MODLE_PATH"\n',
        (2, 7, "`$MODLE_PATH` is not set"),
    ),
    ("unused-variable", "lr=1\necho\n", (1, 1, "`lr` is set, but nothing reads it")),
    (
        "missing-dollar",
        f'gsm8k_path=$HOME/a.parquet\nfiles="[\'gsm8k_path\']"\n{MAIN} data.train_files="$files"\n',
        (2, 10, "`gsm8k_path` lacks its `$`: `data.train_files` gets the name of the variable"),
    ),
    (
        "visible-devices",
        f"export CUDA_VISIBLE_DEVICES=0,1\n{MAIN} trainer.n_gpus_per_node=8\n",
        (
            1,
            8,
            "`CUDA_VISIBLE_DEVICES=0,1` leaves 2 of the 8 GPUs per node that the run asks for",
        ),
    ),
    (
        "visible-devices",
        f"CUDA_VISIBLE_DEVICES=0,1 {MAIN} trainer.n_gpus_per_node=2\n",
        (1, 1, "`CUDA_VISIBLE_DEVICES=0,1` chooses devices of its author's machine"),
    ),
    (
        "misleading-name",
        'gsm8k_test_path=$HOME/data/math/test.parquet\necho "$gsm8k_test_path"\n',
        (
            1,
            1,
            "`gsm8k_test_path` says `gsm8k`, its value `$HOME/data/math/test.parquet` says `math`",
        ),
    ),
    ("stray-argument", f"{MAIN} trainer.project_name=my run\n", (1, 58, "`run` is no override")),
    (
        "contradicting-override",
        f"{MAIN} trainer.nnodes=1 \\\n  trainer.nnodes=2\n",
        (2, 3, "`trainer.nnodes` is `1` in line 1 and `2` here, which wins"),
    ),
    (
        "repeated-override",
        f"{MAIN} trainer.nnodes=1 \\\n  trainer.nnodes=1\n",
        (2, 3, "`trainer.nnodes` is set in line 1 already, to the same value"),
    ),
    (
        "unknown-key",
        f"{MAIN} actor_rollout_ref.actor.fsdp_config.parm_offload=True\n",
        (1, 34, "`actor_rollout_ref.actor.fsdp_config.parm_offload`: verl 0.9.1 has no such key"),
    ),
    (
        "outdated-key",
        f"{MAIN} model_engine=megatron actor_rollout_ref.actor.megatron.grad_offload=True \\\n"
        "  actor_rollout_ref.ref.megatron.grad_offload=True critic.load_weight=True\n",
        (
            1,
            56,
            "verl 0.9.1 no longer has `actor_rollout_ref.actor.megatron.grad_offload`, "
            "`actor_rollout_ref.ref.megatron.grad_offload` (line 2), `critic.load_weight` (line 2)"
            "; 0.8.0 is the last release that accepts them all",
        ),
    ),
    (
        "value-type",
        f"batch=large\n{MAIN} data.train_batch_size=$batch\n",
        (1, 7, "`data.train_batch_size`: `large` where the default is `1024`: a number is wanted"),
    ),
    (
        "total-micro-batch-size",
        f"{MAIN} actor_rollout_ref.rollout.log_prob_micro_batch_size=8\n",
        (
            1,
            34,
            "verl 0.8.0 and later reject the total "
            "`actor_rollout_ref.rollout.log_prob_micro_batch_size` without the size per GPU",
        ),
    ),
    (
        "deprecated-key",
        f"{MAIN} data.val_batch_size=8\n",
        (
            1,
            34,
            "`data.val_batch_size` is deprecated since verl 0.3.0, says verl/utils/config.py",
        ),
    ),
    (
        "deprecated-key",
        f"{MAIN} actor_rollout_ref.rollout.mode=sync\n",
        (
            1,
            65,
            "`actor_rollout_ref.rollout.mode=sync` is refused since verl 0.7.0 by "
            "verl/workers/config/rollout.py",
        ),
    ),
    (
        "outdated-key",
        f"{MAIN} +actor_rollout_ref.model.lora_rank=32\n",
        (1, 34, "`+actor_rollout_ref.model.lora_rank`: verl has it without `+` since 0.4.0"),
    ),
    (
        "value-range",
        f"{MAIN} actor_rollout_ref.rollout.n=0\n",
        (1, 62, "`actor_rollout_ref.rollout.n` is `0`, which is no number of 1 or more"),
    ),
    (
        "private-path",
        "export HTTPS_PROXY=http://127.0.0.1:7890\n",
        (1, 8, "`HTTPS_PROXY=http://127.0.0.1:7890` names the proxy of its author's network"),
    ),
    (
        "private-path",
        "cd /home/ann/verl\n",
        (1, 4, "`/home/ann/verl` is a path of its author's machine"),
    ),
    (
        "relative-path",
        f"{MAIN} data.train_files=\"['data/train.parquet']\"\n",
        (1, 54, "`data/train.parquet` counts from the folder that the script is started in"),
    ),
    (
        "data-split",
        f'{MAIN} data.train_files="$HOME/test.parquet"\n',
        (1, 52, "`data.train_files` is `$HOME/test.parquet`, a file of the other split"),
    ),
    (
        "secret",
        "wandb login " + "9f8e7d6c5b" * 4 + "\n",
        (1, 13, "this looks like a Weights & Biases key: `9f8e…`"),
    ),
    ("hidden-character", "echo a # \u202eb\n", (1, 10, "U+202E is an invisible character")),
    (
        "mail-address",
        "# ann.lee@university.edu\n",
        (1, 3, "`ann.lee@university.edu` is an e-mail address"),
    ),
    (
        "unexpected-command",
        "sleep 1; pkill -f ray\n",
        (1, 10, "`pkill -f ray` is no command that a tuning script needs"),
    ),
    (
        "shellcheck",
        "if [ a = b ]; then echo; fi\n",
        (
            1,
            8,
            "ShellCheck SC2050: This expression is constant. Did you forget the $ on a variable?",
        ),
    ),
    (
        "shellcheck-error",
        "name = 1\n",
        (
            1,
            6,
            "ShellCheck SC2283: Remove spaces around = to assign (or use [ ] to compare, or "
            "quote '=' if literal).",
        ),
    ),
]


@pytest.mark.parametrize(("name", "script", "expected"), FOUND)
def test_a_mistake_is_reported_once_at_its_place(
    name: str, script: str, expected: tuple[int, int, str]
) -> None:
    assert found(name, script) == [expected]


def test_every_rule_has_a_case() -> None:
    assert {name for name, _, _ in FOUND} == RULES.keys()


TEMPTING = [
    ("no-launcher", 'bash "$(dirname "$0")/train.sh"\n'),
    ("no-launcher", f'if [ -n "$x" ]; then {MAIN}; fi\n'),
    ("no-launcher", f"run() {{ {MAIN}; }}\nrun\n"),
    ("no-launcher", '"$LAUNCHER" train.py\n'),
    ("syntax", "cat <<'EOF'\nit's \"\nEOF\n"),
    ("syntax", "a=(1 # one\n 2)\n"),
    ("shellcheck", "x=$(ls)\nfor file in $x; do echo $file; done\n"),
    ("shellcheck", "unused=1\nread -r _ <<<'a'\n"),
    ("shellcheck", 'a=(trainer.logger=[console,wandb])\necho "${a[@]}"\n'),
    ("shellcheck-error", "echo $@\n"),
    ("shellcheck-error", f"{MAIN} a.b=1 \\ \n  c.d=2\n"),
    ("lost-line", f"{MAIN} \\\n  trainer.nnodes=1 # one node\n"),
    ("lost-line", f"# a.b=1\n\n{MAIN} trainer.nnodes=1\n"),
    ("shebang", "#!/bin/bash -ex\n"),
    ("shebang", "#!/bin/sh\nset -e\n# [[ a ]] is bash\necho a\n"),
    ("strict-mode", "#!/bin/bash -ex\necho\n"),
    ("strict-mode", "set -xeuo pipefail\necho\n"),
    ("strict-mode", "set -o errexit\necho\n"),
    ("unquoted-arguments", 'a=$@\necho "$a" $# ${#b[@]} "$*"\n'),
    ("unquoted-arguments", "cat <<EOF\n$@\nEOF\n"),
    ("masked-exit-status", f"set -o pipefail\n{MAIN} 2>&1 | tee log\n"),
    ("masked-exit-status", f"{MAIN} | tee log\nexit ${{PIPESTATUS[0]}}\n"),
    ("masked-exit-status", f"{MAIN} &\nwait\n"),
    ("masked-exit-status", f"{MAIN} || exit 1\n"),
    ("masked-exit-status", f"mkdir a || true\n{MAIN}\n"),
    ("undefined-variable", 'echo "$MASTER_ADDR $NNODES $WANDB_API_KEY $HOME"\n'),
    ("undefined-variable", 'GPUS_PER_NODE=8\necho "$N_GPUS_PER_NODE $NODE1"\nNODE2=1\n'),
    ("undefined-variable", 'echo "${name:-a}" "${http_proxy}"\n'),
    ("undefined-variable", 'if [ -n "$debug" ]; then echo "$debug"; fi\n'),
    ("undefined-variable", 'source settings.sh\necho "$model"\n'),
    ("undefined-variable", 'for i in 1 2; do echo "$i"; done; read -r x; echo "$x"\n'),
    ("undefined-variable", 'f() { echo "$late"; }\nlate=1\nf\n'),
    ("undefined-variable", 'for ((i=0; i<N; i++)); do echo "$i"; done\n((n = 1)); echo $n\n'),
    ("undefined-variable", "echo $OUT_DIR\nOUT_DIR=a\n"),
    ("undefined-variable", "set -u\necho $NNODES\nNNODES=2\n"),
    ("undefined-variable", "set -u\nif [ -d a ]; then OUT_DIR=a; fi\nset +u\necho $OUT_DIR\n"),
    ("undefined-variable", "awk '{print $model}' file\n"),
    ("undefined-variable", "LD_LIBRARY_PATH=/x:$LD_LIBRARY_PATH\nPATH=/y:$PATH\n"),
    ("undefined-variable", 'if [ -d a ]; then model=a; fi\necho "$model"\n'),
    ("unused-variable", "export A=1\nB=2\nexport B\nC=3 env\n"),
    ("unused-variable", "model=a\nsource train.sh\n"),
    ("unused-variable", "model=a\ntrap 'echo $model' EXIT\n"),
    ("unused-variable", "model=a\ncat <<EOF\n$model\nEOF\n"),
    ("unused-variable", 'a=1\nname=a\necho "${!name}"\n'),
    ("unused-variable", "set -a\nmodel=a\nenv\n"),
    ("unused-variable", "n=1\necho $((n + 1))\n"),
    ("unused-variable", "for i in 1 2; do date; done\nIFS=,\nPS4=x\n"),
    ("unused-variable", "batch_size=1\necho $batchsize\n"),
    ("missing-dollar", f"vllm=1\ngrpo=2\n{MAIN} actor_rollout_ref.rollout.name=vllm\n"),
    ("missing-dollar", f"data_source=a\n{MAIN} data.reward_fn_key=data_source\n"),
    (
        "missing-dollar",
        f"low_var_kl=low_var_kl\n{MAIN} actor_rollout_ref.actor.kl_loss_type=low_var_kl\n",
    ),
    (
        "missing-dollar",
        f"model_path=a\n{MAIN} trainer.experiment_name=model_path_${{model_path}}\n",
    ),
    ("missing-dollar", f"data=x\n{MAIN} 'trainer.project_name=${{data}}'\n"),
    ("missing-dollar", f'date=1\n{MAIN} trainer.experiment_name="$(date +%s)"\n'),
    (
        "visible-devices",
        f"export CUDA_VISIBLE_DEVICES=${{CUDA_VISIBLE_DEVICES:-0}}\n{MAIN}\n",
    ),
    ("visible-devices", "export CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES:-0,1}\n"),
    ("visible-devices", 'echo "$CUDA_VISIBLE_DEVICES"\nexport CUDA_VISIBLE_DEVICES=\n'),
    ("misleading-name", "math_test_path=$HOME/data/math/test.parquet\n"),
    ("misleading-name", "math_path=$HOME/data/dapo-math-17k/train.parquet\n"),
    ("misleading-name", "gsm8k_path=$HOME/math_project/gsm8k/train.parquet\n"),
    ("misleading-name", "model_7b=Qwen/Qwen2.5-7B-Instruct\nqwen2_5_32b=Qwen/Qwen2.5-32B\n"),
    ("misleading-name", "qwen_0_5b=Qwen/Qwen2.5-0.5B\nmodel_1p5b=Qwen/Qwen2.5-1.5B\n"),
    ("misleading-name", "model_910B=Qwen/Qwen2.5-7B\nascend_910b_path=a/Qwen3-8B\n"),
    ("value-range", f"{MAIN} trainer.total_epochs=0 actor_rollout_ref.actor.optim.lr=2\n"),
    ("misleading-name", "train_script=tests/train_test.py\ntest_freq=5\n"),
    ("stray-argument", f'{MAIN} "$@" --config-name=ppo_trainer "${{EXTRA[@]}}"\n'),
    ("stray-argument", f"{MAIN} trainer.nnodes=1 2>&1 | tee log\n"),
    ("stray-argument", f"{MAIN} trainer.nnodes=1 \\"),
    ("contradicting-override", f'a=(trainer.nnodes=1)\n{MAIN} "${{a[@]}}" trainer.nnodes=2\n'),
    ("contradicting-override", f"{MAIN} trainer.nnodes=1\n{MAIN} trainer.nnodes=2\n"),
    ("contradicting-override", f"if [ $1 ]; then n=1; else n=2; fi\n{MAIN} trainer.nnodes=$n\n"),
    ("repeated-override", f"for i in 1 2; do {MAIN} trainer.nnodes=1; done\n"),
    (
        "unknown-key",
        f"{MAIN} +reward.extra_key=1 ++trainer.mine=2 model_engine=megatron "
        "actor_rollout_ref.actor.megatron.param_offload=True\n",
    ),
    (
        "unknown-key",
        f"{MAIN} model_engine=megatron " + "+actor_rollout_ref.actor.megatron."
        "override_transformer_config.swiglu=True ++actor_rollout_ref.ref.megatron."
        "override_transformer_config.a=1 +actor_rollout_ref.ref.megatron."
        "override_transformer_config.swiglu=True\n",
    ),
    ("unknown-key", "python3 -m recipe.mine.main_mine data.mine=1 trainer.nnodes=1\n"),
    ("unknown-key", f"{MAIN} --config-dir=mine data.mine=1\n"),
    (
        "value-type",
        f"{MAIN} trainer.nnodes=$NNODES trainer.logger=console "
        "actor_rollout_ref.actor.optim.lr=1 trainer.save_freq=-1\n",
    ),
    ("value-type", f"{MAIN} data.train_files=${{DATA:-~/a.parquet}}\n"),
    ("value-type", f"{MAIN} algorithm.rollout_correction.rollout_is_threshold=0.5_4.0\n"),
    (
        "total-micro-batch-size",
        f"{MAIN} actor_rollout_ref.actor.ppo_micro_batch_size=8 "
        "actor_rollout_ref.actor.use_dynamic_bsz=True\n",
    ),
    ("total-micro-batch-size", f"{MAIN} actor_rollout_ref.ref.log_prob_micro_batch_size=8\n"),
    (
        "deprecated-key",
        f"{MAIN} data.val_batch_size=null "
        "actor_rollout_ref.actor.ulysses_sequence_parallel_size=2\n",
    ),
    ("deprecated-key", f"{MAIN} actor_rollout_ref.rollout.mode=async\n"),
    ("unknown-key", f"{MAIN} reward_model.strategy=fsdp +actor_rollout_ref.model.lora_rank=8\n"),
    ("unknown-key", "python3 -m verl.trainer.main_generation data.path=x\n"),
    ("misleading-name", "gsm8k_test_path=$HOME/data/gsm8k/test.parquet\n"),
    ("outdated-key", f"{MAIN} critic.load_wieght=True trainer.nnodes=1\n"),
    ("outdated-key", f"{MAIN} +trainer.nnodes=1 ++actor_rollout_ref.model.lora_rank=8\n"),
    (
        "deprecated-key",
        f"{MAIN} model_engine=megatron actor_rollout_ref.actor.optim.warmup_style=cosine\n",
    ),
    (
        "total-micro-batch-size",
        f"{MAIN} actor_rollout_ref.actor.ppo_micro_batch_size=8 "
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1\n",
    ),
    ("private-path", 'a="$HOME/data/x"\nb=/tmp/x\nc=/dev/shm/x\nd=/usr/bin/env\ne=/opt/conda\n'),
    ("private-path", 'a=${DATA_DIR:-/data/gsm8k}\n# /home/ann/x\ncd "$(dirname "$0")/data/x"\n'),
    ("private-path", "a=s3://host/data/x\nb=https://host/home/ann\nc=$ROOT/mnt/x\n"),
    ("private-path", 'export HF_HOME=${HF_HOME:-"/mnt/team/hf"}\n'),
    ("value-range", f"{MAIN} actor_rollout_ref.rollout.top_p=1.0 trainer.nnodes=1\n"),
    ("value-range", f"{MAIN} actor_rollout_ref.rollout.top_p=$P trainer.nnodes=null\n"),
    ("value-range", f"{MAIN} actor_rollout_ref.rollout.top_k=-1 trainer.save_freq=-1\n"),
    (
        "value-range",
        "python3 -m verl.experimental.fully_async_policy.fully_async_main "
        "data.train_batch_size=0 trainer.nnodes=1\n",
    ),
    ("private-path", "a=/opt/nvidia/x\nb=/opt/conda/envs/x\nc=/optimum/x/y\n"),
    ("private-path", "export no_proxy=127.0.0.1,10.0.0.0/8,192.168.1.4,.corp\n"),
    ("private-path", "export HF_ENDPOINT=https://hf-mirror.com http_proxy= WANDB_ENTITY=\n"),
    ("undefined-variable", 'if [ "$device_name" ] && [ "$device_name" == npu ]; then :; fi\n'),
    ("private-path", 'export WANDB_ENTITY="${WANDB_ENTITY:-me}" http_proxy="$PROXY"\n'),
    ("private-path", "pip install a==10.3.9.90 'b>=10.0.0.1.post1'; c=10.1.0\n"),
    ("private-path", "export NCCL_SOCKET_IFNAME=eth0 GLOO_SOCKET_IFNAME=^lo,docker0\n"),
    ("private-path", "ray start --head --node-ip-address=127.0.0.1 --dashboard-host=0.0.0.0\n"),
    ("private-path", "export RAY_ADDRESS=${RAY_ADDRESS:-http://10.1.2.3:8265} # 10.1.2.3\n"),
    ("relative-path", f'cd "$(dirname "$0")"\n{MAIN} data.train_files=data/train.parquet\n'),
    (
        "relative-path",
        f"{MAIN} data.train_files=$DATA/a/train.parquet data.val_files=~/a/b.parquet "
        "actor_rollout_ref.model.path=Qwen/Qwen3-8B\n",
    ),
    (
        "data-split",
        f"{MAIN} data.train_files=\"['$HOME/a/train.parquet','$HOME/b/train.parquet']\" "
        'data.val_files="$HOME/a/test.parquet"\n',
    ),
    ("data-split", f'{MAIN} data.train_files="$HOME/latest.parquet" data.val_files="$1"\n'),
    (
        "data-split",
        "python3 -m verl.trainer.main_generation_server trainer.nnodes=1 "
        'data.train_files="$HOME/gsm8k/test.parquet"\n',
    ),
    (
        "data-split",
        f"{MAIN} data.train_files=$HOME/a.parquet data.val_files=$HOME/a.parquet "
        "trainer.val_only=True\n",
    ),
    ("data-split", f"test_path=$HOME/train.parquet\n{MAIN} data.val_files=$test_path\n"),
    ("secret", "export WANDB_API_KEY=${WANDB_API_KEY}\nwandb login your_key_here\n"),
    ("secret", "WANDB_API_KEY=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\nHF_TOKEN=hf_xxx\n"),
    ("secret", "# Source: https://host/blob/b178a3cd56f58b2d502255daba591e92833930a7/run.sh\n"),
    (
        "secret",
        "MAX_TOKENS=16384\nmax_token_len_per_gpu=24000\nexport TOKENIZERS_PARALLELISM=true\n",
    ),
    ("mail-address", 'git clone git@github.com:a/b\necho "${A[@]}" a/b@c.d=1\n'),
    ("mail-address", "pip install 'verl @ https://user@host.com/x' you@example.com\n"),
    ("hidden-character", "# \u26a0\ufe0f 显存 80 GB\n\techo é\n"),
    ("hidden-character", "echo '\\u202e' \\x1b\n"),
    ("unexpected-command", "ray stop --force\nray start --head\nray status\nulimit -n 65535\n"),
    ("unexpected-command", f'n=$(date +%s)\nmkdir -p logs\n{MAIN} 2>&1 | tee "logs/a-$n.log"\n'),
    (
        "unexpected-command",
        f'{MAIN} a.b=1 "$@" > "$DIR/a.log" 2> /tmp/x.err\necho \'a | sh\' >&2\n',
    ),
    ("unexpected-command", "if [[ $1 == a && -n $2 ]]; then export NODE_RANK=$((1 + $3)); fi\n"),
    (
        "unexpected-command",
        'LAUNCH=(torchrun --nnodes 1)\nX=1 "${LAUNCH[@]}" -m verl.trainer.a\n',
    ),
    ("unexpected-command", f"torchrun --standalone --nproc_per_node 2 -m verl.trainer.x\n{MAIN}\n"),
]


@pytest.mark.parametrize(("name", "script"), TEMPTING)
def test_what_only_looks_like_a_mistake_is_not_found(name: str, script: str) -> None:
    if name == "misleading-name":  # of what nothing reads, that alone would be reported
        script += "".join(f'echo "${item}"\n' for item in re.findall(r"^(\w+)=", script, re.M))
    assert found(name, script) == []


@pytest.mark.parametrize(
    ("script", "told_text"),
    [
        ("ray job submit --address=http://10.0.3.4:8265 -- python3 x.py\n", "10.0.3.4"),
        ("a=hdfs://haruna/home/x/ckpt\necho $a\n", "hdfs://haruna/home/x/ckpt"),
        ("export MASTER_ADDR=192.168.0.12\n", "192.168.0.12"),
        ("curl http://storage.team.internal/model\n", "storage.team.internal"),
        ("export WANDB_ENTITY=annlee\n", "WANDB_ENTITY=annlee"),
        ("export WANDB_BASE_URL=https://wandb.lab.org\n", "WANDB_BASE_URL=https://wandb.lab.org"),
        ("export NCCL_SOCKET_IFNAME=bond0\n", "NCCL_SOCKET_IFNAME=bond0"),
    ],
)
def test_a_service_that_only_the_author_has_is_told_once(script: str, told_text: str) -> None:
    ((_, _, message),) = found("private-path", script)
    assert f"`{told_text}`" in message


def test_wrong_ends_of_lines_are_one_mistake() -> None:
    script = (
        f"#!/bin/bash\nset -e\nn=2\n{MAIN} \\\n  trainer.nnodes=$n \\\n  trainer.total_epochs=1\n"
    )
    names = [name for name in RULES for _ in found(name, script.replace("\n", "\r\n"))]
    assert names == ["shellcheck-error"]


@pytest.mark.parametrize(
    ("command", "of_a_page"),
    [
        ("rm -rf ~/.cache/huggingface", True),
        ('rm -rf "$HOME"/.cache', True),
        ("pkill -9 -f python3", True),
        ("killall ray", True),
        ('rm -rf "${x:?}/*"', False),
        ("rm -rf checkpoints/old ./log /tmp/run", False),
        ("sed -i 's/a=\\[b\\]/a=[b.c]/' file.py", False),
        ("pip install verl", False),
        ("python3 -c 'print(1)'", False),
        ("python3 evil.py -m verl.trainer.main_ppo", False),
        ("echo x > torch.py", False),
        ("echo x | tee -a $(printf '%s' a.log)", False),
        ("export BASH_ENV=run.log", False),
        ("x='a[$(ls)]'", False),
        ("f() { echo; }", False),
        ("for i in 1 2; do echo $i; done", False),
        ("(echo)", False),
        ('echo > "$FILE"', False),
        ("a=${b:-$(curl x)}", False),
        (": ${PS4:=x}", False),
    ],
)
def test_of_the_scripts_of_a_page_only_loss_is_found(command: str, of_a_page: bool) -> None:
    """A page's scripts are read by nobody who runs them from here; ours consist of a short list."""
    rule = RULES["unexpected-command"]
    assert list(rule.findings(ScriptText(PATH, f"{command}\n")))
    assert bool(list(rule.findings(ScriptText(PATH, f"{command}\n", ours=False)))) == of_a_page


@pytest.mark.parametrize(
    "path", ["/opt/tiger/verl", "/nas/models/x", "/mlx/users/ann/x", "/home/ann/envs/bin/activate"]
)
def test_a_path_of_another_kind_of_machine_is_told_once(path: str) -> None:
    script = f"export PYTHONPATH={path}:$PYTHONPATH\n"
    assert found("private-path", script) == [(1, 19, f"`{path}` is a path of its author's machine")]


def test_a_variable_that_is_set_one_line_too_late_stops_a_strict_script() -> None:
    script = "set -u\nOUT_DIR=$RUN_NAME/out\nRUN_NAME=a\necho $OUT_DIR\n"
    message = "`$RUN_NAME` is not set before line 3"
    assert found("undefined-variable", script) == [(2, 9, message)]


def test_a_comment_behind_a_backslash_is_one_mistake() -> None:
    script = f"{MAIN} \\\n  trainer.nnodes=1 \\ # one\n  trainer.save_freq=2\n"
    assert found("stray-argument", script) == []
    assert [line for line, _, _ in found("lost-line", script)] == [2]


def test_a_home_of_somebody_is_no_default_and_a_usual_folder_is_one() -> None:
    script = 'a=${DATA:-"/home/ann/data"}\nb=${DATA:-/data/gsm8k}\nc=${DATA:-/home/user/data}\n'
    message = "`/home/ann/data` is a path of its author's machine"
    assert found("private-path", script) == [(1, 12, message)]


def test_keys_of_a_backend_that_is_not_chosen_are_one_mistake() -> None:
    keys = ("tensor_model_parallel_size=2", "param_offload=True")
    words = " ".join(f"actor_rollout_ref.actor.megatron.{key}" for key in keys)
    assert len(found("unknown-key", f"{MAIN} {words} trainer.nnods=1\n")) == 2


def test_a_name_that_misleads_is_not_told_of_what_nothing_reads() -> None:
    script = "gsm8k_test_path=$HOME/data/math/test.parquet\n"
    assert found("misleading-name", script) == []
    assert len(found("unused-variable", script)) == 1


def test_every_rule_has_tempting_cases() -> None:
    assert {name for name, _ in TEMPTING} == set(RULES)


ONE_CAUSE = [
    ("batch_size=1", f"{MAIN} data.train_batch_size=batch_size", "missing-dollar"),
    ("batch_size=1", f'{MAIN} data.train_batch_size="$batchsize"', "undefined-variable"),
    ("DATA_DIR=a", f"{MAIN} data.train_files=DATA_DIR/a/train.parquet", "missing-dollar"),
    ("name=a", f"{MAIN} trainer.project_name=$(name)", "missing-dollar"),
    ("model_path=a", f"{MAIN} trainer.project_name={{model_path}}", "missing-dollar"),
    ("nodes=1", f"{MAIN} 'trainer.project_name=$nodes'", "missing-dollar"),
    ("echo a", f"{MAIN} \\\n  trainer.nnodes=1 \\ \n  trainer.save_freq=2", "lost-line"),
    ("echo a", f"{MAIN} trainer.nnodes= 1", "stray-argument"),
    ("echo a", 'echo "unclosed', "syntax"),
    ("echo a", f'{MAIN} "data.train_files=$HOME/a" $@', "unquoted-arguments"),
    (
        "test_path=$HOME/train.parquet",
        f"{MAIN} data.val_files=\"['$test_path']\"",
        "misleading-name",
    ),
]


@pytest.mark.parametrize(("first", "second", "name"), ONE_CAUSE)
def test_one_mistake_is_one_finding_of_all_rules(first: str, second: str, name: str) -> None:
    subject = ScriptText(PATH, f"#!/bin/bash\nset -euo pipefail\n{first}\n{second}\n")
    names = [finding.rule for rule in RULES.values() for finding in rule.findings(subject)]
    assert names == [name]


@pytest.mark.parametrize("path", sorted((ROOT / "examples").rglob("*.sh")), ids=lambda p: p.stem)
def test_shipped_scripts_break_no_rule(path: Path) -> None:
    subject = ScriptText(path.name, path.read_text(encoding="utf-8"))
    assert [item for rule in RULES.values() for item in rule.findings(subject)] == []


def test_shellcheck_runs_once_for_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    script = "name = once\n"
    first = found("shellcheck-error", script)
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("asked again"))
    assert found("shellcheck-error", script) == first != []


def test_without_shellcheck_nothing_is_told_and_nothing_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shellcheck, "_program", lambda: None)
    assert found("shellcheck-error", "name = without\n") == []


def test_a_secret_is_not_repeated() -> None:
    token = "hf_" + "aB3dE5gH7j" * 4
    [(_, _, message)] = found("secret", f"export HF_TOKEN={token}\n")
    assert token not in message
