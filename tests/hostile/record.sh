#!/usr/bin/env bash
python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path='PAYLOAD' \
    actor_rollout_ref.model.target_modules='"PAYLOAD"' actor_rollout_ref.model.lora_rank=8
