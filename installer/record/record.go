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

// Schema names the version of the record's form. A record of another version is
// refused: an older program must not write over what a newer one knows.
const Schema = "det-deploy.record/v1"

// Record is what is remembered of one cluster. It holds no secret.
type Record struct {
	Schema  string `json:"schema"`
	Cluster string `json:"cluster"`
	// Target is the platform: "local", "aws".
	Target string `json:"target"`
	// Settings are the flags its owner gave, by name. A flag that a later run
	// leaves out keeps the value it has here.
	Settings map[string]string `json:"settings,omitempty"`
	// Intents are the nonces of what is created exactly once, by resource.
	Intents map[string]Intent `json:"intents,omitempty"`
	// Release is the program that the cluster runs.
	Release Release `json:"release,omitzero"`
	// Upgrade is the one that is under way, if any.
	Upgrade *Upgrade `json:"upgrade,omitempty"`
	// Ready is when `up` last saw the whole cluster answer; it is zero before.
	Ready time.Time `json:"ready,omitzero"`
	// Answered is the release that was last seen to answer. It is zero before, and in a
	// record that an older program wrote.
	Answered Release `json:"answered,omitzero"`
}

// HasAnswered reports whether a release is known to have answered since the cluster was
// last set to run it.
func (r Record) HasAnswered(runs Release) bool {
	switch {
	case r.Upgrade != nil:
		return r.Upgrade.Answered && r.Upgrade.To.Same(runs)
	case r.Answered.IsZero():
		return !r.Ready.IsZero() && r.Release.Same(runs)
	}
	return r.Answered.Same(runs)
}

// Intent is a creation that was written down before it was asked for.
type Intent struct {
	Nonce string `json:"nonce"`
	// Made is true when the platform confirmed it.
	Made bool `json:"made,omitempty"`
}

// Read returns the record and its version. When there is none, found is false
// and the version is the empty one that Put takes.
func Read(ctx context.Context, s Store) (r Record, version string, found bool, err error) {
	o, err := s.Get(ctx, Key)
	if cloud.KindOf(err) == cloud.NotFound {
		return Record{}, "", false, nil
	}
	if err != nil {
		return Record{}, "", false, fmt.Errorf("read the cluster's record: %w", err)
	}
	if err := json.Unmarshal(o.Data, &r); err != nil {
		return Record{}, "", false, fmt.Errorf("open the cluster's record: %w", &atomicfile.DamagedError{
			Path: cmp.Or(o.Place, Key), Err: atomicfile.JSONDamage(o.Data, err), Fix: lostFix,
		})
	}
	if r.Schema != Schema {
		return Record{}, "", false, &SchemaError{Have: r.Schema}
	}
	return r, o.Version, true, nil
}

const lostFix = "put it back from a copy, or move it away: `det-deploy local up` and `det-deploy aws adopt` then read the cluster's settings back from what is there"

// SchemaError refuses a record written by another version of the program.
type SchemaError struct {
	// Have is the version of the record's form.
	Have string
}

// Error says which form was met and which is understood.
func (e *SchemaError) Error() string {
	return fmt.Sprintf("read the cluster's record: its form is %q and this program understands %q", e.Have, Schema)
}

// Hint says what to do about it.
func (e *SchemaError) Hint() string {
	return "use the det-deploy that last ran `up` on this cluster; `det-deploy version` tells which one this is"
}

// errNoRecord is a write to a record whose lease is not held.
var errNoRecord = errors.New("the cluster's record is not held")
