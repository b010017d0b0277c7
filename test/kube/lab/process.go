package lab

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// component is one background program of the cluster.
type component struct {
	name string
	// inNode runs it in the node's network namespace, cgroup in a cgroup.
	inNode bool
	cgroup string
	argv   []string
}

// start runs a component in the background with its output in logs/NAME.log. It records the PID
// together with the start time of the process, so that a reused PID is never mistaken for it.
func (l *Lab) start(c component) error {
	log, err := os.OpenFile(l.path("logs", c.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the component has its own descriptor
	argv := l.placed(c)
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // it outlives this program
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, l.Dir
	cmd.Env = append(os.Environ(), "KUBE_LAB_ID="+strconv.Itoa(l.ID), "KUBE_LAB_STATE="+l.Dir, "GOTRACEBACK=single")
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", c.name, err)
	}
	born, err := startTime(cmd.Process.Pid)
	if err != nil {
		return fmt.Errorf("start %s: it ended at once; see %s", c.name, log.Name())
	}
	go cmd.Wait() //nolint:errcheck // whether it runs is read from /proc, by every later program too
	return os.WriteFile(l.path("pids", c.name), fmt.Appendf(nil, "%d %s\n", cmd.Process.Pid, born), 0o644)
}

// placed returns the command line that enters the component's namespace and cgroup.
func (l *Lab) placed(c component) []string {
	argv := slices.Concat(c.argv, l.extra[c.name])
	if !c.inNode && c.cgroup == "" {
		return argv
	}
	enter := []string{l.program("kubelab"), "enter"}
	if c.inNode {
		enter = append(enter, "--netns", l.namespace)
	}
	if c.cgroup != "" {
		enter = append(enter, "--cgroup", c.cgroup)
	}
	return slices.Concat(enter, []string{"--"}, argv)
}

// startTime returns the start time of a running process in clock ticks. It returns an error if the
// process has ended.
func startTime(pid int) (string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The second field is the program's name, which may contain any character.
	_, rest, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	const status, threads, startedAt = 0, 17, 19 // proc(5), counted from the third field
	// A multithreaded process that calls exec, as enter does, is briefly a zombie, but with more
	// than one thread: the one that replaces the leader still runs.
	if len(fields) <= startedAt || fields[status] == "Z" && fields[threads] <= "1" {
		return "", fmt.Errorf("process %d has ended", pid)
	}
	return fields[startedAt], nil
}

// pid returns the recorded process of a component, or 0 if it does not run.
func (l *Lab) pid(name string) int {
	b, err := os.ReadFile(l.path("pids", name))
	if err != nil {
		return 0
	}
	var pid int
	var born string
	if _, err := fmt.Sscan(string(b), &pid, &born); err != nil {
		return 0
	}
	// Twice, because exec may replace the thread between opening and reading the file.
	for range 2 {
		if now, err := startTime(pid); err == nil && now == born {
			return pid
		}
	}
	return 0
}

// components returns the names of all started components.
func (l *Lab) components() []string {
	entries, err := os.ReadDir(l.path("pids"))
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// stop stops components concurrently: SIGTERM, then SIGKILL after patience.
func (l *Lab) stop(patience time.Duration, names ...string) {
	var all sync.WaitGroup
	for _, name := range names {
		all.Go(func() { l.stopOne(patience, name) })
	}
	all.Wait()
}

func (l *Lab) stopOne(patience time.Duration, name string) {
	defer os.Remove(l.path("pids", name)) //nolint:errcheck // the directory is deleted later
	for _, way := range []struct {
		signal  unix.Signal
		patient time.Duration
	}{{unix.SIGTERM, patience}, {unix.SIGKILL, 5 * time.Second}} {
		pid := l.pid(name)
		if pid == 0 || unix.Kill(pid, way.signal) != nil {
			return
		}
		l.until(way.patient, func() bool { return l.pid(name) == 0 })
	}
}

// until polls done every 20 ms until it returns true or the limit has passed.
func (l *Lab) until(limit time.Duration, done func() bool) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.Now().Add(limit)
	for !done() && time.Now().Before(end) {
		<-tick.C
	}
}

// run runs a short command. The error of a failed command includes its output.
func run(argv ...string) error {
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput() //nolint:noctx // each exits within milliseconds
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
