package explain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
)

const (
	// lookEvery is how often the objects are looked at.
	lookEvery = time.Second
	// certainAfter is how long a lasting trouble must be there until it is believed:
	// some heal at the next try of a controller.
	certainAfter = 15 * time.Second
)

// Wait is what is waited for, and who is told.
type Wait struct {
	Of
	// Limit is how long to wait; zero means for as long as the context.
	Limit time.Duration
	// Say is given each line of progress when it changes. Nil is silence.
	Say func(line string)
}

// NotUpError is what is not up, and why.
type NotUpError struct {
	// Progress is what is missing, Troubles are why.
	Progress []string
	Troubles []Trouble
	// GaveUp is true when the limit was reached, and false when waiting longer
	// would not have helped.
	GaveUp bool
	Waited time.Duration
}

// Error names every object that is in trouble, or what is missing.
func (e *NotUpError) Error() string {
	var b strings.Builder
	if e.GaveUp {
		fmt.Fprintf(&b, "not up after %s: %s", e.Waited.Round(time.Second), strings.Join(e.Progress, "; "))
	} else {
		b.WriteString("it does not come up: " + strings.Join(e.Progress, "; "))
	}
	for _, t := range e.Troubles {
		b.WriteString("\n" + t.String())
	}
	return b.String()
}

// Hint is what to do about the gravest trouble.
func (e *NotUpError) Hint() string {
	for _, t := range e.Troubles {
		if t.Fix != "" {
			return t.Fix
		}
	}
	return "look again with `det-deploy k8s status`; it may only be slow"
}

// UntilUp returns when everything is up. When something will not come up, or the
// limit is reached, it returns a NotUpError. It changes nothing, so it may be
// repeated.
func UntilUp(ctx context.Context, w Wait) error {
	var limit <-chan time.Time
	if w.Limit > 0 {
		timer := time.NewTimer(w.Limit)
		defer timer.Stop()
		limit = timer.C
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	wt := watcher{wait: w, began: time.Now(), since: make(map[string]time.Time), said: make(map[string]bool)}
	for {
		s, err := Look(ctx, w.Of)
		if err != nil && (ctx.Err() != nil || !cloud.KindOf(err).Transient()) {
			return err
		}
		if err == nil {
			if done, err := wt.judge(s, time.Now()); done || err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-limit:
			return wt.gaveUp(err, time.Now())
		case <-tick.C:
		}
	}
}

// watcher is what is remembered between two looks.
type watcher struct {
	wait  Wait
	began time.Time
	last  Verdict
	// since is when each lasting trouble was first seen, without a break.
	since map[string]time.Time
	said  map[string]bool
}

func (w *watcher) judge(s Seen, now time.Time) (done bool, err error) {
	w.last = Judge(s, now)
	if len(s.Deployments)+len(s.Jobs)+len(s.Pods) == 0 {
		w.last.Ready, w.last.Progress = false, []string{"nothing of it is there yet"}
	}
	w.tell()
	if w.last.Ready {
		return true, nil
	}
	seen := make(map[string]time.Time)
	certain := false
	for _, t := range w.last.Troubles {
		if !t.Lasting {
			continue
		}
		first, known := w.since[t.Object]
		if !known {
			first = now
		}
		seen[t.Object] = first
		certain = certain || now.Sub(first) >= certainAfter
	}
	w.since = seen
	if certain {
		return false, &NotUpError{Progress: w.last.Progress, Troubles: w.last.Troubles, Waited: now.Sub(w.began)}
	}
	return false, nil
}

// tell says what it has not said.
func (w *watcher) tell() {
	if w.wait.Say == nil {
		return
	}
	lines := slices.Clone(w.last.Progress)
	for _, t := range w.last.Troubles {
		lines = append(lines, t.Object+": "+t.What)
	}
	if w.last.Ready {
		lines = append(lines, w.last.Notes...)
	}
	now := make(map[string]bool, len(lines))
	for _, l := range lines {
		now[l] = true
		if !w.said[l] {
			w.wait.Say(l)
		}
	}
	w.said = now
}

func (w *watcher) gaveUp(err error, now time.Time) error {
	return errors.Join(err, &NotUpError{Progress: w.last.Progress, Troubles: w.last.Troubles, GaveUp: true, Waited: now.Sub(w.began)})
}
