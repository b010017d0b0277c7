package agentv1

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"strings"
)

// ErrNoArchive is returned by ContextArchive for a response in another format.
var ErrNoArchive = errors.New("invalid response from the master")

// ContextArchive locates the gzipped tar in the master's response with the files of a task, {"b64Tgz":
// "…"}, without buffering all of it. It returns nil if there is no archive, and io.ErrUnexpectedEOF for
// a truncated response. Base64 has no characters that JSON escapes.
func ContextArchive(body io.Reader) (io.Reader, error) {
	r := bufio.NewReaderSize(body, 64<<10)
	for _, want := range []string{"{", `"b64Tgz"`, ":", `"`} {
		for _, c := range []byte(want) {
			got, err := nextByte(r, c == want[0])
			if errors.Is(err, io.EOF) || err == nil && got == '}' {
				return nil, unexpectedEOF(err)
			}
			if err != nil {
				return nil, err
			}
			if got != c {
				return nil, ErrNoArchive
			}
		}
	}
	text := &quoted{r: r}
	first, err := r.Peek(1)
	if err != nil {
		return nil, unexpectedEOF(err)
	}
	if first[0] == '"' {
		return nil, nil //nolint:nilnil // the task has no files
	}
	return base64.NewDecoder(base64.StdEncoding, text), nil
}

// unexpectedEOF returns io.ErrUnexpectedEOF for the io.EOF of a truncated response.
func unexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// nextByte returns the next byte; skip skips white space.
func nextByte(r *bufio.Reader, skip bool) (byte, error) {
	for {
		c, err := r.ReadByte()
		if err != nil || !skip || !strings.ContainsRune(" \t\r\n", rune(c)) {
			return c, err
		}
	}
}

// quoted reads up to a quotation mark. It returns io.ErrUnexpectedEOF for a truncated response.
type quoted struct {
	r    *bufio.Reader
	done bool
}

func (q *quoted) Read(p []byte) (int, error) {
	if q.done || len(p) == 0 {
		return 0, io.EOF
	}
	n, err := q.r.Read(p)
	if i := bytes.IndexByte(p[:n], '"'); i >= 0 {
		q.done = true
		return i, io.EOF
	}
	return n, unexpectedEOF(err)
}
