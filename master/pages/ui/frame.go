package ui

import (
	"fmt"
	"html/template"
	"io/fs"
	"net/url"
	"strconv"
	"strings"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Frame is the dot of templates: the data of the page, and of the layout around it.
type Frame struct {
	Title string
	// Cluster is the name of the cluster.
	Cluster string
	Nav     []Link
	// User is the visitor, or nil before the login.
	User *apiv1.User
	// CSRF is the token of forms; the template "csrf" is the field with it. It is empty in what a script asks
	// for: a page of a task at the same host name could read it there.
	CSRF string
	// Message is the result of an action.
	Message string
	// Data is the page's own.
	Data any

	url *url.URL
}

// Link is a link of the navigation.
type Link struct {
	Text, Href string
	Current    bool
}

func (v *Visit) frame(title string, data any) *Frame {
	f := &Frame{Title: title, Cluster: v.site.cfg.Cluster, User: v.User, Data: data, Message: v.takeMessage(), url: v.URL}
	if v.User != nil {
		if v.isOpened() {
			f.CSRF = v.site.cfg.CSRFToken(v.session)
		}
		f.Nav = links(v.site.pages, v.URL.Path, v.User.GetAdmin())
	}
	return f
}

// links returns the links of the navigation. The longest path that begins the current one is current.
func links(pages []Page, path string, admin bool) []Link {
	var out []Link
	current := -1
	for _, p := range pages {
		if p.Nav == "" || p.Admin && !admin {
			continue
		}
		to := p.path()
		out = append(out, Link{Text: p.Nav, Href: to})
		below := path == to || strings.HasPrefix(path, strings.TrimSuffix(to, "/")+"/") && to != Root
		if below && (current < 0 || len(to) > len(out[current].Href)) {
			current = len(out) - 1
		}
	}
	if current >= 0 {
		out[current].Current = true
	}
	return out
}

// With returns the address of the page with other parameters: names and values in turn. An empty value
// removes the parameter.
func (f *Frame) With(pairs ...any) string {
	q := f.url.Query()
	for i := 0; i+1 < len(pairs); i += 2 {
		name, value := fmt.Sprint(pairs[i]), fmt.Sprint(pairs[i+1])
		if value == "" {
			q.Del(name)
		} else {
			q.Set(name, value)
		}
	}
	if len(q) == 0 {
		return f.url.EscapedPath()
	}
	return f.url.EscapedPath() + "?" + q.Encode()
}

// Parameter returns a parameter of the page's address.
func (f *Frame) Parameter(name string) string { return f.url.Query().Get(name) }

// Column returns the head of a column with a link that sorts by it: the parameter sort is the key, after
// "-" if the order is descending. The page's default order is the first argument.
func (f *Frame) Column(byDefault, key, text string) template.HTML {
	current := f.Parameter("sort")
	if current == "" {
		current = byDefault
	}
	order, next := "", key
	switch current {
	case key:
		order, next = ` aria-sort="ascending"`, "-"+key
	case "-" + key:
		order = ` aria-sort="descending"`
	}
	return template.HTML(fmt.Sprintf(`<th scope="col"%s><a href="%s">%s</a></th>`, order, //nolint:gosec // all parts are escaped
		template.HTMLEscapeString(f.With("sort", next, "offset", "")), template.HTMLEscapeString(text)))
}

// Paging is the part of a list that a page shows. Its template is "paging", which takes the dict of Frame
// and Paging.
type Paging struct{ Offset, Limit, Total int }

// Offset returns the number of rows before those of the page with these parameters; 0 if they say nonsense.
func Offset(q url.Values) int {
	n, err := strconv.ParseInt(q.Get("offset"), 10, 32)
	if err != nil || n < 0 {
		return 0
	}
	return int(n)
}

// rowsOfPart is the number of rows of a page of a list that the API returns as a whole.
const rowsOfPart = 100

// Part returns the rows of the page with these parameters.
func Part[T any](all []T, q url.Values) ([]T, Paging) {
	p := Paging{Offset: min(Offset(q), len(all)), Limit: rowsOfPart, Total: len(all)}
	return all[p.Offset:min(p.Offset+p.Limit, len(all))], p
}

// First returns the number of the first row, from 1, or 0 if there are no rows.
func (p Paging) First() int { return min(p.Offset+1, p.Total) }

// Last returns the number of the last row.
func (p Paging) Last() int { return min(p.Offset+p.Limit, p.Total) }

// Previous returns the offset of the previous part, or "" if there is none.
func (p Paging) Previous() string {
	if p.Offset <= 0 {
		return ""
	}
	return fmt.Sprint(max(0, p.Offset-p.Limit))
}

// Next returns the offset of the next part, or "" if there is none.
func (p Paging) Next() string {
	if p.Offset+p.Limit >= p.Total {
		return ""
	}
	return fmt.Sprint(p.Offset + p.Limit)
}

// Template is the template of a page: the block "content", and "live" if a part of it is refreshed.
type Template struct{ all *template.Template }

// MustParse returns the template in the embedded files. The block "content" is the page below its title;
// it may contain, once, what changes by itself:
//
//	<div id="live" hx-get="" hx-trigger="poll">{{template "live" .}}</div>
func MustParse(files fs.FS, patterns ...string) *Template {
	t := template.Must(template.New("page").Funcs(functions()).ParseFS(templates, "templates/layout.html"))
	return &Template{template.Must(t.ParseFS(files, patterns...))}
}

func (t *Template) has(block string) bool { return t.all.Lookup(block) != nil }
