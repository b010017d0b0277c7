// Package shim is the process beside an agent that starts its tasks, is their parent, and
// writes down how they end. It outlives the agent, and is small, so that a start takes little:
// the program itself is the only one that is started for a task.
//
//	the shim                                     what an agent finds of a task
//
//	 started by an agent ──► serves              lock  id   code
//	                          │                  held  no   no    ordered: the agent, the message
//	   order: the lock comes  │                                   on its way, or the shim has it
//	   with it, held ─────────┤
//	   fork: the child notes  │                  held  yes  no    runs
//	   its id, becomes the    │
//	   program ───────────────┤
//	   end: code, lock freed, │                  free  yes  yes   ended
//	   agents are told ───────┤
//	                          │
//	   no agent, no task ─────┴─► leaves
//	   killed ──────────────────► was removed    free  yes  no    vanished: what is left of it is
//	                                                              killed, and never started again
//	                                             free  no   no    never started: an agent may start it
//
// An agent that is killed takes nothing with it: a complete message is carried out, and the lock
// comes with the message, so that there is no time at which an ordered task looks as if it were
// not. The next agent connects to the shims that it finds. It orders from the one that runs its
// own program, or from a new one; the others keep their tasks and leave after the last.
package shim

import (
	"os"
	"syscall"

	"github.com/det-deploy/det-deploy/agent/container/process/rootfs"
)

// Order is one task to start.
type Order struct {
	// Task is the directory of its container, by which it is known.
	Task string
	// Placing says how the program comes to see Tree.
	Placing Placing
	Tree    rootfs.Tree

	Argv, Env  []string
	Dir        string
	Credential *syscall.Credential
}

// Placing is how a program comes to see files of its own.
type Placing uint64

// The ways.
const (
	// AsItIs shows it the machine's.
	AsItIs Placing = iota
	// InMounts is a mount namespace, which only root may make.
	InMounts
	// InUser is a mount namespace in one of users.
	InUser
)

// Files are what a task has open. They are the caller's to close.
type Files struct {
	// Status is the locked file in which the process and its end are noted.
	Status         *os.File
	Stdout, Stderr *os.File
}

// Started says where a task runs.
type Started struct {
	// Space is the number of its mount namespace, or 0, and At when that was made, by a
	// clock that all shims of a machine share, in nanoseconds.
	Space, At uint64
}
