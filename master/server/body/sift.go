package body

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Limits bounds the memory that a body may use.
type Limits struct {
	// Rest is the maximum number of bytes without file contents, and Files the maximum number of files.
	Rest, Files int
	// Values is the maximum number of JSON values outside of the files. A list of numbers takes fifty
	// times its length in memory.
	Values int
}

// valuesEach is the maximum number of JSON values per file, which has eight fields.
const valuesEach = 16

// LimitError reports a body that exceeds a limit.
type LimitError struct {
	What string
	Most int
}

// Error implements error. It names the limit.
func (e *LimitError) Error() string {
	return fmt.Sprintf("the request body has more than %d %s; send smaller requests", e.Most, e.What)
}

// ContentError reports file content that is not base64.
type ContentError struct{ File int }

// Error implements error. It names the file.
func (e *ContentError) Error() string {
	return fmt.Sprintf("files[%d].content: is not base64", e.File)
}

// Sifted is a body after its file contents were extracted.
type Sifted struct {
	// Rest is the body with an empty string in place of each file's content.
	Rest []byte

	from     io.ReaderAt
	contents map[int]section
}

// atOnce is the maximum body size in bytes for which the rest is allocated in advance. Larger bodies
// consist mostly of file contents.
const atOnce = 16 << 20

// Sift extracts the file contents of a body. It does not validate the JSON, which is left to the decoder.
// It returns a *LimitError, a *ContentError or a read error.
func (s *Spool) Sift(l Limits) (*Sifted, error) { return sift(s.file, s.size, l) }

func sift(from io.ReaderAt, size int64, l Limits) (*Sifted, error) {
	s := &sifter{in: bufio.NewReaderSize(io.NewSectionReader(from, 0, size), 64<<10), limits: l, contents: map[int]section{}}
	if size <= atOnce {
		s.rest = make([]byte, 0, min(size, int64(l.Rest)))
	}
	for {
		err := s.step()
		if errors.Is(err, io.EOF) {
			return &Sifted{Rest: s.rest, from: from, contents: s.contents}, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// files is the nesting depth of a file's fields: {"files": [{...
const files = 3

// holdsFiles reports whether a list with this name holds the files of a task or an experiment.
func holdsFiles(key string) bool {
	switch key {
	case "files", "modelDefinition", "model_definition", "contextDirectory", "context_directory":
		return true
	}
	return false
}

// level is an open object or list.
type level struct {
	list bool
	key  string // of an object: its last key
	item int    // of a list: the index of the current item
}

// sifter scans a body once. It recognizes only strings and nesting.
type sifter struct {
	in     *bufio.Reader
	at     int64 // bytes read
	limits Limits

	depth  int
	levels [files + 1]level
	isKey  bool // the next string is a key of an object in levels
	space  bool
	values int // outside of the files
	inside int // inside the files

	rest     []byte
	contents map[int]section
}

func (s *sifter) step() error {
	c, err := s.in.ReadByte()
	if err != nil {
		return err
	}
	s.at++
	switch c {
	case ' ', '\t', '\r', '\n':
		return s.blank()
	case '"':
		s.space = false
		return s.text()
	case '{', '[':
		s.open(c == '[')
	case '}', ']':
		s.depth--
		s.isKey = false
	case ',':
		s.count()
		if l, known := s.level(); known {
			l.item++
			s.isKey = !l.list
		}
	}
	s.space = false
	s.rest = append(s.rest, c)
	return s.check()
}

// blank collapses whitespace, so that a body of blanks takes no memory.
func (s *sifter) blank() error {
	if !s.space {
		s.rest = append(s.rest, ' ')
	}
	s.space = true
	return s.check()
}

func (s *sifter) open(list bool) {
	s.count()
	s.depth++
	if l, known := s.level(); known {
		*l = level{list: list}
		s.isKey = !list
	} else {
		s.isKey = false
	}
}

func (s *sifter) level() (l *level, known bool) {
	if s.depth < 1 || s.depth > files {
		return nil, false
	}
	return &s.levels[s.depth], true
}

// inFiles reports whether the next value belongs to a file, and returns the index of that file.
func (s *sifter) inFiles() (file int, is bool) {
	is = s.depth >= files-1 && !s.levels[1].list && holdsFiles(s.levels[1].key) && s.levels[2].list
	return s.levels[2].item, is
}

func (s *sifter) count() {
	if _, is := s.inFiles(); is {
		s.inside++
	} else {
		s.values++
	}
}

func (s *sifter) check() error {
	file, is := s.inFiles()
	switch {
	case is && file >= s.limits.Files:
		return &LimitError{"files", s.limits.Files}
	case s.inside > valuesEach*s.limits.Files:
		return &LimitError{"values inside files", valuesEach * s.limits.Files}
	case s.values > s.limits.Values:
		return &LimitError{"values", s.limits.Values}
	case len(s.rest) > s.limits.Rest:
		return &LimitError{"bytes outside of file contents", s.limits.Rest}
	}
	return nil
}

// text reads a string after its opening quotation mark.
func (s *sifter) text() error {
	file, is := s.inFiles()
	if is && s.depth == files && !s.levels[files].list && !s.isKey && s.levels[files].key == "content" {
		return s.skipContent(file)
	}
	from := len(s.rest)
	s.rest = append(s.rest, '"')
	for escaped := false; ; {
		c, err := s.in.ReadByte()
		if err != nil {
			return err
		}
		s.at++
		s.rest = append(s.rest, c)
		if len(s.rest) > s.limits.Rest {
			return s.check()
		}
		if c == '"' && !escaped {
			break
		}
		escaped = c == '\\' && !escaped
	}
	if l, known := s.level(); s.isKey && known {
		l.key = ""
		_ = json.Unmarshal(s.rest[from:], &l.key) // an invalid string is not a key that sifter looks for
	}
	s.isKey = false
	return nil
}
