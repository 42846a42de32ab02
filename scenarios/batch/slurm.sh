#!/bin/bash
# A campaign as a Slurm array: each task is a shard, whatever the bounds and the step of --array are.
#
#   sbatch --array=1-16 scenarios/batch/slurm.sh scenarios/polling_cpp.toml --strategy exhaustive --faults 2
#   halfsent merge halfsent-shards/JOB/*/polling_cpp/latest
#
# `halfsent` must be in the PATH of the nodes, or HALFSENT its file; OUT is a folder that all of them share. A task ends
# with its shard's exit code, so an array in which one has failed has failed. A task that was killed leaves its folder:
# `halfsent run --resume FOLDER` goes on with it.
#SBATCH --job-name=halfsent
#SBATCH --array=1-4
#SBATCH --cpus-per-task=2
set -euo pipefail

out=${OUT:-halfsent-shards}/${SLURM_ARRAY_JOB_ID:?this is for sbatch --array}/$SLURM_ARRAY_TASK_ID
exec "${HALFSENT:-halfsent}" run "$@" --jobs "${SLURM_CPUS_PER_TASK:-0}" --out "$out"
