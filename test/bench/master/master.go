// Package master starts a master for a measurement, in a temporary directory, and measures the
// process from outside.
package master

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/det-deploy/det-deploy/master/api/client"
	"github.com/det-deploy/det-deploy/test/bench/measure"
)

// Password is that of the administrator.
const Password = "Correct-Horse-7"

// Master is a running master. Its data are below Dir, and its log is Dir/master.log.
type Master struct {
	Dir, Addr, Token string
	API              *client.Client
	// HTTP is the client of Ask.
	HTTP *http.Client
	// encrypted marks a master with TLS and its own certificate authority.
	encrypted bool
	cmd       *exec.Cmd
}

// Start runs bin with the lines of more appended to its master.yaml, and logs in.
func Start(ctx context.Context, bin, more string) (*Master, error) {
	return start(ctx, bin, more, false)
}

// StartEncrypted is Start with TLS.
func StartEncrypted(ctx context.Context, bin, more string) (*Master, error) {
	return start(ctx, bin, more, true)
}

func start(ctx context.Context, bin, more string, encrypted bool) (*Master, error) {
	dir, err := os.MkdirTemp("", "det-deploy-bench-")
	if err != nil {
		return nil, err
	}
	addr, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	m := &Master{Dir: dir, Addr: addr, HTTP: http.DefaultClient, encrypted: encrypted}
	return m, m.run(ctx, bin, more)
}

func (m *Master) run(ctx context.Context, bin, more string) error {
	if err := m.spawn(ctx, bin, more); err != nil {
		return err
	}
	if err := m.login(ctx); err != nil {
		return errors.Join(fmt.Errorf("%w; its log is in %s", err, m.Dir), m.cmd.Process.Kill(), m.cmd.Wait())
	}
	return nil
}

// Restart stops the master, calls between with the path of its database, and starts it again. It
// returns the time from the start until the master has answered a login.
func (m *Master) Restart(ctx context.Context, bin, more string, between func(database string) error) (time.Duration, error) {
	err := m.end()
	if err == nil {
		err = between(filepath.Join(m.Dir, "master", "master.db"))
	}
	if err != nil {
		return 0, err
	}
	began := time.Now()
	err = m.run(ctx, bin, more)
	return time.Since(began), err
}

// URL returns the URL of the API.
func (m *Master) URL() string {
	if m.encrypted {
		return "https://" + m.Addr
	}
	return "http://" + m.Addr
}

// Authority returns the certificate that signed the master's, in PEM, once the master has started.
// It returns nil without TLS.
func (m *Master) Authority() []byte {
	found, err := filepath.Glob(filepath.Join(m.Dir, "master", "*", "ca.crt"))
	if err != nil || len(found) == 0 {
		return nil
	}
	text, _ := os.ReadFile(found[0]) // without it the client reports an unknown authority
	return text
}

func freeAddress(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func (m *Master) spawn(ctx context.Context, bin, more string) error {
	_, port, _ := net.SplitHostPort(m.Addr)
	mode := "off"
	if m.encrypted {
		mode = "auto"
	}
	config := fmt.Sprintf("bind_ip: 127.0.0.1\nport: %s\ndata_dir: %s/master\n%s\n"+
		"security: {tls: %q, initial_user_password: %s}\n", port, m.Dir, more, mode, Password)
	file := filepath.Join(m.Dir, "master.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(m.Dir, "master.log"))
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the child has its own
	m.cmd = exec.CommandContext(ctx, bin, "master", "run", "--config-file", file)
	m.cmd.Stdout, m.cmd.Stderr = log, log
	return m.cmd.Start()
}

func (m *Master) login(ctx context.Context) error {
	var err error
	for began := time.Now(); time.Since(began) < 30*time.Second; Pause(ctx, 10*time.Millisecond) {
		if m.encrypted && m.Authority() == nil {
			continue // not created yet
		}
		var api *client.Client
		if api, err = client.New(client.Config{URL: m.URL(), CA: m.Authority()}); err != nil {
			return err
		}
		in, tried := api.Login(ctx, "admin", Password)
		if err = tried; err == nil {
			m.Token = in.GetToken()
			m.HTTP = httpClient(m.Authority())
			m.API, err = client.New(client.Config{URL: m.URL(), CA: m.Authority(), Token: m.Token})
			return err
		}
	}
	return err
}

// httpClient returns a client that trusts the authority, or the default client for nil.
func httpClient(authority []byte) *http.Client {
	if authority == nil {
		return http.DefaultClient
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}}}
}

// Stop ends the master and removes its directory.
func (m *Master) Stop() error {
	return errors.Join(m.end(), os.RemoveAll(m.Dir))
}

func (m *Master) end() error {
	err := m.cmd.Process.Signal(syscall.SIGTERM)
	_ = m.cmd.Wait() // the exit status does not matter
	return err
}

// Memory returns the bytes that the process has allocated, without pages of the program and of the
// database file, which the kernel reclaims when it needs them.
func (m *Master) Memory() (int64, error) {
	sums, err := m.Pages()
	return sums.Made, err
}

// Processor returns the processor time of the process, which depends less than elapsed time on
// other processes of the machine. The kernel counts it in hundredths of a second.
func (m *Master) Processor() time.Duration {
	own, _ := measure.ProcessorOf(m.cmd.Process.Pid)
	return own
}

// LogSize returns the size of the master's own log in bytes.
func (m *Master) LogSize() (int64, error) {
	s, err := os.Stat(filepath.Join(m.Dir, "master.log"))
	if err != nil {
		return 0, err
	}
	return s.Size(), nil
}

// Pause waits for d or until ctx ends.
func Pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
