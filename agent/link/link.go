// Package link maintains the connection of an agent to its master: a websocket that the agent opens
// and reopens until its configured number of attempts is exhausted or the master rejects it.
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

// Peer is the agent at the end of a link.
type Peer interface {
	// Hello returns the agent's greeting. The link adds the protocol and the proof of identity.
	Hello() *agentv1.Hello
	// Serve exchanges messages with the master until the connection or ctx ends, or until the
	// master asks the agent to shut down. Any error other than a *Final counts as a lost
	// connection; nil ends the link.
	Serve(ctx context.Context, c *Conn, w *agentv1.Welcome) error
}

// Config configures a link.
type Config struct {
	// URL is a ws:// or wss:// URL with a path.
	URL string
	// TLS is the TLS configuration. If nil, the system's certificates are used.
	TLS *tls.Config
	// CredentialFile stores the credential of a welcome.
	CredentialFile string
	// JoinTokenFile contains the join token of a static agent, which it sends with its first hello.
	// Empty if it needs none.
	JoinTokenFile string
	// Prove returns a proof of the machine's identity, which a launched machine sends instead of a
	// join token. It is nil for a static agent.
	Prove func(ctx context.Context) (Proof, error)
	// Attempts is the number of attempts to connect or reconnect; 0 means unlimited.
	Attempts int
	// Backoff is the delay between attempts.
	Backoff time.Duration
	// OnLost is a command to run when all attempts have failed.
	OnLost []string
	// Lease is renewed by each answer of the master. It may be nil.
	Lease *lease.Lease
	Log   *slog.Logger
}

// Proof is a machine identity proof for the master to verify.
type Proof struct {
	Kind string
	Data []byte
}

// unknownPatience is how long a launched machine that has never joined retries although its master
// does not know it. The response to the cloud API call that created the machine may have been lost;
// the master repeats the query within minutes.
const unknownPatience = 10 * time.Minute

// ErrLost is returned when all attempts to reach the master have failed.
var ErrLost = errors.New("the master is unreachable")

// Final wraps an error of Serve that a new connection would not fix.
type Final struct{ Err error }

// Error returns the message of the wrapped error.
func (f *Final) Error() string { return f.Err.Error() }

// Unwrap returns the wrapped error.
func (f *Final) Unwrap() error { return f.Err }

// RefusedError is returned when the master rejects the agent.
type RefusedError struct {
	Reason string
	final  bool
	rejoin bool
	// unwanted means that the master did not launch the machine or has terminated it
	unwanted bool
	revoked  bool
}

// Error returns the master's reason.
func (e *RefusedError) Error() string { return "the master rejects this agent: " + e.Reason }

// Unwanted reports whether the machine is not one of the master's. A machine that was launched for
// the master should then switch off.
func (e *RefusedError) Unwanted() bool { return e.unwanted }

// Revoked reports whether an administrator revoked this agent. Its containers must be killed,
// because the master starts them elsewhere.
func (e *RefusedError) Revoked() bool { return e.revoked }

// Hint returns a suggested fix.
func (e *RefusedError) Hint() string {
	if e.revoked && !e.unwanted {
		return "ask an administrator to run `det-deploy agent admit`, and give this agent a new join token"
	}
	if e.unwanted {
		return "remove this machine; to keep it as a static agent, set join_token_file and remove machine_socket"
	}
	return "compare agent_id, resource_pool, join_token_file and the version of this agent with the master's"
}

// Run keeps p connected to its master until ctx ends, and then returns nil.
func Run(ctx context.Context, cfg Config, p Peer) error {
	l := &link{cfg: cfg, peer: p, began: time.Now()}
	failed := 0
	for {
		welcomed, err := l.connectOnce(ctx)
		if err == nil || ctx.Err() != nil {
			return nil //nolint:nilerr // the end of ctx is not an error
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
		_ = wait.For(ctx, backoffAfter(cfg, failed)) // the loop ends when ctx is canceled
	}
}

type link struct {
	cfg  Config
	peer Peer
	// last is the last logged failure; repetitions are not logged.
	last string
	// unstored is a credential that could not be stored because the disk was full.
	unstored string
	// began is the time of the first attempt.
	began time.Time
}

// classifyError distinguishes errors that end the link, errors to retry at once, and a lost
// connection.
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
			l.cfg.Log.Info("the credential is no longer valid; joining again", "reason", r.Reason)
			return true, nil
		}
		if r.final || r.rejoin && l.cfg.JoinTokenFile != "" || r.unwanted && time.Since(l.began) > unknownPatience {
			return false, r
		}
	}
	if err.Error() != l.last {
		l.last = err.Error()
		l.cfg.Log.Warn("cannot connect to the master; retrying", "url", l.cfg.URL, "err", err)
	}
	return false, nil
}

func (l *link) giveUp(ctx context.Context, failed int) error {
	err := fmt.Errorf("connect to %s (%d attempts): %w", l.cfg.URL, failed, ErrLost)
	if len(l.cfg.OnLost) == 0 {
		return err
	}
	return errors.Join(err, RunHook(ctx, "on_connection_lost", l.cfg.OnLost, l.cfg.Log))
}

// backoffAfter returns the configured backoff if attempts are limited, so that attempts × backoff
// is the intended time. With unlimited attempts it grows up to that, because most masters are back
// within a second. It varies by a fifth, so that a thousand agents do not reconnect at the same
// moment.
func backoffAfter(cfg Config, failed int) time.Duration {
	d := cfg.Backoff
	if cfg.Attempts == 0 {
		d = min(d, 200*time.Millisecond<<min(failed-1, 10))
	}
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}
