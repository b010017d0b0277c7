// Package supervise keeps the processes of one local cluster running: it starts
// what is written down, starts again what dies, and stops everything when told
// to. It knows nothing of what the processes do.
package supervise

import "github.com/det-deploy/det-deploy/internal/process"

// Identity distinguishes a process from all others that ever had its PID.
type Identity = process.Identity

// Identify returns the identity of a living process.
func Identify(pid int) (Identity, error) { return process.Identify(pid) }
