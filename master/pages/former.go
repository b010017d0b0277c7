package pages

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// former maps addresses of the web interface of Determined, which people have bookmarked and wikis link, to
// the pages in their place. A name in braces is copied.
func former() map[string]string {
	root := ui.Root
	return map[string]string{
		root + "dashboard":                        root,
		root + "clusters":                         root + "pools",
		root + "clusters/{rest...}":               root + "pools",
		root + "cluster":                          root + "pools",
		root + "cluster/{rest...}":                root + "pools",
		root + "resourcepool/{name}":              root + "pools/{name}",
		root + "resourcepool/{name}/{rest...}":    root + "pools/{name}",
		root + "jobs":                             root + "queue",
		root + "jobs/{rest...}":                   root + "queue",
		root + "uncategorized":                    root + "experiments",
		root + "models/{name}/versions":           root + "models/{name}",
		root + "models/{name}/versions/{rest...}": root + "models/{name}",
		root + "settings":                         root + "account",
		root + "settings/{rest...}":               root + "account",
		root + "admin":                            root + "users",
		root + "admin/{rest...}":                  root + "users",
		root + "command/{name}/{rest...}":         root + "tasks/{name}",
		root + "notebook/{name}/{rest...}":        root + "tasks/{name}",
		root + "shell/{name}/{rest...}":           root + "tasks/{name}",
		root + "tensorboard/{name}/{rest...}":     root + "tasks/{name}",
	}
}

// formerPages returns the redirects of former.
func formerPages() []ui.Page {
	var list []ui.Page
	for from, to := range former() {
		list = append(list, ui.Page{Pattern: http.MethodGet + " " + from, Serve: func(v *ui.Visit) error {
			return v.Redirect(strings.Replace(to, "{name}", url.PathEscape(v.PathValue("name")), 1))
		}})
	}
	return list
}
