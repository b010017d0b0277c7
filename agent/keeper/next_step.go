package keeper

import (
	"time"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/lease"
)

const (
	// An agent that runs ends its containers itself when its lease is over. Its keeper
	// comes after it, by a part of the lease and this at most: the master allows half
	// the lease and five seconds at most.
	graceMost = time.Second
	gracePart = 10
	// lookMost is the longest that a keeper sleeps: an agent may learn meanwhile that its
	// lease is shorter than it was, and does not wake its keeper.
	lookMost = 5 * time.Second
	// endLook is when it looks for the first time whether what it ended is gone; it
	// looks ever less often.
	endLook = time.Second
	// linger is how long after the end of the lease something may start that an agent
	// which is gone had asked its engine for.
	linger = time.Minute
)

// dueTime says when the keeper has to act on a lease, since the machine started.
func dueTime(t lease.Term) time.Duration {
	return t.End() + min(graceMost, t.Length/gracePart)
}

// scene is what a keeper sees when a lease is over.
type scene struct {
	// phases are those of the containers that are run again elsewhere and that have
	// not ended as far as their agent knows; "" is one that the runtime does not tell.
	phases map[string]container.Phase
	// agent says that an agent has the data_dir, running or stopped.
	agent bool
	// looks counts those before this one since the lease was over.
	looks int
}

// step is what a keeper does next.
type step struct {
	// look says that the lease is over, and that only a scene tells what to do.
	look bool
	// leave says that there is nothing left to do for this keeper.
	leave bool
	// at is when to decide again, since the machine started.
	at time.Duration
}

// waitStep decides without a scene.
func waitStep(t lease.Term, now time.Duration) step {
	if t.Known() && now >= dueTime(t) {
		return step{look: true}
	}
	at := now + lookMost
	if t.Known() {
		at = min(at, dueTime(t))
	}
	return step{at: at}
}

// deed is what is done to a container once a lease is over.
type deed struct {
	// silence notes that it is ended for the master's silence, so that no agent starts
	// it any more, and end kills it.
	silence, end bool
}

// decideDeed says what to do to a container in a phase.
func decideDeed(phase container.Phase) deed {
	return deed{silence: phase != container.Ended, end: phase == container.Running || phase == ""}
}

// decideStep returns the next step of a keeper that has looked at the containers of an
// expired lease and has acted on them.
func decideStep(t lease.Term, s scene, now time.Duration) step {
	out := step{at: now + lookMost, leave: true}
	for _, phase := range s.phases {
		switch phase {
		case container.Ended:
			// An agent that is there has yet to note it, and would miss its keeper.
			out.leave = out.leave && !s.agent
		case container.Absent, container.Created:
			out.leave = out.leave && !s.agent && now >= dueTime(t)+linger
		case container.Running, "":
			out.leave, out.at = false, now+min(endLook<<min(s.looks, 10), lookMost)
		}
	}
	return out
}
