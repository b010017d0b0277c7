package record

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/internal/atomicfile"
)

// Schema names the version of the record's format. A record of another version is rejected, because
// an older program must not overwrite fields that it does not know.
const Schema = "det-deploy.record/v1"

// Record is the recorded state of one cluster. It contains no secrets.
type Record struct {
	Schema  string `json:"schema"`
	Cluster string `json:"cluster"`
	// Target is the platform, such as "local" or "aws".
	Target string `json:"target"`
	// Settings are the user's flags by name. A later run that omits a flag uses the recorded value.
	Settings map[string]string `json:"settings,omitempty"`
	// Intents are the nonces of objects that must be created exactly once, by resource.
	Intents map[string]Intent `json:"intents,omitempty"`
	// Release is the release that the cluster runs.
	Release Release `json:"release,omitzero"`
	// Upgrade is the upgrade in progress, or nil.
	Upgrade *Upgrade `json:"upgrade,omitempty"`
	// Ready is the last time when `up` saw the whole cluster answer, or zero.
	Ready time.Time `json:"ready,omitzero"`
	// Answered is the release that last answered. It is zero before that, and in records of older
	// programs.
	Answered Release `json:"answered,omitzero"`
}

// HasAnswered reports whether a release is known to have answered since the cluster was last set to
// run it.
func (r Record) HasAnswered(runs Release) bool {
	switch {
	case r.Upgrade != nil:
		return r.Upgrade.Answered && r.Upgrade.To.Same(runs)
	case r.Answered.IsZero():
		return !r.Ready.IsZero() && r.Release.Same(runs)
	}
	return r.Answered.Same(runs)
}

// Intent is a creation that is recorded before it is requested.
type Intent struct {
	Nonce string `json:"nonce"`
	// Made reports whether the platform has confirmed it.
	Made bool `json:"made,omitempty"`
	// Listed reports whether `down` has found the object in a list, so that no list lags behind its
	// creation any more.
	Listed bool `json:"listed,omitempty"`
}

// Read returns the record and its version. If the record does not exist, found is false and version
// is empty, as Put expects.
func Read(ctx context.Context, s Store) (r Record, version string, found bool, err error) {
	return read(ctx, s, Key)
}

func read(ctx context.Context, s Store, key string) (r Record, version string, found bool, err error) {
	o, err := s.Get(ctx, key)
	if cloud.KindOf(err) == cloud.NotFound {
		return Record{}, "", false, nil
	}
	if err != nil {
		return Record{}, "", false, fmt.Errorf("read the cluster's record: %w", err)
	}
	if err := json.Unmarshal(o.Data, &r); err != nil {
		return Record{}, "", false, fmt.Errorf("open the cluster's record: %w", &atomicfile.DamagedError{
			Path: cmp.Or(o.Place, key), Err: atomicfile.JSONDamage(o.Data, err), Fix: lostFix,
		})
	}
	if r.Schema != Schema {
		return Record{}, "", false, &SchemaError{Have: r.Schema}
	}
	return r, o.Version, true, nil
}

const lostFix = "restore it from a copy, or move it away: `det-deploy local up` and `det-deploy aws adopt` then recover the settings from the existing cluster"

// SchemaError reports a record of another version of the program.
type SchemaError struct {
	// Have is the schema of the record.
	Have string
}

// Error names both schemas.
func (e *SchemaError) Error() string {
	return fmt.Sprintf("read the cluster's record: its schema is %q, but this program supports %q", e.Have, Schema)
}

// Hint names the program that supports the schema.
func (e *SchemaError) Hint() string {
	return "use the det-deploy that last ran `up` on this cluster; `det-deploy version` shows the version of this one"
}

// errNoRecord reports a write without the lease.
var errNoRecord = errors.New("the cluster's record is not held")
