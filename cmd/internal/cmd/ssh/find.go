package ssh

import (
	"fmt"
	"regexp"
	"strings"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// hostName matches what can be a host name here. It is a file name, too.
var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]|[._][A-Za-z0-9-])*$`)

// shortestID is the minimum length of the beginning of an ID.
const shortestID = 4

// findShell returns the running shell with a name, an ID, or an ID that begins with text. A user's own one
// counts before those of others.
func findShell(list []*apiv1.Shell, user, text string) (*apiv1.Shell, error) {
	var found []*apiv1.Shell
	best, state := 0, ""
	for _, s := range list {
		rank := rankOf(s, user, text)
		switch {
		case rank == 0 || rank < best:
			continue
		case !isRunning(s):
			state = fmt.Sprintf("; shell %s is %s", s.GetId(), strings.ToLower(strings.TrimPrefix(s.GetState().String(), "STATE_")))
			continue
		case rank > best:
			best, found = rank, nil
		}
		found = append(found, s)
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("no running shell has the name or ID %q%s: list them with det shell list", text, state)
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("%d running shells have the name %q, such as %s and %s: use an ID instead", len(found), text, found[0].GetId(), found[1].GetId())
}

func isRunning(s *apiv1.Shell) bool { return s.GetState() == apiv1.Task_STATE_RUNNING }

// rankOf returns how well a shell matches a text, 0 if it does not.
func rankOf(s *apiv1.Shell, user, text string) int {
	text = strings.ToLower(text)
	rank := 0
	switch {
	case s.GetId() == text:
		rank = 5
	case nameOf(s.GetDescription()) == text:
		rank = 3
	case len(text) >= shortestID && strings.HasPrefix(s.GetId(), text):
		rank = 1
	default:
		return 0
	}
	if s.GetUsername() == user {
		rank++
	}
	return rank
}

var (
	unnamed = regexp.MustCompile(`^shell \((.*)\)$`)
	others  = regexp.MustCompile(`[^a-z0-9]+`)
)

// nameOf returns the name of a shell in host names: its description in lower case, with hyphens for other
// characters, and without "Shell (…)" around the name that the master has given.
func nameOf(description string) string {
	text := strings.ToLower(description)
	if m := unnamed.FindStringSubmatch(text); m != nil {
		text = m[1]
	}
	return strings.Trim(others.ReplaceAllString(text, "-"), "-")
}
