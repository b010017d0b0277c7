package gcptest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

func getObject(c *call) (any, error) {
	_, b, err := c.findObject()
	if err != nil {
		return nil, err
	}
	if c.query.Get("alt") != "media" {
		return &b.object, nil
	}
	return b.download(c.request.Header.Get("Range"))
}

// download returns the content of an object or a range of it.
// https://cloud.google.com/storage/docs/json_api/v1/parameters#range
func (b *blob) download(span string) (any, error) {
	out := &media{header: http.Header{}, body: b.content}
	out.header.Set("Content-Type", b.object.ContentType)
	out.header.Set("X-Goog-Generation", strconv.FormatInt(b.object.Generation, 10))
	out.header.Set("X-Goog-Metageneration", strconv.FormatInt(b.object.Metageneration, 10))
	out.header.Set("X-Goog-Hash", "crc32c="+b.object.Crc32c+",md5="+b.object.Md5Hash)
	out.header.Set("X-Goog-Stored-Content-Length", strconv.Itoa(len(b.content)))
	out.header.Set("Etag", b.object.Etag)
	out.header.Set("Last-Modified", b.written.UTC().Format(http.TimeFormat))
	if span == "" {
		return out, nil
	}
	first, last, ok := parseRange(span, len(b.content))
	if !ok {
		return nil, refuse(416, "requestedRangeNotSatisfiable", "The requested range cannot be satisfied.")
	}
	out.status, out.body = http.StatusPartialContent, b.content[first:last+1]
	out.header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, len(b.content)))
	return out, nil
}

// parseRange parses "bytes=5-9", "bytes=5-" and "bytes=-5".
func parseRange(span string, size int) (first, last int, ok bool) {
	from, to, found := strings.Cut(strings.TrimPrefix(span, "bytes="), "-")
	last = size - 1
	n, err := strconv.Atoi(from)
	switch {
	case !found:
		return 0, 0, false
	case from == "":
		n, err = strconv.Atoi(to)
		first = max(0, size-n)
	default:
		first = n
		if m, err := strconv.Atoi(to); err == nil {
			last = min(last, m)
		}
	}
	return first, last, err == nil && first <= last
}

func listObjects(c *call) (any, error) {
	b, err := c.findBucket()
	if err != nil {
		return nil, err
	}
	prefix, delimiter := c.query.Get("prefix"), c.query.Get("delimiter")
	var items []any
	folders := make(map[string]bool)
	rows := c.stores.objects.listed(b.Name+"/"+prefix, c.behind())
	if c.query.Get("versions") == "true" {
		rows = append(rows, c.stores.versions.listed(b.Name+"/"+prefix, c.behind())...)
	}
	for _, r := range rows {
		rest := strings.TrimPrefix(r.v.object.Name, prefix)
		if i := strings.Index(rest, delimiter); delimiter != "" && i >= 0 {
			folders[prefix+rest[:i+len(delimiter)]] = true
			continue
		}
		items = append(items, &r.v.object)
	}
	out, err := c.page("storage#objects", items)
	if err == nil && len(folders) > 0 && c.query.Get("pageToken") == "" {
		out["prefixes"] = sortedKeys(folders)
	}
	return out, err
}
