package config

import (
	"net/url"
	"strings"

	"github.com/det-deploy/det-deploy/internal/document"
)

// Proxy configures how browsers visit the services of tasks.
type Proxy struct {
	Origin string `yaml:"origin" doc:"Where browsers find the services of tasks, such as https://services.example.com: another host name of the master, so that their pages have no access to its own. With *. before the name, each service gets a name of its own. By default every name of the master serves them"`
}

// OriginURL returns the origin; nil if none is set.
func (p Proxy) OriginURL() *url.URL {
	if p.Origin == "" {
		return nil
	}
	u, err := url.Parse(p.Origin)
	if err != nil { // it was validated
		return nil
	}
	return u
}

// Validate returns all errors below the path at.
func (p Proxy) Validate(at string) document.Errors {
	var e document.Errors
	name := strings.Replace(p.Origin, "://*.", "://", 1)
	e.Check(p.Origin == "" || isOrigin(name) && !strings.Contains(name, "*"), document.Join(at, "origin"),
		"must be an origin, such as https://services.example.com or https://*.services.example.com (is %q)", p.Origin)
	return e
}
