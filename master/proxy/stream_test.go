package proxy_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// connect opens a websocket to a service.
func (w *world) connect(path string) *websocket.Conn {
	w.t.Helper()
	ws, res, err := websocket.Dial(w.t.Context(), w.server.URL+path, &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + w.login("determined")}},
	})
	if err != nil {
		w.t.Fatalf("connect to %s: %v (%v)", path, err, res)
	}
	w.t.Cleanup(func() { _ = ws.CloseNow() })
	return ws
}

func TestWebsocketsPass(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.run("t1", 80, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(rw, r, nil)
		if err != nil {
			return
		}
		for {
			kind, b, err := ws.Read(r.Context())
			if err != nil || ws.Write(r.Context(), kind, b) != nil {
				return
			}
		}
	}))
	ws := w.connect("/proxy/t1/kernel")
	if err := ws.Write(t.Context(), websocket.MessageText, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, b, err := ws.Read(t.Context()); err != nil || string(b) != "hello" {
		t.Fatalf("got %q and %v, want the echo", b, err)
	}
	w.stop()
	if _, _, err := ws.Read(t.Context()); err == nil {
		t.Error("the websocket is open after the master has stopped")
	}
}

// listenTCP starts a program that responds to a line and then closes.
func (w *world) listenTCP(id string) {
	w.t.Helper()
	l, err := (&net.ListenConfig{}).Listen(w.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				b := make([]byte, 5)
				if _, err := io.ReadFull(conn, b); err == nil {
					_, _ = io.WriteString(conn, strings.ToUpper(string(b)))
				}
			}()
		}
	}()
	w.listen(id, 22, l.Addr().String())
	s := w.services[id]
	s.TCP = true
	w.services[id] = s
}

func TestTunnelsCarryTCP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.listenTCP("t1")
	ws := w.connect("/proxy/t1:22/")
	for _, m := range []struct {
		kind websocket.MessageType
		text string
	}{{websocket.MessageBinary, "he"}, {websocket.MessageText, "ignored"}, {websocket.MessageBinary, "llo"}} {
		if err := ws.Write(t.Context(), m.kind, []byte(m.text)); err != nil {
			t.Fatal(err)
		}
	}
	if kind, b, err := ws.Read(t.Context()); err != nil || string(b) != "HELLO" || kind != websocket.MessageBinary {
		t.Errorf("got %q and %v, want the response", b, err)
	}
	if _, _, err := ws.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("got %v, want the end of the connection", err)
	}
	if res := w.get("/proxy/t1/", bearer(w.login("determined"))); res.StatusCode != http.StatusUpgradeRequired {
		t.Errorf("got %d for a page, want %d", res.StatusCode, http.StatusUpgradeRequired)
	}
}

func TestTunnelsEndWithTheirEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.listenTCP("t1")
	large := w.connect("/proxy/t1/")
	if err := large.Write(t.Context(), websocket.MessageBinary, make([]byte, 2<<20)); err == nil {
		brief, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		for err == nil { // what came of the message before its limit is answered
			_, _, err = large.Read(brief)
		}
		if brief.Err() != nil {
			t.Error("a message of 2 MB is accepted")
		}
	}
	silent := w.connect("/proxy/t1/")
	w.stop()
	if _, _, err := silent.Read(t.Context()); err == nil {
		t.Error("the tunnel is open after the master has stopped")
	}
}

func TestOpenRequestsAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	block := make(chan struct{})
	arrived := make(chan struct{}, 300)
	w.run("t1", 80, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived <- struct{}{}; <-block }))
	token := w.login("determined")
	done := make(chan struct{})
	for range 128 {
		go func() {
			defer func() { done <- struct{}{} }()
			w.get("/proxy/t1/", bearer(token))
		}()
	}
	for range 128 {
		select {
		case <-arrived:
		case <-time.After(time.Minute):
			t.Fatal("not all requests arrive")
		}
	}
	if res := w.get("/proxy/t1/", bearer(token)); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("got %d for one more, want %d", res.StatusCode, http.StatusServiceUnavailable)
	}
	close(block)
	for range 128 {
		<-done
	}
	if res := w.get("/proxy/t1/", bearer(token)); res.StatusCode != http.StatusOK {
		t.Errorf("got %d afterwards, want 200", res.StatusCode)
	}
}
