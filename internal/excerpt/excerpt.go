// Package excerpt limits the size of untrusted text in errors, log lines and responses. It shortens
// text before formatting it, because quoting a megabyte of control characters creates four.
//
// It imports no other package of this module, so that any package that repeats its input can import
// it.
package excerpt

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// Characters is the length of an excerpt: enough to recognise a name, a path or a UUID.
	Characters = 64
	// ownBytes is longer than any trusted text in a message, such as a list of allowed names.
	// Longer text is untrusted.
	ownBytes = 1 << 10
	// MessageBytes is the maximum length of a message: about thirty problems of a file.
	MessageBytes = 8 << 10
)

// Of returns the first characters of text, followed by its size if it was truncated. It replaces
// unprintable characters, so that text cannot break a line or control a terminal.
func Of[T ~string](text T) string { return UpTo(text, Characters) }

// UpTo is like Of with a limit of n characters.
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

// firstChars returns the first n characters of s, without reading the rest.
func firstChars(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// Cut returns the greatest length up to limit at which text can be cut between two characters of UTF-8.
// For other text, it returns limit.
func Cut[T ~string | ~[]byte](text T, limit int) int {
	for n := limit; n > max(limit-utf8.UTFMax, 0); n-- {
		if utf8.RuneStart(text[n]) {
			return n
		}
	}
	return limit
}

// Format is like fmt.Sprintf, for messages that may contain untrusted text: it truncates long
// arguments and long messages.
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

// Message truncates a long message.
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
