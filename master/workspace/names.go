package workspace

import (
	"crypto/rand"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/det-deploy/det-deploy/internal/document/naming"
	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
)

const (
	// nameLimit is the limit of Determined 0.38.1 in characters.
	nameLimit = 80
	// descriptionLimit is in bytes.
	descriptionLimit = 4096
	// keyLimit and keyPrefix are the limits of Determined 0.38.1 in letters.
	keyLimit  = 5
	keyPrefix = 3
)

func missingWorkspace(id int32) error { return status.Missing("workspace", strconv.Itoa(int(id))) }

func missingKey(key string) error { return status.Missing("project", key) }

func missingProject(id int32) error { return status.Missing("project", strconv.Itoa(int(id))) }

// checkText returns InvalidArgument if a name is empty, too long, or not printable.
func checkText(name string) error {
	if strings.TrimSpace(name) == "" || strings.TrimSpace(name) != name || utf8.RuneCountInString(name) > nameLimit || !naming.IsPrintable(name) {
		return status.New(status.InvalidArgument, "name: must have 1 to %d characters, no leading or trailing blanks, and %s (%q)",
			nameLimit, naming.PrintableRule, excerpt.Of(name))
	}
	if naming.IsDots(name) {
		return status.New(status.InvalidArgument, "name: must %s (%q)", naming.DotsRule, name)
	}
	return nil
}

func checkDescription(text string) error {
	if len(text) > descriptionLimit {
		return status.New(status.InvalidArgument, "description: must have at most %d bytes (has %d)", descriptionLimit, len(text))
	}
	return nil
}

// checkWorkspaceName returns an error if a name is invalid or looks like the name of another
// workspace. Clients ignore case when they look up names.
func (s *shared) checkWorkspaceName(name string, id int32) error {
	if err := checkText(name); err != nil {
		return err
	}
	for _, w := range s.table.listWorkspaces() {
		if w.ID != id && naming.Fold(w.Name) == naming.Fold(name) {
			return status.New(status.AlreadyExists, "workspace '%s' already exists; choose another name", w.Name)
		}
	}
	return nil
}

// checkProjectName is checkWorkspaceName for a project in a workspace.
func (s *shared) checkProjectName(name string, workspaceID, id int32) error {
	if err := checkText(name); err != nil {
		return err
	}
	for _, p := range s.table.listProjects(workspaceID) {
		if p.ID != id && naming.Fold(p.Name) == naming.Fold(name) {
			return status.New(status.AlreadyExists, "project '%s' already exists in this workspace; choose another name", p.Name)
		}
	}
	return nil
}

// checkKey returns the key in upper case. It returns an error if the key is invalid or another
// project has it.
func (s *shared) checkKey(key string, id int32) (string, error) {
	key = strings.ToUpper(key)
	if key == "" || len(key) > keyLimit || strings.ContainsFunc(key, func(r rune) bool { return !isKeyLetter(r) }) {
		return "", status.New(status.InvalidArgument, "key: must be 1 to %d letters A to Z and digits (%q)", keyLimit, excerpt.Of(key))
	}
	if p, found := s.table.findKey(key); found && p.ID != id {
		return "", status.New(status.AlreadyExists, "key: project '%s' has the key '%s'; choose another", p.Name, key)
	}
	return key, nil
}

func isKeyLetter(r rune) bool {
	return r < unicode.MaxASCII && (unicode.IsUpper(r) || unicode.IsDigit(r))
}

// makeKey returns an unused key: the first letters of the name, with random letters added if these
// are already in use.
func (s *shared) makeKey(name string) string {
	var b strings.Builder
	for _, r := range strings.ToUpper(name) {
		if isKeyLetter(r) && b.Len() < keyPrefix {
			b.WriteRune(r)
		}
	}
	for key := b.String(); ; key = b.String() + rand.Text()[:keyLimit-b.Len()] {
		if _, taken := s.table.findKey(key); key != "" && !taken {
			return key
		}
	}
}
