// Package server implements the master's port: the API of the det client, the websocket of agents, and
// monitoring.
//
// Every call is a row of the route table. Handlers are thin: they read the request, call an interface of
// this package, and write the response.
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

// Version is the release of Determined whose API is implemented. Clients compare it with their own
// version.
const Version = apiv1.Release

// Identity is the public description of a cluster.
type Identity struct {
	ClusterID   string
	ClusterName string
	// MasterID identifies this process; it changes with every start.
	MasterID string
	// Version is the version of det-deploy.
	Version string
	// Program returns the hexadecimal SHA-256 of the running program, which distinguishes builds of the
	// same version. It returns "" if the hash is not known yet. It may be nil.
	Program func() string
}

// Config holds the collaborators and settings of a server. Accounts is required; calls whose collaborator
// is nil are answered as not implemented.
type Config struct {
	Identity Identity
	Accounts Accounts
	// Admissions controls which machines may join as agents.
	Admissions Admissions
	Tasks      Tasks
	Contexts   Contexts
	Workspaces Workspaces
	Templates  Templates
	Models     Models
	Logs       TaskLogs
	// ShellHostKey is the host key of logins to shells, as in a file of authorized keys.
	ShellHostKey string
	// CleanUpLogs deletes logs that have expired, and returns the number of deleted lines; nil disables its
	// call.
	CleanUpLogs func(context.Context) (int64, error)
	// Services gives access to the services of tasks.
	Services Services
	// Experiments and Trials must be set together.
	Experiments Experiments
	Trials      Trials
	// TensorBoards starts TensorBoards of them. It requires Tasks.
	TensorBoards TensorBoards
	// Checkpoints manages the checkpoints of trials.
	Checkpoints Checkpoints
	// TrialMetrics manages reported metrics. It requires Trials.
	TrialMetrics TrialMetrics
	Queue        Queue
	Machines     Machines
	// Launches lists launched machines.
	Launches Launches
	// Book reports resource usage.
	Book Book
	// MasterLog holds the master's log; it may be nil.
	MasterLog *Ring
	// Settings returns the master's configuration for administrators.
	Settings func() map[string]any
	// StrictQueue lets only administrators change the queue.
	StrictQueue bool
	// Audit is the audit log; it may be nil.
	Audit Audit
	// PrivateLogs restricts a task's log to its owner and administrators.
	PrivateLogs bool
	// FeatureSwitches are reported to clients.
	FeatureSwitches []string
	// Health returns the error that prevents the master from working, or nil.
	Health func(context.Context) error
	// Readiness reports temporary failures; nil is always ready.
	Readiness *guard.Readiness
	// Agents serves the agents' websocket at /agents.
	Agents http.Handler
	// Binaries serves the programs of det-deploy below /binaries/.
	Binaries http.Handler
	// Pages returns the handler of the web pages, which call the API. It may be nil.
	Pages func(api http.Handler) http.Handler
	// Harness serves the wheels of the client library below /harness/ to users and tasks.
	Harness http.Handler
	// Metrics is the registry that /metrics serves; the default is a new one.
	Metrics *prometheus.Registry
	// HideMetrics makes the paths of the metrics return 404.
	HideMetrics bool
	// CORSOrigins are the sites whose pages may call the API with a token, but never with the user's
	// cookie.
	CORSOrigins []string
	// TrustedProxies are the networks from which X-Forwarded-For is accepted.
	TrustedProxies []netip.Prefix
	// Limits bounds the resources used by unauthenticated clients and users.
	Limits Limits
	// SpoolDir is the directory for large bodies; the default is the system's directory for temporary
	// files.
	SpoolDir string
	// Certificate enables TLS if it is not nil.
	Certificate certificate.Source
	// Rehearsal, if not nil, puts the master on hold and returns the result of the rehearsal. All other
	// collaborators are then unused and may be nil.
	Rehearsal func() Rehearsal
	// Log may be nil.
	Log *slog.Logger
}

// Server serves requests. Use New to create one.
type Server struct {
	*shared

	gatekeeper  *gatekeeper
	handler     http.Handler
	meter       *guard.Meter
	connections *guard.Connections
}

// shared is the state shared by all calls.
type shared struct {
	cfg Config
	// stopping is closed to end streams and long polls, which would otherwise delay a graceful shutdown
	// indefinitely.
	stopping chan struct{}
	room     *guard.Room
	streams  *guard.Waits
	// entries are the streams into tasks.
	entries *guard.Waits
}

// Limits bounds the resources used by unauthenticated clients and users; zero is unlimited.
type Limits struct {
	// Bodies is the number of bytes of small bodies that are processed concurrently in memory, and Spooled
	// that of large ones in files.
	Bodies, Spooled int64
	// Streams is the number of logs and signals that a user may follow concurrently.
	Streams int
	// Connections is the maximum number of unauthenticated connections, and ConnectionsEach that per
	// address.
	Connections, ConnectionsEach int
}

// New returns a server. It serves requests in Run.
func New(cfg Config) (*Server, error) {
	if cfg.Accounts == nil && cfg.Rehearsal == nil {
		return nil, errors.New("cannot create the server: Accounts is required")
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
		room: guard.NewRoom(cfg.Limits.Bodies, cfg.Limits.Spooled, cfg.SpoolDir), streams: guard.NewWaits(cfg.Limits.Streams), entries: newEntries(),
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
		return nil, fmt.Errorf("cannot register the cluster's metrics: %w", err)
	}
	s.handler = s.portHandler()
	return s, nil
}

const (
	// headerTime limits clients that connect without sending a request.
	headerTime = 10 * time.Second
	// idleTime exceeds the pause between two polls of any client.
	idleTime = 2 * time.Minute
	// stopTime is the time for running requests to end when the master stops.
	stopTime = 10 * time.Second
	// headerLimit is sufficient for cookies and tokens.
	headerLimit = 64 << 10
	// streamsEach is the maximum number of concurrent calls on an HTTP/2 connection. Clients open another
	// connection for more.
	streamsEach = 100
)

// Run serves on l until ctx ends, and then lets running requests finish.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	hs := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: headerTime, // bodies and responses have their own limits by route
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
	s.cfg.Log.Info("master is serving", "address", l.Addr().String(), "tls", s.cfg.Certificate != nil)
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
		MinVersion: tls.VersionTLS12, // supported by Python 3.8 and later, which the det client requires
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return source.Certificate()
		},
		NextProtos: []string{"h2", "http/1.1"},
	}
}
