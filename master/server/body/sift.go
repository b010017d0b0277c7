package body

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Limits bound what a body becomes in memory.
type Limits struct {
	// Rest is the bytes without the contents of files, and Files how many there may be.
	Rest, Files int
	// Values is how many values there may be beside the files: a list of numbers takes
	// fifty times its length in memory.
	Values int
}

// valuesEach is how many values each file may have: there are eight.
const valuesEach = 16

// LimitError is a body that exceeds one of the limits.
type LimitError struct {
	What string
	Most int
}

// Error names the limit.
func (e *LimitError) Error() string {
	return fmt.Sprintf("the request's body has more than %d %s; send less at once", e.Most, e.What)
}

// ContentError is the content of a file that is not base64.
type ContentError struct{ File int }

// Error names the file.
func (e *ContentError) Error() string {
	return fmt.Sprintf("files[%d].content: is not base64", e.File)
}

// Sifted is a body taken apart.
type Sifted struct {
	// Rest is the body with an empty text wherever a file had its content.
	Rest []byte

	from     io.ReaderAt
	contents map[int]section
}

// atOnce is the size in bytes of a body for whose rest there is room from the start. Of a
// larger one most is contents.
const atOnce = 16 << 20

// Sift takes the contents of files out of a body. Whether the rest is JSON at all is
// for its decoder to say. The errors are *LimitError, *ContentError, and what reading
// returned.
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

// files is the depth of a file's own fields: {"files": [{...
const files = 3

// holdsFiles says whether a list of this name is the files of a task or an experiment.
func holdsFiles(key string) bool {
	return key == "files" || key == "modelDefinition" || key == "model_definition"
}

// level is one of the objects and lists that are open.
type level struct {
	list bool
	key  string // of an object: the last one
	item int    // of a list: the number of the item
}

// sifter goes through a body once. It knows texts, and what is inside of what, and
// nothing else of JSON.
type sifter struct {
	in     *bufio.Reader
	at     int64 // bytes read
	limits Limits

	depth  int
	levels [files + 1]level
	isKey  bool // the next text is the key of an object that levels knows
	space  bool
	values int // beside the files
	inside int // in the files

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

// blank keeps one space of many: a body of blanks is not worth its room.
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

// inFiles says whether what comes belongs to a file, and to which.
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
		return &LimitError{"values in its files", valuesEach * s.limits.Files}
	case s.values > s.limits.Values:
		return &LimitError{"values", s.limits.Values}
	case len(s.rest) > s.limits.Rest:
		return &LimitError{"bytes beside the contents of files", s.limits.Rest}
	}
	return nil
}

// text takes what follows a quotation mark, up to the next.
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
		_ = json.Unmarshal(s.rest[from:], &l.key) // what is no text is no key that we look for
	}
	s.isKey = false
	return nil
}
