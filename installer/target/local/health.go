package local

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// joinLimit is how long agents may take to join after their start.
	joinLimit = 60 * time.Second
)

// Ready waits until the master answers and every agent has joined.
func (t *Target) Ready(ctx context.Context, tell func(string)) error {
	tell("the master to answer")
	last := ""
	if !waitUntil(ctx, startLimit, func() bool { last = t.Master().masterProblem(ctx); return last == "" }) {
		return wrapRefusal("wait for", "the master", errors.Join(errors.New(last), ctx.Err()))
	}
	switch n := t.Spec.Agents; {
	case n == 1:
		tell("1 agent to join")
	case n > 1:
		tell(fmt.Sprintf("%d agents to join", n))
	}
	session, err := t.Master().Login(ctx)
	if errors.Is(err, ErrForbidden) {
		tell("no agents: the password of admin was changed, so they cannot be counted")
		return nil
	}
	if err != nil {
		return wrapRefusal("log in to", "the master", err)
	}
	var joined []joinedAgent
	ok := waitUntil(ctx, joinLimit, func() bool {
		joined, err = t.Master().listAgents(ctx, session)
		return err == nil && len(joined) >= t.Spec.Agents
	})
	if !ok {
		return wrapRefusal("wait for", "the agents", errors.Join(err, ctx.Err(),
			fmt.Errorf("%d of %d have joined; last log line of the last one: %s (%s)", len(joined), t.Spec.Agents,
				lastLogLine(t.Place.Log(fmt.Sprintf("agent-%d", t.Spec.Agents))), t.Place.pathOf("logs"))))
	}
	return nil
}
