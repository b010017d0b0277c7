package link

import (
	"bytes"
	"errors"
	"net"
	"testing"
)

// written is a connection that keeps each write.
type written struct {
	net.Conn
	all []string
	err error
}

func (w *written) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	w.all = append(w.all, string(p))
	return len(p), nil
}

func TestWhatIsSentTogetherIsOneWrite(t *testing.T) {
	t.Parallel()
	w := &written{}
	g := &gathered{Conn: w}
	send := func(text string) {
		t.Helper()
		if n, err := g.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatalf("got %d, %v", n, err)
		}
	}
	send("a")
	g.hold()
	send("b")
	send("c")
	if len(w.all) != 1 {
		t.Errorf("while it is held it writes %q", w.all[1:])
	}
	if err := g.release(); err != nil {
		t.Fatal(err)
	}
	send("d")
	g.hold()
	if err := g.release(); err != nil || len(w.all) != 3 || w.all[1] != "bc" || w.all[2] != "d" {
		t.Errorf("got %q, %v", w.all, err)
	}
}

func TestWhatIsLargeDoesNotWaitAndStaysInOrder(t *testing.T) {
	t.Parallel()
	w := &written{}
	g := &gathered{Conn: w}
	large := bytes.Repeat([]byte("x"), gatherMost)
	g.hold()
	for _, p := range [][]byte{[]byte("a"), large, []byte("b")} {
		if _, err := g.Write(p); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.all) != 2 || w.all[0] != "a" || w.all[1] != string(large) {
		t.Errorf("while it is held got %d writes, want what is small before what is large", len(w.all))
	}
	if err := g.release(); err != nil || len(w.all) != 3 || w.all[2] != "b" {
		t.Errorf("got %d writes, %v", len(w.all), err)
	}
}

func TestThatWhatWaitedIsLostIsSaid(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	c := &Conn{out: &gathered{Conn: &written{err: broken}}}
	err := c.Together(func() error {
		_, err := c.out.Write([]byte("a"))
		return err
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if err := c.Together(func() error { return nil }); err != nil {
		t.Errorf("with nothing to send: got %v", err)
	}
}
