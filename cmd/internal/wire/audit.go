package wire

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/master/agentrm"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/audit"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/server"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/token"
)

// auditFront answers the server's questions about the audit log.
type auditFront struct{ *audit.Log }

var _ server.Audit = auditFront{}

// RecordEntry implements server.Audit.
func (a auditFront) RecordEntry(ctx context.Context, e *apiv1.AuditEntry) { a.Record(ctx, e) }

// ReadEntries implements server.Audit.
func (a auditFront) ReadEntries(ctx context.Context, q server.AuditQuery, send func(*apiv1.AuditEntry) error) error {
	return a.Read(ctx, audit.Query(q), send)
}

// auditedGate records the agents that join and those that are refused. One that
// comes back with its credential is no news.
type auditedGate struct {
	gate
	log *audit.Log
}

var _ agentrm.Gate = auditedGate{}

// Admit implements agentrm.Gate.
func (g auditedGate) Admit(ctx context.Context, p agentrm.JoinProof) (agentrm.Identity, error) {
	id, err := g.gate.Admit(ctx, p)
	if err != nil {
		g.refused(ctx, p, err)
		return id, err
	}
	if accept := id.Accept; accept != nil {
		id.Accept = func(ctx context.Context) (token.Text, error) {
			credential, err := accept(ctx)
			switch {
			case err != nil:
				g.refused(ctx, p, err)
			case credential != "":
				g.log.Record(ctx, &apiv1.AuditEntry{
					Action: "agent.join", Target: string(p.Agent), Address: p.Address, Outcome: audit.Done,
					Details: shownBy(p) + " for resource pool " + id.Pool,
				})
			}
			return credential, err
		}
	}
	return id, nil
}

// refused records a refusal, and nothing where the master could not judge.
func (g auditedGate) refused(ctx context.Context, p agentrm.JoinProof, err error) {
	if _, is := errors.AsType[*agentrm.Refused](err); !is {
		return
	}
	g.log.Record(ctx, &apiv1.AuditEntry{
		Action: "agent.join", Target: string(p.Agent), Address: p.Address, Outcome: audit.Refused, Details: shownBy(p),
	})
}

// shownBy says what an agent came with, not what that is.
func shownBy(p agentrm.JoinProof) string {
	switch {
	case p.Credential != "":
		return "by its credential"
	case p.Proof.Kind != "":
		return "by a proof of its machine"
	case p.JoinToken != "":
		return "by a join token"
	default:
		return "by nothing"
	}
}

// settingsRecord is what the master was last started with: a digest for each setting.
type settingsRecord struct {
	Digests map[string]string `json:"digests"`
}

var settings = store.Collection[settingsRecord]{Kind: "audit_settings"}

// recordStart records that the master starts, and which settings are others than the
// last time. Secrets are masked before they are compared, so that a new one that
// replaces another is not noticed; the value of no setting is recorded.
func recordStart(ctx context.Context, s *store.Store, log *audit.Log, cfg config.Master) error {
	b, err := json.Marshal(cfg.Printable())
	if err != nil {
		return fmt.Errorf("record the configuration: %w", err)
	}
	var tree any
	if err := json.Unmarshal(b, &tree); err != nil {
		return fmt.Errorf("record the configuration: %w", err)
	}
	now := map[string]string{}
	digestSettings(now, "", tree)
	was, found, err := settings.Get(ctx, s, "current")
	if err != nil {
		return fmt.Errorf("record the configuration: %w", err)
	}
	e := &apiv1.AuditEntry{Action: "master.start", Outcome: audit.Done, Target: "configuration " + short(b)}
	switch changed := differing(was.Value.Digests, now); {
	case !found:
		e.Details = "first start"
	case len(changed) > 0:
		e.Action, e.Details = "configuration.change", strings.Join(changed, " ")
	}
	log.Record(ctx, e)
	err = s.Write(ctx, func(tx *store.Tx) error {
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

// digestSettings gives each leaf of a document its digest; lists are leaves.
func digestSettings(out map[string]string, path string, v any) {
	if m, ok := v.(map[string]any); ok {
		for key, value := range m {
			digestSettings(out, strings.TrimPrefix(path+"."+key, "."), value)
		}
		return
	}
	b, _ := json.Marshal(v) // it came out of JSON
	out[path] = short(b)
}

func differing(was, now map[string]string) []string {
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
