package gcptest

import (
	"net/url"
	"strings"
)

// node is a node of the path tree, whose edges are path segments.
type node struct {
	literal map[string]*node
	// variable holds the children for segments such as "{zone}" and "{name}:undelete", by the text
	// after the variable.
	variable map[string]*node
	methods  map[string]*route // by HTTP method
}

// route is a method with one of its paths. Upload is the upload protocol if the path accepts media.
type route struct {
	*method
	upload string
	names  []string // of the path parameters, in order
}

func newNode() *node {
	return &node{literal: make(map[string]*node), variable: make(map[string]*node), methods: make(map[string]*route)}
}

// addMethod adds a method's path and its media upload paths.
func (n *node) addMethod(m *method) {
	path := m.FlatPath
	if path == "" {
		path = m.Path
	}
	n.add("/"+m.service.ServicePath+path, route{method: m})
	for protocol, p := range m.Media.Protocols {
		n.add(p.Path, route{method: m, upload: protocol})
	}
}

func (n *node) add(path string, r route) {
	at := n
	for _, part := range splitPath(path) {
		open, end := strings.IndexByte(part, '{'), strings.IndexByte(part, '}')
		if open < 0 {
			at = follow(at.literal, part)
			continue
		}
		r.names = append(r.names, strings.TrimPrefix(part[open+1:end], "+"))
		at = follow(at.variable, part[end+1:])
	}
	at.methods[r.Verb] = &r
}

func follow(edges map[string]*node, key string) *node {
	if edges[key] == nil {
		edges[key] = newNode()
	}
	return edges[key]
}

func splitPath(path string) []string { return strings.Split(strings.TrimPrefix(path, "/"), "/") }

// find returns the method of an escaped path and the values of its parameters.
func (n *node) find(verb, escaped string) (*route, map[string]string, bool) {
	r, values := n.walk(verb, splitPath(escaped), nil)
	if r == nil {
		return nil, nil, false
	}
	out := make(map[string]string, len(values))
	for i, v := range values {
		name := r.names[i]
		if plain, err := url.PathUnescape(v); err == nil {
			v = plain
		}
		out[name] = v
	}
	return r, out, true
}

func (n *node) walk(verb string, parts, values []string) (*route, []string) {
	if len(parts) == 0 {
		return n.methods[verb], values
	}
	if next := n.literal[parts[0]]; next != nil {
		if r, v := next.walk(verb, parts[1:], values); r != nil {
			return r, v
		}
	}
	part := parts[0]
	if base, custom, ok := cutCustom(part); ok {
		if next := n.variable[custom]; next != nil && base != "" {
			return next.walk(verb, parts[1:], append(values, base))
		}
	}
	if next := n.variable[""]; next != nil && part != "" {
		return next.walk(verb, parts[1:], append(values, part))
	}
	return nil, nil
}

// cutCustom splits "acme:getIamPolicy" before the colon.
func cutCustom(part string) (base, custom string, ok bool) {
	i := strings.LastIndexByte(part, ':')
	if i < 0 {
		return "", "", false
	}
	return part[:i], part[i:], true
}

// find returns the method of a request. The service is determined by the host or else by the path.
func (d *documents) find(host, verb, escaped string) (*route, map[string]string, bool) {
	name, _, _ := strings.Cut(host, ".googleapis.com")
	if s := d.services[name]; s != nil {
		return s.tree.find(verb, escaped)
	}
	return d.all.find(verb, escaped)
}
