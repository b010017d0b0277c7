package agentrm

import (
	"bytes"
	"net"
	"strings"
	"testing"
	"time"
)

// recorder is a connection that notes each write.
type recorder struct {
	net.Conn
	writes []string
	fail   error
	limit  time.Time
}

func (r *recorder) Write(p []byte) (int, error) {
	r.writes = append(r.writes, string(p))
	return len(p), r.fail
}

func (r *recorder) SetWriteDeadline(t time.Time) error {
	r.limit = t
	return nil
}

func TestWhatIsHeldLeavesTogetherAndInOrder(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	o := &outgoing{Conn: r}
	say := func(texts ...string) {
		t.Helper()
		for _, text := range texts {
			if n, err := o.Write([]byte(text)); err != nil || n != len(text) {
				t.Errorf("wrote %d of %d bytes: %v", n, len(text), err)
			}
		}
	}
	large := string(bytes.Repeat([]byte("x"), mostKept))
	say("a", "b")
	o.hold()
	say("c", "d")
	if got := strings.Join(r.writes, "|"); got != "a|b" {
		t.Errorf("got %q before it was released", got)
	}
	if err := o.release(time.Minute); err != nil || !r.limit.IsZero() || o.kept != nil {
		t.Errorf("got %v, with a limit until %v and %d bytes left", err, r.limit, len(o.kept))
	}
	o.hold()
	say("e", large, "f")
	if err := o.release(time.Minute); err != nil {
		t.Error(err)
	}
	say("g")
	if got := strings.Join(r.writes, "|"); got != "a|b|cd|e|"+large+"|f|g" {
		t.Errorf("got %d writes of %d bytes", len(r.writes), len(got))
	}
	o.hold()
	say("h")
	r.fail = net.ErrClosed
	if err := o.release(time.Minute); err == nil {
		t.Error("got no error of a connection that is closed")
	}
}
