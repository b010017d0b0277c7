package shell

import (
	"context"
	"encoding/binary"
	"io"
	"sync"

	"golang.org/x/crypto/ssh"
)

// inOrder is the channel of a client of sftp. Between a packet that opens a file and its answer it passes on no
// other: github.com/pkg/sftp would use the file while it is opened. What the client has started ends with it.
type inOrder struct {
	ssh.Channel

	// end ends what was started, after which ended is closed.
	end   context.CancelFunc
	ended <-chan struct{}

	mu sync.Mutex // guards in and out
	// in are the requests of the client, and out the answers, one for each in the same order.
	in, out packets
	// answered receives a value when a request was answered.
	answered chan struct{}
}

func newInOrder(ctx context.Context, c ssh.Channel, end context.CancelFunc) *inOrder {
	return &inOrder{Channel: c, end: end, ended: ctx.Done(), answered: make(chan struct{}, 1)}
}

// Read reads at most the rest of a packet.
func (o *inOrder) Read(b []byte) (int, error) {
	for !o.isReady() {
		select {
		case <-o.answered:
		case <-o.ended:
			return 0, io.ErrUnexpectedEOF
		}
	}
	n, err := o.Channel.Read(b[:min(len(b), o.in.left())])
	o.mu.Lock()
	o.in.add(b[:n])
	o.mu.Unlock()
	if err != nil {
		o.end()
	}
	return n, err
}

// isReady reports whether the client's next packet may follow.
func (o *inOrder) isReady() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	const openFile, openDirectory = 3, 11
	opens := o.in.last == openFile || o.in.last == openDirectory
	return o.in.at > 0 || !opens || o.out.count >= o.in.count
}

// Write writes a part of an answer.
func (o *inOrder) Write(b []byte) (int, error) {
	n, err := o.Channel.Write(b)
	o.mu.Lock()
	o.out.add(b)
	o.mu.Unlock()
	select {
	case o.answered <- struct{}{}:
	default:
	}
	return n, err
}

// Close closes the channel.
func (o *inOrder) Close() error {
	o.end()
	return o.Channel.Close()
}

// packets follows the packets in one direction. Each begins with the length of its rest, and its kind.
type packets struct {
	head [5]byte
	// at is the number of bytes of the current packet.
	at int
	// count is the number of whole packets, and last the kind of the last one.
	count int
	last  byte
}

const lengthSize = 4

// left returns how much is left of the length of a packet, or of its rest.
func (p *packets) left() int {
	if p.at < lengthSize {
		return lengthSize - p.at
	}
	return lengthSize + int(binary.BigEndian.Uint32(p.head[:])) - p.at
}

func (p *packets) add(b []byte) {
	for len(b) > 0 {
		n := min(len(b), p.left())
		if p.at < len(p.head) {
			copy(p.head[p.at:], b[:n])
		}
		p.at += n
		b = b[n:]
		if p.at >= lengthSize && p.left() == 0 {
			p.at, p.count, p.last = 0, p.count+1, p.head[lengthSize]
		}
	}
}
