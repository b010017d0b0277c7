package templates_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/det-deploy/det-deploy/templates"
)

// keys are the credentials of a role, which no console may ever show.
const keys = `{"AccessKeyId":"ASIAROLE","SecretAccessKey":"never/shown+key","Token":"never-shown-token"}`

// program is the content that the tests' buckets and masters serve in place of det-deploy: it prints its
// arguments, and may fail.
const program = "#!/bin/sh\necho called with \"$@\"\n"

func hash(text string) map[string]string {
	sum := sha256.Sum256([]byte(text))
	return map[string]string{runtime.GOARCH: hex.EncodeToString(sum[:])}
}

// cloud is the environment of a machine: its metadata service and its bucket.
type cloud struct {
	t *testing.T
	// roleless is the number of metadata requests that fail for lack of a role, denied the number of
	// requests that the bucket denies.
	roleless, denied atomic.Int32
	body             string
	imds, s3         *httptest.Server
	home             string
	// limit is the time limit of a boot in seconds.
	limit string
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{t: t, body: program, home: t.TempDir(), limit: "60"}
	c.imds, c.s3 = httptest.NewServer(http.HandlerFunc(c.metadata)), httptest.NewServer(http.HandlerFunc(c.bucket))
	t.Cleanup(c.imds.Close)
	t.Cleanup(c.s3.Close)
	return c
}

func (c *cloud) metadata(w http.ResponseWriter, r *http.Request) {
	const token = "X-Aws-Ec2-Metadata-Token"
	answer := ""
	switch {
	case r.Method == http.MethodPut && r.Header.Get(token+"-Ttl-Seconds") != "":
		answer = "token"
	case r.Header.Get(token) != "token":
		w.WriteHeader(http.StatusUnauthorized)
	case r.URL.Path == "/latest/meta-data/iam/security-credentials/":
		if c.roleless.Add(-1) >= 0 {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		answer = "role"
	case r.URL.Path == "/latest/meta-data/iam/security-credentials/role":
		answer = keys
	}
	_, _ = w.Write([]byte(answer))
}

// bucket answers only requests that are signed as the SDK would sign them.
func (c *cloud) bucket(w http.ResponseWriter, r *http.Request) {
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		c.t.Errorf("got a request without a time: %v", err)
	}
	again := r.Clone(r.Context())
	again.URL.Scheme, again.URL.Host, again.Header = "http", r.Host, http.Header{}
	empty := sha256.Sum256(nil)
	again.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(empty[:]))
	err = v4.NewSigner().SignHTTP(r.Context(), aws.Credentials{AccessKeyID: "ASIAROLE", SecretAccessKey: "never/shown+key", SessionToken: "never-shown-token"},
		again, hex.EncodeToString(empty[:]), "s3", "us-west-2", at)
	if err != nil {
		c.t.Error(err)
	}
	if got, want := r.Header.Get("Authorization"), again.Header.Get("Authorization"); got != want {
		c.t.Errorf("signature: got %s, want %s", got, want)
	}
	if c.denied.Add(-1) >= 0 {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte("<Error><Code>AccessDenied</Code><HostId>never-shown-token</HostId></Error>"))
		return
	}
	_, _ = w.Write([]byte(c.body))
}

// boot runs user data as a boot does, with its file paths redirected and shorter timeouts.
func (c *cloud) boot(b interface{ Render() ([]byte, error) }) (console string, ok bool) {
	c.t.Helper()
	data, err := b.Render()
	if err != nil {
		c.t.Fatal(err)
	}
	return runScript(c.t, script(c.t, data), c.home,
		`"http://169.254.169.254/latest/"`, `"`+c.imds.URL+`/latest/"`, `LIMIT = 1800`, `LIMIT = `+c.limit)
}

// runScript runs a boot script below a directory of the test, with shorter timeouts.
func runScript(t *testing.T, text, home string, replace ...string) (console string, ok bool) {
	t.Helper()
	text = strings.NewReplacer(append(replace,
		`HOME = "/var/lib/det-deploy"`, `HOME = "`+home+`"`,
		`time.monotonic() + LIMIT, 1,`, `time.monotonic() + LIMIT, 0.1,`,
		`/etc/determined`, home+`/etc`,
	)...).Replace(text)
	path := filepath.Join(t.TempDir(), "boot.py")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), python(t), "-I", path).CombinedOutput()
	for _, secret := range []string{"never/shown+key", "never-shown-token", "in-memory-"} {
		if strings.Contains(string(out), secret) {
			t.Errorf("got a secret on the console: %s", out)
		}
	}
	return string(out), err == nil
}

func (c *cloud) master() templates.MasterBoot {
	return templates.MasterBoot{Cluster: "lab", Region: "us-west-2", Bucket: "control", SHA256: hash(program), Endpoint: c.s3.URL}
}

func wants(t *testing.T, console string, ok, wantOK bool, lines ...string) {
	t.Helper()
	if ok != wantOK {
		t.Errorf("got success %v, want %v:\n%s", ok, wantOK, console)
	}
	for _, line := range lines {
		if strings.Count(console, line) != 1 {
			t.Errorf("got %d times, want once: %s\n%s", strings.Count(console, line), line, console)
		}
	}
	for line := range strings.Lines(console) {
		if !strings.HasPrefix(line, "det-deploy: ") {
			t.Errorf("got %q, want only lines with a prefix", line)
		}
	}
}

func TestAMasterBootsFromItsBucket(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	console, ok := c.boot(c.master())
	wants(t, console, ok, true, "installing the master of cluster lab",
		"called with host install --yes --role master --cluster-id lab --region us-west-2 --control-bucket control --aws-endpoint "+c.s3.URL, "done")
	console, ok = c.boot(c.master())
	wants(t, console, ok, true, "det-deploy: this machine is already the master of a cluster\n")
}

// The metadata service is never reached through a proxy.
func TestMasterBootsThroughProxy(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	var through atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		through.Add(1)
		if want := strings.TrimPrefix(c.s3.URL, "http://"); r.Host != want {
			t.Errorf("the proxy is asked for %s, want the bucket at %s alone", r.Host, want)
		}
		c.bucket(w, r)
	}))
	defer proxy.Close()
	b := c.master()
	b.Proxy = "HTTP_PROXY=" + proxy.URL + "\nhttp_proxy=" + proxy.URL + "\n"
	console, ok := c.boot(b)
	wants(t, console, ok, true, "installing the master of cluster lab", "done")
	if through.Load() != 1 {
		t.Errorf("got %d requests through the proxy, want that for the program", through.Load())
	}
	if got, err := os.ReadFile(filepath.Join(c.home, "etc/proxy.env")); err != nil || string(got) != b.Proxy {
		t.Errorf("got %s, %v; want the proxies for the units", got, err)
	}
}

func TestBootRetries(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.roleless.Store(1)
	c.denied.Store(1)
	console, ok := c.boot(c.master())
	wants(t, console, ok, true, "cannot fetch the program yet: this machine has no role", "returned 403 AccessDenied", "done")
}

func TestBootGivesUpWithAReason(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		edit func(*cloud, *templates.MasterBoot)
		want string
	}{
		"another program": {func(c *cloud, _ *templates.MasterBoot) { c.body = "evil" }, "failed; the next boot will retry: could not fetch the program in 0 minutes: the program has an unexpected checksum"},
		"a refusal":       {func(c *cloud, _ *templates.MasterBoot) { c.denied.Store(99) }, "failed; the next boot will retry: could not fetch the program in 0 minutes: 127.0.0.1"},
		"another architecture": {func(_ *cloud, b *templates.MasterBoot) {
			b.SHA256 = map[string]string{"riscv64": strings.Repeat("a", 64)}
		}, "only for riscv64; pass --binary"},
		"installing fails": {func(c *cloud, b *templates.MasterBoot) { c.body += "exit 3\n"; b.SHA256 = hash(c.body) }, "failed; the next boot will retry: host install failed with exit code 3"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCloud(t)
			c.limit = "1"
			b := c.master()
			tt.edit(c, &b)
			console, ok := c.boot(b)
			wants(t, console, ok, false, tt.want)
			if _, err := os.Stat(filepath.Join(c.home, "installed")); err == nil {
				t.Error("got a machine that takes itself for installed")
			}
		})
	}
}

func TestAgentBootsFromItsMasterOnly(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	asked := ""
	master := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Path
		_, _ = w.Write([]byte(program))
	}))
	defer master.Close()
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: master.Certificate().Raw}))
	c.limit = "1"
	b := templates.AgentBoot{Cluster: "lab", Master: master.URL, CA: ca, Name: "elsewhere.test", SHA256: hash(program)}
	console, ok := c.boot(b)
	wants(t, console, ok, false, "the next boot will retry")
	if asked != "" || !strings.Contains(console, "elsewhere.test") {
		t.Errorf("got a question for %s; want that a master of another name is not asked:\n%s", asked, console)
	}
	b.Name = "example.com"
	console, ok = c.boot(b)
	wants(t, console, ok, true, "installing an agent of cluster lab",
		"called with host install --yes --role agent --cluster-id lab --master-url "+master.URL+" --master-ca "+c.home+"/etc/ca.pem --master-name example.com", "done")
	if want := "/binaries/linux-" + runtime.GOARCH; asked != want {
		t.Errorf("got %s, want %s", asked, want)
	}
	if got, err := os.ReadFile(filepath.Join(c.home, "etc/ca.pem")); err != nil || string(got) != ca {
		t.Errorf("got %s, %v; want the CA for the agent", got, err)
	}
}

// An agent's machine fetches the program from its master without the proxy.
func TestAgentBootsWithProxy(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	master := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(program)) }))
	defer master.Close()
	b := templates.AgentBoot{Cluster: "lab", Master: master.URL, SHA256: hash(program), Proxy: "HTTP_PROXY=http://127.0.0.1:1\nhttp_proxy=http://127.0.0.1:1\n"}
	console, ok := c.boot(b)
	wants(t, console, ok, true, " --proxy-file "+c.home+"/etc/proxy.env", "done")
	if got, err := os.ReadFile(filepath.Join(c.home, "etc/proxy.env")); err != nil || string(got) != b.Proxy {
		t.Errorf("got %s, %v; want the proxies for the units", got, err)
	}
}
