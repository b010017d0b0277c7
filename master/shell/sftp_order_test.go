package shell

import (
	"bytes"
	"context"
	"io"
	"testing"

	"golang.org/x/crypto/ssh"
)

// sent is a channel on which a client has sent packets.
type sent struct {
	ssh.Channel

	in  io.Reader
	out bytes.Buffer
}

func (s *sent) Read(b []byte) (int, error)  { return s.in.Read(b) }
func (s *sent) Write(b []byte) (int, error) { return s.out.Write(b) }
func (s *sent) Close() error                { return nil }

// next reads one packet as github.com/pkg/sftp does.
func next(r io.Reader) (kind byte, err error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(r, head); err != nil {
		return 0, err
	}
	body := make([]byte, head[3])
	_, err = io.ReadFull(r, body)
	return body[0], err
}

func TestNothingFollowsAnOpeningBeforeItsAnswer(t *testing.T) {
	t.Parallel()
	const initial, version, open, read, handle, data, list = 1, 2, 3, 5, 102, 103, 11
	packet := func(kind byte, rest ...byte) []byte {
		return append([]byte{0, 0, 0, byte(len(rest) + 1), kind}, rest...)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := newInOrder(ctx, &sent{in: bytes.NewReader(bytes.Join([][]byte{
		packet(initial, 3), packet(read), packet(read, 1, 2), packet(open, 1, 2, 3, 4, 5), packet(read), packet(read), packet(list), packet(read),
	}, nil))}, cancel)
	expect := func(ready bool, kinds ...byte) {
		t.Helper()
		for _, want := range kinds {
			if got, err := next(o); got != want || err != nil {
				t.Fatalf("got a packet of kind %d and %v, want kind %d", got, err, want)
			}
		}
		if got := o.isReady(); got != ready {
			t.Errorf("after %v: got ready %t", kinds, got)
		}
	}
	answer := func(b []byte) {
		if _, err := o.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	expect(true, initial, read, read)
	expect(false, open)
	answer(bytes.Join([][]byte{packet(version, 3), packet(data, 1), packet(data)}, nil))
	expect(false)
	opened := packet(handle, 1, 2, 3)
	answer(opened[:2])
	answer(opened[2:6])
	expect(false)
	answer(opened[6:])
	expect(true, read, read)
	expect(false, list)
	cancel()
	if _, err := next(o); err == nil {
		t.Error("got a packet after a directory that is still opened")
	}
}
