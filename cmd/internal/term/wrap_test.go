package term

import "testing"

func TestWrapText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"one two three four":            "one two\nthree four",
		"one\ntwo\nthree\n\nfour five":  "one two\nthree\n\nfour five",
		"a list:\n  one two three four": "a list:\n  one two three four",
		"":                              "",
	} {
		if got := WrapText(text, 10); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
