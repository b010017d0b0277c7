// Package server is the master's front door: one port for the API that the det
// client speaks, for agents, and for monitoring.
//
// Every call is a row of the route table. The handlers behind it are thin: they
// read the request, ask an interface of this package, and write the answer.
//
//	request ─▶ mux ─▶ row: access, size limit ─▶ adapter: JSON ⇄ message ─▶ handler ─▶ Tasks, Logs, Accounts, ...
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/certificate"
	"github.com/det-deploy/det-deploy/master/server/guard"
)

// Version is the release whose API this is. Clients compare it with their own.
const Version = apiv1.Release

// Identity is what a cluster says about itself to anybody.
type Identity struct {
	ClusterID   string
	ClusterName string
	// MasterID names this process; it changes with every start.
	MasterID string
	// Version is our own version, beside the one of the API.
	Version string
	// Program is the SHA-256 of the program that runs, in hexadecimal, or "" while it is not
	// known: two builds may have one version. Nil is never known.
	Program func() string
}

// Config is what a server needs. Accounts is required; calls whose collaborator is
// nil are answered as not built.
type Config struct {
	Identity Identity
	Accounts Accounts
	// Admissions is which machines may be agents.
	Admissions Admissions
	Tasks      Tasks
	Workspaces Workspaces
	Templates  Templates
	Models     Models
	Logs       TaskLogs
	// Experiments and Trials are both there, or neither.
	Experiments Experiments
	Trials      Trials
	// Checkpoints is what trials saved.
	Checkpoints Checkpoints
	// TrialMetrics is what trials report; it needs Trials.
	TrialMetrics TrialMetrics
	Queue        Queue
	Machines     Machines
	// Launches is what the master launches machines with.
	Launches Launches
	// Book is what was used when, by whom.
	Book Book
	// MasterLog holds the master's own log; nil has none.
	MasterLog *Ring
	// Settings is the master's configuration as administrators may see it.
	Settings func() map[string]any
	// StrictQueue lets only administrators change the queue.
	StrictQueue bool
	// Audit keeps who did what; nil keeps nothing.
	Audit Audit
	// PrivateLogs keeps a task's log to its owner and administrators.
	PrivateLogs bool
	// FeatureSwitches are shown to clients.
	FeatureSwitches []string
	// Health says why the master cannot work; nil when it can.
	Health func(context.Context) error
	// Readiness says what keeps the master from working for now; nil is always ready.
	Readiness *guard.Readiness
	// Agents serves the agents' websocket at /agents.
	Agents http.Handler
	// Binaries serves det-deploy's own programs below /binaries/.
	Binaries http.Handler
	// Harness serves the wheels of the client's library below /harness/, to users and tasks.
	Harness http.Handler
	// Metrics is where the server counts, and what /metrics shows; nil makes one.
	Metrics *prometheus.Registry
	// HideMetrics answers 404 where the metrics would be.
	HideMetrics bool
	// CORSOrigins are the sites whose pages may call the API, with a token and never
	// with the user's cookie.
	CORSOrigins []string
	// TrustedProxies are the networks whose X-Forwarded-For tells the true address.
	TrustedProxies []netip.Prefix
	// Limits is what strangers and users may cost.
	Limits Limits
	// SpoolDir is where large bodies are while they arrive; empty for the system's
	// directory of temporary files.
	SpoolDir string
	// Certificate, when not nil, makes the server speak TLS.
	Certificate certificate.Source
	// Rehearsal, when not nil, puts the master on hold and says what is known of
	// its store. All other collaborators are then left alone and may be missing.
	Rehearsal func() Rehearsal
	// Log may be nil.
	Log *slog.Logger
}

// Server answers requests. Its zero value is not useful.
type Server struct {
	*shared

	gatekeeper  *gatekeeper
	handler     http.Handler
	meter       *guard.Meter
	connections *guard.Connections
}

// shared is what all calls share.
type shared struct {
	cfg Config
	// stopping ends the streams and the long polls, which would otherwise hold
	// up a graceful stop for ever.
	stopping chan struct{}
	room     *guard.Room
	streams  *guard.Waits
}

// Limits is what strangers and users may cost; zero is no limit.
type Limits struct {
	// Bodies is the bytes of small bodies that are read and worked on at a time, in
	// memory, and Spooled those of large ones, in files.
	Bodies, Spooled int64
	// Streams is how many logs and signals a user follows at a time.
	Streams int
	// Connections is how many may be open over which no user has logged in, and
	// ConnectionsEach how many of them from one address.
	Connections, ConnectionsEach int
}

// New builds a server. It serves nothing before Run.
func New(cfg Config) (*Server, error) {
	if cfg.Accounts == nil && cfg.Rehearsal == nil {
		return nil, errors.New("build the server: Accounts is required")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.SpoolDir == "" {
		cfg.SpoolDir = os.TempDir()
	}
	if cfg.Metrics == nil {
		cfg.Metrics = prometheus.NewRegistry()
	}
	sh := &shared{
		cfg: cfg, stopping: make(chan struct{}),
		room: guard.NewRoom(cfg.Limits.Bodies, cfg.Limits.Spooled, cfg.SpoolDir), streams: guard.NewWaits(cfg.Limits.Streams),
	}
	s := &Server{shared: sh, gatekeeper: &gatekeeper{sh}}
	s.connections = guard.NewConnections(cfg.Limits.Connections, cfg.Limits.ConnectionsEach, cfg.TrustedProxies)
	if cfg.Rehearsal != nil {
		s.handler = s.holdFront()
		return s, nil
	}
	var err error
	if s.meter, err = guard.NewMeter(cfg.Metrics); err != nil {
		return nil, err
	}
	if err := cfg.Metrics.Register(newGauges(cfg.Queue, cfg.Machines, cfg.Experiments)); err != nil {
		return nil, fmt.Errorf("register the cluster's metrics: %w", err)
	}
	s.handler = s.portHandler()
	return s, nil
}

const (
	// headerTime is for clients that connect and say nothing.
	headerTime = 10 * time.Second
	// idleTime is longer than the pause between two polls of any client.
	idleTime = 2 * time.Minute
	// stopTime is what requests in flight get when the master stops.
	stopTime = 10 * time.Second
	// headerLimit is generous for cookies and tokens, and mean for everything else.
	headerLimit = 64 << 10
	// streamsEach is how many calls one HTTP/2 connection carries at a time; clients open
	// another one for more.
	streamsEach = 100
)

// Run serves on l until ctx ends, then lets the requests in flight finish.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	hs := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: headerTime, // bodies and answers have limits of their own, by route
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    headerLimit,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: streamsEach},
		ErrorLog:          slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	hs.ConnContext, hs.ConnState = guard.WithConnection, guard.NoteState
	l = s.connections.Bound(l)
	served := make(chan error, 1)
	go func() {
		if s.cfg.Certificate == nil {
			served <- hs.Serve(l)
			return
		}
		hs.TLSConfig = tlsConfig(s.cfg.Certificate)
		served <- hs.ServeTLS(l, "", "")
	}()
	s.cfg.Log.Info("the master answers", "address", l.Addr().String(), "tls", s.cfg.Certificate != nil)
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	close(s.stopping)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	err := hs.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		err = hs.Close()
	}
	if served := <-served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

func tlsConfig(source certificate.Source) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, // the det client's Python 3.8 and later speak it
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return source.Certificate()
		},
		NextProtos: []string{"h2", "http/1.1"},
	}
}
