#!/usr/bin/env bash
#
# Tag:      –
# Model:    Qwen/Qwen2.5-1.5B-Instruct
# Task:     PPO
# Hardware: 4 x A100 40 GB (1 node)
# Backends: FSDP trains, vLLM generates
# Source:   https://github.com/AgentR1/Agent-R1/issues/1
#           https://github.com/AgentR1/Agent-R1/blob/73710ccd9bf9c7ef4da4a6cc3047d8afc501f7c9/run_ppo.sh
# Data:     verl's examples/data_preprocess/preprocess_search_r1_dataset.py --local_dir
#           ~/data/searchR1_processed_direct (data_source searchR1_nq, searchR1_hotpotqa,
#           searchR1_triviaqa, searchR1_popqa, searchR1_2wikimultihopqa, searchR1_musique,
#           searchR1_bamboogle)
#
# Rewritten from the source for the current verl configuration (0.9.1). Changes:
#   - GPUS_PER_NODE is 4, as the author of the source says; the published script asks for 8.
#   - The search tool of the source is left out: its fork of verl has it built in. Responses here are
#     as long as its whole conversations.
#   - critic.model.fsdp_config becomes critic.fsdp, as verl calls it now. The penalty of the KL term
#     is in the reward, as the fork does it without saying so.
#   - rollout.enforce_eager, a default of verl when the source was written, is spelled out, as are
#     entropy_coeff and the limits of the rollout; max_num_seqs is that of vLLM, as the fork does not
#     pass its own on.
#   - The data are NQ and HotpotQA, as verl prepares them for Search-R1: it has no reward for those
#     that the source makes of HotpotQA alone (data_source hotpotqa/hotpot_qa).
#   - Data paths, project and experiment name are ours; actor.strategy is spelled out.
#
# Settings: environment variables of the names below, or more Hydra overrides as arguments.

set -euo pipefail

# Model and data
MODEL_PATH=${MODEL_PATH:-Qwen/Qwen2.5-1.5B-Instruct}
TRAIN_FILES=${TRAIN_FILES:-"${HOME}/data/searchR1_processed_direct/train.parquet"}
VAL_FILES=${VAL_FILES:-"${HOME}/data/searchR1_processed_direct/test.parquet"}

# Hardware
NNODES=${NNODES:-1}
GPUS_PER_NODE=${GPUS_PER_NODE:-4}

# Parallelism and memory
ROLLOUT_TENSOR_PARALLEL_SIZE=${ROLLOUT_TENSOR_PARALLEL_SIZE:-4}
GPU_MEMORY_UTILIZATION=${GPU_MEMORY_UTILIZATION:-0.5}

# Batch and lengths
TRAIN_BATCH_SIZE=${TRAIN_BATCH_SIZE:-128}
PPO_MINI_BATCH_SIZE=${PPO_MINI_BATCH_SIZE:-64}
PPO_MICRO_BATCH_SIZE_PER_GPU=${PPO_MICRO_BATCH_SIZE_PER_GPU:-2}
CRITIC_MICRO_BATCH_SIZE_PER_GPU=${CRITIC_MICRO_BATCH_SIZE_PER_GPU:-2}
LOG_PROB_MICRO_BATCH_SIZE_PER_GPU=${LOG_PROB_MICRO_BATCH_SIZE_PER_GPU:-2}
MAX_PROMPT_LENGTH=${MAX_PROMPT_LENGTH:-4096}
MAX_RESPONSE_LENGTH=${MAX_RESPONSE_LENGTH:-4096}
ROLLOUT_N=${ROLLOUT_N:-1}

# Optimization
LEARNING_RATE=${LEARNING_RATE:-1e-6}
CRITIC_LEARNING_RATE=${CRITIC_LEARNING_RATE:-1e-5}
TOTAL_EPOCHS=${TOTAL_EPOCHS:-1}

# Run
PROJECT_NAME=${PROJECT_NAME:-rl-resources}
EXPERIMENT_NAME=${EXPERIMENT_NAME:-qwen2.5-1.5b-instruct_ppo_4_a100-40g_fsdp_vllm}

ALGORITHM=(
    algorithm.adv_estimator=gae
    algorithm.use_kl_in_reward=True
    algorithm.kl_ctrl.kl_coef=0.001
)

DATA=(
    data.train_files="${TRAIN_FILES}"
    data.val_files="${VAL_FILES}"
    data.train_batch_size="${TRAIN_BATCH_SIZE}"
    data.max_prompt_length="${MAX_PROMPT_LENGTH}"
    data.max_response_length="${MAX_RESPONSE_LENGTH}"
)

MODEL=(
    actor_rollout_ref.model.path="${MODEL_PATH}"
    actor_rollout_ref.model.use_remove_padding=True
    actor_rollout_ref.model.enable_gradient_checkpointing=True
)

ACTOR=(
    actor_rollout_ref.actor.strategy=fsdp
    actor_rollout_ref.actor.optim.lr="${LEARNING_RATE}"
    actor_rollout_ref.actor.ppo_mini_batch_size="${PPO_MINI_BATCH_SIZE}"
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu="${PPO_MICRO_BATCH_SIZE_PER_GPU}"
    actor_rollout_ref.actor.use_kl_loss=False
    actor_rollout_ref.actor.entropy_coeff=0.001
    actor_rollout_ref.actor.fsdp_config.param_offload=False
    actor_rollout_ref.actor.fsdp_config.optimizer_offload=False
)

ROLLOUT=(
    actor_rollout_ref.rollout.name=vllm
    actor_rollout_ref.rollout.n="${ROLLOUT_N}"
    actor_rollout_ref.rollout.tensor_model_parallel_size="${ROLLOUT_TENSOR_PARALLEL_SIZE}"
    actor_rollout_ref.rollout.gpu_memory_utilization="${GPU_MEMORY_UTILIZATION}"
    actor_rollout_ref.rollout.enforce_eager=True
    actor_rollout_ref.rollout.max_num_seqs=256
    actor_rollout_ref.rollout.max_num_batched_tokens=32768
    actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu="${LOG_PROB_MICRO_BATCH_SIZE_PER_GPU}"
)

REFERENCE=(
    actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu="${LOG_PROB_MICRO_BATCH_SIZE_PER_GPU}"
    actor_rollout_ref.ref.fsdp_config.param_offload=True
)

CRITIC=(
    critic.strategy=fsdp
    critic.optim.lr="${CRITIC_LEARNING_RATE}"
    critic.ppo_micro_batch_size_per_gpu="${CRITIC_MICRO_BATCH_SIZE_PER_GPU}"
    critic.model.path="${MODEL_PATH}"
    critic.model.use_remove_padding=True
    critic.model.enable_gradient_checkpointing=True
    critic.fsdp.param_offload=False
    critic.fsdp.optimizer_offload=False
)

TRAINER=(
    trainer.critic_warmup=3
    'trainer.logger=["console"]'
    trainer.project_name="${PROJECT_NAME}"
    trainer.experiment_name="${EXPERIMENT_NAME}"
    trainer.nnodes="${NNODES}"
    trainer.n_gpus_per_node="${GPUS_PER_NODE}"
    trainer.val_before_train=True
    trainer.save_freq=-1
    trainer.test_freq=10
    trainer.total_epochs="${TOTAL_EPOCHS}"
)

python3 -m verl.trainer.main_ppo \
    "${ALGORITHM[@]}" \
    "${DATA[@]}" \
    "${MODEL[@]}" \
    "${ACTOR[@]}" \
    "${ROLLOUT[@]}" \
    "${REFERENCE[@]}" \
    "${CRITIC[@]}" \
    "${TRAINER[@]}" \
    "$@"
