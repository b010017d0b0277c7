package lifecycle

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"
)

// storedReader reads JSON as encoding/json writes it: without spaces. What it does not know fails it.
type storedReader struct {
	rest   []byte
	failed bool
}

func (r *storedReader) fail() { r.failed, r.rest = true, nil }

// atEnd reports whether all was read.
func (r *storedReader) atEnd() bool { return !r.failed && len(r.rest) == 0 }

// take passes over one byte that must come next.
func (r *storedReader) take(c byte) {
	if len(r.rest) == 0 || r.rest[0] != c {
		r.fail()
		return
	}
	r.rest = r.rest[1:]
}

func (r *storedReader) next() byte {
	if len(r.rest) == 0 {
		return 0
	}
	return r.rest[0]
}

// eachField reads an object: read is called with each name, to read its value.
func (r *storedReader) eachField(read func(name []byte)) {
	r.take('{')
	for first := true; !r.failed && r.next() != '}'; first = false {
		if !first {
			r.take(',')
		}
		name := r.quoted()
		r.take(':')
		read(name)
	}
	r.take('}')
}

// eachItem reads an array: read is called for each item, to read it.
func (r *storedReader) eachItem(read func()) {
	r.take('[')
	for first := true; !r.failed && r.next() != ']'; first = false {
		if !first {
			r.take(',')
		}
		read()
	}
	r.take(']')
}

// quoted is a text without escapes, as it stands in the document.
func (r *storedReader) quoted() []byte {
	r.take('"')
	ascii := true
	for i, c := range r.rest {
		switch {
		case c == '"':
			text := r.rest[:i]
			if r.rest = r.rest[i+1:]; !ascii && !utf8.Valid(text) {
				r.fail()
			}
			return text
		case c == '\\' || c < ' ':
			r.fail()
			return nil
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	r.fail()
	return nil
}

// text is a text, like itself if it is the same.
func (r *storedReader) text(like string) string {
	text := r.quoted()
	if string(text) == like {
		return like
	}
	return string(text)
}

func (r *storedReader) time() time.Time {
	var at time.Time
	if at.UnmarshalText(r.quoted()) != nil {
		r.fail()
	}
	return at
}

func (r *storedReader) integer(bits int) int64 {
	text := r.skip()
	n, err := strconv.ParseInt(string(text), 10, bits)
	if err != nil || !json.Valid(text) {
		r.fail()
	}
	return n
}

// value reads what is small.
func (r *storedReader) value(into any) {
	if json.Unmarshal(r.skip(), into) != nil {
		r.fail()
	}
}

// raw is a value as it stands in the document, like itself if it is the same.
func (r *storedReader) raw(like json.RawMessage) json.RawMessage {
	if len(like) > 0 && bytes.HasPrefix(r.rest, like) { // a value is never the begin of another, longer one
		r.rest = r.rest[len(like):]
		return like
	}
	text := r.skip()
	if !json.Valid(text) || len(bytes.TrimSpace(text)) < len(text) {
		r.fail()
		return nil
	}
	return bytes.Clone(text)
}

// skip passes over a value, which need not be valid.
func (r *storedReader) skip() []byte {
	depth, quoted := 0, false
	for i := 0; i < len(r.rest); i++ {
		switch c := r.rest[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case depth == 0 && (c == ',' || c == '}' || c == ']'):
			value := r.rest[:i]
			r.rest = r.rest[i:]
			return value
		case c == '}' || c == ']':
			depth--
		}
	}
	r.fail()
	return nil
}
