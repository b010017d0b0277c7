package body

import (
	"bufio"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
)

// section is where the content of a file is in a body.
type section struct {
	from, length int64 // without the padding
	size         int64 // decoded
}

// skipContent passes over a text that is base64, in either alphabet, with padding or
// without, and notes where it is.
func (s *sifter) skipContent(file int) error {
	if _, twice := s.contents[file]; twice {
		return &ContentError{file}
	}
	from := s.at
	var e encoded
	for end := false; !end; {
		part, err := s.in.ReadSlice('"')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		s.at += int64(len(part))
		if end = err == nil; end {
			part = part[:len(part)-1]
		}
		if !e.add(part) {
			return &ContentError{file}
		}
	}
	if !e.whole() {
		return &ContentError{file}
	}
	s.contents[file] = section{from: from, length: s.at - 1 - e.padding - from, size: e.letters * 3 / 4}
	s.rest = append(s.rest, `""`...)
	return nil
}

// encoded counts what a text of base64 consists of.
type encoded struct {
	letters, padding int64
	escaped          bool
}

// add reports whether it is base64 still. The one escape that base64 may have in JSON
// is that of a slash.
func (e *encoded) add(part []byte) bool {
	for _, c := range part {
		switch {
		case e.escaped && c != '/', c != '=' && e.padding > 0:
			return false
		case c == '=':
			e.padding++
		case c == '\\':
			e.escaped = true
			continue
		case letter(c):
			e.letters++
		default:
			return false
		}
		e.escaped = false
	}
	return e.padding <= 2
}

func (e *encoded) whole() bool {
	return !e.escaped && e.letters%4 != 1 && (e.padding == 0 || (e.letters+e.padding)%4 == 0)
}

func letter(c byte) bool {
	return 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '+' || c == '/' || c == '-' || c == '_'
}

// Content is the content of the i-th file and its size, nothing and 0 for one that had
// none. It may be read once, and until its Spool is closed.
func (s *Sifted) Content(i int) (content io.Reader, size int64) {
	at := s.contents[i]
	if at.length == 0 {
		return http.NoBody, 0
	}
	return &fileContent{from: s.from, at: at}, at.size
}

// fileContent is decoded as it is read, and takes no room before.
type fileContent struct {
	from    io.ReaderAt
	at      section
	decoder io.Reader
}

// Read implements io.Reader.
func (c *fileContent) Read(b []byte) (int, error) {
	if c.decoder == nil {
		in := io.NewSectionReader(c.from, c.at.from, c.at.length)
		c.decoder = base64.NewDecoder(base64.RawStdEncoding, &plain{bufio.NewReaderSize(in, int(min(c.at.length, 64<<10)))})
	}
	return c.decoder.Read(b)
}

// plain is base64 as it is without JSON, in the standard alphabet.
type plain struct{ from io.Reader }

// Read implements io.Reader.
func (p *plain) Read(b []byte) (int, error) {
	for {
		n, err := p.from.Read(b)
		kept := 0
		for _, c := range b[:n] {
			switch c {
			case '\\':
				continue
			case '-':
				c = '+'
			case '_':
				c = '/'
			}
			b[kept] = c
			kept++
		}
		if kept > 0 || n == 0 || err != nil {
			return kept, err
		}
	}
}

// CountValues is about how many values a body has: lists, objects and what is in them.
func CountValues(b []byte) int {
	n, text, escaped := 0, false, false
	for _, c := range b {
		switch {
		case text:
			text = c != '"' || escaped
			escaped = c == '\\' && !escaped
		case c == '"':
			text = true
		case c == ',' || c == '[' || c == '{':
			n++
		}
	}
	return n
}
