package status

import (
	"errors"
	"fmt"
	"testing"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		err     error
		code    Code
		http    int
		text    string
		spelled string
	}{
		{"missing things are named", Missing("command", "x"), NotFound, 404, "command 'x' not found", "NotFound"},
		{"the code survives wrapping", fmt.Errorf("launch: %w", New(InvalidArgument, "bad")), InvalidArgument, 400, "launch: bad", "InvalidArgument"},
		{"other errors are unknown", errors.New("boom"), Unknown, 500, "boom", "Unknown"},
		{"too many requests", New(ResourceExhausted, "slow down"), ResourceExhausted, 429, "slow down", "ResourceExhausted"},
		{"a code without a row is an internal error", New(Code(99), "x"), Code(99), 500, "x", "Code(99)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := Of(tt.err)
			if c != tt.code || c.HTTP() != tt.http || c.String() != tt.spelled || tt.err.Error() != tt.text {
				t.Errorf("got %d %d %s %q, want %d %d %s %q",
					c, c.HTTP(), c, tt.err, tt.code, tt.http, tt.spelled, tt.text)
			}
		})
	}
}
