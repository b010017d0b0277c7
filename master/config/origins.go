package config

import (
	"net/url"

	"github.com/det-deploy/det-deploy/internal/document"
)

// CheckOrigins returns an error for each text that is not the origin of a site as a
// browser sends it: scheme, name and port in lower case. The origin null, which every
// sandboxed page has, is none.
func CheckOrigins(path string, origins []string) document.Errors {
	var e document.Errors
	for i, text := range origins {
		e.Check(isOrigin(text), document.Index(path, i), "must be the origin of one site, such as https://portal.example.com (is %q)", text)
	}
	return e
}

func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && u.Hostname() != "*" &&
		text == u.Scheme+"://"+u.Host
}
