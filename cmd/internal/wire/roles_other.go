//go:build !linux

package wire

import (
	"context"
	"errors"
	"io"

	"github.com/det-deploy/det-deploy/agent/config"
)

// RunAgent fails: agents run on Linux only.
func RunAgent(context.Context, config.Agent, func([]byte) (config.Agent, error), io.Writer, bool) error {
	return errors.ErrUnsupported
}

// SweepAgent fails: agents run on Linux only.
func SweepAgent(context.Context, config.Agent, io.Writer, bool) error { return errors.ErrUnsupported }

// MountVolume fails: the machines of clusters run Linux.
func MountVolume(context.Context, Volume, io.Writer, bool) error { return errors.ErrUnsupported }

// DrainMachine fails: the machines of clusters run Linux.
func DrainMachine(context.Context, string, io.Writer, bool) error { return errors.ErrUnsupported }
