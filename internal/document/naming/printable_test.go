package naming

import "testing"

func TestPrintableNames(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		want bool
	}{
		{"ada", true},
		{"Ada Lovelace", true},
		{"Ωμέγα 模型", true},
		{"", true},
		{"adm\u202eni", false},
		{"a\u2066b\u2069", false},
		{"ad\u200bmin", false},
		{"a\x1b[2J", false},
		{"a\nb", false},
		{"a\xff", false},
		{"a\ufffd", false},
		{"admin\u034f", false},
		{"admin\ufe0f", false},
		{"admin\U000e0100", false},
		{"admin\u3164", false},
		{"admin\u2800", false},
		{"ad\u00admin", false},
	}
	for _, tt := range tests {
		if got := IsPrintable(tt.name); got != tt.want {
			t.Errorf("%q: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
