package server

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/server/guard"
)

// pipes is a listener with in-memory connections, whose deadlines use the fake clock of synctest.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { close(p.closed); return nil }

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	p.conns <- server
	return client, nil
}

// A log may be silent for any time at any point, and its end still arrives, so that clients can
// distinguish it from a broken connection.
func TestSilentStreamIsComplete(t *testing.T) {
	t.Parallel()
	one, two := new(http.Protocols), new(http.Protocols)
	one.SetHTTP1(true)
	two.SetUnencryptedHTTP2(true)
	for name, protocols := range map[string]*http.Protocols{"HTTP/1.1": one, "HTTP/2": two} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { testSilentStream(t, protocols) })
		})
	}
}

func testSilentStream(t *testing.T, protocols *http.Protocols) {
	t.Helper()
	s := &shared{stopping: make(chan struct{}), streams: guard.NewWaits(0)}
	stream := streamCall(s, func(ctx context.Context, _ *call, send func(*apiv1.TaskLogsResponse) error) error {
		for _, text := range []string{"a", "b"} {
			_ = wait.For(ctx, 10*writeTime)
			if err := send(&apiv1.TaskLogsResponse{Log: text}); err != nil {
				return err
			}
		}
		return wait.For(ctx, 10*writeTime)
	})
	l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	hs := &http.Server{Protocols: protocols, ReadHeaderTimeout: headerTime, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := stream.serve(&call{Request: r, w: w, user: &apiv1.User{Id: 1}}); err != nil {
			t.Error(err)
		}
	})}
	go hs.Serve(l)   //nolint:errcheck // it ends with the test
	defer hs.Close() //nolint:errcheck // as above
	client := &http.Client{Transport: &http.Transport{Protocols: protocols, DialContext: l.dial}}
	defer client.CloseIdleConnections()
	begun := time.Now()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://master/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(resp.Body)
	var lines int
	for _, b := range text {
		if b == '\n' {
			lines++
		}
	}
	if err != nil || lines != 2 {
		t.Errorf("got %q and %v, want 2 lines and the end", text, err)
	}
	if took := time.Since(begun); took < 30*writeTime {
		t.Errorf("it took %v, want the pauses in it", took)
	}
}
