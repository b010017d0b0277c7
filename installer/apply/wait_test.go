package apply

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// held is a resource whose deletion waits for a foreign object.
type held struct{ thing }

func (h held) Delete(ctx context.Context) error {
	resource.Tell(ctx, "waiting for eni-7")
	return wait.ForWanted(ctx, time.Hour)
}

// free is a resource whose deletion takes a minute of calls and ignores cancellation.
type free struct{ thing }

func (f free) Delete(ctx context.Context) error {
	err := wait.For(ctx, time.Minute)
	f.made(f.id)
	return err
}

func TestCancellationEndsWaitsAndFinishesCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, interrupt)
		deleted, told := "", ""
		ended := make(map[string]time.Duration)
		begin := time.Now()
		stored := make(chan struct{})
		close(stored)
		p := plan.Plan{Steps: []plan.Step{
			{Verb: plan.Delete, ID: "subnet", Resource: held{thing{id: "subnet"}}},
			{Verb: plan.Delete, ID: "bucket", Resource: free{thing{id: "bucket", made: func(id string) { deleted = id }}}},
		}}
		err := Run(ctx, p, Config{Journal: journal{let: stored}, Emit: event.Sink(func(e event.Event) {
			switch e.Type {
			case event.Progress:
				told = e.Subject + ": " + e.Message
			case event.Done, event.Failed:
				ended[e.Subject] = time.Since(begin)
			case event.Started:
			}
		})})
		if !errors.Is(err, context.Canceled) || ended["subnet"] != time.Second {
			t.Errorf("got %v and the wait's end after %v, want it with the interruption", err, ended["subnet"])
		}
		if deleted != "bucket" || ended["bucket"] != time.Minute {
			t.Errorf("got the deletion of %q after %v, want that of the bucket finished", deleted, ended["bucket"])
		}
		if told != "subnet: waiting for eni-7" {
			t.Errorf("told %q, want the object that the step waits for", told)
		}
	})
}
