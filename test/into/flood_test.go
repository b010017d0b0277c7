package into_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/det-deploy/det-deploy/test/rest"
)

// A thousand connections to one port are bounded with an answer, and others still work.
func TestAThousandConnections(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	w := newWorld(t)
	s, other := w.serve(false), w.serve(false)
	w.answers(s, "before")
	before := w.open()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const all, most = 1000, 128
	refused := make(chan string, all)
	var open sync.WaitGroup
	for range all {
		open.Go(func() {
			if code, said, err := w.get(ctx, s.path("hang")); err == nil {
				refused <- fmt.Sprint(code, " ", said)
			}
		})
	}
	for range all - most {
		select {
		case said := <-refused:
			if !strings.HasPrefix(said, "503 ") || !strings.Contains(said, "maximum number of open requests") {
				t.Errorf("got %s for one too many", said)
			}
		case <-time.After(patience):
			t.Fatal("not all requests beyond the maximum are refused")
		}
	}
	w.answers(other, "meanwhile")
	if out := w.Run("task", "exec", s.task, "--", "echo", "entered"); out != "entered\n" {
		t.Errorf("got %q of a program meanwhile", out)
	}
	cancel()
	open.Wait()
	w.answers(s, "afterwards")
	w.holdsNothing(before)
}

// What never ends holds nothing once its visitor has left.
func TestEndlessAnswersAndUploads(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	w := newWorld(t)
	s := w.serve(false)
	w.answers(s, "before")
	before := w.open()
	if code, said, err := w.get(t.Context(), s.path("header")); code != http.StatusBadGateway || err != nil {
		t.Errorf("got %d %s, %v for an endless header, want 502", code, said, err)
	}
	for range 20 {
		if code, _, err := w.get(t.Context(), s.path("endless")); code != http.StatusOK || err != nil { // the body is not read to its end
			t.Fatalf("got %d, %v for an endless answer", code, err)
		}
		conn := w.dial()
		if _, err := io.WriteString(conn, strings.ReplaceAll("POST "+s.path("hang")+" HTTP/1.1\n"+w.headers()+"Content-Length: 10000000000\n\n", "\n", "\r\n")); err != nil {
			t.Fatal(err)
		}
		_ = conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)) // the service reads nothing
		_, _ = io.CopyN(conn, zeros{}, 64<<20)
		_ = conn.Close()
	}
	w.answers(s, "afterwards")
	w.holdsNothing(before)
	if most := peakMemory(t, w.Master.Process.Pid); most > 600<<20 {
		t.Errorf("the master needed %d MiB", most>>20)
	}
}

type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// peakMemory returns the largest memory of a process so far.
func peakMemory(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatal("its memory is unknown")
	return 0
}

// A frame of 1 GB is not read into memory, wherever it arrives.
func TestLargeFrames(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	w := newWorld(t)
	s := w.serve(true)
	port := strconv.Itoa(s.port)
	before := w.open()
	for _, path := range []string{s.path(""), "/api/v1/tasks/" + s.task + "/port?port=" + port, "/api/v1/tasks/" + s.task + "/exec?argv=cat"} {
		for range 4 {
			w.sendLargeFrame(path)
		}
	}
	if most := peakMemory(t, w.Master.Process.Pid); most > 600<<20 {
		t.Errorf("the master needed %d MiB", most>>20)
	}
	w.holdsNothing(before)
}

// sendLargeFrame begins a frame of 1 GiB and expects the end of the connection.
func (w *world) sendLargeFrame(path string) {
	w.T.Helper()
	var conn net.Conn
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (_ net.Conn, err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return conn, err
	}}
	ws, _, err := websocket.Dial(w.T.Context(), w.URL+path, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport}, HTTPHeader: http.Header{"Authorization": {"Bearer " + w.token}},
	})
	if err != nil {
		w.T.Fatalf("%s: %v", path, err)
	}
	defer func() { _ = ws.CloseNow() }()
	frame := binary.BigEndian.AppendUint64([]byte{0x82, 0x80 | 127}, 1<<30) // the end of a binary message, masked by zeros
	if _, err := conn.Write(append(frame, 0, 0, 0, 0)); err != nil {
		w.T.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	if n, err := io.CopyN(conn, zeros{}, 1<<30); err == nil {
		w.T.Errorf("%s: a frame of %d bytes is accepted", path, n)
	} else if os.IsTimeout(err) {
		w.T.Errorf("%s: the connection does not end", path)
	}
}
