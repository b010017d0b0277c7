package wait_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
)

func TestWaitInStepEndsWithOuterContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		step := wait.Outlive(ctx)
		if err := wait.ForWanted(step, time.Hour); err != nil {
			t.Fatalf("got %v before the interruption", err)
		}
		begin := time.Now()
		time.AfterFunc(time.Minute, interrupt)
		err := wait.ForWanted(step, time.Hour)
		if !errors.Is(err, context.Canceled) || time.Since(begin) != time.Minute {
			t.Errorf("got %v after %v, want the end with the interruption", err, time.Since(begin))
		}
		if err := wait.ForWanted(step, 0); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want no wait after the interruption", err)
		}
		if err := step.Err(); err != nil {
			t.Errorf("the calls of the step end: %v", err)
		}
		if err := wait.For(step, time.Second); err != nil {
			t.Errorf("a pause between two tries of a call ends: %v", err)
		}
	})
}

func TestWaitInStepHasTimeLimitOfStep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		step, stop := context.WithTimeout(wait.Outlive(t.Context()), time.Second)
		defer stop()
		if err := wait.ForWanted(step, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the limit", err)
		}
	})
}
