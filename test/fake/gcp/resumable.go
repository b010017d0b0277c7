package gcptest

import (
	"fmt"
	"net/http"
	"strconv"

	"google.golang.org/api/storage/v1"
)

// session is a resumable upload. https://cloud.google.com/storage/docs/resumable-uploads
type session struct {
	object  *storage.Object
	query   map[string][]string
	content []byte
}

// resume starts a resumable upload, accepts a chunk, or returns the progress.
// https://cloud.google.com/storage/docs/performing-resumable-uploads
func (c *call) resume() (any, error) {
	if c.upload.begins {
		return c.beginSession()
	}
	s := c.stores.sessions[c.upload.session]
	if s == nil {
		return nil, refuse(404, "notFound", "No such upload: %s", c.upload.session)
	}
	if c.upload.start >= 0 {
		if c.upload.start > len(s.content) {
			return nil, refuse(503, "backendError", "The chunk does not continue the received range.")
		}
		s.content = append(s.content[:c.upload.start], c.upload.data...)
	}
	if !c.upload.last {
		return s.progress(), nil
	}
	delete(c.stores.sessions, c.upload.session)
	c.query = s.query
	return c.writeObject(s.object, s.content)
}

func (c *call) beginSession() (any, error) {
	if _, err := c.findBucket(); err != nil {
		return nil, err
	}
	o := decode[storage.Object](c)
	if o.ContentType == "" {
		o.ContentType = c.upload.contentType
	}
	id := "session-" + strconv.FormatUint(c.nextID(), 10)
	c.stores.sessions[id] = &session{object: o, query: c.query}
	u := *c.request.URL
	if u.Host == "" {
		u.Scheme, u.Host = "http", c.request.Host
	}
	q := u.Query()
	q.Set("upload_id", id)
	u.RawQuery = q.Encode()
	return &media{header: http.Header{"Location": {u.String()}}}, nil
}

// progress returns the received range of an upload: status 308 or, for client libraries that treat
// this as a redirect, status 200 with a header.
func (s *session) progress() *media {
	out := &media{status: http.StatusOK, header: http.Header{}}
	out.header.Set("X-Http-Status-Code-Override", "308")
	if len(s.content) > 0 {
		out.header.Set("Range", fmt.Sprintf("bytes=0-%d", len(s.content)-1))
	}
	return out
}
