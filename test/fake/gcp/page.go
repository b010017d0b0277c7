package gcptest

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
)

// page returns one page of a list in the form of Compute Engine and Cloud Storage.
func (c *call) page(kind string, items []any) (map[string]any, error) {
	part, next, err := c.pageOf(items, c.query.Get("maxResults"))
	if err != nil {
		return nil, err
	}
	out := map[string]any{"kind": kind}
	if len(part) > 0 {
		out["items"] = part
	}
	if next != "" {
		out["nextPageToken"] = next
	}
	return out, nil
}

// namedPage returns one page of a list in the form of the newer services, where the items have a
// specific name.
func (c *call) namedPage(name string, items []any) (map[string]any, error) {
	part, next, err := c.pageOf(items, c.query.Get("pageSize"))
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	if len(part) > 0 {
		out[name] = part
	}
	if next != "" {
		out["nextPageToken"] = next
	}
	return out, nil
}

// pageOf filters items and returns the requested page and the next page token.
func (c *call) pageOf(items []any, size string) ([]any, string, error) {
	items, err := c.filter(items)
	if err != nil {
		return nil, "", err
	}
	return c.cut(items, size)
}

// cut is like pageOf for items that are already filtered.
// https://cloud.google.com/compute/docs/reference/rest/v1/instances/list (pageToken)
func (c *call) cut(items []any, size string) ([]any, string, error) {
	start, err := readToken(c.query.Get("pageToken"))
	if err != nil || start > len(items) {
		return nil, "", invalid("Invalid value for field 'pageToken': '%s'. The value is invalid.", c.query.Get("pageToken"))
	}
	length := c.opt.Page
	if n, err := strconv.Atoi(size); err == nil && n > 0 {
		length = min(n, length)
	}
	end := min(start+length, len(items))
	if end == len(items) {
		return items[start:], "", nil
	}
	return items[start:end], writeToken(end), nil
}

func writeToken(n int) string {
	return base64.RawURLEncoding.EncodeToString([]byte("from:" + strconv.Itoa(n)))
}

// readToken: https://cloud.google.com/compute/docs/reference/rest/v1/instances/list (pageToken)
func readToken(s string) (int, error) {
	if s == "" {
		return 0, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) < 6 {
		return 0, invalid("bad page token")
	}
	return strconv.Atoi(string(b[5:]))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
