// Package supervise runs the processes of one local cluster. It starts the configured processes,
// restarts those that die, and stops all of them on request. It knows nothing about their work.
package supervise

import "github.com/det-deploy/det-deploy/internal/process"

// Identity distinguishes a process from all others that ever had its PID.
type Identity = process.Identity

// Identify returns the identity of a living process.
func Identify(pid int) (Identity, error) { return process.Identify(pid) }
