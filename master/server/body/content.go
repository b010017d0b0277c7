package body

import (
	"bufio"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
)

// section is the position of a file's content in a body.
type section struct {
	from, length int64 // without padding
	size         int64 // after decoding
}

// skipContent skips a base64 text, in either alphabet and with or without padding, and records its
// position.
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

// encoded counts the characters of a base64 text.
type encoded struct {
	letters, padding int64
	escaped          bool
}

// add reports whether the text is still valid base64. The only escape allowed in the JSON string is that
// of a slash.
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

// Content returns the content of the i-th file and its size, or an empty content if it has none. It may be
// read only once, and only until its Spool is closed.
func (s *Sifted) Content(i int) (content io.Reader, size int64) {
	at := s.contents[i]
	if at.length == 0 {
		return http.NoBody, 0
	}
	return &fileContent{from: s.from, at: at}, at.size
}

// fileContent decodes a file's content while it is read. It allocates nothing before the first read.
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

// plain converts base64 in a JSON string to the standard alphabet without escapes.
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

// CountValues returns the approximate number of JSON values in a body: lists, objects and their members.
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
