package gcptest

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
)

// upload is the media part of a request.
// https://cloud.google.com/storage/docs/uploads-downloads#uploads
type upload struct {
	contentType string
	data        []byte
	// session is the resumable upload of the data, start the offset, and last reports whether it is
	// the final chunk.
	session string
	start   int
	last    bool
	begins  bool // starts a resumable upload without data
}

// readUpload parses the three types of uploads.
func (c *call) readUpload() error {
	body, err := io.ReadAll(c.request.Body)
	if err != nil {
		return fmt.Errorf("read the upload: %w", err)
	}
	c.upload = &upload{contentType: c.request.Header.Get("Content-Type"), data: body}
	switch c.query.Get("uploadType") {
	case "media":
		return nil
	case "multipart":
		return c.readMultipart(body)
	case "resumable":
		return c.readResumable(body)
	}
	return fmt.Errorf("uploadType is media, multipart or resumable (is %q)", c.query.Get("uploadType"))
}

func (c *call) readMultipart(body []byte) error {
	_, params, err := mime.ParseMediaType(c.upload.contentType)
	if err != nil {
		return fmt.Errorf("read the upload's content type: %w", err)
	}
	parts := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	if _, c.body, err = readPart(parts); err != nil {
		return err
	}
	c.upload.contentType, c.upload.data, err = readPart(parts)
	return err
}

func readPart(r *multipart.Reader) (contentType string, b []byte, err error) {
	p, err := r.NextPart()
	if err != nil {
		return "", nil, fmt.Errorf("read a part of the upload: %w", err)
	}
	b, err = io.ReadAll(p)
	return p.Header.Get("Content-Type"), b, err
}

func (c *call) readResumable(body []byte) error {
	if c.upload.session = c.query.Get("upload_id"); c.upload.session == "" {
		c.upload.begins, c.body, c.upload.data = true, body, nil
		c.upload.contentType = c.request.Header.Get("X-Upload-Content-Type")
		return nil
	}
	return c.upload.readRange(c.request.Header)
}

// readRange parses "bytes 0-41/42", "bytes 0-41/*" and "bytes */42".
// https://cloud.google.com/storage/docs/performing-resumable-uploads#chunked-upload
func (u *upload) readRange(h http.Header) error {
	text := h.Get("Content-Range")
	if text == "" {
		u.last = true
		return nil
	}
	span, total, ok := strings.Cut(strings.TrimPrefix(text, "bytes "), "/")
	if !ok {
		return fmt.Errorf("the range of an upload is %q", text)
	}
	u.last = total != "*"
	if span == "*" {
		u.start = -1
		return nil
	}
	first, _, _ := strings.Cut(span, "-")
	start, err := strconv.Atoi(first)
	u.start = start
	return err
}
