package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
)

// starts is the number of runs of a command for its median.
const starts = 20

// measureStart measures the fixed cost of a command and the delay for its user. test/bench/peers
// compares the second with srun.
func (c *cluster) measureStart(ctx context.Context, say sayer) error {
	_, processor, err := c.median(ctx, func([]byte) (time.Time, error) { return time.Now(), nil }, "version")
	if err != nil {
		return err
	}
	say("version, processor time, p50", "%.1f ms (promise 100)", milliseconds(processor))
	// The help text needs nothing but an initialized program with all its packages.
	_, processor, err = c.median(ctx, func([]byte) (time.Time, error) { return time.Now(), nil }, "local", "--help")
	if err != nil {
		return err
	}
	say("a command that is not the client's, processor time, p50", "%.1f ms", milliseconds(processor))
	login := c.command(ctx, "login", "admin", "--master", c.url, "--password-stdin")
	login.Stdin = strings.NewReader(password + "\n")
	if out, err := login.CombinedOutput(); err != nil {
		return fmt.Errorf("log in: %w: %s", err, out)
	}
	wall, processor, err := c.median(ctx, printedTime, "task", "run", "--slots", "0", "--", "date", "+%s%N")
	if err != nil {
		return err
	}
	say("task run until its program runs, p50", "%.0f ms (promise 150); %.1f ms of its own processor time", milliseconds(wall), milliseconds(processor))
	return c.measureCompletion(ctx, say)
}

// measureCompletion measures how long a shell waits after TAB.
func (c *cluster) measureCompletion(ctx context.Context, say sayer) error {
	for what, master := range map[string]string{"answers": c.url, "is not there": "http://127.0.0.1:1", "is silent": "http://192.0.2.1:1"} {
		wall, _, err := c.median(ctx, func([]byte) (time.Time, error) { return time.Now(), nil }, "__complete", "task", "kill", "--master", master, "")
		if err != nil {
			return err
		}
		say("completion of a task's ID, master "+what+", p50", "%.0f ms (promise 200)", milliseconds(wall))
	}
	return nil
}

// measureAgentMemory measures the memory of an idle agent, including pages of the program that no
// other process maps.
func (c *cluster) measureAgentMemory(say sayer) {
	m := memoryOf(c.agent.Process.Pid)
	say("agent at rest", "%d MB proportional (promise 100), %d MB its own", m["Pss"], m["Private_Dirty"])
}

// memoryOf returns the kernel's memory figures of a process, in megabytes by name.
func memoryOf(pid int) map[string]int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid)) // without it all figures are 0
	out := map[string]int{}
	for line := range strings.Lines(string(text)) {
		name, rest, found := strings.Cut(line, ":")
		fields := strings.Fields(rest)
		if !found || len(fields) == 0 {
			continue
		}
		if kb, err := strconv.Atoi(fields[0]); err == nil {
			out[name] = kb / 1024
		}
	}
	return out
}

// median runs a command repeatedly. Reached extracts from the output the time at which the command
// had done its work. It returns the medians of the time until then and of the processor time.
func (c *cluster) median(ctx context.Context, reached func(answer []byte) (time.Time, error), args ...string) (wall, processor time.Duration, err error) {
	var walls, processors []time.Duration
	for range starts {
		cmd := c.command(ctx, args...)
		began := time.Now()
		answer, err := cmd.Output()
		if err != nil {
			return 0, 0, fmt.Errorf("%s: %w", strings.Join(args, " "), err)
		}
		at, err := reached(answer)
		if err != nil {
			return 0, 0, err
		}
		walls = append(walls, at.Sub(began))
		processors = append(processors, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		_ = wait.For(ctx, 20*time.Millisecond) // the previous task is cleaned up
	}
	slices.Sort(walls)
	slices.Sort(processors)
	return walls[starts/2], processors[starts/2], nil
}

// command returns a command whose home directory is that of the benchmark.
func (c *cluster) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.bin, args...)
	cmd.Env = append(os.Environ(), "HOME="+c.dir, "XDG_CONFIG_HOME="+c.dir)
	return cmd
}

// printedTime returns the time that `date +%s%N` printed within a task. It returns an error if the
// output has none.
func printedTime(answer []byte) (time.Time, error) {
	text := regexp.MustCompile(`\b[0-9]{19}\b`).Find(bytes.TrimSpace(answer))
	ns, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("the program's time is not in what task run printed: %s", answer)
	}
	return time.Unix(0, ns), nil
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }
