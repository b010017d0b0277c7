package agent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/agent/detect"
	"github.com/det-deploy/det-deploy/agent/disk"
	"github.com/det-deploy/det-deploy/agent/lease"
	"github.com/det-deploy/det-deploy/agent/link"
	"github.com/det-deploy/det-deploy/agent/script"
	"github.com/det-deploy/det-deploy/agent/task"
	"github.com/det-deploy/det-deploy/internal/atomicfile"
)

// agentsPath is the master's endpoint for agents.
const agentsPath = "/agents"

// errReconfigured restarts the agent with a configuration from the master.
var errReconfigured = errors.New("the master sent a new configuration")

// Run runs an agent until ctx ends, the master asks it to shut down, the master rejects it or the
// master stays unreachable. If ctx ends, Run returns nil and the containers keep running for the
// next agent with the same data_dir.
func Run(ctx context.Context, cfg Config) error {
	if problems := config.Unbuilt(cfg.Settings); len(problems) > 0 {
		return fmt.Errorf("start agent: %s: %s", problems[0].Path, problems[0].Text)
	}
	dir := cfg.Settings.DataDir
	// Mode 0711: tasks may run as other users, which need to traverse the directory but not list
	// it.
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return fmt.Errorf("create data_dir: %w", err)
	}
	unlock, err := lockDir(ctx, filepath.Join(dir, "lock"))
	if err != nil {
		return fmt.Errorf("start agent in data_dir %s: %w", dir, err)
	}
	defer unlock()
	if cfg.machine = machineOf(cfg.Settings); cfg.machine != nil {
		if cfg, err = becomeAgent(ctx, cfg); err != nil || ctx.Err() != nil {
			return switchOff(ctx, cfg, err)
		}
	}
	for {
		now, err := withOverlay(cfg)
		if err != nil {
			return err
		}
		if err := runOnce(ctx, now); !errors.Is(err, errReconfigured) {
			return switchOff(ctx, now, err)
		}
		cfg.Log.Info("restarting with the master's configuration")
	}
}

// becomeAgent identifies the machine and sets it up.
func becomeAgent(ctx context.Context, cfg Config) (Config, error) {
	me, err := identifyMachine(ctx, cfg.machine, cfg.Settings, cfg.Log)
	if ctx.Err() != nil {
		return cfg, nil //nolint:nilerr // a stop is not an error
	}
	if err != nil {
		return cfg, err
	}
	cfg.Settings.AgentID = me.Instance
	return cfg, setUpMachine(ctx, cfg, me)
}

// switchOff runs hooks.on_join_refused if the master reports that it did not launch the machine.
func switchOff(ctx context.Context, cfg Config, err error) error {
	hook := cfg.Settings.Hooks.OnJoinRefused
	r, refused := errors.AsType[*link.RefusedError](err)
	if !refused || !r.Unwanted() || len(hook) == 0 || !cfg.Settings.Launched() {
		return err
	}
	return errors.Join(err, link.RunHook(ctx, "on_join_refused", hook, cfg.Log))
}

// linkOf returns the connection settings and an HTTP client for the master.
func linkOf(cfg Config) (link.Config, *http.Client, error) {
	s := cfg.Settings
	tlsConfig, err := tlsOf(s)
	if err != nil {
		return link.Config{}, nil, err
	}
	scheme := "ws"
	if tlsConfig != nil {
		scheme = "wss"
	}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: tlsConfig}}
	return link.Config{
		URL: scheme + "://" + masterAddress(s) + agentsPath, TLS: tlsConfig,
		CredentialFile: credentialFile(s), JoinTokenFile: s.JoinTokenFile, Prove: proveWith(cfg.machine, s),
		Attempts: s.AgentReconnectAttempts, Backoff: time.Duration(s.AgentReconnectBackoff),
		OnLost: s.Hooks.OnConnectionLost, Log: cfg.Log,
	}, client, nil
}

// runOnce runs an agent with one configuration.
func runOnce(ctx context.Context, cfg Config) error {
	a, err := newAgent(ctx, cfg)
	if err != nil {
		return err
	}
	return a.runLink(ctx, cfg)
}

// runLink connects the agent to its master until the link ends, then releases its resources.
func (a *Agent) runLink(ctx context.Context, cfg Config) error {
	defer func() { _ = a.runtime.Close() }() // nothing is buffered
	links, client, err := linkOf(cfg)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	if err := a.describeMaster(cfg.Settings); err != nil {
		return err
	}
	a.client = client
	if links.Lease, err = lease.Open(lease.File(cfg.Settings.DataDir)); err != nil {
		return err
	}
	defer func() { _ = links.Lease.Close() }()
	if err := endFormerKeeper(ctx, cfg.Settings.DataDir); err != nil {
		cfg.Log.Warn("cannot stop the keeper of an earlier version; it exits with the last preemptible task", "err", err)
	}

	ctx, cancel := context.WithCancel(ctx)
	var units sync.WaitGroup
	defer units.Wait()
	defer cancel()
	a.spawn = func(f func(context.Context)) { units.Go(func() { f(ctx) }) }
	if err := a.restoreTasks(); err != nil {
		return err
	}
	if cfg.machine != nil {
		a.spawn(func(ctx context.Context) { a.watchMachine(ctx, cfg.machine) })
		// Background processes of the startup scripts may still write.
		a.spawn(func(ctx context.Context) { script.Bound(ctx, startupScript(cfg.Settings.DataDir)) })
		a.spawn(func(ctx context.Context) { script.Bound(ctx, containerStartupScript(cfg.Settings.DataDir)) })
	}
	// Before the first connection, because the master's answer would renew a lease that expired
	// while no agent was running.
	a.endOverdue(links.Lease)
	a.spawn(func(ctx context.Context) { a.watchLease(ctx, links.Lease) })
	a.spawn(a.watchHealth)
	err = link.Run(ctx, links, a)
	if r, ok := errors.AsType[*link.RefusedError](err); ok && r.Revoked() {
		a.endAll(ctx)
	}
	return err
}

// newAgent detects the slots, opens the disk and selects a runtime.
func newAgent(ctx context.Context, cfg Config) (*Agent, error) {
	s := cfg.Settings
	hostname, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("get the host name: %w", err)
	}
	id := s.AgentID
	if id == "" {
		id = hostname
	}
	model, cores := detect.Processor()
	found, err := detect.Devices(ctx, detect.Options{
		SlotType: detect.SlotType(s.SlotType), VisibleGPUs: visibleGPUs(s), ArtificialSlots: s.ArtificialSlots,
		AgentID: id, CPUModel: model, Cores: cores, Run: detect.Exec,
	})
	if err != nil {
		return nil, fmt.Errorf("detect slots: %w", err)
	}
	for _, p := range found.Problems {
		cfg.Log.Warn("cannot detect GPUs of one vendor; not using them", "err", p)
	}
	a := &Agent{
		cfg: cfg, devices: found.Devices, hostname: hostname,
		welcomed: make(chan struct{}), swapped: make(chan struct{}), unwell: make(chan struct{}, 1), tasks: map[string]*task.Task{},
		host: task.Host{AgentID: id, Slots: found.Devices},
	}
	if a.disk, err = disk.Open(s.DataDir); err != nil {
		return nil, err
	}
	if damage := a.disk.Damage(); damage != nil {
		cfg.Log.Error("some orders are lost; killing their containers", "kept", len(a.disk.Entries()), "err", damage)
	}
	if a.runtime, err = chooseRuntime(ctx, cfg, id); err != nil {
		return nil, err
	}
	processes, isPlain := a.runtime.(plain)
	if isPlain {
		a.notIsolated, a.noFixedPaths = describeLimits(cfg, processes)
	}
	if why := a.runtime.Unlimited(); why != nil {
		a.noLimits = reasonWithRemedy(why)
		cfg.Log.Warn("tasks have no limits of memory and processes", "because", a.noLimits)
	}
	a.host.Docker = !isPlain
	if a.guard = guardOf(cfg); isPlain {
		a.guard = a.guard.ForProcesses()
	}
	cfg.Log.Info("agent is ready", "agent_id", id, "slots", len(found.Devices), "docker", a.host.Docker)
	return a, nil
}

// guardOf returns a guard that denies tasks bind mounts of the agent's own files and of the Docker
// socket.
func guardOf(cfg Config) task.Guard {
	s := cfg.Settings
	engine := cfg.DockerHost
	if engine == "" {
		engine = os.Getenv("DOCKER_HOST")
	}
	socket, isFile := strings.CutPrefix(engine, "unix://")
	if !isFile {
		socket = ""
	}
	own := []string{
		s.DataDir, s.ConfigFile, s.JoinTokenFile, s.MachineSocket, s.MachineSecretFile, socket,
		s.Security.TLS.ClientKey, s.TLSKey,
	}
	return task.NewGuard(append(own, s.ProtectedPaths...)...)
}

// describeMaster sets the fields of the host that tasks need to reach the master.
func (a *Agent) describeMaster(s config.Agent) error {
	h := &a.host
	h.Scheme = s.Scheme()
	h.MasterHost, h.MasterPort = s.ContainerMasterHost, s.ContainerMasterPort
	if h.MasterHost == "" {
		h.MasterHost = s.MasterHost
	}
	if h.MasterPort == 0 {
		h.MasterPort = s.Port()
	}
	h.MasterCertName, h.NoVerify = s.Security.TLS.MasterCertName, s.Security.TLS.SkipVerify
	if file := s.Security.TLS.MasterCert; file != "" {
		cert, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read security.tls.master_cert: %w", err)
		}
		h.MasterCert = cert
	}
	h.Proxies, h.Network = proxiesOf(s), task.OwnNetwork(s.DockerNetwork)
	return nil
}

func proxiesOf(s config.Agent) []string {
	var out []string
	for key, value := range map[string]string{
		"HTTP_PROXY": s.HTTPProxy.Reveal(), "HTTPS_PROXY": s.HTTPSProxy.Reveal(),
		"FTP_PROXY": s.FTPProxy.Reveal(), "NO_PROXY": s.NoProxy,
	} {
		if value != "" {
			out = append(out, key+"="+value)
		}
	}
	return out
}

// tlsOf returns the TLS configuration, or nil without TLS.
func tlsOf(s config.Agent) (*tls.Config, error) {
	t := s.Security.TLS
	if !t.Enabled {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: t.SkipVerify, ServerName: t.MasterCertName}
	if t.MasterCert == "" {
		return c, nil
	}
	cert, err := os.ReadFile(t.MasterCert)
	if err != nil {
		return nil, fmt.Errorf("read security.tls.master_cert: %w", err)
	}
	// Trust only the configured CA.
	c.RootCAs = x509.NewCertPool()
	if !c.RootCAs.AppendCertsFromPEM(cert) {
		return nil, fmt.Errorf("security.tls.master_cert %s contains no certificate", t.MasterCert)
	}
	return c, nil
}

func masterAddress(s config.Agent) string {
	return net.JoinHostPort(s.MasterHost, strconv.Itoa(s.Port()))
}

func visibleGPUs(s config.Agent) string {
	if s.VisibleGPUs != "" {
		return s.VisibleGPUs
	}
	if v := os.Getenv("ROCR_VISIBLE_DEVICES"); v != "" {
		return v
	}
	return os.Getenv("CUDA_VISIBLE_DEVICES")
}

// lockPatience is how long to wait for the lock: a forked child of an agent that was killed holds
// its parent's lock until it executes.
const lockPatience = 2 * time.Second

// lockDir locks a data_dir, or returns an error if another agent holds the lock.
func lockDir(ctx context.Context, name string) (unlock func(), err error) {
	l := flock.New(name, flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	held, err := l.TryLockContext(ctx, 20*time.Millisecond)
	if held {
		return func() { _ = l.Close() }, nil
	}
	if errors.Is(err, ctx.Err()) {
		err = errors.New("another agent is using it; stop that agent, or use another data_dir")
	}
	return nil, errors.Join(err, l.Close())
}

// overlayFile returns the file of the configuration that the master sent.
func overlayFile(s config.Agent) string { return filepath.Join(s.DataDir, "agent.yaml") }

// withOverlay merges the stored configuration of the master into the agent's own.
func withOverlay(cfg Config) (Config, error) {
	document, err := os.ReadFile(overlayFile(cfg.Settings))
	if errors.Is(err, fs.ErrNotExist) || cfg.Overlay == nil {
		return cfg, nil
	}
	if err != nil {
		return cfg, fmt.Errorf("read the master's configuration: %w", err)
	}
	if cfg.Settings, err = overlayConfig(cfg, document); err != nil {
		return cfg, fmt.Errorf("read the master's configuration: %w", err)
	}
	return cfg, nil
}

// overlayConfig merges a document into the agent's configuration. It keeps the data_dir, which is
// locked and contains the credential, and the agent ID of a launched machine.
func overlayConfig(cfg Config, document []byte) (config.Agent, error) {
	s, err := cfg.Overlay(document)
	s.DataDir = cfg.Settings.DataDir
	if cfg.machine != nil {
		s.AgentID = cfg.Settings.AgentID
	}
	return s, err
}

// checkOverlay stores a configuration that differs from the current one and returns
// errReconfigured, which restarts the agent.
func (a *Agent) checkOverlay(document []byte) error {
	if len(document) == 0 {
		return nil
	}
	if a.cfg.Overlay == nil {
		return &link.Final{Err: errors.New("this agent does not accept a configuration from the master")}
	}
	settings, err := overlayConfig(a.cfg, document)
	if err != nil {
		return &link.Final{Err: fmt.Errorf("read the configuration sent by the master: %w", err)}
	}
	if reflect.DeepEqual(settings, a.cfg.Settings) {
		return nil
	}
	if err := storeOverlay(a.cfg, document); err != nil {
		return &link.Final{Err: err}
	}
	return &link.Final{Err: errReconfigured}
}

// storeOverlay stores the master's configuration for the next start.
func storeOverlay(cfg Config, document []byte) error {
	if len(document) == 0 {
		return nil
	}
	if cfg.Overlay == nil {
		return errors.New("this agent does not accept a configuration from the master")
	}
	if _, err := overlayConfig(cfg, document); err != nil {
		return fmt.Errorf("read the configuration sent by the master: %w", err)
	}
	if err := atomicfile.Write(overlayFile(cfg.Settings), document, 0o600); err != nil {
		return fmt.Errorf("store the configuration sent by the master: %w", err)
	}
	return nil
}

var _ link.Peer = (*Agent)(nil)
