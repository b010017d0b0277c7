package googletest

import (
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/test/installed"
	"github.com/det-deploy/det-deploy/test/port"
)

// startLimit is the startup timeout of fake-gcs-server, which takes a moment, or longer on a loaded
// machine.
const startLimit = time.Minute

// FakeGCS starts fake-gcs-server, a third-party emulator of Cloud Storage, and returns a client
// that sends all requests to it, whatever their host. It is stopped at the end of the test. Its
// buckets belong to project number 0.
func FakeGCS(t testing.TB) *http.Client {
	t.Helper()
	client, _ := ServeGCS(t)
	return client
}

// ServeGCS is FakeGCS for other programs, which connect to its address, such as 127.0.0.1:4443.
func ServeGCS(t testing.TB) (client *http.Client, address string) {
	t.Helper()
	path := installed.File(t, "fake-gcs-server", "fake-gcs", "fake-gcs-server")
	number := strconv.Itoa(port.Free(t))
	address = "127.0.0.1:" + number
	cmd := exec.CommandContext(t.Context(), path, "-backend", "memory", "-scheme", "http", "-host", "127.0.0.1", "-port", number,
		"-public-host", address, "-external-url", "http://"+address, "-log-level", "error")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	client = &http.Client{Transport: redirected{host: address, next: &http.Transport{DisableKeepAlives: true}}}
	awaitAnswer(t, client)
	return client, address
}

func awaitAnswer(t testing.TB, client *http.Client) {
	t.Helper()
	for deadline := time.Now().Add(startLimit); ; {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://storage/storage/v1/b?project=p", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err == nil {
			_ = answer.Body.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("fake-gcs-server does not answer: %v", err)
		}
		if err := wait.For(t.Context(), 20*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
}

// redirected sends all requests to one host.
type redirected struct {
	host string
	next http.RoundTripper
}

// RoundTrip sends a request.
func (d redirected) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL = &url.URL{Scheme: "http", Host: d.host, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
	r.Host = d.host
	return d.next.RoundTrip(r)
}
