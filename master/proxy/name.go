package proxy

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// name is the name of a service in a path: a task, and a port unless it is the task's default one.
type name struct {
	task string
	port int
}

var nameText = regexp.MustCompile(`^([0-9A-Za-z][0-9A-Za-z.-]{0,127})(?::([1-9][0-9]{0,4}))?$`)

// parseName returns the service that a path names.
func parseName(u *url.URL) (name, bool) {
	rest, found := strings.CutPrefix(u.EscapedPath(), Prefix)
	if !found {
		return name{}, false
	}
	first, _, _ := strings.Cut(rest, "/")
	text, err := url.PathUnescape(first)
	if err != nil {
		return name{}, false
	}
	return readName(text)
}

// readName is the inverse of String.
func readName(text string) (name, bool) {
	m := nameText.FindStringSubmatch(text)
	if m == nil {
		return name{}, false
	}
	port, _ := strconv.Atoi(m[2]) // empty is the default port
	return name{m[1], port}, port <= 65535
}

// String returns the name as it is in paths and tickets.
func (n name) String() string {
	if n.port == 0 {
		return n.task
	}
	return n.task + ":" + strconv.Itoa(n.port)
}

// command returns the command that prints the service's address.
func (n name) command() string {
	if n.port == 0 {
		return "det-deploy task open " + n.task
	}
	return "det-deploy task open " + n.task + " --port " + strconv.Itoa(n.port)
}

// path returns the path below which the service's pages are.
func (n name) path() string { return Prefix + n.String() + "/" }

// label returns the name as one label of a host name.
func (n name) label() string {
	return strings.ToLower(strings.NewReplacer(":", "-", ".", "-").Replace(n.String()))
}
