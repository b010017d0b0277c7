package host_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/det-deploy/det-deploy/cloud/host"
)

func TestDrainWaitsForTasksDuringShutdown(t *testing.T) {
	t.Parallel()
	failed := errors.New("no such directory")
	for name, tt := range map[string]struct {
		up     bool
		ends   time.Duration // when the last task ends
		broken error
		cancel time.Duration
		want   time.Duration
		says   string
	}{
		"it stays up":              {up: true, ends: time.Hour},
		"no tasks":                 {},
		"tasks that end":           {ends: 8 * time.Second, want: 8 * time.Second, says: "waiting for its tasks"},
		"tasks that do not":        {ends: time.Hour, want: host.DrainLimit, says: "machine shuts down with running tasks"},
		"tasks that are not known": {ends: time.Hour, broken: failed},
		"it is told to stop":       {ends: time.Hour, cancel: time.Second, want: time.Second, says: "machine shuts down with running tasks"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := t.Context(), func() {}
				if tt.cancel > 0 {
					ctx, stop = context.WithTimeout(ctx, tt.cancel)
				}
				defer stop()
				var log bytes.Buffer
				began := time.Now()
				err := host.Drain{
					ShuttingDown: func(context.Context) bool { return !tt.up },
					Tasks: func() (int, error) {
						if tt.broken != nil || time.Since(began) >= tt.ends {
							return 0, tt.broken
						}
						return 1, nil
					},
					Log: slog.New(slog.NewTextHandler(&log, nil)),
				}.Await(ctx)
				if took := time.Since(began); !errors.Is(err, tt.broken) || took != tt.want || !strings.Contains(log.String(), tt.says) {
					t.Errorf("got %v after %s, %s; want %v after %s", err, took, log.String(), tt.broken, tt.want)
				}
			})
		})
	}
}
