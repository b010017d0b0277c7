package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/store"
)

// Put stores a reported checkpoint. A repeated report changes nothing, even if the checkpoint has
// changed since. It returns an error if the report is invalid or the trial has too many checkpoints.
func Put(ctx context.Context, tx *store.Tx, r Record) error {
	if err := errors.Join(checkFiles(r.UUID, r.Resources), checkMetadata(r.UUID, r.Metadata)); err != nil {
		return err
	}
	before, found, err := Get(ctx, tx, r.UUID)
	switch {
	case err != nil:
		return err
	case found && before.Trial != r.Trial:
		return status.New(status.AlreadyExists, "checkpoint %s belongs to trial %d; save it under a different ID", r.UUID, before.Trial)
	case found && !mayReplace(before, r):
		return nil
	case !found:
		if err := checkTrial(ctx, tx, r.Trial); err != nil {
			return err
		}
	}
	return putRecord(tx, r)
}

// mostOfTrial limits the checkpoints of a trial, including deleted ones, because lists read all of
// them.
const mostOfTrial = 10_000

// checkTrial returns ResourceExhausted if a trial has too many checkpoints.
func checkTrial(ctx context.Context, tx *store.Tx, trial int32) error {
	have, err := records().CountByParent(ctx, tx, trialKey(trial))
	if err != nil || have < mostOfTrial {
		return err
	}
	return status.New(status.ResourceExhausted, "trial %d has %d checkpoints, deleted ones included, and a trial has at most %d; save less often, or continue in another experiment", trial, have, mostOfTrial)
}

// mayReplace reports whether the report r updates the stored record. If the checkpoint is being
// deleted or was deleted, the report is a late repetition.
func mayReplace(before, r Record) bool {
	if before.State == Completed {
		return r.State == Completed && !sameReport(before, r)
	}
	return before.State == Active || before.State == Error
}

func sameReport(a, b Record) bool {
	a.Reported, a.Deletion = b.Reported, b.Deletion
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// StepsOf returns steps_completed of a checkpoint's metadata, or 0 if it is missing. It returns
// InvalidArgument if the value is not a non-negative integer.
func StepsOf(metadata map[string]any) (int32, error) {
	value, found := metadata["steps_completed"]
	if !found || value == nil {
		return 0, nil
	}
	steps, ok := value.(float64)
	if !ok || steps < 0 || steps != math.Trunc(steps) || steps > math.MaxInt32 {
		return 0, status.New(status.InvalidArgument, "steps_completed of a checkpoint's metadata must be an integer of at least 0 (is %s)", fmt.Sprint(value))
	}
	return int32(steps), nil
}

// maxMetadata limits the size of metadata in bytes of JSON, because lists include it.
const maxMetadata = 1 << 20

// checkFiles returns InvalidArgument if a file could be outside the checkpoint's directory.
func checkFiles(uuid string, files map[string]int64) error {
	for name, size := range files {
		clean := strings.TrimSuffix(name, "/")
		outside := path.IsAbs(name) || slices.Contains(strings.Split(clean, "/"), "..") || strings.ContainsRune(name, 0)
		switch {
		case clean == "" || outside:
			return status.New(status.InvalidArgument,
				"checkpoint %s: resources: names must be relative and stay below its directory (%q)", uuid, excerpt.Of(name))
		case size < 0:
			return status.New(status.InvalidArgument, "checkpoint %s: resources: the size of %q must be at least 0 (is %d)", uuid, excerpt.Of(name), size)
		}
	}
	return nil
}

// checkMetadata returns InvalidArgument if metadata is too large or cannot be encoded as JSON.
func checkMetadata(uuid string, metadata map[string]any) error {
	b, err := json.Marshal(metadata)
	if err != nil {
		return status.New(status.InvalidArgument, "checkpoint %s: metadata: cannot be encoded as JSON: %v", uuid, err)
	}
	if len(b) > maxMetadata {
		return status.New(status.InvalidArgument,
			"checkpoint %s: metadata: has %d bytes; at most %d are allowed; store more data in a file of the checkpoint", uuid, len(b), maxMetadata)
	}
	return nil
}
