#!/usr/bin/env bash
set -euo pipefail
python3 -m verl.trainer.main_ppo "$@"
