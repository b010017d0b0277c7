package wire

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// text is a writer for several goroutines.
type text struct {
	mu sync.Mutex // guards b
	b  strings.Builder
}

func (t *text) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(b)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// A server that sends more than it was asked for makes net/http log the rest.
//
//nolint:paralleltest // it changes the standard logger
func TestServersCannotWriteIntoTheLog(t *testing.T) {
	flags, out := log.Flags(), log.Writer()
	t.Cleanup(func() { log.SetFlags(flags); log.SetOutput(out) })
	for level, want := range map[string]bool{"info": false, "debug": true} {
		var got text
		takeOverLog(logHandler(&got, level, false, false))
		visitChatty(t)
		log.Print("the line of another library")
		if logged := strings.Contains(got.String(), "level=DEBUG") && strings.Contains(got.String(), "the line of another"); logged != want {
			t.Errorf("level %s: got %q", level, got.String())
		}
		if !want && got.String() != "" {
			t.Errorf("level %s: got %q, want nothing", level, got.String())
		}
	}
}

// visitChatty visits a server that sends a second answer after the first, and waits until that is noticed.
func visitChatty(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = c.Read(make([]byte, 1024))
		_, _ = fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 unasked\r\n\r\n")
		_, _ = io.Copy(io.Discard, c) // until the client closes it
		_ = c.Close()
	}()
	transport := &http.Transport{}
	res, err := (&http.Client{Transport: transport}).Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	<-closed
	_ = l.Close()
	transport.CloseIdleConnections()
}
