package clustertest

import "testing"

func TestLastLines(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"as many as are wanted", "a\nb\n", "a\nb\n"},
		{"more", "a\nb\nc\nd\n", "(2 lines before)\nc\nd\n"},
		{"a last line that was not ended", "a\nb\nc", "a\nb\nc"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := lastLines(tt.text, 2); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
