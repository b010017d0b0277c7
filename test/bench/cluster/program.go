package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"
)

// Environment variables of the trials' program, which is this binary in place of the client
// library.
const (
	// eventsFile is the file to which the program writes its events with their time.
	eventsFile = "BENCH_EVENTS"
	// reportsLoss makes it report a validation metric that is worse than those of earlier trials.
	reportsLoss = "BENCH_REPORTS"
)

// isTrial reports whether this process runs inside a trial.
func isTrial() bool { return os.Getenv(eventsFile) != "" }

// trial is a program that is idle until it is signaled to stop.
type trial struct {
	id, run int
	events  *os.File
}

// runTrial runs in place of Python in the trial's container.
func runTrial(ctx context.Context, args []string) error {
	if !slices.Contains(args, "determined.exec.launch") {
		return nil // a probe for the client library
	}
	f, err := os.OpenFile(os.Getenv(eventsFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // each line was written
	t := &trial{events: f}
	if t.id, err = strconv.Atoi(os.Getenv("DET_TRIAL_ID")); err != nil {
		return err
	}
	if t.run, err = strconv.Atoi(os.Getenv("DET_TRIAL_RUN_ID")); err != nil {
		return err
	}
	if err := t.note("start"); err != nil {
		return err
	}
	if os.Getenv(reportsLoss) == "" {
		return t.awaitStop(ctx, time.Minute)
	}
	for _, epochs := range []int{4, 16} {
		if err := t.report(ctx, epochs); err != nil {
			return err
		}
		if err := t.note("report"); err != nil {
			return err
		}
		// The search has processed the previous report, so a stop signal is already pending if
		// there is one.
		if err := t.awaitStop(ctx, time.Second); err != nil || t.events == nil {
			return err
		}
	}
	return nil
}

// note appends an event with the current time.
func (t *trial) note(what string) error {
	_, err := fmt.Fprintf(t.events, "%s %d %d %d\n", what, t.id, t.run, time.Now().UnixNano())
	return err
}

// awaitStop waits for the preemption signal and notes its arrival.
func (t *trial) awaitStop(ctx context.Context, limit time.Duration) error {
	path := "allocations/" + os.Getenv("DET_ALLOCATION_ID") + "/signals/"
	for end := time.Now().Add(limit); time.Now().Before(end); {
		var signal struct{ Preempt bool }
		if err := t.ask(ctx, http.MethodGet, path+"preemption?timeoutSeconds="+strconv.Itoa(int(limit.Seconds())), nil, &signal); err != nil {
			return err
		}
		if signal.Preempt {
			err := t.note("heard")
			t.events = nil
			return cmp.Or(err, t.ask(ctx, http.MethodPost, path+"ack_preemption", map[string]any{}, nil))
		}
	}
	return nil
}

func (t *trial) report(ctx context.Context, epochs int) error {
	return t.ask(ctx, http.MethodPost, fmt.Sprintf("trials/%d/metrics", t.id), map[string]any{"group": "validation", "metrics": map[string]any{
		"trialId": t.id, "trialRunId": t.run, "stepsCompleted": epochs,
		"metrics": map[string]any{"avgMetrics": map[string]any{"loss": t.id, "epochs": epochs}},
	}}, nil)
}

func (t *trial) ask(ctx context.Context, method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, os.Getenv("DET_MASTER")+"/api/v1/"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Grpc-Metadata-X-Allocation-Token", "Bearer "+os.Getenv("DET_SESSION_TOKEN"))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it was only read
	if resp.StatusCode != http.StatusOK {
		answer, _ := io.ReadAll(resp.Body) // an incomplete body is good enough for the message
		return fmt.Errorf("%s %s: %s %s", method, path, resp.Status, answer)
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(out)
}
