package infra_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/internal/wait"
)

func TestRetryWhileInUseReportsAndIsInterruptible(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		var told []string
		step := resource.WithTell(wait.Outlive(ctx), func(what string) { told = append(told, what) })
		const moment = 2*time.Minute + 30*time.Second
		time.AfterFunc(moment, interrupt)
		begin := time.Now()
		err := infra.Waiter{}.RetryWhileInUse(step, "subnet-1", func() error {
			return &cloud.Error{Kind: cloud.Conflict, Op: "delete subnet", Err: errors.New("eni-7 is in it"), Fix: "delete eni-7"}
		})
		if !errors.Is(err, context.Canceled) || time.Since(begin) != moment {
			t.Errorf("got %v after %v, want the end with the interruption after %v", err, time.Since(begin), moment)
		}
		if err == nil || !strings.Contains(err.Error(), "wait for subnet-1 to be no longer in use") {
			t.Errorf("got %v, want the subject", err)
		}
		if len(told) != 3 {
			t.Fatalf("got %q, want one line at once and one per minute", told)
		}
		for _, line := range told {
			if !strings.Contains(line, "subnet-1") || !strings.Contains(line, "eni-7 is in it") || !strings.HasSuffix(line, "try: delete eni-7") {
				t.Errorf("got %q, want the object, its holder and the fix", line)
			}
		}
	})
}

func TestAwaitWithFakeClockIsInterruptible(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	pauses := 0
	w := infra.Waiter{Pause: func(context.Context, time.Duration) error {
		pauses++
		interrupt()
		return nil
	}}
	err := w.Await(wait.Outlive(ctx), "subnet-1", infra.ToBeFree, func() (bool, error) { return false, nil })
	if !errors.Is(err, context.Canceled) || pauses != 1 {
		t.Errorf("got %v after %d pauses, want the end with the interruption after one", err, pauses)
	}
}
