package ssh

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// hostName matches what can be a host name here. It is a file name, too.
var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]|[._][A-Za-z0-9-])*$`)

// shortestID is the minimum length of the beginning of an ID.
const shortestID = 4

// findShell returns the running shell with a name, an ID, or an ID that begins with text. A name is that of a
// user's own shell: administrators log in to those of others by their IDs only.
func findShell(list []*apiv1.Shell, user, text string) (*apiv1.Shell, error) {
	var found []*apiv1.Shell
	best, hint := none, ""
	for _, s := range list {
		m, own := matchOf(s, text), s.GetUsername() == user
		switch {
		case m == none || m < best:
			continue
		case !isRunning(s):
			hint = fmt.Sprintf("; shell %s is %s", s.GetId(), strings.ToLower(strings.TrimPrefix(s.GetState().String(), "STATE_")))
			continue
		case m == byName && !own:
			hint = fmt.Sprintf("; shell %s of user %s has the name: use its ID", s.GetId(), s.GetUsername())
			continue
		case m > best:
			best, found = m, nil
		}
		found = append(found, s)
	}
	if own := ownOf(found, user); len(own) > 0 {
		found = own
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("no running shell has the name or ID %q%s: list them with det shell list", text, hint)
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("%d running shells have the name %q, such as %s and %s: use an ID instead", len(found), text, found[0].GetId(), found[1].GetId())
}

// ownOf returns the shells of a user.
func ownOf(list []*apiv1.Shell, user string) []*apiv1.Shell {
	return slices.DeleteFunc(slices.Clone(list), func(s *apiv1.Shell) bool { return s.GetUsername() != user })
}

func isRunning(s *apiv1.Shell) bool { return s.GetState() == apiv1.Task_STATE_RUNNING }

// match is how well a shell matches a text.
type match int

// Matches, from none to the best.
const (
	none match = iota
	byBeginning
	byName
	byID
)

func matchOf(s *apiv1.Shell, text string) match {
	text = strings.ToLower(text)
	switch {
	case s.GetId() == text:
		return byID
	case nameOf(s.GetDescription()) == text:
		return byName
	case len(text) >= shortestID && strings.HasPrefix(s.GetId(), text):
		return byBeginning
	}
	return none
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
