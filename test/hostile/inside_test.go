package hostile_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// script is an attempt from inside a task: a shell script that exits with 0 if it has gained
// something. Its environment describes the machine: AGENT_DIR, MASTER_DIR and CLUSTER_DIR, the PIDs
// AGENT_PID and MASTER_PID, and the two halves of alice's secret.
type script struct {
	name, wants, text string
	// not lists runtimes for which the script is meaningless.
	not []where
	// elsewhere lists runtimes where root does not succeed either, because the data are not on the
	// host: the output of a container goes through a pipe, and its files are inside it.
	elsewhere []where
	// powerless means that root of the host does not succeed, unlike a task with another user, so
	// that there is no control.
	powerless bool
}

const (
	othersSecrets = "secrets of another task of the machine"
	clusterFiles  = "keys, passwords and tokens of the master and the agent"
	machineItself = "the machine under the task"
	othersEnds    = "to end, stop or trace processes that are not the task's"
	mastersPlace  = "to be taken for the master by those who connect to it"
)

// scripts are run on every runtime.
var scripts = []script{
	{name: "reads the environment of other processes", wants: othersSecrets, text: `grep -als "$HALF$OTHER_HALF" /proc/[0-9]*/environ | grep -q .`},
	{name: "reads the arguments of other processes", wants: othersSecrets, text: `cat /proc/[0-9]*/cmdline | tr '\0' '\n' | grep -qx '8639[9]'`},
	{name: "reads the work directory of other processes", wants: othersSecrets, text: `cat /proc/[0-9]*/cwd/secret-file.txt 2>/dev/null | grep -q "$HALF$OTHER_HALF"`},
	{name: "reads the root of other processes", wants: othersSecrets, text: `cat /proc/[0-9]*/root/tmp/hostile-$MARK 2>/dev/null | grep -q "$HALF$OTHER_HALF"`},
	{name: "reads open files of other processes", wants: othersSecrets, text: `for f in /proc/[0-9]*/fd/[12]; do [ -f "$f" ] && grep -aqs "$HALF$OTHER_HALF" "$f" && exit 0; done; exit 1`, elsewhere: []where{docker}},
	{name: "reads another task's file in /tmp", wants: othersSecrets, text: `grep "$HALF$OTHER_HALF" /tmp/hostile-$MARK`, not: []where{kubernetes}, powerless: true},
	{name: "reads another task's shared memory", wants: othersSecrets, text: `grep "$HALF$OTHER_HALF" /dev/shm/hostile-$MARK`, not: []where{kubernetes}, powerless: true},
	{name: "lists another task's file in /tmp", wants: othersSecrets, text: `ls /tmp | grep "hostile-$MARK"`, not: []where{kubernetes}, powerless: true},
	{name: "looks for another task's files below the agent's directory", wants: othersSecrets, text: `grep -rasl "$HALF$OTHER_HALF" "$AGENT_DIR" | grep -q .`},
	{name: "looks for another task's log below the agent's directory", wants: othersSecrets, text: `grep -rs "the secret is" "$AGENT_DIR" | grep -q .`, not: []where{docker, kubernetes}},
	{
		name: "looks for another task's files below its own parents", wants: othersSecrets, elsewhere: []where{docker},
		text: `d=$(pwd -P); while [ "$d" != / ] && [ -n "$d" ]; do d=${d%/*}; [ -n "$d" ] && find "$d" -xdev -name secret-file.txt 2>/dev/null | grep -q . && exit 0; [ -z "${d#/*/*/*}" ] || break; done; find "$AGENT_DIR" -name secret-file.txt | grep -q .`,
	},
	{name: "finds user tokens in other processes", wants: othersSecrets, text: `for e in /proc/[0-9]*/environ; do tr '\0' '\n' <$e 2>/dev/null | grep '^DET_USER_TOKEN=' | grep -vq "=$DET_USER_TOKEN\$" && exit 0; done; exit 1`},
	{name: "reads the memory of other processes", wants: othersSecrets, text: `head -c 1 /proc/$AGENT_PID/maps | grep -q . || head -c 1 /proc/$MASTER_PID/maps | grep -q .`},

	{name: "lists the agent's directory", wants: clusterFiles, text: `ls "$AGENT_DIR" | grep -q .`},
	{name: "reads the agent's credential", wants: clusterFiles, text: `grep -q ddagent "$AGENT_DIR/credential"`},
	{name: "reads the agent's credential by the agent's root", wants: clusterFiles, text: `grep -q ddagent "/proc/$AGENT_PID/root$AGENT_DIR/credential"`},
	{name: "reads the agent's configuration", wants: clusterFiles, text: `grep -q master_host "$CLUSTER_DIR/agent.yaml"`},
	{name: "reads the join token", wants: clusterFiles, text: `grep -q ddjoin "$CLUSTER_DIR/join-token"`},
	{name: "reads the master's configuration", wants: clusterFiles, text: `grep -q initial_user_password "$CLUSTER_DIR/master.yaml"`},
	{name: "reads the master's database", wants: clusterFiles, text: `head -c 6 "$MASTER_DIR/master.db" | grep -q SQLite`},
	{name: "reads the master's log", wants: clusterFiles, text: `grep -q . "$CLUSTER_DIR/master.log"`},
	{name: "reads the master's environment", wants: clusterFiles, text: `grep -aq PATH /proc/$MASTER_PID/environ`},
	{name: "reads the agent's environment", wants: clusterFiles, text: `grep -aq PATH /proc/$AGENT_PID/environ`},
	{name: "writes into the master's directory", wants: clusterFiles, text: `(: >"$MASTER_DIR/hostile") && rm "$MASTER_DIR/hostile"`},
	{name: "writes into the agent's directory", wants: clusterFiles, text: `(: >"$AGENT_DIR/hostile") && rm "$AGENT_DIR/hostile"`},
	{name: "opens the database for writing", wants: clusterFiles, text: `(: >>"$MASTER_DIR/master.db")`},
	{name: "opens the agent's log for writing", wants: clusterFiles, text: `(: >>"$CLUSTER_DIR/agent-a.log")`},
	{
		name: "opens what the agent notes of containers", wants: clusterFiles, not: []where{docker, kubernetes},
		text: `find -L "$AGENT_DIR" /dev/shm/det-deploy-tasks /run/det-deploy-tasks -name status | while read -r f; do (: >>"$f") && echo yes; done | grep -q yes`,
	},
	{
		name: "opens its own log for writing", wants: clusterFiles, not: []where{docker, kubernetes},
		text: `find -L "$AGENT_DIR" -name '*stdout' | while read -r f; do (: >>"$f") && echo yes; done | grep -q yes`,
	},
	{
		name: "puts a link beside its log", wants: clusterFiles, not: []where{docker, kubernetes},
		text: `find -L "$AGENT_DIR" -name '*stdout' | while read -r f; do d=${f%/*}; ln -s /etc/shadow "$d/hostile" && rm "$d/hostile" && echo yes; done | grep -q yes`,
	},
	{name: "finds the engine's socket", wants: clusterFiles, text: `[ -S "${ENGINE:-/var/run/docker.sock}" ]`, not: []where{process, kubernetes}},

	{name: "reads the passwords of the machine", wants: machineItself, text: `head -c 1 /etc/shadow | grep -q .`, not: []where{docker, kubernetes}},
	{name: "writes to the machine's users", wants: machineItself, text: `(: >>/etc/passwd)`, not: []where{docker, kubernetes}},
	{name: "writes to the machine's programs", wants: machineItself, text: `(: >/usr/bin/hostile-$MARK) && rm /usr/bin/hostile-$MARK`, not: []where{docker, kubernetes}},
	{name: "writes to root's home", wants: machineItself, text: `(: >/root/.hostile-$MARK) && rm /root/.hostile-$MARK`, not: []where{docker, kubernetes}},
	{name: "writes what runs later", wants: machineItself, text: `mkdir -p /etc/cron.d && (: >/etc/cron.d/hostile-$MARK) && rm /etc/cron.d/hostile-$MARK`, not: []where{docker, kubernetes}},
	{name: "makes a device of the kernel's memory", wants: machineItself, text: `mknod ./kmsg c 1 11 && dd if=./kmsg bs=8192 count=1 2>/dev/null | grep -q .; r=$?; rm -f ./kmsg; exit $r`},
	{name: "opens the kernel's log", wants: machineItself, text: `dd if=/dev/kmsg bs=8192 count=1 2>/dev/null | grep -q .`},
	{name: "makes a device of a disk", wants: machineItself, text: `[ -n "$DISK" ] && mknod ./disk b $DISK && head -c 1 ./disk >/dev/null; r=$?; rm -f ./disk; exit $r`},
	{name: "mounts a file system", wants: machineItself, text: `mkdir -p m && mount -t tmpfs none m && umount m`},
	{name: "mounts the cgroups", wants: machineItself, text: `mkdir -p c && mount -t cgroup2 none c && umount c`},
	{name: "makes a cgroup", wants: machineItself, text: `for d in /sys/fs/cgroup /sys/fs/cgroup/*/; do h=$d/hostile-$MARK; mkdir $h || continue; ls $h | grep -q procs && rmdir $h && exit 0; done; exit 1`},
	{name: "says what the kernel runs on a crash", wants: machineItself, text: `(: >>/proc/sys/kernel/core_pattern)`},
	{name: "changes a setting of the kernel", wants: machineItself, text: `v=$(cat /proc/sys/vm/overcommit_memory) && (echo "$v" >/proc/sys/vm/overcommit_memory)`},
	{name: "enters the namespaces of the agent", wants: machineItself, text: `nsenter -t $AGENT_PID -m ls "$AGENT_DIR"`},
	{name: "sets the clock", wants: machineItself, text: `! date -s "@$(date +%s)" 2>&1 | grep -qi permitted`},
	{name: "sets the machine's name", wants: machineItself, text: `hostname "$(hostname)"`},
	{name: "gives a program another's rights", wants: machineItself, text: `grep -q 'NoNewPrivs:.*0' /proc/self/status`},

	{name: "signals the agent", wants: othersEnds, text: `kill -0 $AGENT_PID`},
	{name: "signals the master", wants: othersEnds, text: `kill -0 $MASTER_PID`},
	{name: "signals another task", wants: othersEnds, text: `for p in /proc/[0-9]*; do tr '\0' ' ' <$p/cmdline 2>/dev/null | grep -q '^sleep 86399 $' && kill -0 ${p#/proc/} && exit 0; done; exit 1`},
	{name: "sees the agent's process", wants: othersEnds, text: `tr '\0' ' ' </proc/$AGENT_PID/cmdline | grep -q 'agent run'`},
	{name: "sees the master's process", wants: othersEnds, text: `tr '\0' ' ' </proc/$MASTER_PID/cmdline | grep -q 'master run'`},
	{name: "listens where the master does", wants: mastersPlace, text: listensWith("SO_REUSEADDR"), not: []where{docker, kubernetes}, powerless: true},
	{name: "listens beside the master", wants: mastersPlace, text: listensWith("SO_REUSEPORT"), not: []where{docker, kubernetes}, powerless: true},
	{name: "listens on the master's port of one address", wants: mastersPlace, text: listensAt("127.0.0.1", "SO_REUSEADDR"), not: []where{docker, kubernetes}, powerless: true},

	{name: "changes how likely the agent is killed", wants: othersEnds, text: `v=$(cat /proc/$AGENT_PID/oom_score_adj) && (echo "$v" >/proc/$AGENT_PID/oom_score_adj)`},
}

// listensWith returns a script that listens on the master's port at all addresses.
func listensWith(option string) string { return listensAt("", option) }

// listensAt returns a script that listens on the master's port. It exits with 0 if it cannot listen
// on any port, because then a failure proves nothing.
func listensAt(address, option string) string {
	const listen = `python3 -c 'import socket, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.%s, 1)
s.bind(("%s", int(sys.argv[1])))
s.listen()' `
	try := fmt.Sprintf(listen, option, address)
	return try + `0 || exit 0; ` + try + `"$MASTER_PORT"`
}

// driver runs every script in its directory and prints the result of each.
const driver = `for f in *.script; do got=FAILED; ` +
	`out=$(timeout 20 sh "./$f" 2>&1 </dev/null) && got=GAINED; ` +
	`echo "$got $f" $(echo "$out" | tail -n 2 | tr -c 'a-zA-Z0-9/._: -' ' ' | head -c 200); done; echo DONE`

// insideAttempts returns the scripts for a runtime.
func insideAttempts(at where) []attempt {
	var all []attempt
	for i, s := range scripts {
		if slices.Contains(s.not, at) || at == kubernetes && strings.Contains(s.text, "$AGENT_") || at == kubernetes && strings.Contains(s.text, "$MASTER_") ||
			at == kubernetes && strings.Contains(s.text, "$CLUSTER_") {
			continue
		}
		file := fmt.Sprintf("%03d.script", i)
		a := attempt{
			name: "a task on " + string(at) + " " + s.name, who: userTask, where: at, wants: s.wants,
			try: func(ctx context.Context, w *world) outcome { return judge(file, w.inside(ctx)) },
		}
		if !s.powerless && at != kubernetes && !slices.Contains(s.elsewhere, at) {
			a.control = &control{"root " + s.name, func(ctx context.Context, w *world) outcome { return judge(file, w.outside(ctx)) }}
		}
		all = append(all, a)
	}
	return all
}

// report has the result of each script of one run.
type report struct {
	lines map[string]string
	err   error
}

var reportLine = regexp.MustCompile(`(GAINED|FAILED) (\d+\.script)`)

func read(lines []string, err error) *report {
	r := &report{lines: map[string]string{}, err: err}
	for _, l := range lines {
		if m := reportLine.FindStringSubmatch(l); m != nil {
			r.lines[m[2]] = l
		}
	}
	return r
}

func judge(file string, r *report) outcome {
	line, found := r.lines[file]
	if !found {
		return outcome{untried, fmt.Sprintf("the script did not run: %v", r.err)}
	}
	return gained(strings.HasPrefix(line, "GAINED"), "%s", line)
}

// inside runs the scripts in a task of mallory, once for each world.
func (w *world) inside(ctx context.Context) *report {
	if w.scripts == nil {
		w.scripts = read(w.runScripts(ctx))
	}
	return w.scripts
}

func (w *world) runScripts(ctx context.Context) ([]string, error) {
	id, err := w.launch(ctx, "mallory", task{script: "cd \"${DET_WORKDIR:-.}\"; " + driver, files: scriptFiles(), config: map[string]any{
		"environment": map[string]any{"environment_variables": w.variables()},
	}})
	if err != nil {
		return nil, err
	}
	_, err = w.line(ctx, "mallory", id, "DONE")
	lines, lerr := w.log(context.WithoutCancel(ctx), "mallory", id)
	if lerr != nil {
		err = lerr
	}
	return lines, err
}

func scriptFiles() map[string]string {
	files := map[string]string{}
	for i, s := range scripts {
		files[fmt.Sprintf("%03d.script", i)] = s.text + "\n"
	}
	return files
}

func (w *world) variables() []string {
	var all []string
	for k, v := range w.env {
		all = append(all, k+"="+v)
	}
	slices.Sort(all)
	return all
}

// outside runs the scripts as root of the host, without a container: a script that fails here as
// well is not a valid attempt.
func (w *world) outside(ctx context.Context) *report {
	if w.asRoot != nil {
		return w.asRoot
	}
	dir := w.t.TempDir()
	for name, text := range scriptFiles() {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", driver)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), append(w.variables(), "DET_USER_TOKEN=none")...)
	out, err := cmd.CombinedOutput()
	w.asRoot = read(strings.Split(string(out), "\n"), err)
	return w.asRoot
}

// look sets the variables that describe the machine, which an attacker may be assumed to know.
func (w *world) look() {
	c := w.cluster
	w.env["CLUSTER_DIR"], w.env["MASTER_DIR"], w.env["AGENT_DIR"] = c.Dir, filepath.Join(c.Dir, "master"), filepath.Join(c.Dir, "agent-a")
	_, port, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(w.url, "https://"), "http://"), ":")
	w.env["MASTER_PORT"] = port
	w.env["MASTER_PID"], w.env["AGENT_PID"] = fmt.Sprint(c.Master.Process.Pid), fmt.Sprint(c.Agents["a"].Process.Pid)
	out, err := exec.CommandContext(w.t.Context(), "lsblk", "--json", "--output", "MAJ:MIN").Output()
	var disks struct {
		Blockdevices []map[string]string
	}
	if err == nil && json.Unmarshal(out, &disks) == nil && len(disks.Blockdevices) > 0 {
		w.env["DISK"] = strings.ReplaceAll(strings.TrimSpace(disks.Blockdevices[0]["maj:min"]), ":", " ")
	}
}
