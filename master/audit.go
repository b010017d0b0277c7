package master

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/audit"
	"github.com/det-deploy/det-deploy/master/server"
	"github.com/det-deploy/det-deploy/master/store"
)

// auditAPI implements server.Audit.
type auditAPI struct{ *audit.Log }

var _ server.Audit = auditAPI{}

// RecordEntry implements server.Audit.
func (a auditAPI) RecordEntry(ctx context.Context, e *apiv1.AuditEntry) { a.Record(ctx, e) }

// ReadEntries implements server.Audit.
func (a auditAPI) ReadEntries(ctx context.Context, q server.AuditQuery, send func(*apiv1.AuditEntry) error) error {
	return a.Read(ctx, audit.Query(q), send)
}

// settingsRecord holds a digest of each setting at the last start of the master.
type settingsRecord struct {
	Digests map[string]string `json:"digests"`
}

var settings = store.Collection[settingsRecord]{Kind: "audit_settings"}

// recordStart records the start of the master and which settings have changed since the last one.
// Secrets are redacted first, so that a changed secret is not noticed; no value is recorded.
func (m *Master) recordStart(ctx context.Context) error {
	b, err := json.Marshal(m.parts.Config.Printable())
	if err != nil {
		return fmt.Errorf("record the configuration: %w", err)
	}
	var tree any
	if err := json.Unmarshal(b, &tree); err != nil {
		return fmt.Errorf("record the configuration: %w", err)
	}
	now := map[string]string{}
	digestSettings(now, "", tree)
	was, found, err := settings.Get(ctx, m.store, "current")
	if err != nil {
		return fmt.Errorf("record the configuration: %w", err)
	}
	e := &apiv1.AuditEntry{Action: "master.start", Outcome: audit.Done, Target: "configuration " + short(b)}
	switch changed := differingSettings(was.Value.Digests, now); {
	case !found:
		e.Details = "first start"
	case len(changed) > 0:
		e.Action, e.Details = "configuration.change", strings.Join(changed, " ")
	}
	m.audit.Record(ctx, e)
	err = m.store.Write(ctx, func(tx *store.Tx) error {
		return settings.Put(tx, "current", "", e.GetTime().AsTime(), settingsRecord{Digests: now})
	})
	if err != nil {
		return fmt.Errorf("record the configuration: %w", err)
	}
	return nil
}

func short(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// digestSettings adds the digest of each leaf of a document to out; a list counts as a leaf.
func digestSettings(out map[string]string, path string, v any) {
	if m, ok := v.(map[string]any); ok {
		for key, value := range m {
			digestSettings(out, strings.TrimPrefix(path+"."+key, "."), value)
		}
		return
	}
	b, _ := json.Marshal(v) // it was decoded from JSON
	out[path] = short(b)
}

func differingSettings(was, now map[string]string) []string {
	var out []string
	for path, digest := range now {
		if was[path] != digest {
			out = append(out, path)
		}
	}
	for path := range was {
		if _, found := now[path]; !found {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}
