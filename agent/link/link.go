// Package link holds an agent's one connection to its master: a websocket
// that the agent opens, opens again for as long as the master may need to
// come back, and gives up only when it was told so.
package link

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/det-deploy/det-deploy/agent/lease"
	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// Peer is the agent behind a link.
type Peer interface {
	// Hello says what the agent knows; the link adds the protocol and the
	// proof of identity.
	Hello() *agentv1.Hello
	// Serve speaks with the master until the connection or ctx ends, or
	// until the master sends the agent away. Any error but a *Final is a
	// lost connection; nil ends the link.
	Serve(ctx context.Context, c *Conn, w *agentv1.Welcome) error
}

// Config says whom to call and how long to try.
type Config struct {
	// URL is ws:// or wss://, with the path.
	URL string
	// TLS is nil for the system's certificates.
	TLS *tls.Config
	// CredentialFile keeps what a welcome brought.
	CredentialFile string
	// JoinTokenFile holds what a static agent brings the first time; empty
	// for one that needs none.
	JoinTokenFile string
	// Prove makes a proof of which machine this is, which a launched one brings
	// instead of a join token. It is nil for a static agent.
	Prove func(ctx context.Context) (Proof, error)
	// Attempts is how often a lost or first connection is tried; 0 is for ever.
	Attempts int
	// Backoff is the pause between attempts.
	Backoff time.Duration
	// OnLost is a command to run when the attempts are used up.
	OnLost []string
	// Lease is renewed by every answer of the master; it may be nil.
	Lease *lease.Lease
	Log   *slog.Logger
}

// Proof is which machine this is, in a form that the master checks.
type Proof struct {
	Kind string
	Data []byte
}

// unknownPatience is how long a launched machine that has never joined believes a
// master which says that it has not launched it: the answer to the call that made
// the machine may have been lost, and is asked for again within minutes.
const unknownPatience = 10 * time.Minute

// ErrLost means that every attempt to reach the master has failed.
var ErrLost = errors.New("the master cannot be reached")

// Final wraps an error of Serve that no new connection would help.
type Final struct{ Err error }

// Error is the wrapped one's.
func (f *Final) Error() string { return f.Err.Error() }

// Unwrap gives the wrapped one.
func (f *Final) Unwrap() error { return f.Err }

// RefusedError is a master's answer to hello.
type RefusedError struct {
	Reason string
	final  bool
	rejoin bool
	// unwanted is a machine that the master did not launch, or not any more.
	unwanted bool
	revoked  bool
}

// Error gives the master's reason.
func (e *RefusedError) Error() string { return "the master refuses this agent: " + e.Reason }

// Unwanted says that this machine is not one of the master's: one that was launched
// for it has no reason to go on.
func (e *RefusedError) Unwanted() bool { return e.unwanted }

// Revoked says that an administrator has revoked this agent: what it runs is started
// elsewhere and must end.
func (e *RefusedError) Revoked() bool { return e.revoked }

// Hint is what to do about it.
func (e *RefusedError) Hint() string {
	if e.revoked && !e.unwanted {
		return "have an administrator run `det-deploy agent admit`, and give this agent a new join token"
	}
	if e.unwanted {
		return "remove this machine; to keep it as an agent of its own, give it a join token and no machine_socket"
	}
	return "check agent_id, resource_pool, join_token_file and the version of this agent against the master's"
}

// Run connects p with its master until ctx ends, which is no error.
func Run(ctx context.Context, cfg Config, p Peer) error {
	l := &link{cfg: cfg, peer: p, began: time.Now()}
	failed := 0
	for {
		welcomed, err := l.connectOnce(ctx)
		if err == nil || ctx.Err() != nil {
			return nil //nolint:nilerr // a connection that ends with ctx is no failure
		}
		if welcomed {
			failed = 0
		}
		again, err := l.classifyError(err)
		if err != nil {
			return err
		}
		if again {
			continue
		}
		failed++
		if cfg.Attempts > 0 && failed > cfg.Attempts {
			return l.giveUp(ctx, failed)
		}
		_ = wait.For(ctx, backoffAfter(cfg, failed)) // an ended context ends the loop
	}
}

type link struct {
	cfg  Config
	peer Peer
	// last is the failure that was logged last; the same one again is not news.
	last string
	// unstored is a credential for which there was no room on the disk.
	unstored string
	// began is when the first attempt was made.
	began time.Time
}

// classifyError tells apart what ends the link, what is tried again at once, and a
// lost connection.
func (l *link) classifyError(err error) (again bool, final error) {
	if f, ok := errors.AsType[*Final](err); ok {
		return false, f.Err
	}
	if r, ok := errors.AsType[*RefusedError](err); ok {
		dropped := false
		if r.rejoin {
			var derr error
			if dropped, derr = dropCredential(l.cfg.CredentialFile); derr != nil {
				return false, errors.Join(r, derr)
			}
			dropped, l.unstored = dropped || l.unstored != "", ""
		}
		if dropped {
			l.cfg.Log.Info("credential is no longer good, joining again", "reason", r.Reason)
			return true, nil
		}
		if r.final || r.rejoin && l.cfg.JoinTokenFile != "" || r.unwanted && time.Since(l.began) > unknownPatience {
			return false, r
		}
	}
	if err.Error() != l.last {
		l.last = err.Error()
		l.cfg.Log.Warn("no connection to the master", "url", l.cfg.URL, "err", err)
	}
	return false, nil
}

func (l *link) giveUp(ctx context.Context, failed int) error {
	err := fmt.Errorf("connect to %s, %d times: %w", l.cfg.URL, failed, ErrLost)
	if len(l.cfg.OnLost) == 0 {
		return err
	}
	return errors.Join(err, RunHook(ctx, "on_connection_lost", l.cfg.OnLost, l.cfg.Log))
}

// backoffAfter is the configured backoff where attempts are counted, so that attempts ×
// backoff is the time that the user meant. Where they are not, it grows to
// it, because most masters are back within a second. It varies by a fifth to
// keep a thousand agents from calling at the same moment.
func backoffAfter(cfg Config, failed int) time.Duration {
	d := cfg.Backoff
	if cfg.Attempts == 0 {
		d = min(d, 200*time.Millisecond<<min(failed-1, 10))
	}
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}
