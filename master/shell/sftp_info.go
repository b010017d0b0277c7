package shell

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/sftp"
)

// info describes a file inside the container.
type info struct {
	name     string
	mode     fs.FileMode
	size     int64
	user     uint32
	group    uint32
	modified time.Time
}

var _ sftp.FileInfoUidGid = info{}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return i.modified }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }
func (i info) Uid() uint32        { return i.user }
func (i info) Gid() uint32        { return i.group }

// parseInfo reads what stat writes for the format fields. The program is the image's, and may write anything.
func parseInfo(text string) (info, error) {
	parts := strings.SplitN(text, " ", 6)
	if len(parts) < 6 {
		return info{}, wrongInfo(text)
	}
	mode, err := strconv.ParseUint(parts[0], 16, 32)
	numbers := make([]int64, 4)
	for n := range numbers {
		var failed error
		numbers[n], failed = strconv.ParseInt(parts[n+1], 10, 64)
		err = errors.Join(err, failed)
	}
	if err != nil {
		return info{}, wrongInfo(text)
	}
	return info{
		name: path.Base(parts[5]), mode: modeOf(uint32(mode)), size: numbers[0], user: uint32(numbers[1]), group: uint32(numbers[2]), //nolint:gosec // 32 bits
		modified: time.Unix(numbers[3], 0),
	}, nil
}

func wrongInfo(text string) error { return fmt.Errorf("the image's stat answered %.200q", text) }

// modeOf returns the mode of a file as Linux has it.
func modeOf(raw uint32) fs.FileMode {
	kinds := map[uint32]fs.FileMode{
		0o140000: fs.ModeSocket, 0o120000: fs.ModeSymlink, 0o060000: fs.ModeDevice, 0o040000: fs.ModeDir,
		0o020000: fs.ModeDevice | fs.ModeCharDevice, 0o010000: fs.ModeNamedPipe,
	}
	m := fs.FileMode(raw&0o777) | kinds[raw&0o170000]
	for bit, is := range map[uint32]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if raw&bit != 0 {
			m |= is
		}
	}
	return m
}

// Filelist describes a file, or those of a directory.
func (f *files) Filelist(r *sftp.Request) (sftp.ListerAt, error) {
	switch r.Method {
	case "Stat":
		return f.stat(`stat -L -c "$2" -- "$1"`, r.Filepath)
	case "List":
		return f.list(r.Filepath)
	}
	return nil, sftp.ErrSSHFxOpUnsupported
}

// list begins to list a directory.
func (f *files) list(dir string) (sftp.ListerAt, error) {
	leave, err := f.take()
	if err != nil {
		return nil, err
	}
	s, err := f.start(listFiles, dir, fields)
	if err != nil {
		leave()
		return nil, err
	}
	_ = s.CloseWrite()
	l := &listing{script: s, out: bufio.NewReaderSize(s.Stdout(), longestRecord), leave: leave}
	if _, err := l.out.Peek(1); err == nil {
		return l, nil
	}
	l.script = nil // the directory is empty, or not readable
	if err := s.end(); err != nil {
		leave()
		return nil, err
	}
	return l, nil
}

// Lstat describes a file. It does not follow symbolic links.
func (f *files) Lstat(r *sftp.Request) (sftp.ListerAt, error) {
	return f.stat(`stat -c "$2" -- "$1"`, r.Filepath)
}

func (f *files) stat(script, name string) (one, error) {
	if err := f.settle(name); err != nil {
		return one{}, err
	}
	out, err := f.run(script, name, fields)
	if err != nil {
		return one{}, err
	}
	i, err := parseInfo(strings.TrimSuffix(out, "\n"))
	return one(i), err
}

// Readlink returns the target of a symbolic link.
func (f *files) Readlink(name string) (string, error) {
	out, err := f.run(`[ -h "$1" ] || { echo "not a symbolic link" >&2; exit 1; }; readlink "$1"`, name)
	return strings.TrimSuffix(out, "\n"), err
}

// one is a list of one file.
type one info

func (o one) ListAt(to []fs.FileInfo, at int64) (int, error) {
	if at > 0 || len(to) == 0 {
		return 0, io.EOF
	}
	to[0] = info(o)
	return 1, nil
}

// longestRecord is the maximum length of a record. Names have at most 255 bytes.
const longestRecord = 4 << 10

// listing reads the files of a directory, one after the other.
type listing struct {
	script *script // nil at the end
	out    *bufio.Reader
	leave  func()
}

// ListAt returns the next files. Clients cannot go back.
func (l *listing) ListAt(to []fs.FileInfo, _ int64) (int, error) {
	n := 0
	for ; n < len(to) && l.script != nil; n++ {
		record, err := l.record()
		if err != nil {
			s := l.script
			l.script = nil
			if errors.Is(err, bufio.ErrBufferFull) {
				s.abort()
				return n, wrongInfo(record)
			}
			if err := s.end(); err != nil {
				return n, err
			}
			break
		}
		if to[n], err = parseInfo(record); err != nil {
			return n, err
		}
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// record returns the next record: a name may have newlines.
func (l *listing) record() (string, error) {
	b, err := l.out.ReadSlice('/')
	text := strings.TrimSuffix(string(b), "/")
	if err == nil {
		_, err = l.out.ReadByte() // the newline after it
	}
	return text, err
}

// Close ends the listing.
func (l *listing) Close() error {
	defer l.leave()
	if l.script != nil {
		l.script.abort()
		l.script = nil
	}
	return nil
}
