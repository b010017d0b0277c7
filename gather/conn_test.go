package gather_test

import (
	"bytes"
	"errors"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/gather"
)

// recorder is a connection that notes each write, and when it would have given up.
type recorder struct {
	net.Conn
	writes []string
	fail   error
	limits []time.Time
}

func (r *recorder) Write(p []byte) (int, error) {
	if r.fail != nil {
		return 0, r.fail
	}
	r.writes = append(r.writes, string(p))
	return len(p), nil
}

func (r *recorder) SetWriteDeadline(t time.Time) error {
	r.limits = append(r.limits, t)
	return nil
}

func write(t *testing.T, c *gather.Conn, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if n, err := c.Write([]byte(text)); err != nil || n != len(text) {
			t.Errorf("wrote %d of %d bytes: %v", n, len(text), err)
		}
	}
}

func release(t *testing.T, c *gather.Conn) {
	t.Helper()
	if err := c.Release(time.Minute); err != nil {
		t.Error(err)
	}
}

func TestWhatIsHeldIsOneWrite(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	c := &gather.Conn{Conn: r}
	write(t, c, "a", "b")
	c.Hold()
	write(t, c, "c", "d")
	if want := []string{"a", "b"}; !slices.Equal(r.writes, want) {
		t.Errorf("got %q before it was released, want %q", r.writes, want)
	}
	release(t, c)
	write(t, c, "e")
	c.Hold()
	release(t, c)
	if want := []string{"a", "b", "cd", "e"}; !slices.Equal(r.writes, want) {
		t.Errorf("got %q, want %q", r.writes, want)
	}
}

func TestWhatIsLargeDoesNotWaitAndStaysInOrder(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	c := &gather.Conn{Conn: r}
	large := string(bytes.Repeat([]byte("x"), gather.Most))
	c.Hold()
	write(t, c, "a", large, "b")
	if want := []string{"a", large}; !slices.Equal(r.writes, want) {
		t.Errorf("got %d writes while it is held, want what is small before what is large", len(r.writes))
	}
	release(t, c)
	if want := []string{"a", large, "b"}; !slices.Equal(r.writes, want) {
		t.Errorf("got %d writes, want 3", len(r.writes))
	}
}

func TestALimitIsOfOneReleaseOnly(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	c := &gather.Conn{Conn: r}
	c.Hold()
	release(t, c)
	if len(r.limits) != 0 {
		t.Errorf("got limits %v with nothing to write", r.limits)
	}
	c.Hold()
	write(t, c, "a")
	before := time.Now()
	release(t, c)
	if len(r.limits) != 2 || r.limits[0].Before(before.Add(time.Minute)) || !r.limits[1].IsZero() {
		t.Errorf("got limits %v, want one in a minute and then none", r.limits)
	}
}

func TestThatWhatGatheredIsLostIsSaid(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	r := &recorder{}
	c := &gather.Conn{Conn: r}
	c.Hold()
	write(t, c, "a")
	r.fail = broken
	if err := c.Release(time.Minute); !errors.Is(err, broken) {
		t.Errorf("got %v of a release, want that the connection is broken", err)
	}
	c.Hold()
	write(t, c, "b")
	large := bytes.Repeat([]byte("x"), gather.Most)
	if n, err := c.Write(large); n != 0 || !errors.Is(err, broken) {
		t.Errorf("wrote %d bytes with %v of what follows, want that the connection is broken", n, err)
	}
}
