package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
)

// awaitNoJobs waits until no job is queued or running. It polls the statistics with one small
// request at a time: polling each task would be a tenth of the master's work.
func (c *cluster) awaitNoJobs(ctx context.Context) error {
	for {
		b, err := c.call(ctx, "GET", "/api/v1/job-queues/stats", nil)
		if err != nil {
			return err
		}
		var reply struct {
			Results []struct {
				Stats struct{ QueuedCount, ScheduledCount int }
			}
		}
		if err := json.Unmarshal(b, &reply); err != nil {
			return err
		}
		left := 0
		for _, r := range reply.Results {
			left += r.Stats.QueuedCount + r.Stats.ScheduledCount
		}
		if left == 0 {
			return nil
		}
		if err := wait.For(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// programEnded is the exit message of a task whose program succeeded.
const programEnded = "allocation exited successfully"

// checkEnded returns an error unless each task is among the newest, with the exit of its program.
func (c *cluster) checkEnded(ctx context.Context, ids []string) error {
	const page = 200
	missing := map[string]bool{}
	for _, id := range ids {
		missing[id] = true
	}
	for at := 0; at < len(ids); at += page {
		b, err := c.call(ctx, "GET", fmt.Sprintf("/api/v1/commands?sortBy=SORT_BY_START_TIME&orderBy=ORDER_BY_DESC&limit=%d&offset=%d", page, at), nil)
		if err != nil {
			return err
		}
		var reply struct {
			Commands []struct{ ID, State, ExitStatus string }
		}
		if err := json.Unmarshal(b, &reply); err != nil {
			return err
		}
		for _, t := range reply.Commands {
			if t.State != "STATE_TERMINATED" || t.ExitStatus != programEnded {
				return fmt.Errorf("task %s is %s: %q", t.ID, t.State, t.ExitStatus)
			}
			delete(missing, t.ID)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%d of %d tasks are not among the newest", len(missing), len(ids))
	}
	return nil
}
