package spec

import (
	"cmp"
	"time"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/internal/excerpt"
)

// IdleType is what counts as use of a notebook.
type IdleType string

// Idle types, as in Determined 0.38.1.
const (
	// KernelsOrTerminals: a kernel or a terminal exists.
	KernelsOrTerminals IdleType = "kernels_or_terminals"
	// KernelConnections: a page is connected to a kernel.
	KernelConnections IdleType = "kernel_connections"
	// Activity: a kernel computes, or a kernel or a terminal has done something.
	Activity IdleType = "activity"
)

// shortestIdle is the minimum of idle_timeout: shorter ones end a notebook before its page is open.
const shortestIdle = 10 * time.Second

// CompleteIdle completes the settings that end an unused notebook, with the cluster's time limit; zero is
// none. It returns a *DecodeError.
func (c *Config) CompleteIdle(limit time.Duration) error {
	c.NotebookIdleType = cmp.Or(c.NotebookIdleType, KernelsOrTerminals)
	var e document.Errors
	switch c.NotebookIdleType {
	case KernelsOrTerminals, KernelConnections, Activity:
	default:
		e.Check(false, "notebook_idle_type", "must be %s, %s or %s (is %q)", KernelsOrTerminals, KernelConnections, Activity, excerpt.Of(c.NotebookIdleType))
	}
	if len(e) > 0 {
		return &DecodeError{e}
	}
	return c.CompleteTimeout(limit)
}

// CompleteTimeout completes the time limit of an unused task with that of the cluster; zero is none. It returns
// a *DecodeError.
func (c *Config) CompleteTimeout(limit time.Duration) error {
	if c.IdleTimeout == nil && limit > 0 {
		c.IdleTimeout = new(document.Seconds(limit))
	}
	var e document.Errors
	if t := c.IdleTimeout; t != nil {
		e.Check(time.Duration(*t) >= shortestIdle, "idle_timeout", "must be at least %v (is %v); leave it out for the limit of the cluster", shortestIdle, *t)
	}
	if len(e) > 0 {
		return &DecodeError{e}
	}
	return nil
}
