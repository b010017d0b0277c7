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
	// idleLook is how often a keeper looks that knows of no lease.
	idleLook = time.Minute
	// endLook is how often it looks whether what it ended is gone, and restLook how
	// often whether something has started all the same.
	endLook  = time.Second
	restLook = 10 * time.Second
	// linger is how long after the end of the lease something may start that an agent
	// which is gone had asked its engine for.
	linger = time.Minute
)

// due says when the keeper has to act on a lease, since the machine started.
func due(t lease.Term) time.Duration {
	return t.End() + min(graceMost, t.Length/gracePart)
}

// scene is what a keeper sees when a lease is over.
type scene struct {
	// phases are those of the containers that are run again elsewhere and that have
	// not ended as far as their agent knows; "" is one that the runtime does not tell.
	phases map[string]container.Phase
	// agent says that an agent has the data_dir, running or stopped.
	agent bool
}

// step is what a keeper does next.
type step struct {
	// look says that the lease is over, and that only a scene tells what to do.
	look bool
	// silence has the containers that are noted as ended for the master's silence, so
	// that no agent starts them any more, and end those of them that are killed.
	silence, end []string
	// leave says that there is nothing left to do for this keeper.
	leave bool
	// at is when to decide again, since the machine started.
	at time.Duration
}

// wait decides without a scene.
func wait(t lease.Term, now time.Duration) step {
	switch at := due(t); {
	case !t.Known():
		return step{at: now + idleLook}
	case now < at:
		return step{at: at}
	default:
		return step{look: true}
	}
}

// decide says what to do once a lease is over.
func decide(t lease.Term, s scene, now time.Duration) step {
	out := step{at: now + restLook, leave: true}
	for id, phase := range s.phases {
		switch phase {
		case container.Ended:
			// An agent that is there has yet to note it, and would miss its keeper.
			out.leave = out.leave && !s.agent
			continue
		case container.Absent, container.Created:
			out.leave = out.leave && !s.agent && now >= due(t)+linger
		case container.Running, "":
			out.end = append(out.end, id)
			out.leave, out.at = false, now+endLook
		}
		out.silence = append(out.silence, id)
	}
	return out
}
