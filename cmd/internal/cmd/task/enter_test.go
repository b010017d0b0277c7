package task

import "testing"

func TestParseForward(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]forward{"80": {80, 80}, "9000:80": {9000, 80}, ":80": {0, 80}} {
		if got, err := parseForward(text); got != want || err != nil {
			t.Errorf("%s: got %v and %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", ":", "80:", "x", "0", "0:80", "80:0", "70000", "1:2:3", "-1"} {
		if got, err := parseForward(text); err == nil {
			t.Errorf("%q: got %v", text, got)
		}
	}
}

func TestParsePlace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]copyPlace{
		"5d1f:/tmp/x": {"5d1f", "/tmp/x"}, "7.1:x:y": {"7.1", "x:y"}, "5d1f:": {"5d1f", ""},
		"x": {"", "x"}, "./a:b": {"", "./a:b"}, "/a:b": {"", "/a:b"}, "-": {"", "-"}, ":x": {"", ":x"},
	} {
		if got := parsePlace(text); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

func TestIsTrialName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"7": true, "7.1": true, "7.5d1f": false, "train": false, "": false} {
		if got := isTrialName(text); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}
