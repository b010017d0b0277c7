package lifecycle

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"
)

// storedReader reads JSON as written by encoding/json, without spaces. It fails on anything else.
type storedReader struct {
	rest   []byte
	failed bool
}

func (r *storedReader) fail() { r.failed, r.rest = true, nil }

// atEnd reports whether the document was read completely.
func (r *storedReader) atEnd() bool { return !r.failed && len(r.rest) == 0 }

// take consumes the given byte, and fails on any other.
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

// eachField reads an object. It calls read with each name to read the value.
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

// eachItem reads an array. It calls read for each item.
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

// quoted returns a string without escapes, unmodified from the document.
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

// text returns a string, which is like itself if both are equal.
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

// value reads a small value.
func (r *storedReader) value(into any) {
	if json.Unmarshal(r.skip(), into) != nil {
		r.fail()
	}
}

// raw returns a value unmodified from the document, which is like itself if both are equal.
func (r *storedReader) raw(like json.RawMessage) json.RawMessage {
	if len(like) > 0 && bytes.HasPrefix(r.rest, like) { // a value is never a prefix of a longer one
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

// skip consumes a value, which need not be valid, and returns it.
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
