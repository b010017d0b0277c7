package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/cloud/machine"
)

// Reader reads the instance metadata.
type Reader interface {
	// Get returns the value of a path. Found is false if the path does not exist.
	Get(ctx context.Context, path string) (text string, found bool, err error)
}

// ReadNotices returns the pending notices. If one kind cannot be read, it returns the other
// together with the error.
func ReadNotices(ctx context.Context, r Reader) ([]machine.Notice, error) {
	var out []machine.Notice
	var failed error
	for _, read := range []func(context.Context, Reader) (machine.Notice, bool, error){readInterruption, readRebalance} {
		n, found, err := read(ctx, r)
		if err != nil {
			failed = err
		}
		if found {
			out = append(out, n)
		}
	}
	return out, failed
}

// readInterruption reads the notice of a spot interruption: the instance will be stopped or
// terminated.
func readInterruption(ctx context.Context, r Reader) (machine.Notice, bool, error) {
	var doc struct {
		Action string
		Time   time.Time
	}
	found, err := readDocument(ctx, r, "spot/instance-action", &doc)
	return machine.Notice{Kind: machine.Interruption, At: doc.Time, Reason: "spot interruption: " + doc.Action}, found, err
}

// readRebalance reads the rebalance recommendation: the spot instance may be interrupted soon.
func readRebalance(ctx context.Context, r Reader) (machine.Notice, bool, error) {
	var doc struct{ NoticeTime time.Time }
	found, err := readDocument(ctx, r, "events/recommendations/rebalance", &doc)
	return machine.Notice{Kind: machine.Rebalance, At: doc.NoticeTime, Reason: "spot rebalance recommendation"}, found, err
}

func readDocument(ctx context.Context, r Reader, path string, into any) (found bool, err error) {
	text, found, err := r.Get(ctx, path)
	if err != nil || !found {
		return false, err
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return false, fmt.Errorf("read %s: %w", path, err)
	}
	return true, nil
}
