// Package excerpt bounds the size of untrusted text in an error, a log line or an
// answer. Text is measured before it is formatted: quoting a megabyte of control
// characters makes four.
//
// It is a leaf: everything that repeats what it was sent may import it.
package excerpt

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// Characters is how much of a text is repeated: enough to recognise a name,
	// a path or a UUID.
	Characters = 64
	// ownBytes is above the longest text of ours that is formatted into another,
	// such as a list of allowed names. What is longer came from outside.
	ownBytes = 1 << 10
	// MessageBytes bounds a whole message: some thirty complaints about a file.
	MessageBytes = 8 << 10
)

// Of is the first characters of text, with its size when that is not all of it.
// Characters that cannot be printed are replaced, so that no text breaks a line or
// changes a terminal.
func Of[T ~string](text T) string { return UpTo(text, Characters) }

// UpTo is Of for the first n characters.
func UpTo[T ~string](text T, n int) string {
	s := string(text)
	short := firstChars(s, n)
	shown := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, short)
	if len(short) < len(s) {
		return shown + "… (" + strconv.Itoa(len(s)) + " bytes)"
	}
	return shown
}

// firstChars is the first n characters of s. It reads no more than those.
func firstChars(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// Format is fmt.Sprintf for messages that may repeat untrusted text: no
// argument and no message is longer than text of ours can be.
func Format(format string, args ...any) string {
	bounded := make([]any, len(args))
	for i, a := range args {
		bounded[i] = boundArg(a)
	}
	return Message(fmt.Sprintf(format, bounded...))
}

func boundArg(arg any) any {
	switch v := arg.(type) {
	case string:
		if len(v) > ownBytes {
			return Of(v)
		}
	case error:
		if text := v.Error(); len(text) > MessageBytes {
			return Message(text)
		}
	}
	return arg
}

// Message is a whole message, cut where it is too long.
func Message(text string) string {
	if len(text) <= MessageBytes {
		return text
	}
	end := MessageBytes
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "… (" + strconv.Itoa(len(text)) + " bytes)"
}
