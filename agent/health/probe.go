package health

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const (
	// probeSize is the number of bytes written to the disk: an order, the files of a small task and
	// its first lines.
	probeSize = 1 << 20
	// probeFiles is the number of descriptors opened at once, enough for a few starts.
	probeFiles = 32
	// probePatience is the timeout of the process and of the engine's answer.
	probePatience = 20 * time.Second
)

// Probe checks the resources that every start of a container needs.
type Probe struct {
	// Dir is the agent's data_dir.
	Dir string
	// Engine returns an error if the container engine does not answer. It is nil without an engine.
	Engine func(context.Context) error
}

// Run returns the first lack and its error, or "" and nil if the machine is healthy. If ctx ends,
// Run finds no lack.
func (p Probe) Run(ctx context.Context) (Lack, error) {
	steps := []struct {
		lack Lack // used if the error itself does not imply one
		try  func(context.Context) error
	}{
		{Disk, p.tryDisk},
		{Descriptors, tryDescriptors},
		{"", tryProcess},
		{Engine, p.tryEngine},
	}
	for _, s := range steps {
		err := s.try(ctx)
		if err == nil || ctx.Err() != nil {
			continue
		}
		lack := LackOf(err)
		if lack == "" {
			lack = s.lack
		}
		if lack != "" {
			return lack, err
		}
	}
	return "", nil
}

// tryDisk writes a file and syncs it.
func (p Probe) tryDisk(context.Context) error {
	name := filepath.Join(p.Dir, "probe")
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, probeSize))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), os.Remove(name))
}

func tryDescriptors(context.Context) (err error) {
	for range probeFiles {
		f, oerr := os.Open(os.DevNull)
		if oerr != nil {
			return errors.Join(err, oerr)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
	}
	return nil
}

// tryProcess runs a shell that does nothing. A machine without a shell counts as healthy.
func tryProcess(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	err := exec.CommandContext(ctx, "/bin/sh", "-c", ":").Run()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("run a process: %w", err)
	}
	return nil
}

func (p Probe) tryEngine(ctx context.Context) error {
	if p.Engine == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	return p.Engine(ctx)
}
