package rootfs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Where the child of a first process has its order, and how much of it at most: more than a program may
// have of arguments and variables.
const (
	orderBase = 0x10000000
	orderMost = 0x1000000
)

// A record is a call of an order: its number, six arguments, which of the following it is,
// and where the words are, and how many, that come before what went wrong.
const (
	recordNeeded = iota
	recordOptional
	recordTry
	recordScript
	recordEnd

	recordSize = 10 * 8
)

// Order is a file without a name with the system calls by which the child of a first process becomes the
// program: with what is mounted in the namespace that is open as 5, as Credential, in Dir, with what is open as
// 0, 1 and 2. What cannot be done it says on 2, and ends with 126, or with 127 where there is no such program, as
// a shell does. With open, all users may write in what the program makes. The program's arguments and
// variables, secrets among them, stand in no other place.
func (p Program) Order(open bool) (*os.File, error) {
	s := &steps{there: &memory{data: make([]byte, 8), texts: map[string]uintptr{}}}
	s.add("change the mount namespace", unix.SYS_SETNS, firstMounts, unix.CLONE_NEWNS)
	s.add("close the lock", unix.SYS_CLOSE, firstStatus)
	s.add("close the order", unix.SYS_CLOSE, firstOrder)
	s.add("close the mount namespace", unix.SYS_CLOSE, firstMounts)
	if p.Credential != nil {
		s.becomeUser(p.Credential)
	}
	if open {
		s.add("open what is made to all", unix.SYS_UMASK, 0)
	}
	if p.Dir != "" {
		s.add("enter "+p.Dir, unix.SYS_CHDIR, s.text(p.Dir))
	}
	p.addExec(s)
	s.addRecords("exec: " + p.Argv[0])
	if s.err != nil {
		return nil, s.err
	}
	return s.there.file()
}

// addRecords writes down the steps, and last that there is no such program.
func (s *steps) addRecords(refused string) {
	m := s.there
	records := make([]uint64, 0, (len(s.list)+1)*recordSize/8)
	add := func(number uintptr, args [6]uintptr, mode uint64, what string) {
		what += ": "
		records = append(records, uint64(number))
		for _, a := range args {
			records = append(records, uint64(a))
		}
		records = append(records, mode, uint64(m.put([]byte(what))), uint64(len(what)))
	}
	for i := range s.list {
		c := &s.list[i]
		add(c.number, c.args, c.mode(), c.what)
	}
	add(0, [6]uintptr{}, recordEnd, refused)
	first := uint64(m.putWords(records))
	binary.LittleEndian.PutUint64(m.data, first)
}

func (c *step) mode() uint64 {
	switch {
	case c.kind == try:
		return recordTry
	case c.kind == script:
		return recordScript
	case c.optional:
		return recordOptional
	default:
		return recordNeeded
	}
}

// numbers is a list that lives as long as the steps.
func (s *steps) numbers(list []uint32) uintptr {
	if len(list) == 0 {
		return 0
	}
	if s.there != nil {
		b := make([]byte, 0, 4*len(list))
		for _, n := range list {
			b = binary.LittleEndian.AppendUint32(b, n)
		}
		return s.there.putAligned(b)
	}
	list = slices.Clone(list)
	s.keep = append(s.keep, list)
	return addressOf(list)
}

// memory is what another process will have at orderBase.
type memory struct {
	data []byte
	// texts are where the C strings are: the arguments are in the list of each attempt.
	texts map[string]uintptr
}

// put says where the bytes will be.
func (m *memory) put(b []byte) uintptr {
	at := orderBase + uintptr(len(m.data))
	m.data = append(m.data, b...)
	return at
}

// putText puts a C string, once.
func (m *memory) putText(t string) uintptr {
	at, found := m.texts[t]
	if !found {
		at = m.put(append([]byte(t), 0))
		m.texts[t] = at
	}
	return at
}

func (m *memory) putAligned(b []byte) uintptr {
	m.data = append(m.data, make([]byte, -len(m.data)&7)...)
	return m.put(b)
}

func (m *memory) putWords(words []uint64) uintptr {
	b := make([]byte, 0, 8*len(words))
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return m.putAligned(b)
}

// putTexts puts C strings, and a list of where they are that ends.
func (m *memory) putTexts(list []string) uintptr {
	at := make([]uint64, len(list)+1)
	for i, t := range list {
		at[i] = uint64(m.putText(t))
	}
	return m.putWords(at)
}

// file has the memory in it.
func (m *memory) file() (*os.File, error) {
	if len(m.data) > orderMost {
		return nil, fmt.Errorf("arguments and variables of %d bytes: %w", len(m.data), unix.E2BIG)
	}
	fd, err := unix.MemfdCreate(firstName, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("write down the program: %w", err)
	}
	f := os.NewFile(uintptr(fd), firstName)
	if _, err := f.Write(m.data); err != nil {
		return nil, errors.Join(fmt.Errorf("write down the program: %w", err), f.Close())
	}
	return Above(f)
}
