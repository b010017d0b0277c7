package usage_test

import (
	"errors"
	"testing"

	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

func TestArgs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		names []string
		args  []string
		want  string
	}{
		{"none wanted, none given", nil, nil, ""},
		{"none wanted, one given", nil, []string{"x"}, `unexpected argument "x"`},
		{"the second is missing", []string{"AGENT", "SLOT"}, []string{"a"}, "SLOT is missing"},
		{"one too many", []string{"TASK"}, []string{"a", "b"}, `unexpected argument "b"`},
		{"one of many is missing", []string{"TASK…"}, nil, "TASK is missing"},
		{"many", []string{"TASK…"}, []string{"a", "b", "c"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := usage.Args(tt.names...)(nil, tt.args)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	if usage.Check(nil) != nil {
		t.Error("got an error for nil")
	}
	marked := usage.Check(errors.New("no"))
	if again := usage.Check(marked); again != marked { //nolint:errorlint // compares identity
		t.Errorf("got %#v, want the first mark %#v", again, marked)
	}
}
