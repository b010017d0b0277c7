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

// starts is how often a command is started for its median.
const starts = 20

// measureStart is what a command costs before it does anything, and what a user waits for.
// test/bench/peers has srun beside the second.
func (c *cluster) measureStart(ctx context.Context, say sayer) error {
	_, processor, err := c.median(ctx, func([]byte) (time.Time, error) { return time.Now(), nil }, "version")
	if err != nil {
		return err
	}
	say("version, processor time, p50", "%.1f ms (promise 100)", milliseconds(processor))
	// Its help needs nothing but the program, all packages of which have started.
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
	return nil
}

// measureAgentMemory is what an agent at rest takes of its machine, with the pages of the
// program that no other process of it maps.
func (c *cluster) measureAgentMemory(say sayer) {
	m := memoryOf(c.agent.Process.Pid)
	say("agent at rest", "%d MB proportional (promise 100), %d MB its own", m["Pss"], m["Private_Dirty"])
}

// memoryOf is what the kernel says of a process's memory, in megabytes by name.
func memoryOf(pid int) map[string]int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid)) // without it all is 0
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

// median runs a command some times. Reached reads out of the answer when it had done what
// it is for. It returns the medians of the time until then and of its processor time.
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
		_ = wait.For(ctx, 20*time.Millisecond) // the task before is put away
	}
	slices.Sort(walls)
	slices.Sort(processors)
	return walls[starts/2], processors[starts/2], nil
}

// command is one of a user whose home is the bench's.
func (c *cluster) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.bin, args...)
	cmd.Env = append(os.Environ(), "HOME="+c.dir, "XDG_CONFIG_HOME="+c.dir)
	return cmd
}

// printedTime is the nanoseconds that `date +%s%N` has printed within a task.
func printedTime(answer []byte) (time.Time, error) {
	text := regexp.MustCompile(`\b[0-9]{19}\b`).Find(bytes.TrimSpace(answer))
	ns, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("the program's time is not in what task run printed: %s", answer)
	}
	return time.Unix(0, ns), nil
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }
