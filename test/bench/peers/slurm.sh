#!/usr/bin/env bash
# Measures Slurm on this machine the way test/bench/cluster measures det-deploy: one controller
# and one node, configured here, in a folder that goes with them, on the loopback.
# Prints one line a figure. It needs root, and Debian's packages: test/bench/peers/install.sh.
set -euo pipefail
jobs=${JOBS:-500} array=${ARRAY:-1000} senders=16 runs=${RUNS:-5}

for program in munged slurmctld slurmd sbatch; do
	command -v "$program" >/dev/null || { echo "slurm: $program is missing; install it with test/bench/peers/install.sh" >&2; exit 1; }
done
dir=$(mktemp -d /tmp/det-deploy-slurm-XXXXXX)
chmod 755 "$dir"
started=()
trap 'kill "${started[@]}" 2>/dev/null || true; wait; [ -n "${KEEP:-}" ] || rm -rf "$dir"' EXIT
export SLURM_CONF=$dir/slurm.conf

configure() {
	mkdir "$dir/spool" "$dir/state" "$dir/jobs"
	head -c 1024 /dev/urandom >"$dir/munge.key"
	chmod 400 "$dir/munge.key"
	cat >"$SLURM_CONF" <<-EOF
		ClusterName=bench
		SlurmctldHost=$(hostname -s)(127.0.0.1)
		SlurmctldPort=26817
		SlurmdPort=26818
		SlurmUser=root
		AuthType=auth/munge
		AuthInfo=socket=$dir/munge.socket
		CredType=cred/munge
		StateSaveLocation=$dir/state
		SlurmdSpoolDir=$dir/spool
		SlurmctldPidFile=$dir/slurmctld.pid
		SlurmdPidFile=$dir/slurmd.pid
		SlurmctldLogFile=$dir/slurmctld.log
		SlurmdLogFile=$dir/slurmd.log
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		MpiDefault=none
		ReturnToService=2
		SchedulerType=sched/backfill
		SelectType=select/cons_tres
		SelectTypeParameters=CR_CPU
		MaxJobCount=100000
		MaxArraySize=20000
		NodeName=$(hostname -s) NodeAddr=127.0.0.1 CPUs=64 State=UNKNOWN
		PartitionName=bench Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
	EOF
	# 64 at once, as det-deploy's bench has: the node is told to count CPUs that it lacks.
	echo 'SlurmdParameters=config_overrides' >>"$SLURM_CONF"
}

start() {
	munged --foreground --force --key-file="$dir/munge.key" --socket="$dir/munge.socket" --pid-file="$dir/munged.pid" \
		--log-file="$dir/munged.log" --seed-file="$dir/munged.seed" 2>/dev/null &
	started+=($!)
	until [ -S "$dir/munge.socket" ]; do sleep 0.1; done
	slurmctld -D -i >>"$dir/out.log" 2>&1 &
	started+=($!)
	slurmd -D -N "$(hostname -s)" >>"$dir/out.log" 2>&1 &
	started+=($!)
	for _ in $(seq 100); do
		sinfo -h -o %T 2>/dev/null | grep -q idle && return
		sleep 0.1
	done
	echo "slurm: the node is not idle after 10 s: $(tail -2 "$dir"/slurm*.log)" >&2
	exit 1
}

now() { date +%s%N; }
line() { printf '%-46s %s\n' "$1" "$2"; }
wait_empty() { while squeue -h -o %i | grep -q .; do sleep 0.05; done; }
rate() { awk -v n="$1" -v ns="$2" 'BEGIN { printf "%.0f/s", n / ns * 1e9 }'; }

# From the call of srun until the program that it runs says what time it is.
measure_srun() {
	local all=() begin
	for _ in $(seq 20); do
		begin=$(now)
		all+=($((($(srun -Q -n1 date +%s%N) - begin) / 1000000)))
	done
	mapfile -t all < <(printf '%s\n' "${all[@]}" | sort -n)
	line "srun until its program runs, p50" "${all[10]} ms"
}

measure_jobs() {
	local begin submitted
	for run in $(seq "$runs"); do
		begin=$(now)
		seq "$jobs" | xargs -P "$senders" -I{} sbatch -Q --parsable -o /dev/null --wrap true >/dev/null
		submitted=$(now)
		wait_empty
		line "sbatch, $jobs jobs, run $run: accepted, ended" "$(rate "$jobs" $((submitted - begin))), $(rate "$jobs" $(($(now) - begin)))"
	done
}

measure_array() {
	local begin
	begin=$(now)
	sbatch -Q --parsable -o /dev/null --array="0-$((array - 1))" --wrap true >/dev/null
	wait_empty
	line "sbatch --array of $array until all ended" "$(rate "$array" $(($(now) - begin)))"
}

configure
start
measure_srun
measure_jobs
measure_array
