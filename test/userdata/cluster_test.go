package userdata_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/test/booter"
	"github.com/det-deploy/det-deploy/test/clustertest"
)

// program builds det-deploy once for all tests of this package.
var program = sync.OnceValues(func() ([]byte, error) {
	path, err := clustertest.Program()
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

func TestMain(m *testing.M) { os.Exit(clustertest.Tests{M: m}.Run()) } //nolint:forbidigo // it is the main of the tests

// objects is the cluster's control bucket.
type objects interface {
	// put writes an object.
	put(key string, data []byte)
	// get returns an object, or nil.
	get(key string) []byte
}

// cluster has the resources of a cluster that an installer would create, in any cloud.
type cluster struct {
	objects

	t    *testing.T
	lab  *booter.Lab
	boot *booter.Booter
	// logs is the destination of the machines' journals in the cloud; with metrics they also report
	// their resource usage.
	logs    string
	metrics bool

	ca, key string
	// binary is the object of the program.
	binary     manifest.File
	generation int
}

// newCluster uploads the program into a bucket.
func newCluster(t *testing.T, c cluster) *cluster {
	t.Helper()
	c.t = t
	c.ca, c.key = pki(t)
	c.binary = c.upload("")
	return &c
}

// upload uploads the program as another version, with different data after the end of the
// executable.
func (c *cluster) upload(version string) manifest.File {
	c.t.Helper()
	data, err := program()
	if err != nil {
		c.t.Fatal(err)
	}
	data = append(data[:len(data):len(data)], version...)
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	f := manifest.File{Key: manifest.BinaryKey(hash), SHA256: hash}
	c.put(f.Key, data)
	return f
}

// want writes the next manifest.
func (c *cluster) want(files map[string]string, edit ...func(*manifest.Manifest)) {
	c.t.Helper()
	c.generation++
	m := manifest.Manifest{
		Schema: manifest.Schema, Cluster: "lab", Generation: c.generation, Version: "1", Phase: manifest.Serve,
		Binaries: map[string]manifest.File{runtime.GOARCH: c.binary}, Files: map[string]manifest.File{},
		Health: manifest.Health{URL: "https://127.0.0.1:8443/health", CA: "/etc/determined/ca.pem", Name: certName},
	}
	for path, text := range files {
		sum := sha256.Sum256([]byte(text))
		f := manifest.File{SHA256: hex.EncodeToString(sum[:]), Mode: 0o600}
		f.Key = manifest.FileKey(f.SHA256)
		c.put(f.Key, []byte(text))
		m.Files[path] = f
	}
	for _, e := range edit {
		e(&m)
	}
	data, err := m.Encode()
	if err != nil {
		c.t.Fatal(err)
	}
	c.put(manifest.Key, data)
}

// status returns the status that the master's machine reports.
func (c *cluster) status() manifest.Status {
	s, err := manifest.ParseStatus(c.get(manifest.StatusKey))
	if err != nil {
		return manifest.Status{}
	}
	return s
}

// ask requests a path from the master, from within the lab.
func (c *cluster) ask(address, path string) string {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(c.ca))
	client := c.lab.Client()
	client.Timeout = 10 * time.Second
	transport, ok := client.Transport.(*http.Transport)
	if !ok {
		c.t.Fatalf("got a transport of %T", client.Transport)
	}
	transport.TLSClientConfig = &tls.Config{RootCAs: pool, ServerName: certName, MinVersion: tls.VersionTLS12}
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, "https://"+address+":8443"+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return string(body)
}

// run runs a program in a machine and returns its output, or the error as text, because the machine
// may not be running yet.
func (c *cluster) run(id, name string, args ...string) string {
	// A machine that is being killed does not answer.
	ctx, cancel := context.WithTimeout(c.t.Context(), 30*time.Second)
	defer cancel()
	cmd, err := c.boot.Command(ctx, id, name, args...)
	if err != nil {
		return err.Error()
	}
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%s%v", out, err)
	}
	return string(out)
}

// eventually polls until ok returns true. It fails the test with the result of last after three
// minutes.
func eventually(t *testing.T, what string, ok func() bool, last func() any) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !ok(); <-time.After(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within three minutes, last seen: %v", what, last())
		}
	}
}

// lines returns the lines of det-deploy on a machine's console.
func (c *cluster) lines(id string) any {
	var out []string
	for line := range strings.Lines(c.boot.Console(id)) {
		if strings.Contains(line, "det-deploy") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}

// files returns a master's configuration with a distinguishing name.
func (c *cluster) files(name string) map[string]string {
	return map[string]string{
		manifest.ConfigFile: `cluster_name: ` + name + `
binaries_dir: ` + manifest.BinariesDir + `
security:
  allow_blank_password: true
  tls: {cert: /etc/determined/ca.pem, key: /etc/determined/key.pem}
`,
		"/etc/determined/ca.pem": c.ca, "/etc/determined/key.pem": c.key,
	}
}

// reported enables the machine's logs and metrics.
func (c *cluster) reported(m *manifest.Manifest) { m.Logs, m.Metrics = c.logs, c.metrics }

// upgrade tries another version on hold and then serves with it.
func (c *cluster) upgrade(t *testing.T, id, address string) {
	t.Helper()
	next := c.upload("another version")
	version := func(p manifest.Phase) func(*manifest.Manifest) {
		return func(m *manifest.Manifest) {
			m.Version, m.Phase, m.Binaries = "2", p, map[string]manifest.File{runtime.GOARCH: next}
		}
	}
	c.want(c.files("second"), c.reported, version(manifest.Hold))
	eventually(t, "the master is on hold and well", func() bool {
		s := c.status()
		return s.Phase == manifest.Hold && s.Ready && s.Version == "2"
	}, func() any { return fmt.Sprint(c.status(), c.lines(id)) })
	if got := c.ask(address, "/info"); !strings.Contains(got, `"on_hold":true`) {
		t.Errorf("got %s, want a master on hold", got)
	}
	c.want(c.files("second"), c.reported, version(manifest.Serve))
	eventually(t, "the new version serves, and the machine runs it", func() bool {
		exe := c.run(id, "sh", "-c", "readlink /proc/$(systemctl show --property=MainPID --value det-deploy-host)/exe")
		return c.status().Phase == manifest.Serve && c.status().Ready && strings.Contains(exe, next.SHA256)
	}, func() any { return fmt.Sprint(c.status(), c.lines(id)) })
	if got := c.run(id, "ls", "/var/lib/det-deploy/bin"); !strings.Contains(got, next.SHA256) {
		t.Errorf("got %s, want the new version among what is kept", got)
	}
	c.binary = next
}
