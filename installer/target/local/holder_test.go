package local

import (
	"errors"
	"os/user"
	"strconv"
	"strings"
	"testing"
)

func TestHeldErrorNamesTheOwner(t *testing.T) {
	t.Parallel()
	named := func() (*user.User, error) { return &user.User{Username: "ann"}, nil }
	nameless := func() (*user.User, error) { return nil, errors.New("user: unknown userid 1234") }
	for _, tt := range []struct {
		name     string
		variable string
		current  func() (*user.User, error)
		identity string
		want     string
	}{
		{"by $USER", "bob", named, "arn:x", "bob"},
		{"by the machine's table of users", "", named, "arn:x", "ann"},
		{"by the platform's identity", "", nameless, "arn:x", "arn:x"},
	} {
		if got := currentUser(tt.variable, tt.current, tt.identity); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	number, isUID := strings.CutPrefix(currentUser("", nameless, ""), "uid ")
	if _, err := strconv.Atoi(number); err != nil || !isUID {
		t.Errorf("with no name at all: got %q, want the number of the user", number)
	}
	h, err := Holder(func(string) string { return "" }, "n", "")
	if err != nil || h.Owner == "" {
		t.Errorf("without $USER: got %+v and %v, want an owner", h, err)
	}
}
