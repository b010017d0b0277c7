package shim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// filesEach is how many files come with an order.
const filesEach = 3

// readSize is how much is read at once.
const readSize = 16 << 10

// packets reads messages and the files that come with them.
type packets struct {
	conn *net.UnixConn
	// held are the bytes and fds the files that were read and not taken.
	held []byte
	fds  []int
	oob  [256]byte
}

// next is one message. It is valid until the next.
func (p *packets) next() (kind byte, body reader, err error) {
	for len(p.held) < lengthBytes {
		if err := p.read(); err != nil {
			return 0, reader{}, err
		}
	}
	size := int(binary.BigEndian.Uint32(p.held))
	if size == 0 || size > mostBytes {
		return 0, reader{}, errGarbled
	}
	for len(p.held) < lengthBytes+size {
		if err := p.read(); err != nil {
			return 0, reader{}, err
		}
	}
	message := p.held[lengthBytes : lengthBytes+size]
	p.held = p.held[lengthBytes+size:]
	return message[0], reader{rest: message[1:]}, nil
}

func (p *packets) read() error {
	if cap(p.held)-len(p.held) < readSize/2 {
		p.held = append(make([]byte, 0, len(p.held)*2+readSize), p.held...)
	}
	free := p.held[len(p.held):cap(p.held)]
	n, oobn, flags, _, err := p.conn.ReadMsgUnix(free, p.oob[:])
	if oobn > 0 {
		if cerr := p.takeFiles(p.oob[:oobn]); err == nil {
			err = cerr
		}
	}
	switch {
	case err != nil:
		return err
	case flags&unix.MSG_CTRUNC != 0:
		return fmt.Errorf("take the files of a task: %w", unix.EMFILE)
	case n == 0:
		return io.EOF
	}
	p.held = p.held[:len(p.held)+n]
	return nil
}

func (p *packets) takeFiles(oob []byte) error {
	messages, err := unix.ParseSocketControlMessage(oob)
	for _, m := range messages {
		fds, ferr := unix.ParseUnixRights(&m)
		p.fds, err = append(p.fds, fds...), errors.Join(err, ferr)
	}
	return err
}

// files are those of the next order.
func (p *packets) files() (fds [filesEach]int, err error) {
	if len(p.fds) < filesEach {
		return fds, errGarbled
	}
	copy(fds[:], p.fds)
	p.fds = p.fds[filesEach:]
	return fds, nil
}

func (p *packets) close() {
	_ = p.conn.Close()
	for _, fd := range p.fds {
		_ = unix.Close(fd)
	}
}

// send writes a message, and the files with its first byte.
func send(conn *net.UnixConn, message []byte, files ...*os.File) error {
	var oob []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		oob = unix.UnixRights(fds...)
	}
	for len(message) > 0 {
		n, _, err := conn.WriteMsgUnix(message[:min(len(message), math.MaxInt16)], oob, nil)
		if err != nil {
			return err
		}
		message, oob = message[n:], nil
	}
	return nil
}

// checkPeer refuses a process of another user at the other end.
func checkPeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Ucred
	var cerr error
	if err := raw.Control(func(fd uintptr) { cred, cerr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return err
	}
	if cerr != nil {
		return cerr
	}
	if int(cred.Uid) != os.Geteuid() {
		return fmt.Errorf("process %d of user %d is at the other end", cred.Pid, cred.Uid)
	}
	return nil
}
