package detect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// toolTimeout is the timeout of a vendor's tool. Without the persistence daemon nvidia-smi takes
// seconds per GPU.
const toolTimeout = 60 * time.Second

// Exec is a Runner that executes programs on this machine.
func Exec(ctx context.Context, name string, args ...string) (Output, error) {
	ctx, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return Output{}, ErrNoTool
	}
	o := Output{Stdout: out.Bytes(), Stderr: errOut.Bytes()}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
		o.Code = exit.ExitCode()
		return o, nil
	}
	return o, errors.Join(err, ctx.Err())
}

// Processor returns the CPU model and the number of cores.
func Processor() (model string, cores int) {
	// Without /proc the model is unknown; the slot is the same.
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	return model, runtime.NumCPU()
}

// runTool runs a tool. If it fails, the error contains its output.
func runTool(ctx context.Context, r Runner, name string, args ...string) ([]byte, error) {
	line := strings.Join(append([]string{name}, args...), " ")
	out, err := r(ctx, name, args...)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", line, err)
	}
	if out.Code != 0 {
		said := bytes.TrimSpace(out.Stderr)
		if len(said) == 0 {
			said = bytes.TrimSpace(out.Stdout) // nvidia-smi writes most errors to stdout
		}
		return nil, fmt.Errorf("run %s: exit code %d: %s", line, out.Code, said)
	}
	return out.Stdout, nil
}
